# SPDX-License-Identifier: Apache-2.0
"""Two cards of one guest on a wire, each in a network namespace, and what sends between them.

Commands in the guest, made by `prepare`, for scripts that begin with `. /tmp/traffic.sh`:
  in1 COMMAND..., in2 COMMAND...  run it in namespace ns1 (first card) or ns2 (second card)
  pull NS ADDRESS                 fetch 512 KiB from a server in the other namespace, compare
  exchange [V4PREFIX [V6PREFIX]]  pull and ping both ways over IPv4 and IPv6
  pings NS ADDRESS SIZE...        one echo of each size, answered
  answers                         echo replies that ns1 has got
  carrier                         wait until both cards have a link
"""

import os
import re

import guestlib

# iperf3 and pulls read and write on both sides of one emulated CPU: generous.
PATIENCE = 120.0

LIBRARY = r"""
in1() { ip netns exec ns1 "$@"; }
in2() { ip netns exec ns2 "$@"; }
fail() { echo "FAILED: $*"; exit 1; }
carrier() {
    for try in {1..600}; do
        [ "$(in1 cat /sys/class/net/DEV0/carrier 2>/dev/null)" = 1 ] &&
            [ "$(in2 cat /sys/class/net/DEV1/carrier 2>/dev/null)" = 1 ] && return 0
        sleep 0.05
    done
    fail "no link"
}
pull() {
    local sum=$(ip netns exec $1 timeout 30 bash -c "md5sum </dev/tcp/$2/7000")
    [ "$sum" = "$(</tmp/sum)" ] || fail "pull in $1 from $2: '$sum', '$(</tmp/sum)' is right"
}
pings() {  # NS ADDRESS SIZE...
    local ns=$1 address=$2 out; shift 2
    # One packet each: once one was answered, ping waits for the others two round trips only.
    for size; do
        out=$(ip netns exec $ns ping -q -c 1 -W 10 -s $size $address) ||
            fail "ping -s $size $address: $out"
    done
}
exchange() {
    local four=${1:-10.0.0.} six=${2:-fd00::}
    pings ns1 ${four}2 1 3000
    pings ns2 ${six}1 65 3000
    pull ns1 ${four}2
    pull ns2 ${four}1
    pull ns1 ${six}2
}
answers() {  # echo replies that ns1 got so far
    in1 awk '/^Icmp:/ { if (n) print $n; for (i = 2; i <= NF; ++i) if ($i == "InEchoReps") n = i }' \
        /proc/net/snmp
}
checksums() {  # packets whose checksum the kernels found wrong
    in1 cat /proc/net/snmp /proc/net/snmp6; in2 cat /proc/net/snmp /proc/net/snmp6
}
"""

SETUP = r"""
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
    # httpd of busybox would parse; this hands out the file and ends with it.
    ip netns exec $ns bash -c 'while :; do busybox nc -ll -p 7000 -e /bin/cat /tmp/payload; sleep 0.1; done' \
        >/dev/null 2>&1 &
    ip netns exec $ns iperf3 -s -D >/dev/null
    ip netns exec $ns iperf3 -s -p 5202 -D >/dev/null
    number=$((number + 1))
done
head -c 524288 /dev/urandom >/tmp/payload
md5sum </tmp/payload >/tmp/sum
carrier
"""


def prepare(guest):
    """Namespaces ns1 and ns2 with a card each, addresses, servers; returns the two devices."""
    devices = [function.netdevs[0] for function in guest.functions[:2]]

    def filled(text):
        return text.replace("DEV0", devices[0]).replace("DEV1", devices[1])
    guest.check(f"cat >/tmp/traffic.sh <<'END'\n{filled(LIBRARY)}END\n")
    script(guest, filled(SETUP))
    return devices


def script(guest, text, seconds=PATIENCE):
    """Runs `text` after the library in the guest; the output. A failed step fails the test."""
    result = guest.run(f". /tmp/traffic.sh\n{text}", guestlib.Deadline(seconds))
    log = "\n".join(str(r) for r in guest.dmesg()[-8:]) if result.status != 0 else ""
    assert result.status == 0, f"{result.output[-2000:]}\n{log}"
    return result.output


def iperf(guest, options="", seconds=2, address="10.0.0.2", ns="ns1"):
    """Mbit/s that the receiver of an iperf3 run saw; 0 is an error, no rate is."""
    result = guest.run(f"ip netns exec {ns} timeout 60 iperf3 -c {address} -t {seconds} -f m "
                       f"{options}", guestlib.Deadline(PATIENCE))
    assert result.status == 0, result.output
    rates = re.findall(r"([\d.]+) Mbits/sec.*receiver", result.output)
    assert rates and float(rates[-1]) > 0, result.output
    return float(rates[-1])


# What the driver says of settings that exclude each other; the tests set them on purpose.
EXCLUSIONS = (r"Disabling rxhash, not supported when CQE compress is active",
              r"S-tagged traffic will be dropped while C-tag vlan stripping is enabled")


def clean(guest):
    """Nothing in the kernel's log, no packet with a wrong checksum anywhere."""
    bad = guest.violations(EXCLUSIONS)
    assert not bad, "\n".join(map(str, bad))
    text = script(guest, "checksums")
    wrong = re.findall(r"(\w*InCsumErrors)\s+([1-9]\d*)", text)
    lines = [line.split() for line in text.splitlines() if re.match(r"(Ip|Icmp|Tcp|Udp): ", line)]
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        wrong += [(names[0] + n, v) for n, v in zip(names, values, strict=True)
                  if n == "InCsumErrors" and v != "0"]
    assert not wrong, wrong


def statistics(guest, ns, device):
    """`ethtool -S` as a dictionary."""
    text = guest.check(f"ip netns exec {ns} ethtool -S {device}")
    return {name: int(value) for name, value in re.findall(r"^\s+(\S+): (\d+)$", text, re.M)}


def full():
    """The long form of a test was asked for."""
    return os.environ.get("CXSIM_FULL") == "1"
