# SPDX-License-Identifier: Apache-2.0
"""`scripts/bench core`: what the core's operations cost on this machine.

The native part is tests/perf/bench_core.cpp; the guest's part runs tests/perf/guest_probe.c in a
virtual machine. MSI-X is measured in the server, which sees both ends: from its write of the
eventfd to the first doorbell of the event queue that has fired, which the driver's interrupt
handler writes when it has taken the events (median of the server's last 1024, `cxsim ctl status`,
interrupt_to_doorbell). Between the two lie QEMU, the guest's vector, the handler, and the trapped
write back: an upper bound for the message. A command that the driver is told of by interrupt
takes longer (the driver's own clock, debugfs): it includes the work queue that sends the command
and the wake-up of the thread that waits for it.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from .table import Row

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PENDING = (1, 100, 1000, 10000)
BRINGUP_BOUND_S = 1.0
TRAPPED_READ_BOUND_US = 65.0
MSIX_BOUND_US = 100.0
# The calendar must beat the ordered map of events by this at 1000 pending (the table of peers in
# the design: 24 ns against 85 ns; the ratio leaves room for a busy machine).
CALENDAR_RATIO_BOUND = 0.8
BUILD_SECONDS = 3600
GUEST_SECONDS = 300.0
COMMANDS_BY_EVENT = 40


def build_folder():
    return pathlib.Path(os.environ.get("CXSIM_BUILD_DIR") or ROOT / "build" / "release")


def build(targets=("bench_core", "cxsim")):
    """Targets of the release build; says what it does, since it may take minutes."""
    folder = build_folder()
    print(f"bench: building {folder}", flush=True)
    log = subprocess.PIPE
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=log)
    done = subprocess.run(["ninja", "-C", str(folder), *targets], stdout=log,
                          stderr=subprocess.STDOUT, text=True, timeout=BUILD_SECONDS, check=False)
    if done.returncode:
        raise SystemExit(done.stdout[-4000:] + f"\nbench: the build in {folder} failed")
    return folder


def native(folder):
    out = subprocess.run([str(folder / "tests" / "bench_core")], stdout=subprocess.PIPE, text=True,
                         timeout=300, check=True).stdout
    values = json.loads(out[out.index("{"):])  # SystemC's banner comes first
    rows = []
    for pending in PENDING:
        ours, theirs = values[f"calendar_{pending}"], values[f"multimap_{pending}"]
        rows.append(Row(f"calendar event, {pending} pending", ours, "ns",
                        CALENDAR_RATIO_BOUND * theirs if pending == 1000 else None,
                        f"std::multimap in the same run: {theirs:.0f} ns"))
    for key, what in (("config_read", "configuration read at the endpoint"),
                      ("mmio_read", "MMIO read at the endpoint"),
                      ("mmio_write", "MMIO write at the endpoint"),
                      ("command_handler", "command handler alone"),
                      ("command", "command through queue, mailboxes, endpoint")):
        rows.append(Row(what, values[key], "ns"))
    return rows


def bring_up(folder):
    """Wall time of `cxsim bringup`, process start included: the median of five."""
    times = []
    for _ in range(5):
        start = time.monotonic()
        done = subprocess.run([str(folder / "bin" / "cxsim"), "bringup"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        times.append(time.monotonic() - start)
        if done.returncode:
            return Row("in-process bring-up", None, "s", BRINGUP_BOUND_S,
                       f"cxsim bringup: status {done.returncode}")
    return Row("in-process bring-up, process start included", statistics.median(times), "s",
               BRINGUP_BOUND_S)


def compile_probe(folder):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("no C compiler for the guest's probe")
    program = pathlib.Path(folder) / "guest_probe"
    subprocess.run([compiler, "-std=gnu11", "-O1", "-s", "-static", "-nostdlib", "-ffreestanding",
                    "-fno-stack-protector", "-fno-tree-loop-distribute-patterns", "-o",
                    str(program), str(ROOT / "tests" / "perf" / "guest_probe.c")],
                   check=True, timeout=60)
    return program.read_bytes()


# Commands by interrupt: reading a queue counter is one QUERY_Q_COUNTER.
_BY_EVENT = r"""
mount -t debugfs none /sys/kernel/debug 2>/dev/null
average=$(echo /sys/kernel/debug/mlx5/BDF/commands/QUERY_Q_COUNTER/average)
[ -e $average ] || { echo "no $average"; exit 1; }
counter=$(echo /sys/class/infiniband/*/ports/1/hw_counters/out_of_sequence)
for round in {1..ROUNDS}; do
    sleep 0.02  # the counters are read from the card again after 10 ms
    echo 0 >$average
    read -r value <$counter
    read -r value <$average
    echo $value
done
"""

# Each read asks the card for the port's state. Enough of them that the server's window holds no
# message of the driver's start, when the guest runs everything for the first time.
_MESSAGES = r"""
state=$(echo /sys/class/infiniband/*/ports/1/state)
for round in {1..1100}; do read -r value <$state || exit 1; done
"""

_PROBE = r"""
echo BDF >/sys/bus/pci/devices/BDF/driver/unbind
echo 1 >/sys/bus/pci/devices/BDF/enable
base64 -d >/tmp/guest_probe <<'END'
PROGRAM
END
chmod +x /tmp/guest_probe
setpci -s BDF COMMAND=0006 || exit 1
sleep 0.3
/tmp/guest_probe BDF
"""


def in_guest(kernel, folder):
    """{"mmio_read", "mmio_write", "command": ns, "by_event": ns or the reason why not,
    "messages": what the server says of interrupts}."""
    from guestlib import setup
    from guestlib.cache import Cache
    from guestlib.common import Deadline
    from guestlib.guest import Guest
    from guestlib.server import Server

    program = base64.encodebytes(compile_probe(folder)).decode()
    os.environ.setdefault("CXSIM_BINARY", str(build_folder() / "bin" / "cxsim"))
    kit, snapshot = setup.prepare(Cache(), kernel)
    deadline = Deadline(GUEST_SECONDS)
    log = pathlib.Path(folder)
    with Server(["connectx5"], folder, log / "serve.log").start(deadline) as server, \
            Guest(kit, server.sockets, log_folder=log, snapshot=snapshot) as guest:
        guest.start(deadline)
        function = guest.load_driver(deadline)[0]
        values = {}
        by_event = guest.run(_BY_EVENT.replace("BDF", function.bdf)
                             .replace("ROUNDS", str(COMMANDS_BY_EVENT)), deadline)
        numbers = [float(n) for n in re.findall(r"^\d+$", by_event.output, re.M) if int(n) > 0]
        if by_event.status == 0 and len(numbers) >= COMMANDS_BY_EVENT / 2:
            values["by_event"] = statistics.median(numbers)
        else:
            values["by_event"] = by_event.output.strip()[-60:] or "no commands were counted"
        guest.check(_MESSAGES, deadline)
        values["messages"] = server.state()["cards"][0]["interrupt_to_doorbell"]
        output = guest.check(_PROBE.replace("BDF", function.bdf).replace("PROGRAM", program),
                             deadline)
        for name, value in re.findall(r"^(mmio_read|mmio_write|command) (\d+)$", output, re.M):
            values[name] = float(value)
        return values


def guest_rows(kernel):
    names = {"mmio_read": "trapped MMIO read seen by a guest",
             "mmio_write": "trapped MMIO write, posted", "command": "command, polled for"}
    try:
        with tempfile.TemporaryDirectory(prefix="cxsim-bench-") as folder:
            values = in_guest(kernel, folder)
    except Exception as error:  # whatever keeps a guest from running is a row's note
        return [Row(names["mmio_read"], None, "us", TRAPPED_READ_BOUND_US, str(error)[:100]),
                Row("MSI-X", None, "us", MSIX_BOUND_US, "no guest")]
    rows = []
    for key, what in names.items():
        value = values[key] / 1000 if key in values else None
        rows.append(Row(what, value, "us", TRAPPED_READ_BOUND_US if key == "mmio_read" else None,
                        "median"))
    by_event = values["by_event"]
    measured = isinstance(by_event, float)
    rows.append(Row("command, told of by interrupt", by_event / 1000 if measured else None, "us",
                    None, "by the driver's clock, median" if measured else by_event))
    messages = values["messages"]
    rows.append(Row("MSI-X, to the doorbell that answers it",
                    messages["median_us"] if messages["samples"] else None, "us", MSIX_BOUND_US,
                    f"median of {messages['samples']}, {messages['min_us']:.0f} to "
                    f"{messages['max_us']:.0f} us"))
    return rows


def measure(options):
    folder = build()
    rows = native(folder)
    rows.append(bring_up(folder))
    if not options.no_guest:
        rows += guest_rows(options.kernel)
    return rows
