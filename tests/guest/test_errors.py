# SPDX-License-Identifier: Apache-2.0
"""Bit errors on a link between two cards: frames lost as the arithmetic says, with and without
forward error correction, and counters of the PHY that agree with it and with each other."""

import math
import re

import pytest

import traffic
from conftest import KERNELS, need_cxsim
from guestlib import procs

pytestmark = pytest.mark.one_kernel

FRAMES = 2000
PAYLOAD = 1400
FRAME = 14 + 20 + 8 + PAYLOAD + 4  # with FCS
RATIOS = (1e-12, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
# IEEE 802.3 clause 91: RS(528,514) over symbols of 10 bits corrects 7.
SYMBOLS, SYMBOL_BITS, CORRECTABLE = 528, 10, 7
CODEWORD = SYMBOLS * SYMBOL_BITS
LINE = 66 / 64  # bits on the line to a bit of the MAC
STATISTICS = ("tx_packets_phy", "rx_packets_phy", "rx_crc_errors_phy", "rx_pcs_symbol_err_phy",
              "rx_corrected_bits_phy", "rx_discards_phy", "rx_symbol_err_phy")


def without_code(ratio):
    """Share of frames that lose a bit."""
    return -math.expm1(8 * FRAME * math.log1p(-ratio))


def uncorrectable(ratio):
    """Share of codewords with more wrong symbols than the code corrects: the binomial tail."""
    wrong = -math.expm1(SYMBOL_BITS * math.log1p(-ratio))
    return sum(math.comb(SYMBOLS, k) * wrong**k * (1 - wrong)**(SYMBOLS - k)
               for k in range(CORRECTABLE + 1, 60))


def with_code(ratio):
    """Share of frames in a bad codeword; a frame lies in two more than fit into it, or in one."""
    length = (8 + FRAME) * 8 * LINE / CODEWORD
    whole, part = int(length), length % 1
    good = 1 - uncorrectable(ratio)
    return 1 - (1 - part) * good**(whole + 1) - part * good**(whole + 2)


def likely(count, trials, share, sigmas=4.0):
    """Whether `count` of `trials` is within the bounds of chance; rare events come one by one."""
    mean = trials * share
    return abs(count - mean) <= sigmas * math.sqrt(mean * (1 - share)) + 3


def set_ratio(server, ratio):
    code, output = procs.run([need_cxsim(), "ctl", "--socket", server.control, "link", "0", "ber",
                              f"{ratio:g}"], 30)
    assert code == 0, output


def set_code(guest, devices, name):
    traffic.script(guest, "".join(f"in{i + 1} ethtool --set-fec {device} encoding {name} || "
                                  "fail set-fec\n" for i, device in enumerate(devices)) +
                   "sleep 0.3\ncarrier\n")


def code_blocks(guest, devices):
    """[(corrected, uncorrectable) blocks] as `ethtool -I --show-fec` tells them."""
    blocks = []
    for i, device in enumerate(devices):
        text = guest.check(f"ip netns exec ns{i + 1} ethtool -I --show-fec {device}")
        values = dict(re.findall(r"(corrected_blocks|uncorrectable_blocks): (\d+)", text))
        blocks.append((int(values.get("corrected_blocks", 0)),
                       int(values.get("uncorrectable_blocks", 0))))
    return blocks


def line_bits(server):
    """Bits that each card's PHY has received."""
    return [card["port"][next(path for path in card["port"] if path.endswith("received_bits"))]
            for card in server.state()["cards"]]


class Errors:
    """What grew while frames crossed a link with a bit error ratio, at both ends."""

    def __init__(self, guest, devices, server, ratio):
        def look():
            blocks = code_blocks(guest, devices)
            return ([traffic.statistics(guest, f"ns{i + 1}", d) for i, d in enumerate(devices)],
                    blocks)
        set_ratio(server, ratio)
        self.bits_most = [-bits for bits in line_bits(server)]
        before, blocks_before = look()
        self.bits_least = [-bits for bits in line_bits(server)]
        out = traffic.script(guest, f"""
in1 ping -q -i 0.001 -c {FRAMES} -s {PAYLOAD} -W 1 10.0.0.2 >/tmp/said
grep transmitted /tmp/said || fail "no ping: $(</tmp/said)"
""")
        sent, got = map(int, re.search(r"(\d+) packets transmitted, (\d+) (?:packets )?received",
                                       out).groups())
        for i, bits in enumerate(line_bits(server)):
            self.bits_least[i] += bits
        after, blocks_after = look()
        for i, bits in enumerate(line_bits(server)):
            self.bits_most[i] += bits
        set_ratio(server, 0)
        self.sent, self.answered = sent, got
        self.grown = [{name: a[name] - b[name] for name in STATISTICS}
                      for b, a in zip(before, after, strict=True)]
        self.corrected, self.uncorrectable = zip(
            *((a[0] - b[0], a[1] - b[1])
              for b, a in zip(blocks_before, blocks_after, strict=True)), strict=True)

    def check_frames(self, share):
        """Both ways: what was sent arrived or was damaged, and damaged were as many as chance."""
        assert self.sent == FRAMES
        for sender, receiver in ((0, 1), (1, 0)):
            sent = self.grown[sender]["tx_packets_phy"]
            rx = self.grown[receiver]
            damaged = rx["rx_crc_errors_phy"]
            assert rx["rx_packets_phy"] + damaged == sent, (sender, self.grown)
            assert likely(damaged, sent, share), (sender, damaged, sent, share)
            assert rx["rx_discards_phy"] == 0
        requests = self.grown[1]["rx_packets_phy"]
        answers = self.grown[0]["rx_packets_phy"]
        # Beside the echoes the kernels send a few frames of their own.
        assert answers - 40 <= self.answered <= answers <= requests + 40, (self.answered, answers)

    def check_rate(self, values, share):
        """Counts of events that each bit of the line has with probability `share`."""
        for end, value in enumerate(values):
            least, most = self.bits_least[end] * share, self.bits_most[end] * share
            assert least - 4 * math.sqrt(least) - 3 <= value <= most + 4 * math.sqrt(most) + 3, \
                (end, value, least, most)


def neighbours(guest, devices):
    """No neighbour discovery that could fail: addresses are known, and IPv6 is silent."""
    traffic.script(guest, f"""
for pair in 'ns1 {devices[0]} 10.0.0.2 ns2 {devices[1]}' 'ns2 {devices[1]} 10.0.0.1 ns1 {devices[0]}'; do
    set -- $pair
    mac=$(ip netns exec $4 cat /sys/class/net/$5/address)
    ip -n $1 neighbour replace $3 lladdr $mac nud permanent dev $2
    ip netns exec $1 sysctl -q -w net.ipv6.conf.$2.disable_ipv6=1
done
""")


@pytest.mark.parametrize("kernel", KERNELS)
def test_frames_are_lost_as_the_arithmetic_says(pair, kernel):
    guest, devices, server = pair(kernel)
    neighbours(guest, devices)

    set_code(guest, devices, "off")
    for ratio in RATIOS:
        errors = Errors(guest, devices, server, ratio)
        errors.check_frames(without_code(ratio))
        # Each wrong bit is a wrong symbol of the PCS.
        errors.check_rate([g["rx_pcs_symbol_err_phy"] for g in errors.grown], ratio)
        assert errors.uncorrectable == (0, 0) and errors.corrected == (0, 0)
        assert [g["rx_corrected_bits_phy"] for g in errors.grown] == [0, 0]

    set_code(guest, devices, "rs")
    assert uncorrectable(1e-5) < 1e-12  # none may be lost there
    for ratio in RATIOS:
        errors = Errors(guest, devices, server, ratio)
        errors.check_frames(with_code(ratio))
        bad = uncorrectable(ratio)
        errored = -math.expm1(CODEWORD * math.log1p(-ratio))
        errors.check_rate(errors.uncorrectable, bad / CODEWORD)
        errors.check_rate(errors.corrected, (errored - bad) / CODEWORD)
        if ratio <= 1e-4:
            errors.check_rate([g["rx_corrected_bits_phy"] for g in errors.grown], ratio)
            assert [g["rx_crc_errors_phy"] for g in errors.grown] == [0, 0]
        # A frame that the code could not save is a coding error, too.
        assert all(g["rx_symbol_err_phy"] == g["rx_crc_errors_phy"] for g in errors.grown)
    traffic.clean(guest)
