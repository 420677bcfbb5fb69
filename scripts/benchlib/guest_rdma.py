# SPDX-License-Identifier: Apache-2.0
"""`scripts/bench guest-rdma`: perftest over two of our cards beside Soft-RoCE over virtio-net, in
one guest.

Both pairs sit in one network namespace and meet over their link-local addresses, which name the
device that sends, so that no packet of either takes the loopback: ours cross `cxsim serve`'s link,
Soft-RoCE's a hub inside QEMU. Each is measured in every round; medians are compared.
"""

import os
import pathlib
import re
import statistics
import tempfile

from .core import build
from .guest_net import BY_MAC, plug
from .table import Row

ROUNDS = 3
GUEST_SECONDS = 1200.0
CARD = "connectx5"
KINDS = ("ours", "rxe")
BANDWIDTH_RATIO = 10.0   # ib_write_bw: ours at least so many times rxe's
LATENCY_RATIO = 1 / 3    # ib_send_lat: ours at most this part of rxe's

_SETUP = BY_MAC + r"""
set -e
modprobe -a virtio_pci virtio_net rdma_rxe
echo 1 >/sys/bus/pci/rescan
V0=$(by_mac MAC0); V1=$(by_mac MAC1)
for device in $V0 $V1 NET0 NET1; do ip link set $device up; done
rdma link add rxe0 type rxe netdev $V0
rdma link add rxe1 type rxe netdev $V1
sleep 4
"""

# Each end names its own index of its link-local GID of RoCE v2.
_RUN = r"""
gid() {
    for i in $(seq 0 15); do
        base=/sys/class/infiniband/$1/ports/1
        [ "$(cat $base/gid_attrs/types/$i 2>/dev/null)" = "RoCE v2" ] || continue
        case $(cat $base/gids/$i) in fe80:*) echo $i; return ;; esac
    done
    echo "$1 has no link-local GID" >&2; return 1
}
a=$(gid FIRST) && b=$(gid SECOND) || exit 1
timeout 90 TOOL -d SECOND -x $b OPTIONS >/tmp/server.out 2>&1 &
sleep 1.5
timeout 90 TOOL -d FIRST -x $a OPTIONS 127.0.0.1 || { cat /tmp/server.out; exit 1; }
wait
"""


def run(guest, deadline, devices, tool, options):
    script = _RUN.replace("TOOL", tool).replace("OPTIONS", options)
    return guest.run(script.replace("FIRST", devices[0]).replace("SECOND", devices[1]),
                     deadline).output


def bandwidth(output):
    """MiB/s, the average column of perftest's last row."""
    rows = re.findall(r"^\s*\d+\s+\d+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s*$", output, re.M)
    return float(rows[-1]) if rows else None


def latency(output):
    """us, the typical column of perftest's last row."""
    rows = re.findall(r"^\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s", output, re.M)
    return float(rows[-1]) if rows else None


def measure_round(guest, deadline, devices, kind, values):
    for what, tool, options, read in (
            ("write_bw", "ib_write_bw", "-s 65536 -D 5 -f 1", bandwidth),
            ("send_lat", "ib_send_lat", "-s 8 -n 2000", latency)):
        output = run(guest, deadline, devices, tool, options)
        value = read(output)
        if value is None:
            raise RuntimeError(f"{kind}, {tool}: {output[-600:]}")
        values.setdefault((what, kind), []).append(value)


def in_guest(kernel, folder):
    from guestlib import setup
    from guestlib.cache import Cache
    from guestlib.common import Deadline
    from guestlib.guest import Guest
    from guestlib.server import Server

    kit, snapshot = setup.prepare(Cache(), kernel)
    deadline = Deadline(GUEST_SECONDS)
    log = pathlib.Path(folder)
    values = {}
    with Server([CARD, CARD], folder, log / "serve.log").start(deadline) as server, \
            Guest(kit, server.sockets, log_folder=log, snapshot=snapshot) as guest:
        guest.start(deadline)
        functions = guest.load_driver(deadline)
        macs = plug(guest, deadline)["virtio-net"]
        guest.check(_SETUP.replace("MAC0", macs[0]).replace("MAC1", macs[1])
                    .replace("NET0", functions[0].netdevs[0])
                    .replace("NET1", functions[1].netdevs[0]), deadline)
        devices = {"ours": [f.ibdevs[0] for f in functions[:2]], "rxe": ["rxe0", "rxe1"]}
        for number in range(ROUNDS):
            for kind in KINDS:
                print(f"bench: round {number + 1} of {ROUNDS}, {kind}", flush=True)
                measure_round(guest, deadline, devices[kind], kind, values)
    return {key: statistics.median(list_) for key, list_ in values.items()}


def measure(options):
    folder = build()
    os.environ.setdefault("CXSIM_BINARY", str(folder / "bin" / "cxsim"))
    try:
        with tempfile.TemporaryDirectory(prefix="cxsim-bench-") as work:
            values = in_guest(options.kernel, work)
    except Exception as error:  # whatever keeps a guest from running is a row's note
        return [Row("ib_write_bw, ours / rxe", None, "", None, str(error)[-400:])]
    rows = []
    for what, unit, title in (("write_bw", "MiB/s", "ib_write_bw, 64 KiB"),
                              ("send_lat", "us", "ib_send_lat, 8 bytes, typical")):
        rows += [Row(f"{title}, {kind}", values[what, kind], unit) for kind in KINDS]
    note = f"medians of {ROUNDS} rounds"
    rows.append(Row("ib_write_bw, ours / rxe",
                    values["write_bw", "ours"] / values["write_bw", "rxe"], "",
                    BANDWIDTH_RATIO, note, at_least=True))
    rows.append(Row("ib_send_lat, ours / rxe",
                    values["send_lat", "ours"] / values["send_lat", "rxe"], "",
                    LATENCY_RATIO, note))
    return rows
