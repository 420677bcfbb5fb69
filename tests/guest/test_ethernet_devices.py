# SPDX-License-Identifier: Apache-2.0
"""The kernel's devices above the cards: VLAN, macvlan, bridge, bonding."""

import pytest

import traffic
from conftest import KERNELS

pytestmark = pytest.mark.one_kernel


@pytest.mark.parametrize("kernel", KERNELS)
def test_vlan_macvlan_and_bridge(pair, kernel):
    guest, (first, second), _ = pair(kernel)
    # Tags by card or by kernel on either side, one and two of them.
    traffic.script(guest, f"""
modprobe -a 8021q macvlan bridge veth
tagged() {{  # NS NUMBER DEVICE
    ip -n $1 link add link $3 name v5 type vlan id 5
    ip -n $1 link add link v5 name v5.7 type vlan id 7
    ip -n $1 link set v5.7 mtu 1496  # the port has room for one tag beside its MTU
    ip -n $1 link add link $3 name v4094 type vlan id 4094
    ip -n $1 link set v5 up; ip -n $1 link set v5.7 up; ip -n $1 link set v4094 up
    ip -n $1 address add 10.5.0.$2/24 dev v5
    ip -n $1 address add fd05::$2/64 dev v5 nodad
    ip -n $1 address add 10.7.0.$2/24 dev v5.7
    ip -n $1 address add fd07::$2/64 dev v5.7 nodad
    ip -n $1 address add 10.94.0.$2/24 dev v4094
}}
tagged ns1 1 {first}
tagged ns2 2 {second}
for setting in "on on" "off on" "on off" "off off"; do
    set -- $setting
    in1 ethtool -K {first} rxvlan $1 txvlan $2 || fail "rxvlan $1 txvlan $2"
    in2 ethtool -K {second} rxvlan $2 txvlan $1 || fail "rxvlan $2 txvlan $1"
    (exchange 10.5.0. fd05::) || fail "VLAN 5 with rxvlan, txvlan $setting"
    (exchange 10.7.0. fd07::) || fail "VLAN 5.7 with rxvlan, txvlan $setting"
    (pings ns1 10.94.0.2 1 1472) || fail "VLAN 4094 with rxvlan, txvlan $setting"
    exchange
done
# What the wire carried: the tag is there, and only where it belongs.
ip netns exec ns2 tcpdump -Z root -n -e -c 2 -i {second} 'vlan 5 and icmp' >/tmp/seen 2>/tmp/ready &
until grep -q listening /tmp/ready; do sleep 0.05; done
pings ns1 10.5.0.2 56
wait $!
grep -q "vlan 5" /tmp/seen || fail "no tag: $(</tmp/seen)"
# A tag nobody wants is not let in; without the filter it is.
in1 ip link add link {first} name v99 type vlan id 99
in1 ip link set v99 up
in1 ip address add 10.99.0.1/24 dev v99
in1 ip neigh replace 10.99.0.2 lladdr $(in2 cat /sys/class/net/{second}/address) dev v99
missed() {{ in2 ethtool -S {second} | sed -n 's/ *rx_steer_missed_packets: //p'; }}
for filter in on off; do
    in2 ethtool -K {second} rx-vlan-filter $filter
    before=$(missed)
    in1 ping -q -c 20 -i 0.01 -W 1 10.99.0.2 >/dev/null
    grown=$(($(missed) - before))
    [ $filter = on ] && [ $grown -lt 20 ] && fail "the filter kept $grown of 20"
    [ $filter = off ] && [ $grown -ge 10 ] && fail "$grown filtered without filter"
done
in2 ethtool -K {second} rx-vlan-filter on
in1 ip link delete v99
for ns in ns1 ns2; do ip -n $ns link delete v4094; ip -n $ns link delete v5; done
(in1 ping -q -c 1 -W 1 10.5.0.2) >/dev/null && fail "VLAN 5 lives on"
echo VLAN done
""", 400)
    traffic.script(guest, f"""
in2 ip link add link {second} name mv1 type macvlan mode bridge
in2 ip link add link {second} name mv2 address 02:00:00:00:0a:02 type macvlan mode bridge
ip netns add ns3
in2 ip link set mv1 netns ns3
ip -n ns3 address add 10.0.0.3/24 dev mv1
ip -n ns3 address add fd00::3/64 dev mv1 nodad
ip -n ns3 link set mv1 up
in2 ip link set mv2 up
pings ns1 10.0.0.3 56 1472
pings ns1 fd00::3 56
pings ns3 10.0.0.1 56
ip netns exec ns3 timeout 30 bash -c 'md5sum </dev/tcp/10.0.0.1/7000' | cmp - /tmp/sum ||
    fail "data through macvlan"
exchange
ip netns delete ns3
in2 ip link delete mv2 2>/dev/null
exchange
echo macvlan done
in2 ip link add br0 type bridge
in2 ip link add va type veth peer name vb
ip netns add ns4
in2 ip link set vb netns ns4
in2 ip address flush dev {second}
in2 ip link set {second} master br0
in2 ip link set va master br0
for port in br0 va; do in2 ip link set $port up; done
in2 ip address add 10.0.0.2/24 dev br0
in2 ip address add fd00::2/64 dev br0 nodad
ip -n ns4 address add 10.0.0.4/24 dev vb
ip -n ns4 link set vb up
sleep 0.5
exchange
pings ns1 10.0.0.4 56 1472
ip netns exec ns4 timeout 30 bash -c 'md5sum </dev/tcp/10.0.0.1/7000' | cmp - /tmp/sum ||
    fail "data through the bridge"
in2 ip link delete br0
in2 ip address add 10.0.0.2/24 dev {second}
in2 ip address add fd00::2/64 dev {second} nodad
exchange
""", 200)
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_bonds_of_two_ports(serve, boot, kernel):
    """Four cards at a switch; one dies, the bond goes on with the other."""
    server = serve(*["connectx5"] * 4)
    guest = boot(kernel, server.sockets, seconds=240)
    names = [function.netdevs[0] for function in guest.functions]
    traffic.prepare(guest)
    traffic.script(guest, f"""
modprobe bonding max_bonds=0
ip link set {names[2]} netns ns1
ip link set {names[3]} netns ns2
bond() {{  # NS NUMBER MODE PORT PORT
    ip -n $1 link add bond0 type bond mode $3 miimon 50 || fail "bond of mode $3"
    for port in $4 $5; do
        ip -n $1 address flush dev $port
        ip -n $1 link set $port down
        ip -n $1 link set $port master bond0 || fail "$port into the bond"
    done
    ip -n $1 link set bond0 up
    ip -n $1 address add 10.0.0.$2/24 dev bond0
    ip -n $1 address add fd00::$2/64 dev bond0 nodad
}}
ports() {{ ip netns exec $1 grep -c "MII Status: up" /proc/net/bonding/bond0; }}
for mode in active-backup balance-tlb; do
    bond ns1 1 $mode {names[0]} {names[2]}
    bond ns2 2 $mode {names[1]} {names[3]}
    for try in {{1..400}}; do
        [ "$(ports ns1)" = 3 ] && [ "$(ports ns2)" = 3 ] && break; sleep 0.05
    done
    [ $try -lt 400 ] || fail "$mode: $(in1 cat /proc/net/bonding/bond0)"
    (exchange) || fail $mode
    for dead in {names[0]} {names[2]}; do
        in1 ip link set $dead down
        for try in {{1..200}}; do [ "$(ports ns1)" = 2 ] && break; sleep 0.05; done
        sleep 0.2
        (exchange) || fail "$mode without $dead"
        in1 ip link set $dead up
        for try in {{1..200}}; do [ "$(ports ns1)" = 3 ] && break; sleep 0.05; done
        [ $try -lt 200 ] || fail "$mode: $dead does not come back"
    done
    in1 ip link delete bond0
    in2 ip link delete bond0
done
""", 400)
    traffic.clean(guest)
