# SPDX-License-Identifier: Apache-2.0
"""`scripts/bench guest-net`: our card beside QEMU's own network devices, in one guest.

Two devices of each kind, each in a network namespace: ours joined by `cxsim serve`'s link, QEMU's
by one of its hubs inside QEMU. QEMU's devices sit as functions of two root ports. Every kind is
measured in every round, so that a busy machine hits all alike; the medians are compared.

The bounds stand on our card with its LRO on, which QEMU's devices have not and mlx5e leaves off:
with every driver's defaults TCP is about as fast as over igb, since what the guest's kernel spends
on each packet under TCG is the limit for both. Those ratios are printed, too, without a bound.
"""

import os
import pathlib
import re
import statistics
import tempfile

from .core import build
from .table import Row

ROUNDS = 3
SECONDS = 4  # of each iperf3 run
GUEST_SECONDS = 1500.0
CARD = "connectx5"
# In the order of functions: igb is never function 0, since its ARI capability says that nothing
# follows it.
KINDS = ("virtio-net", "e1000e", "igb")
# The bounds of TCP throughput: ours with LRO on, divided by theirs.
RATIOS = {"igb": 1.5, "e1000e": 1.5, "virtio-net": 0.8}
MODULES = {"igb": "igb", "e1000e": "e1000e", "virtio-net": "virtio_pci virtio_net"}
PORTS = ("rp2", "rp3")

# The network device with an address, once there is one.
BY_MAC = r"""
by_mac() {
    for try in $(seq 50); do
        for device in /sys/class/net/*; do
            [ "$(cat $device/address)" = $1 ] && { echo ${device##*/}; return; }
        done
        sleep 0.1
    done
    echo "no device with address $1" >&2
    return 1
}
"""

_SETUP = BY_MAC + r"""
set -e
modprobe -a MODULES
echo 1 >/sys/bus/pci/rescan
pair() {  # KIND FIRST SECOND: devices into namespaces KIND0 and KIND1
    number=0
    for device in $2 $3; do
        ip netns add $1-$number
        ip link set $device netns $1-$number
        ip -n $1-$number address add 10.0.0.$((number + 1))/24 dev $device
        ip -n $1-$number link set lo up
        ip -n $1-$number link set $device up
        number=$((number + 1))
    done
}
PAIRS
sleep 4
for kind in KINDS; do
    ip netns exec $kind-0 ping -c 3 -i 0.2 -W 3 10.0.0.2 >/dev/null || { echo "no way: $kind"; exit 1; }
    ip netns exec $kind-1 iperf3 -s -D
done
"""

_TCP = "ip netns exec KIND-0 timeout 60 iperf3 -c 10.0.0.2 -t SECONDS -f k"
_UDP = "ip netns exec KIND-0 timeout 60 iperf3 -c 10.0.0.2 -t SECONDS -f k -u -b 0 -l 1400"
_SMALL = "ip netns exec KIND-0 timeout 60 iperf3 -c 10.0.0.2 -t SECONDS -f k -u -b 0 -l 18"
# The same with the card's LRO, which its driver leaves off; QEMU's devices have none.
_LRO = """
for side in 0 1; do
    device=$(ip -n KIND-$side -br link | sed -n 's/^\\(e[^ @]*\\).*/\\1/p' | head -1)
    ip netns exec KIND-$side ethtool -K $device lro STATE
done
sleep 1
"""
_PING = "ip netns exec KIND-0 ping -q -c 200 -i 0.005 10.0.0.2"


def plug(guest, deadline):
    """QEMU's devices: functions 2, 1, 0 of two ports; function 0 makes the slot visible. Returns
    {kind: [MAC, MAC]}."""
    names = {"igb": "igb", "e1000e": "e1000e", "virtio-net": "virtio-net-pci"}
    addresses = {kind: [] for kind in KINDS}
    for side, port in enumerate(PORTS):
        for function, kind in reversed(list(enumerate(KINDS))):
            netdev = f"{kind}{side}"
            mac = f"52:54:00:12:{side:02x}:{function:02x}"
            guest.qmp("netdev_add", {"type": "hubport", "id": netdev, "hubid": function}, deadline)
            guest.qmp("device_add", {"driver": names[kind], "bus": port, "netdev": netdev,
                                     "mac": mac, "id": f"nic-{netdev}", "multifunction": True,
                                     "addr": f"0.{function}"}, deadline)
            addresses[kind].append(mac)
    return addresses


def receiver_rate(output):
    """kbit/s at the receiver."""
    rates = re.findall(r"([\d.]+) Kbits/sec.*receiver", output)
    return float(rates[-1]) if rates else None


def received_packets(output):
    """Datagrams per second that arrived."""
    found = re.findall(r"([\d.]+)-([\d.]+)\s+sec.*?(\d+)/(\d+) \([^)]*\)\s+receiver", output)
    if not found:
        return None
    begin, end, lost, total = (float(value) for value in found[-1])
    return (total - lost) / (end - begin)


def measure_round(guest, kind, deadline, values):
    def note(what, value):
        if value is not None:
            values.setdefault((what, kind), []).append(value)

    def run(command):
        script = command.replace("KIND", kind).replace("SECONDS", str(SECONDS))
        return guest.run(script, deadline).output

    note("tcp", receiver_rate(run(_TCP)))
    if kind == "ours":
        run(_LRO.replace("STATE", "on"))
        note("lro", receiver_rate(run(_TCP)))
        run(_LRO.replace("STATE", "off"))
    note("udp", receiver_rate(run(_UDP)))
    note("small", received_packets(run(_SMALL)))
    ping = re.search(r"rtt min/avg/max/mdev = [\d.]+/([\d.]+)/", run(_PING))
    note("ping", float(ping[1]) * 1000 if ping else None)


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
        addresses = plug(guest, deadline)
        pairs = [f"pair ours {functions[0].netdevs[0]} {functions[1].netdevs[0]}"]
        pairs += [f"pair {kind} $(by_mac {macs[0]}) $(by_mac {macs[1]})"
                  for kind, macs in addresses.items()]
        guest.check(_SETUP.replace("PAIRS", "\n".join(pairs))
                    .replace("MODULES", " ".join(MODULES.values()))
                    .replace("KINDS", " ".join(("ours", *KINDS))), deadline)
        for number in range(ROUNDS):
            for kind in ("ours", *KINDS):
                print(f"bench: round {number + 1} of {ROUNDS}, {kind}", flush=True)
                measure_round(guest, kind, deadline, values)
    return {key: statistics.median(list_) for key, list_ in values.items()}


def measure(options):
    folder = build()
    os.environ.setdefault("CXSIM_BINARY", str(folder / "bin" / "cxsim"))
    try:
        with tempfile.TemporaryDirectory(prefix="cxsim-bench-") as work:
            values = in_guest(options.kernel, work)
    except Exception as error:  # whatever keeps a guest from running is a row's note
        return [Row("TCP through our card", None, "Mbit/s", None, str(error)[-300:])]
    rows = []
    everyone = ("ours", *KINDS)
    for what, unit, scale, title in (("tcp", "Mbit/s", 1000, "iperf3 TCP"),
                                     ("udp", "Mbit/s", 1000, "iperf3 UDP, 1400 bytes"),
                                     ("small", "1/s", 1, "UDP datagrams of 18 bytes"),
                                     ("ping", "us", 1, "ping, mean")):
        for kind in everyone:
            value = values.get((what, kind))
            rows.append(Row(f"{title}, {kind}", None if value is None else value / scale, unit))
    ours, merged = values.get(("tcp", "ours")), values.get(("lro", "ours"))
    rows.insert(1, Row("iperf3 TCP, ours with LRO on", merged and merged / 1000, "Mbit/s"))
    note = f"medians of {ROUNDS} rounds"
    for kind, bound in RATIOS.items():
        theirs = values.get(("tcp", kind))
        rows.append(Row(f"TCP, driver defaults, ours / {kind}", ratio(ours, theirs), "", None, note))
        rows.append(Row(f"TCP, ours with LRO on / {kind}", ratio(merged, theirs), "", bound,
                        "QEMU's devices have no LRO; driver defaults: see the row above",
                        at_least=True))
    return rows


def ratio(ours, theirs):
    return ours / theirs if ours and theirs else None
