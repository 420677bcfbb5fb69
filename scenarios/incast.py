#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""K senders write to one receiver through one switch: DCQCN and priority flow control at work.

usage: scripts/cxsim run scenarios/incast.py [--senders K] [--bytes N] [--dcqcn on|off]
                                             [--pfc on|off] [--out DIRECTORY] ...; see --help
Prints a table; leaves rates, queue, notifications (CNPs) and pauses over time (incast.csv) and,
where matplotlib is installed, a plot (incast.png) in the directory of --out. By default links of
100 Gb/s and 1 us, 8 x 10 MB, path MTU 1024, so that a packet of 1024 bytes takes 1106 of the wire:
goodput ends at 92.59 Gb/s. Congestion control has the parameters of published simulations, which
know no byte counter (the cards' own: --byte-reset 32767). They also notify for each marked packet
and let a sender have all of its message under way: --cnp-interval 0 and --set
timing.roce.psn_window=16384 are as they are; cards pace notifications and have a window.
"""

import argparse
import csv
import pathlib
import statistics
import sys
import time

import cxsim

MTU, WIRE = 1024, 1106  # bytes of payload and of the wire
SLOWER = {"connectx4lx": 25e9}  # cards without 100 Gb/s
PRIORITY, DSCP = 3, 26  # of the data; notifications have 6 and 48


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--senders", type=int, default=8)
    add("--bytes", type=float, default=10e6, help="of each sender")
    add("--dcqcn", choices=("on", "off"), default="on", help="off: the switch marks nothing")
    add("--pfc", choices=("on", "off"), default="on")
    add("--card", default="connectx5")
    add("--out", type=pathlib.Path, default=pathlib.Path("."))
    add("--set", action="append", default=[], metavar="KEY=VALUE",
        help="overrides the cards' data, e.g. timing.roce.psn_window=16384")
    add("--seed", type=int, default=1)
    add("--period", type=float, default=10e-6, help="of samples, simulated seconds")
    add("--payload", choices=("real", "counted"), default="real", help="counted is faster")
    add("--rate", type=float, help="of the links, bit/s; 100e9, or what the card has")
    add("--delay", type=float, default=1e-6, help="of each link, one way, s")
    add("--buffer", type=float, default=32e6, help="of the switch, bytes")
    add("--kmin", type=float, default=400e3, help="bytes; no marks below")
    add("--kmax", type=float, default=1600e3, help="bytes; all marked from there on")
    add("--pmax", type=float, default=0.2, help="probability of a mark just below kmax")
    add("--byte-reset", type=int, default=0, help="rpg_byte_reset, bytes; 0: none")
    add("--cnp-interval", type=int, default=4, help="min_time_between_cnps, us; 0: none")
    o = parser.parse_args()
    o.rate = o.rate or SLOWER.get(o.card, 100e9)
    return o


def testbed(o):
    """Cards at a switch; the last one receives."""
    return cxsim.Testbed(
        [o.card] * (o.senders + 1), "switch", delay=o.delay, seed=o.seed, payload=o.payload,
        overrides=dict(each.split("=", 1) for each in o.set),
        switch=cxsim.Switch(
            rate=o.rate, trust_dscp=True, buffer=o.buffer, queue_limit=o.buffer,
            ecn={PRIORITY: (o.kmin, o.kmax, o.pmax)} if o.dcqcn == "on" else None,
            # Thresholds of 1/8 of what is free; the headroom is for what comes in two delays, two
            # frames, and what the ports themselves take: 50 KB by default.
            **(dict(lossless=[PRIORITY], alpha=1 / 8, reserve=4096, resume_offset=3072,
                    headroom=2 * o.delay * o.rate / 8 + 25e3) if o.pfc == "on" else {})))


def prepare(bed, o):
    """Queue pairs of all senders with what they will write and where: (qp, cq, source, target)."""
    size, receiver = int(o.bytes), bed.cards[-1]
    for card in bed.cards:
        card.set_priorities(lossless=[PRIORITY] if o.pfc == "on" else [], trust_dscp=True)
        card.set_congestion(dce_tcp_rtt=1, rate_reduce_monitor_period=4, rpg_time_reset=300,
                            dce_tcp_g=1020, rpg_ai_rate=20, rpg_hai_rate=200, rpg_min_rate=1000,
                            rpg_byte_reset=o.byte_reset, min_time_between_cnps=o.cnp_interval)
    flows = []
    for index, card in enumerate(bed.cards[:-1]):
        cq, source, target = card.cq(), card.mr(size), receiver.mr(size)
        source.fill(0, bytes((index + i * 7) & 0xFF for i in range(4096)) * (size // 4096))
        qp = card.qp(cq)
        cxsim.connect(qp, receiver.qp(receiver.cq()), mtu=MTU, traffic_class=DSCP << 2,
                      priority=PRIORITY)
        # The switch learns where both are, as by ARP: else the first packets go everywhere.
        qp.post_send("write", [(source, 0, 1)], (target, 0))
        cq.wait()
        flows.append((qp, cq, source, target))
    bed.switch.reset_peaks()
    return flows


def transfer(bed, flows, o):
    """Starts all at once. Seconds that each took, and samples: rows of the CSV file."""
    size, receiver, fabric = int(o.bytes), bed.cards[-1], bed.switch
    begun, start, rows, ends = time.monotonic(), bed.now, [], {}
    arrived = lambda: receiver.statistics()[f"{receiver.name}.port0.rx_prio{PRIORITY}_frames"]
    before, packets = arrived(), len(flows) * -(-size // MTU)

    def sample():
        counts, cnps = fabric.counters(), receiver.congestion_counters()["np_cnp_sent"]
        rows.append([f"{(bed.now - start) * 1e6:.1f}", fabric.queue(receiver, PRIORITY), cnps,
                     counts["pauses_sent"], sum(bool(fabric.paused(c)) for c in bed.cards)]
                    + [f"{qp.rate / 1e9:.4f}" for qp, *_ in flows])

    for qp, _, source, target in flows:
        qp.post_send("write", [(source, 0, size)], (target, 0))
    ticker, shown = bed.every(o.period, sample), begun
    while len(ends) < len(flows):
        bed.run(20e-6)
        for index, (_, cq, *_) in enumerate(flows):
            for done in cq.poll():
                if not done.ok:
                    raise SystemExit(f"incast: sender {index}: {done}")
                ends[index] = done.time - start
        if time.monotonic() - shown > 1:
            shown, count = time.monotonic(), arrived() - before
            rate = count / (shown - begun)
            left = max(packets - count, 0) / rate if rate else float("inf")
            print(f"{(bed.now - start) * 1e6:8.0f} us  {count} of {packets} packets  "
                  f"{rate / 1e3:.0f} k/s  {left:.0f} s left", file=sys.stderr)
    ticker.stop()
    wall = time.monotonic() - begun
    print(f"{packets / wall / 1e3:.0f} k packets/s, {wall:.1f} s", file=sys.stderr)
    return [ends[index] for index in range(len(flows))], rows


def plot(rows, o, path):
    try:
        from matplotlib import pyplot
    except ImportError:
        return "matplotlib is not installed: no plot"
    figure, (rates, queue, counts) = pyplot.subplots(3, sharex=True, figsize=(8, 8))
    columns = [[float(value) for value in column] for column in zip(*rows)]
    for column in columns[5:]:
        rates.plot(columns[0], column, linewidth=0.8)
    rates.set(ylabel="limit of each sender, Gb/s",
              title=f"{o.senders} to 1, {o.card}, DCQCN {o.dcqcn}, PFC {o.pfc}")
    queue.plot(columns[0], [value / 1e3 for value in columns[1]])
    queue.set_ylabel("queue, KB")
    counts.plot(columns[0], columns[2], label="CNPs")
    counts.plot(columns[0], columns[3], label="pauses")
    counts.set(xlabel="us", ylabel="so far")
    counts.legend()
    figure.savefig(path)
    return f"plot      {path}"


def main():
    o = options()
    o.out.mkdir(parents=True, exist_ok=True)
    with testbed(o) as bed:
        bed.open()
        flows = prepare(bed, o)
        times, rows = transfer(bed, flows, o)
        if o.payload == "real":
            for _, _, source, target in flows:
                assert bytes(target.memory) == bytes(source.memory), "what arrived is not what left"
        fabric, receiver = bed.switch, bed.cards[-1]
        counts, cnps = fabric.counters(), receiver.congestion_counters()
        restarts = sum(card.counters()[name] for card in bed.cards[:-1]
                       for name in ("packet_seq_err", "implied_nak_seq_err",
                                    "local_ack_timeout_err", "roce_adp_retrans"))
        peak = fabric.peak_queue(receiver, PRIORITY)
    micros = [value * 1e6 for value in times]
    goodput = len(times) * int(o.bytes) * 8 / max(times) / 1e9
    jain = sum(1 / t for t in times) ** 2 / (len(times) * sum(1 / t**2 for t in times))
    ceiling = o.rate * MTU / WIRE / 1e9
    print(f"{o.senders} x {int(o.bytes)} bytes to one receiver, {o.card}, DCQCN {o.dcqcn}, "
          f"PFC {o.pfc}\n")
    for name, text in (
            ("completion, us: min / median / max",
             f"{min(micros):.1f} / {statistics.median(micros):.1f} / {max(micros):.1f}"),
            ("goodput, Gb/s", f"{goodput:.2f} ({goodput / ceiling:.1%} of {ceiling:.2f})"),
            ("Jain's index of the rates", f"{jain:.4f}"),
            ("marked packets", cnps["np_ecn_marked_roce_packets"]),
            ("notifications (CNPs)", cnps["np_cnp_sent"]),
            ("pauses", counts["pauses_sent"]),
            ("longest queue, KB", f"{peak / 1e3:.1f}"),
            ("dropped packets", counts["dropped_buffer_full"] + counts["dropped_queue_full"]),
            ("retransmissions begun", restarts)):
        print(f"{name:<36}{text}")
    with open(o.out / "incast.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["us", "queue_bytes", "cnps", "pauses", "paused_senders"]
                        + [f"gbps_{index}" for index in range(o.senders)])
        writer.writerows(rows)
    print(f"\nsamples   {o.out / 'incast.csv'}")
    print(plot(rows, o, o.out / "incast.png"))


if __name__ == "__main__":
    main()
