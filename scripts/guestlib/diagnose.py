# SPDX-License-Identifier: Apache-2.0
"""On a hang: who waits for whom. Every question is bounded and may fail without harm."""

import re

from .common import Deadline, GuestError
from .server import tail

_BLOCKED = r"""
echo "load: $(cat /proc/loadavg)"
for status in /proc/[0-9]*/status; do
    pid=${status#/proc/}; pid=${pid%/status}
    state=$(busybox awk '/^State:/ { print $2 }' $status 2>/dev/null)
    [ "$state" = D ] || continue
    echo "D-state: $pid $(cat /proc/$pid/comm 2>/dev/null)"
    cat /proc/$pid/stack 2>/dev/null | busybox sed 's/^/    /'
done
if [ -f /run/agent/exec.pid ]; then
    echo "the running command's processes:"
    ps -eo pid,stat,etime,args --no-headers | busybox grep -v -e '\[' | busybox tail -n 15
    leader=$(cat /run/agent/exec.pid)
    for pid in $(pgrep -s $leader); do
        echo "  $pid $(cat /proc/$pid/comm 2>/dev/null) waits in:"
        cat /proc/$pid/stack 2>/dev/null | busybox sed 's/^/      /'
    done
fi
"""


def report(guest, server=None, reason=""):
    """Text lines about a guest that did not finish in time."""
    out = [f"--- {guest.name} hangs: {reason}"]
    out.append(f"running command: {guest.running_command() or 'none (not started yet)'}")
    if guest.alive():
        out.append(f"QEMU (pid {guest.pid}): " + _try(
            lambda: str(guest.qmp("query-status", deadline=Deadline(3)))))
    else:
        out.append("QEMU: ended; it said:\n" + guest.qemu_log_tail())
    answered = False
    if guest.alive() and guest.was_ready():
        try:
            result = guest.aside(_BLOCKED, Deadline(8))
            out.append("agent: answers; blocked tasks and their kernel stacks:\n"
                       + _indent(result.output))
            answered = True
        except GuestError as error:
            out.append(f"agent: silent ({error})")
    else:
        out.append("agent: was never ready")
    if guest.alive() and not answered:
        out.append("blocked tasks by SysRq-W (into the kernel log and serial log): "
                   + _try(lambda: _sysrq(guest)))
        out.append("registers of CPU 0:\n" + _indent(_try(
            lambda: "\n".join(guest.hmp("info registers").splitlines()[:6]))))
    records = guest.dmesg(Deadline(3))
    last = "\n".join(map(str, records[-15:])) or "(none)"
    out.append("last kernel log records:\n" + _indent(last))
    out.append(f"last serial lines ({guest.serial_log}):\n" + _indent(tail(guest.serial_log, 15)))
    if server is not None:
        out.append(f"server (pid {server.pid}): {'running' if server.alive() else 'ended'}; "
                   + _try(server.status))
        out.append(f"server log ({server.log}):\n" + _indent(server.log_tail()))
    return "\n".join(out)


def _sysrq(guest):
    import time
    guest.qmp("send-key", {"keys": [{"type": "qcode", "data": k} for k in ("alt", "sysrq", "w")]},
              Deadline(3))
    time.sleep(1.0)
    return "sent"


def _try(question):
    try:
        return question() or "(no answer)"
    except (GuestError, OSError, ValueError) as error:
        return f"(no answer: {error})"


def _indent(text):
    return "\n".join("    " + line for line in text.strip().splitlines())


_DAMAGE = re.compile(r"Kernel panic - not syncing.*|Oops: .*|BUG: unable to handle.*")


def serial_damage(path):
    """Lines of the serial log that user space could not report: the guest died of them."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return []
    return [f"serial: {line}" for line in dict.fromkeys(_DAMAGE.findall(text))]
