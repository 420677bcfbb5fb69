# SPDX-License-Identifier: Apache-2.0
"""What the stock driver steers: ethtool rules, spreading over queues, tc flower, accelerated RFS.
Datagrams go from the first card to addresses that nobody has, so that nobody answers; rings of the
second card are counted."""

import json
import re
import time

import pytest

import guestlib
import traffic
from conftest import KERNELS

pytestmark = pytest.mark.one_kernel

SENT = 32

# Senders, run in ns1: one socket or one for each datagram (different source ports).
SENDERS = r"""
one() { ip netns exec ns1 bash -c 'exec 3<>/dev/udp/$0/$1; for ((i = 0; i < $2; i++)); do
    echo $i >&3; done' "$@"; }
many() { ip netns exec ns1 bash -c 'for ((i = 0; i < $2; i++)); do exec 3<>/dev/udp/$0/$1
    echo $i >&3; exec 3>&-; done' "$@"; }
"""

# Neighbours are fixed and nothing is announced: only what a test sends arrives.
QUIET = r"""
mac0=$(in1 cat /sys/class/net/DEV0/address)
mac1=$(in2 cat /sys/class/net/DEV1/address)
# Neither neighbour discovery nor multicast groups.
in1 tc qdisc add dev DEV0 clsact
in1 tc filter add dev DEV0 egress prio 1 protocol ipv6 flower ip_proto udp action pass
in1 tc filter add dev DEV0 egress prio 2 protocol ipv6 matchall action drop
for host in 2 6 7 8 9; do
    ip -n ns1 neighbour replace 10.0.0.$host lladdr $mac1 nud permanent dev DEV0
    ip -n ns1 neighbour replace fd00::$host lladdr $mac1 nud permanent dev DEV0
done
ip -n ns2 neighbour replace 10.0.0.1 lladdr $mac0 nud permanent dev DEV1
ip -n ns2 neighbour replace fd00::1 lladdr $mac0 nud permanent dev DEV1
ip -n ns1 link add link DEV0 name vlan5 type vlan id 5
ip -n ns1 address add 10.5.0.1/24 dev vlan5
ip -n ns1 link set vlan5 addrgenmode none up
ip -n ns1 neighbour replace 10.5.0.9 lladdr $mac1 nud permanent dev vlan5
in1 sysctl -q -w net.ipv6.conf.vlan5.disable_ipv6=1
echo $mac1
"""


class Bench:
    """The pair of cards with its rings counted."""

    def __init__(self, guest, devices):
        self.guest, self.devices = guest, devices
        self.mac = self.run(QUIET).split()[-1]
        # What was under way has arrived.
        seen = None
        while (now := self.statistics()["rx_packets_phy"]) != seen:
            seen = now
            time.sleep(0.5)

    def run(self, text):
        for number, device in enumerate(self.devices):
            text = text.replace(f"DEV{number}", device)
        return traffic.script(self.guest, SENDERS + text)

    def try_run(self, text):
        for number, device in enumerate(self.devices):
            text = text.replace(f"DEV{number}", device)
        return self.guest.run(f". /tmp/traffic.sh\n{SENDERS}{text}", guestlib.Deadline(60))

    def statistics(self):
        return traffic.statistics(self.guest, "ns2", self.devices[1])

    def rings(self, statistics=None):
        return [value for name, value in sorted((statistics or self.statistics()).items())
                if re.fullmatch(r"rx\d+_packets", name)]

    def arrivals(self, text, expected, sent=SENT):
        """Packets of each ring that `text` causes; waits for `expected`. The port sees all."""
        before = self.statistics()
        self.run(text)
        for _ in range(40):
            after = self.statistics()
            port = after["rx_packets_phy"] - before["rx_packets_phy"]
            moved = [new - old for new, old in
                     zip(self.rings(after), self.rings(before), strict=True)]
            if port >= sent and sum(moved) >= expected:
                break
            time.sleep(0.05)
        assert port == sent
        return moved


@pytest.fixture
def bench(pair):
    def start(kernel, card="connectx5"):
        guest, devices, _ = pair(kernel, (card, card))
        return Bench(guest, devices)
    return start


# Flow types as ethtool spells them, what matches, what does not.
UDP6 = "flow-type udp6 dst-ip fd00::9 dst-port 5000"
RULES = {
    "address and port": ("flow-type udp4 dst-ip 10.0.0.9 dst-port 5000",
                         "many 10.0.0.9 5000", "many 10.0.0.9 5001"),
    "sender": ("flow-type udp4 src-ip 10.0.0.1 dst-ip 10.0.0.9 dst-port 5000",
               "many 10.0.0.9 5000", "many 10.0.0.8 5000"),
    "range of ports": ("flow-type udp4 dst-port 0x1380 m 0xf",
                       "many 10.0.0.9 5000", "many 10.0.0.9 5008"),
    "prefix": ("flow-type ip4 dst-ip 10.0.0.8 m 0.0.0.1", "many 10.0.0.9 77", "many 10.0.0.7 77"),
    "MAC": ("flow-type ether dst MAC proto 0x800", "many 10.0.0.9 78", "many fd00::9 78"),
    "VLAN": ("flow-type ether dst MAC vlan 5 m 0xf000", "many 10.5.0.9 79", None),
    "IPv6": (UDP6, "many fd00::9 5000", "many fd00::9 5001"),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_ethtool_rules_choose_the_queue_and_drop(bench, kernel):
    bench = bench(kernel)
    ethtool = "in2 ethtool"
    for name, (rule, right, wrong) in RULES.items():
        rule = rule.replace("MAC", bench.mac)
        for ring in (0, 1):
            bench.run(f"{ethtool} -N DEV1 {rule} action {ring} loc 5")
            shown = bench.run(f"{ethtool} -u DEV1")
            assert "Filter: 5" in shown and f"Direct to queue {ring}" in shown, shown
            expected = [SENT, 0] if ring == 0 else [0, SENT]
            got = bench.arrivals(f"{right} {SENT}", SENT)
            assert got == expected, f"{name}: {got} instead of {expected}\n{shown}"
        if wrong:
            got = bench.arrivals(f"{wrong} {SENT}", SENT)
            assert sum(got) == SENT and 0 not in got, f"{name}, not to match: {got}"
        bench.run(f"{ethtool} -N DEV1 {rule} action -1 loc 5")
        assert "Action: Drop" in bench.run(f"{ethtool} -u DEV1 rule 5")
        got = bench.arrivals(f"{right} {SENT}", 0)
        assert got == [0, 0], f"{name}: dropped, but {got} came"
        bench.run(f"{ethtool} -N DEV1 delete 5")
        assert "Total 0 rules" in bench.run(f"{ethtool} -u DEV1")
        if name != "VLAN":  # a filter for VLANs stands behind the rules
            got = bench.arrivals(f"{right} {SENT}", SENT)
            assert sum(got) == SENT and 0 not in got, f"{name}, deleted: {got}"
    traffic.clean(bench.guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_more_exact_of_two_rules_wins_and_one_socket_is_picked_out(bench, kernel):
    bench = bench(kernel)
    bench.run("in2 ethtool -N DEV1 flow-type udp4 dst-port 5000 action 0 loc 1\n"
              "in2 ethtool -N DEV1 flow-type udp4 dst-ip 10.0.0.9 dst-port 5000 action 1 loc 2")
    assert bench.arrivals(f"many 10.0.0.9 5000 {SENT}", SENT) == [0, SENT]
    assert bench.arrivals(f"many 10.0.0.8 5000 {SENT}", SENT) == [SENT, 0]
    # All five fields: the sender tells its port, then sends.
    got = bench.arrivals(f"""
ip netns exec ns1 bash -c 'exec 3<>/dev/udp/10.0.0.9/5000
    port=$(ss -Hun dst 10.0.0.9 | sed -E "s/.*10.0.0.1:([0-9]+) .*/\\1/")
    ip netns exec ns2 ethtool -N DEV1 flow-type udp4 src-ip 10.0.0.1 dst-ip 10.0.0.9 \
        src-port $port dst-port 5000 action 0 loc 3
    for ((i = 0; i < {SENT}; i++)); do echo $i >&3; done' || exit 1
many 10.0.0.9 5000 {SENT}""", 2 * SENT, 2 * SENT)
    assert got == [SENT, SENT]
    # Queues that do not exist and fields that the driver cannot match are refused.
    for rule in ("dst-port 1 action 99", "tos 4 action 0"):
        result = bench.try_run(f"in2 ethtool -N DEV1 flow-type udp4 {rule} loc 4")
        assert "Cannot insert" in result.output, (rule, result.output)
    shown = bench.run("in2 ethtool -u DEV1")
    assert "Total 3 rules" in shown, shown


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_hash_spreads_over_the_queues_as_told(bench, kernel):
    bench = bench(kernel)
    flows = f"many 10.0.0.9 5000 {SENT}"
    for weights, expected in (("weight 1 0", [SENT, 0]), ("weight 0 1", [0, SENT])):
        bench.run(f"in2 ethtool -X DEV1 {weights}")
        assert bench.arrivals(flows, SENT) == expected, weights
    bench.run("in2 ethtool -X DEV1 equal 2")
    got = bench.arrivals(flows, SENT)
    assert sum(got) == SENT and 0 not in got
    # Addresses only: all flows of two hosts are one.
    bench.run("in2 ethtool -N DEV1 rx-flow-hash udp4 sd")
    shown = bench.run("in2 ethtool -n DEV1 rx-flow-hash udp4")
    assert "IP SA" in shown and "L4 bytes" not in shown, shown
    assert sorted(bench.arrivals(flows, SENT)) == [0, SENT]
    bench.run("in2 ethtool -N DEV1 rx-flow-hash udp4 sdfn")
    assert "L4 bytes 2 & 3" in bench.run("in2 ethtool -n DEV1 rx-flow-hash udp4")
    got = bench.arrivals(flows, SENT)
    assert sum(got) == SENT and 0 not in got
    # IPv6 has its own fields and was not touched.
    got = bench.arrivals(f"many fd00::9 5000 {SENT}", SENT)
    assert sum(got) == SENT and 0 not in got
    traffic.clean(bench.guest)


class Flower:
    """tc filters at the second card's ingress, in hardware only."""

    def __init__(self, bench):
        self.bench = bench
        features = bench.run("in2 ethtool -k DEV1")
        if "hw-tc-offload: off [fixed]" in features:
            pytest.skip("this kernel's mlx5_core was built without CONFIG_MLX5_CLS_ACT")
        bench.run("in2 ethtool -K DEV1 hw-tc-offload on\nin2 tc qdisc add dev DEV1 clsact")

    def add(self, prio, match, actions, protocol="ip", chain=0):
        result = self.bench.try_run(
            f"in2 tc filter add dev DEV1 ingress chain {chain} prio {prio} protocol {protocol} "
            f"flower skip_sw {match} {actions}")
        assert result.status == 0, result.output

    def refused(self, match, actions):
        result = self.bench.try_run("in2 tc filter add dev DEV1 ingress prio 99 protocol ip flower "
                                    f"skip_sw {match} {actions}")
        assert result.status != 0
        return result.output

    def packets(self, prio, expected, chain=0):
        """(packets, bytes) that the card counted for a rule; the driver asks once a second."""
        for _ in range(30):
            rules = json.loads(self.bench.run(
                f"in2 tc -s -j filter show dev DEV1 ingress chain {chain} prio {prio}"))
            (rule,) = [r for r in rules if "options" in r and "actions" in r["options"]]
            assert rule["options"].get("in_hw")
            stats = rule["options"]["actions"][0]["stats"]
            if stats.get("hw_packets", 0) >= expected:  # left out while 0
                break
            time.sleep(0.2)
        assert stats["packets"] == stats.get("hw_packets", 0)
        return stats["packets"], stats["bytes"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_flower_rules_drop_mark_rewrite_and_count(bench, kernel):
    bench = bench(kernel)
    flower = Flower(bench)

    # Five fields and drop. 42 bytes of headers, then "0\n" to "9\n", "10\n" and so on.
    datagrams = sum(42 + len(f"{i}\n") for i in range(SENT))
    flower.add(1, "ip_proto udp src_ip 10.0.0.1 dst_ip 10.0.0.9 dst_port 5000", "action drop")
    assert bench.arrivals(f"many 10.0.0.9 5000 {SENT}", 0) == [0, 0]
    assert sum(bench.arrivals(f"many 10.0.0.9 5001 {SENT}", SENT)) == SENT
    packets, octets = flower.packets(1, SENT)
    assert packets == SENT
    # Short frames arrive padded to 60 bytes.
    assert octets == max(datagrams, 60 * SENT)

    # A VLAN.
    flower.add(2, "vlan_id 5 vlan_ethtype ipv4 ip_proto udp dst_port 5005", "action drop", "802.1q")
    assert bench.arrivals(f"many 10.5.0.9 5005 {SENT}", 0) == [0, 0]
    assert flower.packets(2, SENT)[0] == SENT

    # A mark that a software filter sees.
    flower.add(3, "ip_proto udp dst_port 5002", "action skbedit mark 0x123")
    bench.run("in2 tc filter add dev DEV1 ingress prio 50 handle 0x123 fw action pass")
    assert sum(bench.arrivals(f"many 10.0.0.9 5002 {SENT}", SENT)) == SENT
    assert flower.packets(3, SENT)[0] == SENT
    shown = bench.run("in2 tc -s filter show dev DEV1 ingress prio 50")
    assert re.search(rf"Sent \d+ bytes {SENT} pkt", shown), shown

    # Another address and its checksums: the datagrams now reach a host, no port listens there.
    flower.add(4, "ip_proto udp dst_ip 10.0.0.8",
               "action pedit ex munge ip dst set 10.0.0.2 munge udp dport set 5999 pipe "
               "csum ip and udp pipe action pass")
    before = bench.run("in2 nstat -asz UdpNoPorts UdpInCsumErrors IpInAddrErrors")
    assert sum(bench.arrivals(f"many 10.0.0.8 5003 {SENT}", SENT)) == SENT
    after = bench.run("in2 nstat -asz UdpNoPorts UdpInCsumErrors IpInAddrErrors")

    def count(name, text):
        return int(re.search(rf"{name}\s+(\d+)", text).group(1))
    assert count("UdpNoPorts", after) - count("UdpNoPorts", before) == SENT
    assert count("UdpInCsumErrors", after) == 0
    assert flower.packets(4, SENT)[0] == SENT

    # Another chain.
    flower.add(1, "ip_proto udp dst_port 5004", "action drop", chain=1)
    flower.add(5, "dst_ip 10.0.0.7", "action goto chain 1")
    assert bench.arrivals(f"many 10.0.0.7 5004 {SENT}", 0) == [0, 0]
    assert sum(bench.arrivals(f"many 10.0.0.7 5006 {SENT}", SENT)) == SENT
    assert flower.packets(5, 2 * SENT)[0] == 2 * SENT
    assert flower.packets(1, SENT, chain=1)[0] == SENT

    # Deleted rules let everything through.
    bench.run("in2 tc filter del dev DEV1 ingress")
    assert sum(bench.arrivals(f"many 10.0.0.9 5000 {SENT}", SENT)) == SENT
    traffic.clean(bench.guest)

    # What needs queues from port to port, or another card, is refused and says why
    # (the driver does so in the kernel's log, too).
    assert "hairpin is not supported" in flower.refused(
        "dst_ip 10.0.0.6", "action mirred egress redirect dev DEV1")
    bench.run("ip -n ns2 link add other type dummy")
    assert "not on same switch HW" in flower.refused(
        "dst_ip 10.0.0.6", "action mirred egress redirect dev other")


@pytest.mark.parametrize("kernel", KERNELS)
def test_counters_of_many_flower_rules_are_each_their_own(bench, kernel):
    bench = bench(kernel)
    flower = Flower(bench)
    rules = 40
    bench.run(f"for ((i = 1; i <= {rules}; i++)); do in2 tc filter add dev DEV1 ingress prio 1 "
              "handle $i protocol ip flower skip_sw ip_proto udp dst_ip 10.0.0.9 "
              "dst_port $((6000 + i)) action drop || exit 1; done")
    sent = sum(range(1, rules + 1))
    assert bench.arrivals(f"for ((i = 1; i <= {rules}; i++)); do "
                          "one 10.0.0.9 $((6000 + i)) $i; done", 0, sent) == [0, 0]
    for _ in range(30):
        shown = json.loads(bench.run("in2 tc -s -j filter show dev DEV1 ingress prio 1"))
        counts = {f["options"]["handle"]: f["options"]["actions"][0]["stats"].get("hw_packets")
                  for f in shown if "actions" in f.get("options", {})}
        if sum(n or 0 for n in counts.values()) >= sent:
            break
        time.sleep(0.2)
    assert counts == {i: i for i in range(1, rules + 1)}
    traffic.clean(bench.guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_flows_follow_their_readers(bench, kernel):
    """Accelerated RFS: the hash says ring 0, the reader sits on the processor of ring 1."""
    bench = bench(kernel)
    bench.run("""
echo 32768 >/proc/sys/net/core/rps_sock_flow_entries
in2 ethtool -X DEV1 weight 1 0
in2 ethtool -K DEV1 ntuple on
for queue in 0 1; do
    in2 bash -c "echo 4096 >/sys/class/net/DEV1/queues/rx-$queue/rps_flow_cnt"
done
in2 taskset -c 1 iperf3 -s -p 5300 -D >/dev/null
""")
    before, rings = bench.statistics(), bench.rings()
    traffic.iperf(bench.guest, "-p 5300", 4)
    after = bench.statistics()
    moved = [new - old for new, old in zip(bench.rings(), rings, strict=True)]
    print(f"{kernel}: packets of the rings {moved}, "
          f"{ {k: v for k, v in after.items() if 'arfs' in k and v} }")
    assert moved[1] > 9 * moved[0], moved
    assert after["rx_arfs_err"] == 0
    if "rx_arfs_add" in after:  # newer kernels count
        assert after["rx_arfs_add"] > before["rx_arfs_add"]
    # Rules go when the feature goes; the hash decides again.
    bench.run("in2 ethtool -K DEV1 ntuple off")
    rings = bench.rings()
    traffic.iperf(bench.guest, "-p 5300", 2)
    moved = [new - old for new, old in zip(bench.rings(), rings, strict=True)]
    assert moved[0] > 9 * max(1, moved[1]), moved
    traffic.clean(bench.guest)
