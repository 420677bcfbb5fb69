# SPDX-License-Identifier: Apache-2.0
"""ethtool's settings of the stock driver: each reads back as set, and traffic is right with it.

A stream of both directions runs all the time; after each step data, checked, goes both ways.
"""

import re

import pytest

import traffic
from conftest import KERNELS

pytestmark = pytest.mark.one_kernel


@pytest.fixture
def busy(pair):
    """busy(kernel) -> Busy: two cards with a stream between them."""
    return lambda kernel: Busy(*pair(kernel)[:2])


class Busy:
    def __init__(self, guest, devices):
        self.guest, self.devices = guest, devices
        self.stream = 0
        self.restart()

    def restart(self):
        """A new stream, as one that ran 600 s would be at its end."""
        self.stream = int(traffic.script(self.guest, """
ip netns exec ns1 iperf3 -c 10.0.0.2 -p 5202 -t 3000 --bidir -b 10M >/tmp/stream 2>&1 &
echo $!"""))

    def ethtool(self, arguments, both=True, expect=0):
        """Runs ethtool with DEV in `arguments` as the device of each namespace; `expect`
        is the status wanted, None for any but 0."""
        output = ""
        for ns, device in zip(("ns1", "ns2"), self.devices, strict=True):
            if ns == "ns1" and not both:
                continue
            result = self.guest.run(f"ip netns exec {ns} ethtool "
                                    f"{arguments.replace('DEV', device)} 2>&1")
            ok = result.status != 0 if expect is None else result.status == expect
            assert ok, f"ethtool {arguments}: {result.output}"
            output = result.output
        return output

    def check(self):
        """Both directions carry right data; the stream lives."""
        traffic.script(self.guest, f"""
carrier
exchange
kill -0 {self.stream} 2>/dev/null || fail "the stream ended: $(tail -n 5 /tmp/stream)"
""")

    def set(self, arguments, query, *patterns):
        """Sets on both sides; `query` of the second then shows each pattern; traffic is right."""
        self.ethtool(arguments)
        shown = self.ethtool(query, both=False)
        for pattern in patterns:
            assert re.search(pattern, shown, re.M), f"after {arguments}: no {pattern} in\n{shown}"
        self.check()

    def statistics(self):
        return traffic.statistics(self.guest, "ns2", self.devices[1])

    def features(self):
        """{name: on?} of the features that can be changed."""
        text = self.ethtool("-k DEV", both=False)
        return {name: state == "on" for name, state in
                re.findall(r"^\t?([\w-]+): (on|off)(?: \[requested \w+\])?$", text, re.M)}

    def end(self):
        """The stream moved data to the end; nobody complained."""
        traffic.script(self.guest, f"""
before=$(in2 cat /sys/class/net/{self.devices[1]}/statistics/rx_packets)
sleep 1
after=$(in2 cat /sys/class/net/{self.devices[1]}/statistics/rx_packets)
[ $after -gt $((before + 20)) ] || fail "the stream stands still"
kill {self.stream}
""")
        traffic.clean(self.guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_feature_can_be_changed_under_traffic(busy, kernel):
    link = busy(kernel)
    features = link.features()
    for needed in ("rx-checksumming", "tx-checksum-ip-generic", "tx-tcp-segmentation",
                   "generic-receive-offload", "large-receive-offload", "rx-vlan-offload",
                   "tx-vlan-offload", "receive-hashing", "rx-fcs", "rx-all", "ntuple-filters"):
        assert needed in features, features
    # One script for all: each process started costs tens of milliseconds.
    first, second = link.devices
    output = traffic.script(link.guest, f"""
for pair in {" ".join(f"{name}:{'off' if on else 'on'}" for name, on in features.items())}; do
    name=${{pair%:*}} new=${{pair#*:}} old=on
    [ $new = on ] && old=off
    in1 ethtool -K {first} $name $new >/dev/null 2>&1
    in2 ethtool -K {second} $name $new >/dev/null 2>&1
    now=$(in2 ethtool -k {second} | sed -n "s/^[[:space:]]*$name: \\([a-z]*\\).*/\\1/p")
    if [ "$now" = $new ]; then
        (exchange) || fail "with $name $new"
        echo changed $name
    fi
    in1 ethtool -K {first} $name $old >/dev/null 2>&1
    in2 ethtool -K {second} $name $old >/dev/null 2>&1
done
kill -0 {link.stream} || fail "the stream ended: $(tail -n 5 /tmp/stream)"
""", 600)
    changed = re.findall(r"^changed (\S+)", output, re.M)
    print(f"{kernel}: {len(changed)} of {len(features)} features changed; not changed: "
          f"{' '.join(set(features) - set(changed))}")
    # Some follow from others.
    assert set(features) - set(changed) <= {"tx-checksumming", "tcp-segmentation-offload"}
    link.check()
    # Everything off, and all that makes packets larger on.
    for state in ("off", "on"):
        link.ethtool(f"-K DEV rx {state} tx {state} sg {state} tso {state} gso {state} "
                     f"gro {state} lro {state} rxhash {state} rxvlan {state} txvlan {state}")
        link.check()
    before = link.statistics()
    rate = traffic.iperf(link.guest, "-M 1400", 2)
    grown = link.statistics()["rx_lro_packets"] - before["rx_lro_packets"]
    print(f"{kernel}: LRO merged into {grown} packets at {rate:.0f} Mbit/s")
    assert grown > 0
    link.end()


@pytest.mark.parametrize("kernel", KERNELS)
def test_queues_and_moderation(busy, kernel):
    link = busy(kernel)
    current = r"^Current hardware settings:\n(?:.*\n)*?"
    link.set("-L DEV combined 1", "-l DEV", current + r"Combined:\s+1$")
    assert "rx1_packets" not in link.ethtool("-x DEV", both=False)
    link.set("-L DEV combined 2", "-l DEV", current + r"Combined:\s+2$")
    for rx, tx in ((64, 64), (8192, 8192), (256, 2048), (1024, 1024)):
        link.set(f"-G DEV rx {rx} tx {tx}", "-g DEV", current + rf"RX:\s+{rx}\n(?:.*\n)*?TX:\s+{tx}$")
    link.ethtool("-G DEV rx 16384", expect=None)
    for adaptive, receive, frames, send, sent in (
            ("off", 0, 1, 0, 1), ("off", 100, 64, 200, 256), ("on", 8, 128, 8, 128)):
        link.ethtool(f"-C DEV adaptive-rx {adaptive} adaptive-tx {adaptive}")
        link.set(f"-C DEV rx-usecs {receive} rx-frames {frames} tx-usecs {send} tx-frames {sent}",
                 "-c DEV", rf"^Adaptive RX: {adaptive}\s+TX: {adaptive}$",
                 rf"^rx-usecs:\s+{receive}$", rf"^rx-frames:\s+{frames}$",
                 rf"^tx-usecs:\s+{send}$", rf"^tx-frames:\s+{sent}$")
    for flag in ("rx_cqe_moder", "tx_cqe_moder", "rx_striding_rq", "rx_cqe_compress",
                 "skb_tx_mpwqe", "xdp_tx_mpwqe", "rx_no_csum_complete"):
        shown = link.ethtool("--show-priv-flags DEV", both=False)
        was = re.search(rf"^{flag}\s*: (on|off)$", shown, re.M).group(1)
        for state in ("off" if was == "on" else "on", was):
            before = link.statistics()
            link.set(f"--set-priv-flags DEV {flag} {state}", "--show-priv-flags DEV",
                     rf"^{flag}\s*: {state}$")
            if flag == "rx_cqe_compress" and state == "on":
                traffic.iperf(link.guest, "-P 4", 2)
                grown = link.statistics()["rx_cqe_compress_blks"] - before["rx_cqe_compress_blks"]
                print(f"{kernel}: {grown} blocks of compressed completions")
                assert grown > 0
    # Compressed completions of cyclic queues have another format than those of striding ones.
    link.ethtool("--set-priv-flags DEV rx_striding_rq off rx_cqe_compress on")
    link.check()
    traffic.iperf(link.guest, "", 1)
    link.end()


@pytest.mark.parametrize("kernel", KERNELS)
def test_hashing_and_rules(busy, kernel):
    link = busy(kernel)
    def shares(options="-P 8", ns="ns1"):
        """Packets that each queue of the second card got of a stream to it."""
        before = link.statistics()
        traffic.iperf(link.guest, options, 1, ns=ns)
        after = link.statistics()
        return [after[f"rx{q}_packets"] - before[f"rx{q}_packets"] for q in (0, 1)]

    # The standing stream would be counted too; a drop of it is what is wanted here.
    traffic.script(link.guest, f"kill {link.stream}; sleep 0.3")
    link.ethtool("-X DEV equal 1")
    assert re.search(r"^\s+0:(\s+0){8}$", link.ethtool("-x DEV", both=False), re.M)
    spread = shares()
    assert spread[0] > 100 and spread[1] < 10, spread
    link.ethtool("-X DEV weight 0 1")
    assert re.search(r"^\s+0:(\s+1){8}$", link.ethtool("-x DEV", both=False), re.M)
    spread = shares()
    assert spread[1] > 100 and spread[0] < 10, spread
    link.ethtool("-X DEV default")
    key = ":".join(f"{(i * 37 + 1) % 256:02x}" for i in range(40))
    for function in ("xor", "toeplitz"):
        link.ethtool(f"-X DEV hfunc {function}")
        assert f"{function}: on" in link.ethtool("-x DEV", both=False)
        spread = shares("-P 16")
        # Xor may put them all into one queue: the kernel gives the streams even port numbers.
        assert sum(spread) > 100 and (function == "xor" or min(spread) > 0), f"{function}: {spread}"
    link.ethtool(f"-X DEV hkey {key}")
    assert key in link.ethtool("-x DEV", both=False)
    assert sum(shares()) > 100
    for kind, fields, words in (("udp4", "sdfn", "L4 bytes 0 & 1"), ("udp4", "sd", "IP SA"),
                                ("tcp6", "sd", "IP SA"), ("tcp6", "sdfn", "L4 bytes 0 & 1")):
        link.ethtool(f"-N DEV rx-flow-hash {kind} {fields}")
        shown = link.ethtool(f"-n DEV rx-flow-hash {kind}", both=False)
        assert words in shown and ("L4 bytes" in shown) == ("f" in fields), shown
    # With addresses alone every stream goes to one queue.
    link.ethtool("-N DEV rx-flow-hash tcp4 sd")
    spread = shares()
    assert min(spread) < 10 < max(spread), spread
    link.ethtool("-N DEV rx-flow-hash tcp4 sdfn")
    # Rules: to a queue, to nowhere.
    link.ethtool("-K DEV ntuple on")
    for queue in (1, 0):
        link.ethtool(f"-N DEV flow-type tcp4 dst-port 5201 action {queue} loc 3")
        shown = link.ethtool("-n DEV", both=False)
        assert "Total 1 rules" in shown and f"Action: Direct to queue {queue}" in shown, shown
        spread = shares()
        assert spread[queue] > 100 and spread[1 - queue] < 10, spread
    before = link.statistics()
    link.ethtool("-N DEV flow-type udp4 src-ip 10.0.0.1 dst-port 9999 action -1 loc 5", both=False)
    traffic.script(link.guest, "in1 bash -c 'for i in {1..20}; do echo x >/dev/udp/10.0.0.2/9999; "
                   "sleep 0.01; done'; exchange")
    link.ethtool("-N DEV delete 5", both=False)
    link.ethtool("-N DEV delete 3")
    assert "Total 0 rules" in link.ethtool("-n DEV", both=False)
    assert link.statistics()["rx_packets"] - before["rx_packets"] > 0
    in_ports = traffic.script(link.guest, "in2 cat /proc/net/snmp | grep ^Udp:").split("\n")
    no_ports = dict(zip(in_ports[0].split(), in_ports[1].split(), strict=True))["NoPorts"]
    assert no_ports == "0", "the rule that drops let packets through"
    link.restart()
    link.check()
    link.end()


# Turns datagrams to port 9 into MAC control frames: opcode, then what WORDS (offset:value) say.
CONTROL_FRAMES = r"""
device=DEV0
control() {  # COUNT OPCODE WORDS...: that many, 10 ms apart
    local count=$1 edit="munge eth dst set 01:80:c2:00:00:01 munge eth type set 0x8808"
    edit+=" munge offset 0 u16 set $2"; shift 2
    local word; for word; do edit+=" munge offset ${word%:*} u16 set ${word#*:}"; done
    in1 tc qdisc add dev $device clsact
    in1 tc filter add dev $device egress protocol ip flower ip_proto udp dst_port 9 \
        action pedit ex $edit || fail "no pedit"
    in1 bash -c 'for ((i = 0; i < $0; ++i)); do echo >/dev/udp/10.0.0.2/9; sleep 0.01; done' $count
    in1 tc qdisc del dev $device clsact
    sleep 0.2
}
"""
QUANTUM_BITS = 512
PAUSES = 20


def paused(guest, devices, name, control):
    """(frames, pauses begun, microseconds paused) by counters of the second card, of PAUSES
    control frames that the first one sends."""
    before = traffic.statistics(guest, "ns2", devices[1])
    traffic.script(guest, CONTROL_FRAMES.replace("DEV0", devices[0]) + f"control {PAUSES} {control}")
    after = traffic.statistics(guest, "ns2", devices[1])
    return tuple(after.get(counter, 0) - before.get(counter, 0) for counter in
                 (f"rx_{name}_pause", f"rx_{name}_pause_transition", f"rx_{name}_pause_duration"))


@pytest.mark.parametrize("kernel", KERNELS)
def test_pause(pair, kernel):
    """Pause frames and those of priorities stop the port for the time they tell, if it obeys them
    (IEEE 802.3 annex 31B, 802.1Q clause 36)."""
    guest, devices, _ = pair(kernel)
    quiet = 0.2  # of the time: a frame may come while the last pause lasts
    whole = PAUSES * 0xffff * QUANTUM_BITS / 100e3  # microseconds at 100 Gb/s

    def parameters(**wanted):
        words = " ".join(f"{way} {state}" for way, state in wanted.items())
        traffic.script(guest, "".join(f"in{i + 1} ethtool -A {device} {words} || fail 'ethtool -A'\n"
                                      for i, device in enumerate(devices)))
        shown = guest.check(f"ip netns exec ns2 ethtool -a {devices[1]}")
        for way, state in wanted.items():
            assert re.search(rf"^{way.upper()}:\s+{state}$", shown, re.M), shown

    parameters(rx="on", tx="on")
    frames, begun, duration = paused(guest, devices, "global", "1 2:0xffff")
    print(f"{kernel}: {frames} pause frames, {begun} pauses, {duration} us of {whole:.0f}")
    assert frames == PAUSES and 0 < begun <= PAUSES
    assert (1 - quiet) * whole <= duration <= whole + 1
    # Without pause of one direction the counters stay visible: frames count, nothing stops.
    parameters(rx="off", tx="on")
    assert paused(guest, devices, "global", "1 2:0xffff") == (PAUSES, 0, 0)
    before = traffic.statistics(guest, "ns2", devices[1])
    parameters(rx="off", tx="off")
    traffic.script(guest, CONTROL_FRAMES.replace("DEV0", devices[0]) + "control 5 1 2:0xffff\nexchange")
    after = traffic.statistics(guest, "ns2", devices[1])
    assert after["rx_pause_ctrl_phy"] - before["rx_pause_ctrl_phy"] == 5
    parameters(rx="on", tx="off")
    parameters(rx="on", tx="on")

    # Priority 3 alone: the others' part of such a frame is not obeyed.
    priorities(guest, devices, "3:on")
    frames, begun, duration = paused(guest, devices, "prio3", "0x0101 2:0x0018 10:0xffff 12:0xffff")
    print(f"{kernel}: {frames} frames for priority 3, {begun} pauses, {duration} us")
    assert frames == PAUSES and 0 < begun <= PAUSES
    assert (1 - quiet) * whole <= duration <= whole + 1
    traffic.script(guest, "exchange")
    priorities(guest, devices, "3:off")
    traffic.script(guest, "exchange")
    traffic.clean(guest)


def priorities(guest, devices, state):
    """Priority flow control of both cards; the driver takes the link down and up for it."""
    for i, device in enumerate(devices):
        # dcb numbers its messages by the second and may take an old acknowledgement for a new one:
        # what counts is what it shows.
        guest.run(f"ip netns exec ns{i + 1} dcb pfc set dev {device} prio-pfc {state}")
        shown = guest.check(f"ip netns exec ns{i + 1} dcb pfc show dev {device}")
        assert f" {state} " in shown, shown
    traffic.script(guest, "sleep 0.3\ncarrier")


@pytest.mark.one_kernel
@pytest.mark.parametrize("kernel", KERNELS)
def test_priorities_of_dscps(pair, kernel):
    """With the first DSCP that gets a priority the driver lets the port trust DSCPs, with the last
    that goes it trusts tags again: seen where packets of DSCP 24 without tag are counted."""
    guest, devices, _ = pair(kernel)

    def received(change, shown):
        guest.run(f"ip netns exec ns2 dcb app {change} dev {devices[1]} dscp-prio 24:5")
        listed = guest.check(f"ip netns exec ns2 dcb app show dev {devices[1]} dscp-prio")
        assert ("24:5" in listed or "CS3:5" in listed) == shown, listed
        before = traffic.statistics(guest, "ns2", devices[1])
        traffic.script(guest, "in1 ping -q -c 10 -i 0.05 -W 10 -Q 96 10.0.0.2 || fail ping")
        after = traffic.statistics(guest, "ns2", devices[1])
        return after["rx_prio5_packets"] - before["rx_prio5_packets"]

    assert received("add", True) == 10
    assert received("del", False) == 0
    traffic.script(guest, "exchange")
    traffic.clean(guest)


def code_of(shown):
    """(configured, active) of `ethtool --show-fec`."""
    return tuple(re.search(rf"^{word} FEC encodings?: (.*?)\s*$", shown, re.M).group(1)
                 for word in ("(?:Supported/)?Configured", "Active"))


# 100 Gb/s over four lanes has RS or none; FireCode is one of 10 to 50 Gb/s. The driver sets a code
# for the speeds that have it and leaves the others to the port, so that it is refused nowhere.
CODES = {"connectx5": (("rs", ("RS", "RS")), ("baser", ("BaseR", "RS")), ("off", ("Off", "Off")),
                       ("auto", ("Auto", "RS"))),
         "connectx4lx": (("rs", ("RS", "RS")), ("baser", ("BaseR", "BaseR")),
                         ("off", ("Off", "Off")), ("auto", ("Auto", "RS")))}


@pytest.mark.parametrize("card", CODES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_error_correction(pair, kernel, card):
    guest, devices, _ = pair(kernel, (card, card))
    link = Busy(guest, devices)
    for encoding, codes in CODES[card]:
        link.ethtool(f"--set-fec DEV encoding {encoding}")
        traffic.script(guest, "carrier")
        shown = link.ethtool("--show-fec DEV", both=False)
        print(f"{kernel} {card}: FEC {encoding}: {' '.join(shown.split())}")
        assert code_of(shown) == codes, shown
        link.check()
    link.ethtool("--set-fec DEV encoding llrs", expect=None)
    link.end()


@pytest.mark.parametrize("kernel", KERNELS)
def test_link_settings_and_self_test(busy, kernel):
    link = busy(kernel)
    traffic.script(link.guest, "exchange")
    for rx, tx in (("off", "off"), ("on", "off"), ("off", "on"), ("on", "on")):
        link.set(f"-A DEV rx {rx} tx {tx}", "-a DEV", rf"^RX:\s+{rx}$", rf"^TX:\s+{tx}$")
    link.ethtool("-A DEV autoneg on", expect=None)
    for kind in ("online", "offline"):
        for round in range(2):
            shown = link.ethtool(f"-t DEV {kind}")
            assert "The test result is PASS" in shown, shown
            for name in ("Link Test", "Speed Test", "Health Test", "Loopback Test"):
                assert re.search(rf"^{name}\s+0$", shown, re.M), shown
    link.check()
    link.end()
