# SPDX-License-Identifier: Apache-2.0
"""scripts/guest with machines that have no card: commands, statuses, hangs, clean-up, reboots."""

import os
import pathlib
import pty
import select
import signal
import subprocess
import time

import pytest

import guestlib
from guestlib import diagnose

from conftest import KERNELS, ROOT, rounds
from dead_card import DeadCard

GUEST = str(ROOT / "scripts" / "guest")
FAST = KERNELS[0]


def guest(*arguments, timeout=180, **options):
    return subprocess.run([GUEST, "--nics", "0", *arguments], capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL, check=False, **options)


def machines():
    """Process ids of guests' QEMUs on this machine."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"cxsim.exec" in path.read_bytes():
                found.add(int(path.parent.name))
        except OSError:
            pass
    return found


def children_of(pid):
    return {int(p.parent.name) for p in pathlib.Path("/proc").glob("[0-9]*/stat")
            if _parent(p) == pid}


def _parent(path):
    try:
        return int(path.read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return None


@pytest.mark.parametrize("kernel", KERNELS)
def test_output_and_status_of_the_command_come_back(parts, kernel):
    kit, _, _ = parts(kernel)
    begin = time.monotonic()
    run = guest("--kernel", kernel, "--exec", "uname -r; echo to-stderr >&2; exit 5")
    print(f"{kernel}: first output and end after {time.monotonic() - begin:.2f} s")
    assert run.returncode == 5, run.stderr
    assert run.stdout == f"{kit.kernel.release}\nto-stderr\n"


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_cold_boot_has_a_clean_log(parts, kernel):
    parts(kernel)
    run = guest("--kernel", kernel, "--cold", "--exec", "cat /proc/cmdline")
    assert run.returncode == 0, run.stderr
    assert "rdinit=/init" in run.stdout


def test_a_script_from_standard_input_is_run(parts):
    parts(FAST)
    run = subprocess.run([GUEST, "--nics", "0", "--kernel", FAST], input="echo a\nexit 4\n",
                         capture_output=True, text=True, timeout=180, check=False)
    assert (run.stdout, run.returncode) == ("a\n", 4), run.stderr


def test_without_a_command_there_is_a_shell_on_the_terminal(parts):
    parts(FAST)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(GUEST, [GUEST, "--nics", "0", "--kernel", FAST])
    seen, sent, end = b"", False, time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:  # EIO: the other side is gone
            break
        seen += data
        if not sent and b"guest# " in seen:
            os.write(terminal, b"tty; echo $((6 * 7)); exit 9\n")
            sent = True
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    text = seen.decode(errors="replace")
    assert "/dev/hvc0\r\n42\r\n" in text
    assert status == 9, text


def test_guests_of_one_snapshot_draw_different_random_numbers(boot):
    assert len({boot(FAST).check("head -c 16 /dev/urandom | sha256sum") for _ in range(2)}) == 2


def test_a_damaged_snapshot_is_an_error_that_says_what_to_do(parts, tmp_path):
    kit, snapshot, folder = parts(FAST)
    (tmp_path / "ram").symlink_to(snapshot / "ram")
    (tmp_path / "state").write_bytes((snapshot / "state").read_bytes()[:20000])
    with guestlib.Guest(kit, (), "damaged", folder, snapshot=tmp_path) as machine:
        with pytest.raises(guestlib.GuestError, match="--refresh"):
            machine.start(guestlib.Deadline(30))


def test_the_tools_are_there(parts):
    parts(FAST)
    tools = ("lspci setpci ethtool devlink rdma ip tc bridge ibv_devinfo ibv_rc_pingpong "
             "ib_write_bw ib_send_lat rping ucmatose ibstat perfquery iperf3 tcpdump mstflint "
             "mstconfig mstmcra mstlink mstreg modprobe ping taskset vi")
    run = guest("--kernel", FAST, "--exec",
                f"for t in {tools}; do command -v $t >/dev/null || echo missing $t; done; "
                "for m in bonding macvlan bridge vxlan 8021q cls_flower act_mirred igb e1000e "
                "rdma_rxe rdma_ucm ib_umad; do modprobe -n $m || echo missing $m; done; "
                "ib_write_bw -h | grep -q Usage || echo ib_write_bw does not start; "
                "mstflint --version >/dev/null || echo mstflint does not start")
    assert run.stdout == "", run.stderr


def test_a_forbidden_line_fails_the_run_unless_it_is_allowed(parts):
    parts(FAST)
    trigger = ["--kernel", FAST, "--exec", "echo l >/proc/sysrq-trigger"]
    run = guest(*trigger)
    assert run.returncode == 3, run.stderr
    assert "a stack trace" in run.stderr and "Call Trace" in run.stderr
    run = guest(*trigger, "--allow-log", "Call Trace")
    assert run.returncode == 0, run.stderr


def test_a_panic_is_reported_with_its_line(parts):
    parts(FAST)
    run = guest("--kernel", FAST, "--exec", "echo c >/proc/sysrq-trigger")
    assert run.returncode == 70
    assert "restarted during" in run.stderr
    assert "Kernel panic - not syncing: sysrq triggered crash" in run.stderr


def test_a_hang_says_who_waits_for_whom(parts):
    parts(FAST)
    before = machines()
    run = guest("--kernel", FAST, "--timeout", "6", "--exec", "echo begun; sleep 1000")
    assert run.returncode == 124
    assert run.stdout == "begun\n"
    for part in ("running command: echo begun; sleep 1000", "'status': 'running'",
                 "agent: answers", "sleep waits in", "nanosleep", "last kernel log records",
                 "serial.log"):
        assert part in run.stderr, f"{part!r} not in:\n{run.stderr}"
    assert machines() <= before


def test_a_guest_whose_agent_is_silent_is_asked_by_sysrq(boot):
    machine = boot(FAST)
    machine.run("(sleep 0.2; for p in $(pgrep -P 1); do kill -STOP $p; done) >/dev/null 2>&1 &")
    time.sleep(1)
    with pytest.raises(guestlib.GuestTimeout, match="did not take the command"):
        machine.run("true", guestlib.Deadline(1))
    report = diagnose.report(machine, reason="test")
    assert "agent: silent" in report
    assert "sysrq: Show Blocked State" in report


def heed_interrupts():
    """What a shell starts in the background ignores SIGINT, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143),
                                            (signal.SIGHUP, 129), (signal.SIGKILL, -9)])
def test_nothing_is_left_running_after_a_signal(parts, number, status):
    parts(FAST)
    with subprocess.Popen([GUEST, "--nics", "0", "--kernel", FAST, "--guests", "2", "--exec",
                           "echo begun; sleep 1000"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, preexec_fn=heed_interrupts) as process:
        assert "begun" in process.stdout.readline()
        assert "begun" in process.stdout.readline()
        children = children_of(process.pid)
        assert len(children & machines()) == 2
        process.send_signal(number)
        assert process.wait(30) == status
    end = time.monotonic() + 5
    while children & machines() and time.monotonic() < end:
        time.sleep(0.05)
    assert not children & machines()


def test_two_guests_run_at_once_and_the_first_failure_counts(parts):
    parts(FAST)
    run = guest("--kernel", FAST, "--guests", "2", "--exec0", "hostname; exit 0", "--exec1",
                "hostname; exit 9")
    assert run.returncode == 9, run.stderr
    assert sorted(run.stdout.splitlines()) == ["guest0| guest0", "guest1| guest1"]


@pytest.mark.parametrize("how", ["qmp", "guest"])
def test_a_restored_guest_reboots(boot, how):
    machine = boot(FAST)
    for _ in range(max(1, rounds(9) // 3)):
        before = machine.check("cat /proc/sys/kernel/random/boot_id")
        machine.reboot(how)
        assert machine.check("cat /proc/sys/kernel/random/boot_id") != before
    assert not machine.violations()


def test_a_command_across_a_reboot_is_not_taken_for_finished(boot):
    machine = boot(FAST)
    with pytest.raises(guestlib.GuestError, match="restarted during"):
        machine.run("reboot -f; sleep 100", guestlib.Deadline(60))


def test_much_output_arrives_unchanged(boot):
    machine = boot(FAST)
    size = 2_000_000
    output = machine.check(f"head -c {size} /dev/zero | tr '\\0' x; printf '\\036E 00 0\\n'")
    assert output == "x" * size + "\x1eE 00 0\n"


def test_a_machine_without_its_qemu_is_an_error_not_a_hang(boot):
    machine = boot(FAST)
    machine.kill()
    assert not machine.alive()
    with pytest.raises(guestlib.GuestError):
        machine.qmp("query-status")


@pytest.fixture
def dead_card(tmp_path):
    card = DeadCard(tmp_path / "card")
    yield card
    card.close()


@pytest.mark.parametrize("kernel, mode", [*((k, []) for k in KERNELS), (FAST, ["--cold"])])
def test_a_card_that_the_driver_refuses_is_reported_with_the_drivers_words(
        parts, dead_card, kernel, mode):
    parts(kernel)
    run = guest("--kernel", kernel, *mode, "--attach", str(dead_card.path), "--exec", "echo run")
    assert run.returncode == 70, run.stderr
    assert run.stdout == ""
    assert "a probe failed" in run.stderr
    assert "driver none, netdev none, RDMA none" in run.stderr
    assert "cmdif rev" in run.stderr  # the driver's own reason, from the kernel log
    assert "the driver warns" in run.stderr
    assert dead_card.reads > 0


def test_without_the_driver_the_card_is_there_and_untouched(parts, dead_card):
    parts(FAST)
    run = guest("--kernel", FAST, "--attach", str(dead_card.path), "--no-driver", "--exec",
                "lspci -n -d 15b3:; lspci -vv -d 15b3: | grep -w size; lsmod | grep mlx5")
    assert run.returncode == 1, run.stderr  # of the last grep
    assert "15b3:1017" in run.stdout
    assert "[size=32M]" in run.stdout and "mlx5" not in run.stdout
    assert dead_card.reads == 0


def test_more_cards_than_slots_are_refused(parts, tmp_path):
    parts(FAST)
    run = guest("--kernel", FAST, *[f"--attach={tmp_path / str(n)}" for n in range(5)],
                "--exec", "true")
    assert run.returncode == 70
    assert "5 cards in one guest: it has 4 slots" in run.stderr


def test_an_attached_socket_that_nobody_serves_is_said(parts, tmp_path):
    parts(FAST)
    run = subprocess.run([GUEST, "--kernel", FAST, "--attach", str(tmp_path / "none"), "--exec",
                          "true"], capture_output=True, text=True, timeout=180, check=False,
                         env={**os.environ, "CXSIM_BINARY": ""})
    assert run.returncode == 70
    assert "none" in run.stderr and "QEMU refused device_add" in run.stderr


def test_a_kernel_of_the_users_own_boots(parts, tmp_path):
    """The path form, on image and modules of a named kernel, laid out as an own build's."""
    kit, _, _ = parts(FAST)
    (tmp_path / "vmlinux").write_bytes(kit.kernel.image.read_bytes())
    subprocess.run(["cp", "-r", str(kit.kernel.modules / "lib"), str(tmp_path)], check=True)
    run = guest("--kernel", str(tmp_path / "vmlinux"), "--cold", "--exec",
                "uname -r; modinfo -F name mlx5_core")
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"{kit.kernel.release}\nmlx5_core\n"


def test_a_kernel_path_without_a_kernel_or_modules_is_refused(parts, tmp_path):
    kit, _, _ = parts(FAST)
    run = guest("--kernel", str(tmp_path / "nothing"), "--exec", "true")
    assert run.returncode == 70
    assert "neither one of 6.1, 6.12, newest nor a file" in run.stderr
    run = guest("--kernel", str(tmp_path), "--exec", "true")
    assert run.returncode == 70
    assert "no bzImage" in run.stderr
    (tmp_path / "vmlinux").write_bytes(kit.kernel.image.read_bytes())
    run = guest("--kernel", str(tmp_path / "vmlinux"), "--exec", "true")
    assert run.returncode == 70
    assert "INSTALL_MOD_PATH" in run.stderr


def test_processors_stay_on_one_of_ours_where_there_are_no_more(boot):
    """Each on its own while there are enough; free on a machine with more than the guest has."""
    machine = boot(FAST)
    ours = os.sched_getaffinity(0)
    places = [os.sched_getaffinity(each["thread-id"]) for each in machine.qmp("query-cpus-fast")]
    if 2 <= len(ours) <= len(places):
        assert all(len(place) == 1 for place in places), places
        assert set.union(*places) == ours
    else:
        assert all(place == ours for place in places), places
