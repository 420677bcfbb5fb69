# SPDX-License-Identifier: Apache-2.0
"""One virtual machine: start (snapshot or cold), run commands, reboot, kill, judge its log."""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import time

from . import diagnose, klog, logrules, memory, procs, qemu as machine
from .agent import Channel, LogStream
from .common import Deadline, GuestError, GuestTimeout, START, say
from .qmp import Qmp

# Loads the drivers if need be, then waits for COUNT functions with driver, netdev and RDMA device,
# for a moment only: the host looks at the log for a failed probe in between. Shell builtins alone,
# because each process that TCG starts costs 30-50 ms.
_DRIVER_SCRIPT = r"""
[ -d /sys/module/mlx5_core ] || modprobe mlx5_core || exit 1
[ -d /sys/module/mlx5_ib ] || modprobe mlx5_ib || exit 1
shopt -s nullglob
for round in {1..20}; do
    complete=0 list=()
    for dev in /sys/bus/pci/devices/*; do
        read -r vendor <$dev/vendor
        [ $vendor = 0x15b3 ] || continue
        driver= net=() ib=()
        [ -d $dev/driver/module/drivers/pci:mlx5_core ] && driver=mlx5_core
        for path in $dev/net/*; do net+=(${path##*/}); done
        for path in $dev/infiniband/*; do ib+=(${path##*/}); done
        [ $driver ] && [ $net ] && [ $ib ] && complete=$((complete + 1))
        IFS=,; list+=("${dev##*/} driver=$driver net=${net[*]} ib=${ib[*]}"); unset IFS
    done
    [ $complete -ge COUNT ] && break
    sleep 0.05
done
printf '%s\n' "${list[@]}"
"""

_PLUGGED_SCRIPT = r"""
for round in {1..40}; do
    seen=0
    for file in /sys/bus/pci/devices/*/vendor; do
        read -r vendor <$file && [ $vendor = 0x15b3 ] && seen=$((seen + 1))
    done
    [ $seen -ge COUNT ] && exit 0
    [ $round -gt 1 ] && sleep 0.05
    echo 1 >/sys/bus/pci/rescan
done
echo "only $seen of COUNT cards appeared on the guest's PCI bus"
exit 1
"""

_DEVLINK_SCRIPT = r"""
for round in {1..100}; do
    there=" $(devlink dev 2>&1 | tr '\n' ' ') " missing=
    for name in NAMES; do [[ $there == *" $name "* ]] || missing+=" $name"; done
    [ "$missing" ] || exit 0
    sleep 0.05
done
echo "devlink does not know$missing, only$there"
exit 1
"""

# After this many seconds without a sign of life of the probe it counts as failed.
PROBE_SECONDS = 60.0
_PROBE_FAILED = re.compile(r"mlx5_core.*(probe .*failed with error|probe_one.*failed)|"
                           r"probe of \S+ failed with error")


class Function:
    """A PCI function of ours as the guest sees it."""

    def __init__(self, line):
        self.bdf, *rest = line.split()
        fields = dict(part.split("=", 1) for part in rest)
        self.driver = fields["driver"]
        self.netdevs = [n for n in fields["net"].split(",") if n]
        self.ibdevs = [n for n in fields["ib"].split(",") if n]

    def complete(self):
        return self.driver == "mlx5_core" and bool(self.netdevs) and bool(self.ibdevs)

    def __str__(self):
        return (f"{self.bdf} driver {self.driver or 'none'}, netdev "
                f"{' '.join(self.netdevs) or 'none'}, RDMA {' '.join(self.ibdevs) or 'none'}")


class Guest:
    """`kit` (setup.Kit) holds QEMU, kernel and initramfs; `nics` are vfio-user socket paths."""

    def __init__(self, kit, nics=(), name="guest", log_folder=None, cold=False, snapshot=None,
                 driver=True):
        if len(nics) > machine.ROOT_PORTS:
            raise GuestError(f"{len(nics)} cards in one guest: it has {machine.ROOT_PORTS} slots")
        self.kit, self.nics, self.name = kit, [str(nic) for nic in nics], name
        self.cold = cold or snapshot is None
        self.snapshot = None if self.cold else pathlib.Path(snapshot)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cxsim-guest."))
        self.log_folder = pathlib.Path(log_folder) if log_folder else self.folder
        self.serial_log = self.log_folder / f"{name}.serial.log"
        self.driver = driver  # False: mlx5 modules are not loaded when the cards appear
        self.functions = []
        self.bound_after = None  # seconds of wall time since the start of the machine
        self._process = self.qmp_channel = self._exec = self._aux = self._log = None
        self.ram = None
        self.keep_ram = False  # our descriptor of the guest's memory stays open (snapshot saver)
        self._marked = 0
        self.launched_at = None

    # --- life -------------------------------------------------------------------------------

    def launch(self):
        """Starts the QEMU process and returns at once."""
        self.launched_at = time.monotonic()
        for name in ("qmp", "console", *machine.CHANNELS):
            (self.folder / name).unlink(missing_ok=True)
        link = self.folder / "serial.log"
        if not link.is_symlink() and self.log_folder != self.folder:
            self.serial_log.touch()
            link.symlink_to(self.serial_log)
        elif self.log_folder == self.folder:
            self.serial_log = link
        kit = self.kit
        self.ram = memory.Ram(kit.memory)
        if self.snapshot is not None:
            self.ram.load(self.snapshot / "ram")
        command = [*kit.qemu.argv, *machine.machine_arguments(
            kit.qemu, kit.kernel.image, kit.initrd, kit.memory, kit.cpus, self.ram.path)]
        command += machine.channel_arguments(self.folder)
        if self.snapshot is not None:
            command += ["-S", "-incoming", "defer"]
        else:
            command += machine.nic_arguments(self.nics)
        command += ["-name", self.name]
        command += shlex.split(os.environ.get("CXSIM_GUEST_QEMU_ARGS", ""))
        with open(self.log_folder / f"{self.name}.qemu.log", "ab") as log:
            log.write((shlex.join(map(str, command)) + "\n").encode())
            log.flush()
            self._process = procs.spawn(command, stdout=log, stderr=log, pass_fds=(self.ram.fd,))
        if not self.keep_ram:
            self.ram.close()
        return self

    def wait_ready(self, deadline):
        """Until the agent answers, cards plugged in. GuestTimeout or GuestError otherwise."""
        try:
            self.qmp_channel = Qmp(self.folder / "qmp", deadline, self.alive)
            self._log = LogStream(self.folder / "kmsg", deadline, self.alive)
            self._exec = Channel(self.folder / "exec", "exec", deadline, self.alive)
            self._aux = Channel(self.folder / "aux", "aux", deadline, self.alive)
            self._spread(deadline)
            if self.snapshot is not None:
                self._resume(deadline)
            self._exec.wait_ready(deadline)
            self._aux.wait_ready(deadline)
            self._greet(deadline)
        except GuestTimeout:
            raise
        except GuestError as error:
            if self._ended_within(2.0):
                restoring = self.snapshot is not None and not self.was_ready()
                raise GuestError((self._damaged() if restoring else str(error))
                                 + f"\nQEMU said:\n{self.qemu_log_tail()}") from error
            raise
        return self

    def start(self, deadline):
        return self.launch().wait_ready(deadline)

    def _spread(self, deadline):
        """Where the guest has at least as many processors as we, each stays on one of ours."""
        ours = sorted(os.sched_getaffinity(0))
        theirs = [each["thread-id"] for each in self.qmp("query-cpus-fast", deadline=deadline)]
        if not 2 <= len(ours) <= len(theirs):
            return
        for number, thread in enumerate(theirs):
            with contextlib.suppress(OSError):  # a wish, no need
                os.sched_setaffinity(thread, {ours[number % len(ours)]})

    def _resume(self, deadline):
        self.qmp("migrate-set-capabilities", machine.SNAPSHOT_CAPABILITIES, deadline)
        self.qmp("migrate-incoming", {"uri": f"file:{self.snapshot / 'state'}"}, deadline)
        while True:
            state = self.qmp("query-migrate", deadline=deadline).get("status", "none")
            if state == "completed":
                break
            if state == "failed":
                raise GuestError(self._damaged())
            if deadline.expired():
                raise GuestTimeout(f"QEMU is still reading the snapshot {self.snapshot}")
            time.sleep(0.005)
        if self.driver:
            self._plug(deadline)
            self.qmp("cont", deadline=deadline)
        else:
            self.qmp("cont", deadline=deadline)
            self._exec.wait_ready(deadline)
            self._exec.run("rmmod mlx5_ib; rmmod mlx5_core", deadline)
            self._plug(deadline)

    def _damaged(self):
        return (f"QEMU cannot restore the snapshot {self.snapshot} or take its cards; if it is "
                "damaged, remove that directory or use --refresh")

    def _ended_within(self, seconds):
        """Whether QEMU is gone, or goes now: its sockets close a moment before it ends."""
        end = time.monotonic() + seconds
        while self.alive() and time.monotonic() < end:
            time.sleep(0.01)
        return not self.alive()

    def _plug(self, deadline):
        for number, socket in enumerate(self.nics):
            self.qmp("device_add", machine.nic_device(number, socket), deadline)

    def _greet(self, deadline):
        """Sets clock (a restored guest lives in the snapshot's time) and name."""
        script = (f"busybox date -s @{time.time():.0f} >/dev/null\n"
                  f"echo {shlex.quote(self.name)} >/proc/sys/kernel/hostname\n")
        if self.nics:
            # Nothing in the guest hears of a card plugged in later (agent.sh): it scans.
            script += _PLUGGED_SCRIPT.replace("COUNT", str(len(self.nics)))
        result = self._exec.run(script, deadline)
        if result.status != 0:
            raise GuestError(f"{result.output.strip()}\n{self._recent_log()}")

    def load_driver(self, deadline):
        """Loads mlx5_core and mlx5_ib, waits until they are bound; returns the functions.
        GuestError when a probe fails or shows no result for PROBE_SECONDS."""
        script = _DRIVER_SCRIPT.replace("COUNT", str(len(self.nics)))
        patience = deadline.sub(PROBE_SECONDS)
        while True:
            result = self._exec.run(script, deadline)
            if result.status != 0:
                raise GuestError(f"modprobe failed in the guest: {result.output.strip()}\n"
                                 f"{self._recent_log()}")
            self.functions = [Function(line) for line in result.output.splitlines() if line]
            complete = sum(f.complete() for f in self.functions)
            if complete >= len(self.nics):
                self.bound_after = time.monotonic() - self.launched_at
                self._wait_for_devlink(deadline)
                return self.functions
            failed = [r for r in self.dmesg() if _PROBE_FAILED.search(r.text)]
            if failed or patience.expired():
                found = "\n".join(map(str, self.functions)) or "no function of ours on the bus"
                why = "a probe failed" if failed else f"no result in {patience.seconds:.0f} s"
                raise GuestError(f"{complete} of {len(self.nics)} cards have driver, netdev and "
                                 f"RDMA device ({why}):\n{found}\n{self._recent_log()}")

    def _wait_for_devlink(self, deadline):
        """The driver registers its devlink instance last, behind netdev and RDMA device."""
        names = " ".join(f"pci/{f.bdf}" for f in self.functions if f.complete())
        script = _DEVLINK_SCRIPT.replace("NAMES", names)
        result = self._exec.run(script, deadline)
        if result.status != 0:
            raise GuestError(f"{result.output.strip()}\n{self._recent_log()}")

    def _recent_log(self, count=100):
        return "\n".join(str(r) for r in self.dmesg()[-count:])

    def alive(self):
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self):
        return self._process.pid if self._process else None

    def kill(self):
        """SIGKILL to QEMU, as a crash of it would look to the server."""
        if self._process is not None:
            procs.kill(self._process)
        self._close_channels()

    def close(self):
        """Ends QEMU and removes its sockets; logs stay when a log folder was given."""
        self._close_channels()
        procs.terminate(self._process, grace=1.0)
        if self.ram is not None:
            self.ram.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _close_channels(self):
        for channel in (self.qmp_channel, self._exec, self._aux, self._log):
            if channel is not None:
                channel.close()
        self.qmp_channel = self._exec = self._aux = self._log = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- use --------------------------------------------------------------------------------

    def qmp(self, command, arguments=None, deadline=None):
        if self.qmp_channel is None:
            raise GuestError("QEMU is not running")
        return self.qmp_channel.command(command, arguments, deadline)

    def hmp(self, line):
        return self.qmp("human-monitor-command", {"command-line": line})

    def run(self, script, deadline=None, on_output=None):
        """A bash script in the guest: Result(status, output, seconds)."""
        return self._exec.run(script, deadline or Deadline(60), on_output)

    def check(self, script, deadline=None):
        """Like run, but a status other than 0 is a GuestError. Returns the output."""
        result = self.run(script, deadline)
        if result.status != 0:
            raise GuestError(f"status {result.status} from: {script}\n{result.output.strip()}")
        return result.output

    def aside(self, script, deadline=None):
        """Runs on the second channel, also while `run` is busy."""
        return self._aux.run(script, deadline or Deadline(10))

    def was_ready(self):
        """Whether the agent of this machine has ever answered."""
        return self._aux is not None and self._aux.boot_id is not None

    def running_command(self):
        return self._exec.busy_with if self._exec is not None else None

    def reboot(self, how="qmp", deadline=None):
        """`qmp`: system_reset, the power button's way. `guest`: the guest's own `reboot`.
        Returns when the new boot's agent answers; drivers are not loaded."""
        deadline = deadline or Deadline(120)
        before = self._exec.boot_id
        if how == "qmp":
            self.qmp("system_reset", deadline=deadline)
        elif how == "guest":
            self._aux.run("(sleep 0.2; reboot) >/dev/null 2>&1 &", deadline)
        else:
            raise ValueError(how)
        self._exec.wait_ready(deadline, other_than=before)
        self._aux.wait_ready(deadline, other_than=before)
        self._greet(deadline)

    # --- log --------------------------------------------------------------------------------

    def dmesg(self, deadline=None):
        """All kernel log records since the start, of every boot; complete up to this moment
        as long as the guest answers."""
        if self._log is None:
            return []
        if not self.was_ready() or not self.alive():
            return list(self._log.records)  # nobody there to mark the end
        self._marked += 1
        mark = f"cxsim-mark-{os.getpid()}-{self._marked}-{os.urandom(4).hex()}"
        deadline = deadline or Deadline(10)
        try:
            self._aux.run(f"echo '<15>{mark}' >/dev/kmsg", deadline)
            self._log.wait_for(mark, deadline)
        except GuestError:
            pass  # a dead or hung guest: what came so far is what there is
        return [r for r in list(self._log.records) if "cxsim-mark-" not in r.text]

    def violations(self, allow=(), records=None):
        """Forbidden records so far, and complaints about missing ones, as printable objects."""
        records = self.dmesg() if records is None else records
        found = klog.judge(records, logrules.FORBIDDEN, logrules.ALLOWED, self.kit.kernel.release,
                           allow)
        if self.functions:
            found += klog.missing(records, logrules.REQUIRED, len(self.functions))
        if self._log is not None and self._log.lost_records():
            found.append(f"{self._log.lost_records()} kernel log records were lost unread")
        found += diagnose.serial_damage(self.serial_log)
        return found

    def qemu_log_tail(self, lines=12):
        path = self.log_folder / f"{self.name}.qemu.log"
        try:
            text = path.read_text(errors="replace").splitlines()[1:]
        except OSError as error:
            return str(error)
        return "\n".join(text[-lines:]) or "(nothing)"

    def report_times(self):
        if self.bound_after is not None:
            say(f"{self.name}: {len(self.functions)} x mlx5_core bound, netdev and RDMA device "
                f"there {self.bound_after:.2f} s after QEMU's start, "
                f"{time.monotonic() - START:.2f} s after ours")


def interactive(guest):
    """A shell on the guest's hvc0, joined to our terminal; returns the shell's status."""
    import select
    import socket
    import sys
    import termios
    import threading
    import tty

    size = shutil.get_terminal_size()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(str(guest.folder / "console"))
    answer = []

    def shell():
        try:
            answer.append(guest.run(
                # Not the script's last command: bash would become it, and setsid, then a leader,
                # would fork and end at once.
                f"stty -F /dev/hvc0 sane rows {size.lines} cols {size.columns}\n"
                f"TERM={shlex.quote(os.environ.get('TERM', 'linux'))} "
                "busybox setsid -c bash -l <>/dev/hvc0 >&0 2>&1\nexit $?", Deadline(10**9)).status)
        except GuestError as error:
            say(str(error), always=True)
            answer.append(error.exit_status)

    thread = threading.Thread(target=shell, daemon=True)
    saved = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        thread.start()
        while thread.is_alive():
            ready, _, _ = select.select([0, sock], [], [], 0.1)
            if 0 in ready:
                sock.sendall(os.read(0, 4096))
            if sock in ready:
                data = sock.recv(65536)
                if not data:
                    break
                sys.stdout.buffer.write(data)
                sys.stdout.flush()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)
        sock.close()
    thread.join(2)
    return answer[0] if answer else 70
