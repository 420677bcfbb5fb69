# SPDX-License-Identifier: Apache-2.0
"""`ethtool -S` against what captures in both namespaces counted, frame by frame."""

import base64
import re
import struct

import pytest

import traffic
from conftest import KERNELS

pytestmark = pytest.mark.one_kernel

# Octets with FCS, as RFC 2819 groups them.
SIZES = ((64, 64), (65, 127), (128, 255), (256, 511), (512, 1023), (1024, 1518), (1519, 2047),
         (2048, 4095), (4096, 8191), (8192, 10239))
MISHAPS = re.compile(r"err|discard|drop|missed|oversize|undersize|jabber|out_of_buffer|timeout|"
                     r"fragments|crc|symbol|corrected|recover|link_down|pause|stopped|dropped")
WORK = """
for size in 0 1 18 19 86 214 470 900 982 1472 2000 4000 8100 8972; do
    pings ns1 10.0.0.2 $size
done
for size in 0 60 1000 8952; do pings ns2 fd00::1 $size; done
in1 ping -q -c 3 -i 0.1 -W 1 -b 10.0.0.255 >/dev/null
in2 ping -q -c 2 -i 0.1 -W 5 ff02::1%DEV1 >/dev/null
in1 iperf3 -c 10.0.0.2 -n 3M -f m >/dev/null || fail iperf3
in1 iperf3 -c fd00::2 -n 1M -R -f m >/dev/null || fail iperf3
in1 iperf3 -c 10.0.0.2 -u -b 8M -l 1000 -t 1 >/dev/null || fail iperf3
"""


class Frame:
    """A captured frame: its length without FCS, and what of the headers counters ask for."""

    def __init__(self, length, data):
        self.length = length
        self.source, self.group = data[6:12], bool(data[0] & 1)
        self.broadcast = data[:6] == b"\xff" * 6
        kind = data[12:14]
        self.ip = kind in (b"\x08\x00", b"\x86\xdd")
        header, protocol, fragment = 0, None, False
        if kind == b"\x08\x00":
            header, protocol = (data[14] & 15) * 4, data[23]
            fragment = bool(struct.unpack_from(">H", data, 20)[0] & 0x3fff)
        elif kind == b"\x86\xdd":
            header, protocol = 40, data[20]
        self.transport = protocol in (6, 17) and not fragment
        self.payload = 0
        if protocol == 6:
            self.payload = length - 14 - header - (data[14 + header + 12] >> 4) * 4

    def cast(self):
        return "broadcast" if self.broadcast else "multicast" if self.group else "unicast"


def read_capture(raw):
    magic, = struct.unpack_from("<I", raw)
    assert magic == 0xA1B2C3D4, hex(magic)
    at, frames = 24, []
    while at < len(raw):
        _, _, stored, length = struct.unpack_from("<IIII", raw, at)
        frames.append(Frame(length, raw[at + 16:at + 16 + stored].ljust(80, b"\0")))
        at += 16 + stored
    return frames


def measure(guest, devices):
    """([frames captured], [growth of the counters]) of both cards over WORK, at rest at both ends."""
    for _ in range(4):
        traffic.script(guest, "sleep 1\n" + "".join(f"""
ip netns exec ns{i + 1} tcpdump -Z root -n -U --immediate-mode -s 80 -B 16384 -i {device} -w /tmp/cap{i} \\
    2>/tmp/said{i} &
echo $! >/tmp/pid{i}
until grep -q listening /tmp/said{i}; do sleep 0.05; done
""" for i, device in enumerate(devices)))
        before = [traffic.statistics(guest, f"ns{i + 1}", d) for i, d in enumerate(devices)]
        quiet = traffic.script(guest, "sleep 0.3; cat /tmp/cap0 /tmp/cap1 | wc -c").strip() == "48"
        traffic.script(guest, WORK.replace("DEV1", devices[1]) + "sleep 0.5")
        after = [traffic.statistics(guest, f"ns{i + 1}", d) for i, d in enumerate(devices)]
        traffic.script(guest, "kill $(cat /tmp/pid0 /tmp/pid1); sleep 0.5; cat /tmp/said?\n"
                       "grep -h 'dropped by kernel' /tmp/said? | grep -v '^0 ' && fail captures\n"
                       "true")
        last = [traffic.statistics(guest, f"ns{i + 1}", d) for i, d in enumerate(devices)]
        names = ("rx_packets_phy", "tx_packets_phy")
        if quiet and all(a[n] == b[n] for a, b in zip(after, last, strict=True) for n in names):
            captures = [read_capture(base64.b64decode(traffic.script(
                guest, f"base64 -w 0 /tmp/cap{i}"))) for i in (0, 1)]
            return captures, [{name: value - b.get(name, 0) for name, value in a.items()}
                              for b, a in zip(before, after, strict=True)]
    raise AssertionError("the kernels never stop talking by themselves")


def expected_sent(own, peer, with_headers):
    """Counters of the sender. Captures see large sends whole, and the partner's side their frames;
    padding is seen by the partner only."""
    frames = [f for f in own if f.length <= 60] + [f for f in peer if f.length > 60]
    wire = sum(max(f.length, 60) + 4 for f in frames)
    want = {
        # The driver counts short packets as padded, the card's vport counts what it was given.
        "tx_packets": len(frames), "tx_bytes": sum(max(f.length, 60) for f in frames),
        "tx_packets_phy": len(frames), "tx_bytes_phy": wire,
        "tx_prio0_packets": len(frames), "tx_prio0_bytes": wire,
        "tx_multicast_phy": sum(f.cast() == "multicast" for f in frames),
        "tx_broadcast_phy": sum(f.cast() == "broadcast" for f in frames),
        # The kernel sums some TCP answers (resets, those of closed sockets) by itself: only the
        # two together can be derived.
        "tx_csum_partial + tx_csum_none": len(own),
    }
    large = [f for f in own if f.payload > 0 and f.length > 9014]
    want["tx_tso_packets"] = len(large)
    want["tx_tso_bytes"] = sum(f.length if with_headers else f.payload for f in large)
    return want | by_cast("tx", frames)


def unchecked(frame):
    """Not IP, or so short that the driver does not use the card's sum (it covers padding), and
    without a checksum of TCP or UDP that the card has verified."""
    return not frame.ip or (frame.length <= 64 and not frame.transport)


def expected_received(frames):
    wire = sum(f.length + 4 for f in frames)
    want = {
        "rx_packets": len(frames), "rx_bytes": sum(f.length for f in frames),
        "rx_packets_phy": len(frames), "rx_bytes_phy": wire,
        "rx_prio0_packets": len(frames), "rx_prio0_bytes": wire,
        "rx_multicast_phy": sum(f.cast() == "multicast" for f in frames),
        "rx_broadcast_phy": sum(f.cast() == "broadcast" for f in frames),
        "rx_csum_none": sum(unchecked(f) for f in frames),
        "rx_csum_complete + rx_csum_unnecessary": sum(not unchecked(f) for f in frames),
    }
    for low, high in SIZES:
        name = "rx_64_bytes_phy" if low == high else f"rx_{low}_to_{high}_bytes_phy"
        want[name] = sum(low <= f.length + 4 <= high for f in frames)
    return want | by_cast("rx", frames)


def by_cast(way, frames):
    want = {}
    for cast in ("unicast", "multicast", "broadcast"):
        some = [f.length for f in frames if f.cast() == cast]
        want[f"{way}_vport_{cast}_packets"] = len(some)
        want[f"{way}_vport_{cast}_bytes"] = sum(some)
    return want


def compare(want, grown, whose):
    wrong = []
    for name, value in want.items():
        shown = sum(grown[part] for part in name.split(" + "))
        if shown != value:
            wrong.append(f"{whose}: {name} {shown}, captures say {value}")
    for unit in ("packets", "bytes"):
        for way in ("rx", "tx"):
            rings = sum(v for n, v in grown.items() if re.fullmatch(rf"{way}\d+_{unit}", n))
            if rings != grown[f"{way}_{unit}"]:
                wrong.append(f"{whose}: {way}_{unit} {grown[f'{way}_{unit}']}, rings {rings}")
    wrong += [f"{whose}: {name} {value}, nothing of that kind happened"
              for name, value in grown.items() if value and MISHAPS.search(name)]
    return wrong


@pytest.mark.parametrize("kernel", KERNELS)
def test_counters_are_what_captures_counted(pair, kernel):
    guest, devices, _ = pair(kernel)
    guest.check("".join(f"""
ip -n ns{i + 1} link set {d} mtu 9000
ip netns exec ns{i + 1} sysctl -q net.ipv6.conf.{d}.router_solicitations=0
ip netns exec ns{i + 1} ethtool -K {d} gro off lro off
""" for i, d in enumerate(devices)))
    traffic.script(guest, "carrier; exchange; sleep 4")
    wrong = []
    for state in ("off", "on"):
        for i, device in enumerate(devices):
            guest.check(f"ip netns exec ns{i + 1} ethtool -K {device} tso {state} gso {state}")
        captures, grown = measure(guest, devices)
        macs = [bytes.fromhex(guest.check(f"ip netns exec ns{i + 1} cat /sys/class/net/{d}/address")
                              .strip().replace(":", "")) for i, d in enumerate(devices)]
        for i in (0, 1):
            own = [f for f in captures[i] if f.source == macs[i]]
            peer = [f for f in captures[1 - i] if f.source == macs[i]]
            whose = f"{kernel}, TSO {state}, card {i}"
            if state == "off":
                assert sorted(max(f.length, 60) for f in own) == sorted(f.length for f in peer)
            # Since 7.x the driver's tx_tso_bytes has the headers of each large packet.
            want = expected_sent(own, peer, kernel == "newest")
            want |= expected_received([f for f in captures[i] if f.source == macs[1 - i]])
            wrong += compare(want, grown[i], whose)
            rest = {n: v for n, v in grown[i].items() if v and not re.search(r"\d_", n)
                    and not any(n in name.split(" + ") for name in want)}
            print(f"{whose}: {len(own)} sent, {len(want)} counters as captured; not derivable: "
                  f"{rest}")
    print("\n".join(wrong))
    assert not wrong
    traffic.clean(guest)
