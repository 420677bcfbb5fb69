# SPDX-License-Identifier: Apache-2.0
"""Traffic of the stock driver: two cards on one wire, each in a network namespace of one guest."""

import re

import pytest

import guestlib
from conftest import KERNELS

KERNEL = KERNELS[0]

# Two namespaces with an address each; `both CMD` runs CMD in each with $NS, $DEV, $OWN, $PEER.
TOPOLOGY = """
set -e
number=1
for device in DEV0 DEV1; do
    ns=ns$number
    ip netns add $ns
    ip link set $device netns $ns
    ip -n $ns address add 10.0.0.$number/24 dev $device
    ip -n $ns address add fd00::$number/64 dev $device nodad
    ip -n $ns link set lo up
    ip -n $ns link set $device up
    number=$((number + 1))
done
for try in $(seq 100); do
    [ "$(cat /proc/uptime)" ] && ip -n ns1 link show DEV0 | grep -q LOWER_UP &&
        ip -n ns2 link show DEV1 | grep -q LOWER_UP && break
    sleep 0.1
done
ip -n ns1 link show DEV0 | grep -q LOWER_UP
ip -n ns2 link show DEV1 | grep -q LOWER_UP
"""


def topology(guest):
    """Puts the two cards of `guest` into namespaces ns1 and ns2; returns their devices."""
    devices = [function.netdevs[0] for function in guest.functions]
    guest.check(TOPOLOGY.replace("DEV0", devices[0]).replace("DEV1", devices[1]))
    return devices


def clean(guest):
    bad = guest.violations()
    assert not bad, "\n".join(map(str, bad))


@pytest.fixture
def pair(serve, boot):
    """pair(kernel, cards) -> a guest with two cards, ready to talk."""
    def start(kernel, cards=("connectx5", "connectx5")):
        server = serve(*cards)
        guest = boot(kernel, server.sockets)
        devices = topology(guest)
        return guest, devices, server
    return start


@pytest.mark.parametrize("kernel", KERNELS)
def test_ping_of_all_sizes(pair, kernel):
    guest, devices, _ = pair(kernel)
    guest.check(f"ip -n ns1 link set {devices[0]} mtu 9000; ip -n ns2 link set {devices[1]} mtu 9000")
    for address in ("10.0.0.2", "fd00::2"):
        for size in (0, 1, 18, 56, 64, 100, 500, 1472, 1500, 4000, 8900, 8952):
            result = guest.run(f"ip netns exec ns1 ping -c 3 -i 0.05 -W 2 -s {size} -M do {address}")
            if size == 8952 and ":" in address:
                assert result.status != 0  # 40 + 8 + 8952 exceed the MTU
                continue
            assert result.status == 0 and " 0% packet loss" in result.output, result.output
    clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("options", ["", "-R", "-P 8", "-u -b 200M", "-6"])
def test_iperf(pair, kernel, options):
    guest, _, _ = pair(kernel)
    server = "fd00::2" if "-6" in options else "10.0.0.2"
    result = guest.run(f"""
ip netns exec ns2 iperf3 -s -D -1
sleep 0.5
ip netns exec ns1 timeout 60 iperf3 -c {server} -t 3 {options} -f m
""", guestlib.Deadline(100))
    assert result.status == 0, result.output
    rates = re.findall(r"([\d.]+) Mbits/sec.*receiver", result.output)
    assert rates and float(rates[-1]) > 5, result.output
    print(f"{kernel} iperf3 {options}: {rates[-1]} Mbit/s")
    clean(guest)
