# SPDX-License-Identifier: Apache-2.0
"""Traffic of the stock driver between two cards of one guest: what arrives is what was sent.

CXSIM_FULL=1   the file is 1 GiB (default 16 MiB)
"""

import re

import pytest

import guestlib
import traffic
from conftest import KERNELS

# name, options, address: 9000 bytes of MTU, so that large frames are among them.
STREAMS = (
    ("TCP", "", "10.0.0.2"), ("TCP back", "-R", "10.0.0.2"), ("TCP IPv6", "", "fd00::2"),
    ("TCP, 8 streams", "-P 8", "10.0.0.2"), ("TCP, 8 streams back", "-P 8 -R", "10.0.0.2"),
    ("TCP both ways", "--bidir", "10.0.0.2"),
    ("UDP", "-u -b 50M -l 1400", "10.0.0.2"), ("UDP back", "-u -b 50M -l 1400 -R", "10.0.0.2"),
    ("UDP, 8 streams", "-u -b 10M -l 8900 -P 8", "10.0.0.2"),
    ("UDP IPv6", "-u -b 50M -l 1400", "fd00::2"),
)


@pytest.mark.parametrize("kernel", KERNELS)
def test_ping_of_all_sizes(pair, kernel):
    """64 to 9000 bytes on the wire, each alone and unfragmented; larger is refused locally."""
    guest, devices, _ = pair(kernel)
    # Frames of 64 bytes with FCS to full MTU; the payload is without the IP and ICMP headers.
    traffic.script(guest, f"""
ip -n ns1 link set {devices[0]} mtu 9000
ip -n ns2 link set {devices[1]} mtu 9000
carrier
for size in 0 1 17 18 19 56 64 100 200 500 1000 1472 1473 2020 4000 4068 8000 8972; do
    in1 ping -q -c 1 -W 10 -M do -s $size 10.0.0.2 >/tmp/out || fail "IPv4 $size: $(</tmp/out)"
    in2 ping -q -c 1 -W 10 -M do -s $size 10.0.0.1 >/tmp/out || fail "IPv4 $size: $(</tmp/out)"
done
for size in 0 1 18 56 64 500 1452 1453 4000 8000 8952; do
    in1 ping -q -c 1 -W 10 -M do -s $size fd00::2 >/tmp/out || fail "IPv6 $size: $(</tmp/out)"
done
in1 ping -q -c 1000 -f -W 5 10.0.0.2 >/tmp/out || fail "flood: $(</tmp/out)"
in1 ping -q -c 1 -W 1 -M do -s 8973 10.0.0.2 && fail "more than the MTU went"
in1 ping -q -c 1 -W 1 -M do -s 8953 fd00::2 && fail "more than the MTU went"
in1 ping -q -c 1 -W 10 -s 30000 10.0.0.2 || fail "fragments"
""")
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_streams(pair, kernel):
    guest, devices, _ = pair(kernel)
    for mtu in (1500, 9000):
        guest.check("".join(f"ip -n ns{i + 1} link set {d} mtu {mtu}\n"
                            for i, d in enumerate(devices)))
        traffic.script(guest, "carrier")
        for name, options, address in STREAMS:
            rate = traffic.iperf(guest, options, 1, address)
            print(f"{kernel}, MTU {mtu}, {name}: {rate:.0f} Mbit/s")
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_file_arrives_as_it_was_sent(pair, kernel):
    """Streamed out of a block of random bytes in memory: the guest has no room for 1 GiB."""
    guest, _, _ = pair(kernel)
    blocks = 64 if traffic.full() else 1
    for source, sink in ((2, 1), (1, 2)):
        output = traffic.script(guest, f"""
head -c 16777216 /dev/urandom >/tmp/block
rm -f /tmp/copy; mkfifo /tmp/copy; sha256sum </tmp/copy >/tmp/sent &
(for i in $(seq {blocks}); do cat /tmp/block; done) | tee /tmp/copy |
    in{source} busybox nc -l -p 7001 &
sleep 0.5
begin=$(date +%s.%N)
in{sink} bash -c 'exec 3</dev/tcp/10.0.0.{source}/7001; sha256sum <&3' >/tmp/got
wait
[ "$(</tmp/sent)" = "$(</tmp/got)" ] || fail "$(</tmp/sent) was sent, $(</tmp/got) arrived"
echo $begin $(date +%s.%N)
""", 900)
        begin, end = map(float, output.split()[-2:])
        print(f"{kernel}: {16 * blocks} MiB from ns{source} in {end - begin:.1f} s")
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_address_filters(pair, kernel):
    """Own, foreign, group and broadcast addresses: what the filters let in, and what the counter
    of frames without a rule says of the others."""
    guest, devices, _ = pair(kernel)
    traffic.script(guest, f"""
in2 sysctl -q net.ipv4.icmp_echo_ignore_broadcasts=0
ip -n ns1 route add 224.0.0.0/4 dev {devices[0]}
ip -n ns1 neigh replace 10.0.0.77 lladdr 02:00:00:00:00:77 dev {devices[0]}
sleep 1
""")

    def sent(address, setting=""):
        """(answers, frames delivered, frames without a rule) for ten pings of a unique size."""
        out = traffic.script(guest, f"""
{setting}
sleep 0.2
rm -f /tmp/ready /tmp/seen; touch /tmp/ready
ip netns exec ns2 tcpdump --immediate-mode -U -Z root -p -n -i {devices[1]} -w /tmp/seen 'icmp[icmptype] == 8' 2>/tmp/ready &
until grep -q listening /tmp/ready; do sleep 0.05; done
missed=$(in2 ethtool -S {devices[1]} | sed -n 's/ *rx_steer_missed_packets: //p')
before=$(answers)
in1 ping -q -c 10 -i 0.02 -W 1 {address} >/dev/null
sleep 0.5
echo answers $(($(answers) - before))
kill $!; wait
echo seen $(in2 tcpdump -Z root -n -r /tmp/seen 2>/dev/null | wc -l)
echo missed $(($(in2 ethtool -S {devices[1]} | sed -n 's/ *rx_steer_missed_packets: //p') - missed))
""")
        found = dict(re.findall(r"^(answers|seen|missed) (\d+)", out, re.M))
        # Single frames without a rule are the kernels' own (reports of groups).
        return int(found["answers"]), int(found["seen"]), int(found["missed"]) // 10 * 10

    assert sent("10.0.0.2") == (10, 10, 0)
    assert sent("-b 10.0.0.255") == (10, 10, 0)
    assert sent("10.0.0.77") == (0, 0, 10)
    assert sent("10.0.0.77", f"ip -n ns2 link set {devices[1]} promisc on") == (0, 10, 0)
    assert sent("10.0.0.77", f"ip -n ns2 link set {devices[1]} promisc off") == (0, 0, 10)
    assert sent("239.1.2.3") == (0, 0, 10)
    assert sent("239.1.2.3", f"ip -n ns2 link set {devices[1]} allmulticast on") == (0, 10, 0)
    assert sent("239.1.2.3", f"ip -n ns2 link set {devices[1]} allmulticast off") == (0, 0, 10)
    joined = f"ip -n ns2 address add 239.1.2.3/32 dev {devices[1]} autojoin"
    assert sent("239.1.2.3", joined) == (10, 10, 0)
    traffic.script(guest, f"in1 ping -q -c 1 -W 10 ff02::1%{devices[0]} || fail all nodes")
    # An address of the driver's own choice moves the filter along.
    moved = f"""ip -n ns2 link set {devices[1]} address 02:00:00:00:00:77
ip -n ns2 address add 10.0.0.77/24 dev {devices[1]}"""
    assert sent("10.0.0.77", moved) == (10, 10, 0)
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_links_go_and_come_under_traffic(pair, kernel):
    guest, devices, _ = pair(kernel)
    bdf = guest.functions[1].bdf
    output = traffic.script(guest, f"""
settle() {{  # the driver tells of the carrier from a work queue, after the change
    carrier
    local good=0
    for try in {{1..60}}; do
        in1 ping -q -c 1 -W 1 -s 2000 10.0.0.2 >/dev/null && good=$((good + 1)) || good=0
        [ $good = 3 ] && return 0
    done
    fail "no traffic after the change"
}}
flow() {{
    ip netns exec ns1 iperf3 -c 10.0.0.2 -p 5202 -t 200 --bidir -b 30M >/tmp/flow 2>&1 &
    flow=$!
    sleep 0.5
}}
for round in 1 2; do
    flow
    in2 ip link set {devices[1]} down
    for try in {{1..100}}; do
        [ "$(in1 cat /sys/class/net/{devices[0]}/carrier)" = 0 ] && break; sleep 0.05
    done
    [ $try -lt 100 ] || fail "the partner still has a carrier"
    in2 ip link set {devices[1]} up
    in2 ip address replace fd00::2/64 dev {devices[1]} nodad
    settle
    kill -0 $flow || fail "the stream ended: $(</tmp/flow)"
    kill $flow; wait $flow
    exchange
done
flow
for mtu in 9000 1300 9978 1500; do
    in1 ip link set {devices[0]} mtu $mtu && in2 ip link set {devices[1]} mtu $mtu || fail mtu $mtu
    settle
    in1 ip address replace fd00::1/64 dev {devices[0]} nodad
    in2 ip address replace fd00::2/64 dev {devices[1]} nodad
    exchange
    pings ns1 10.0.0.2 $((mtu - 28)) $((mtu - 27))
done
in1 ip link set {devices[0]} mtu 9979 2>/dev/null && fail "an MTU above the card's"
kill -0 $flow || fail "the stream ended: $(</tmp/flow)"
kill $flow; wait $flow
echo MTU done
for round in 1 2; do
    flow
    echo {bdf} >/sys/bus/pci/drivers/mlx5_core/unbind || fail unbind
    echo {bdf} >/sys/bus/pci/drivers/mlx5_core/bind || fail bind
    kill $flow; wait $flow
    # Its name may be one that went to a namespace with the other card.
    for try in {{1..200}}; do [ -e /sys/bus/pci/devices/{bdf}/net/* ] && break; sleep 0.05; done
    name=$(ls /sys/bus/pci/devices/{bdf}/net)
    ip link set $name netns ns2 name {devices[1]} || fail "no netdev after bind: '$name'"
    in2 ip address add 10.0.0.2/24 dev {devices[1]}
    in2 ip address add fd00::2/64 dev {devices[1]} nodad
    in2 ip link set {devices[1]} up
    settle
    exchange
done
echo all done
""", 400)
    assert "all done" in output
    traffic.clean(guest)
