#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two cards on a link: RDMA WRITEs of growing size, their latency and bandwidth.

usage: scripts/cxsim run scenarios/quickstart.py [--card NAME] [--out DIRECTORY]
Prints a table; leaves a capture of each port (quickstart.card*.pcap) and, where matplotlib is
installed, a plot (quickstart.png) in DIRECTORY.
"""

import argparse
import pathlib

import cxsim

SIZES = [2**n for n in range(1, 21)]  # bytes
DEPTH = 16  # requests under way while bandwidth is measured


def completed(cq):
    """When the next request ended; it must have ended well."""
    (done,) = cq.wait()
    if not done.ok:
        raise SystemExit(f"quickstart: {done}")
    return done.time


def latency(qp, cq, source, target, size, rounds=5):
    """Seconds from the doorbell to the completion of one WRITE: the mean of `rounds`."""
    total = 0.0
    for _ in range(rounds):
        start = bed.now
        qp.post_send("write", [(source, 0, size)], (target, 0))
        total += completed(cq) - start
    return total / rounds


def bandwidth(qp, cq, source, target, size):
    """Bits a second of WRITEs, DEPTH of which are under way all the time."""
    count = max(6, min(256, (1 << 20) // size))
    posted = done = 0
    first = last = 0.0
    while done < count:
        while posted < count and posted - done < DEPTH:
            qp.post_send("write", [(source, 0, size)], (target, 0))
            posted += 1
        last = completed(cq)
        first = first or last  # filling the pipe does not count
        done += 1
    return 8 * size * (count - 1) / (last - first)


def plot(rows, path):
    try:
        from matplotlib import pyplot
    except ImportError:
        return "matplotlib is not installed: no plot"
    figure, left = pyplot.subplots()
    sizes, micros, gigabits = zip(*rows)
    left.loglog(sizes, micros, "o-", base=2)
    left.set(xlabel="bytes", ylabel="latency, us", title="RDMA WRITE")
    right = left.twinx()
    right.plot(sizes, gigabits, "s--", color="tab:red")
    right.set_ylabel("bandwidth, Gb/s")
    figure.savefig(path)
    return f"plot      {path}"


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--card", default="connectx5")
parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
options = parser.parse_args()
options.out.mkdir(parents=True, exist_ok=True)

with cxsim.Testbed([options.card] * 2, pcap=str(options.out / "quickstart")) as bed:
    bed.open()
    here, there = bed.cards
    source, target = here.mr(SIZES[-1]), there.mr(SIZES[-1])
    cq = here.cq()
    qp, peer = here.qp(cq), there.qp(there.cq())
    cxsim.connect(qp, peer, mtu=1024)  # what fits into frames of 1500 bytes

    source.fill(0, bytes(i * 7 & 0xFF for i in range(SIZES[-1])))
    print(f"{options.card}: RDMA WRITE over RoCEv2, {here.address()} to {there.address()}\n")
    print(f"{'bytes':>9} {'latency, us':>12} {'Gb/s':>8}")
    rows = []
    for size in SIZES:
        rows.append((size, latency(qp, cq, source, target, size) * 1e6,
                     bandwidth(qp, cq, source, target, size) / 1e9))
        print(f"{size:>9} {rows[-1][1]:>12.2f} {rows[-1][2]:>8.2f}")
    assert bytes(target.memory) == bytes(source.memory), "what arrived is not what was sent"
    print(f"\n{bed.events} events, {bed.now:.3f} s of simulated time")
    print(plot(rows, options.out / "quickstart.png"))
    for card in bed.cards:
        print(f"capture   {options.out / 'quickstart'}.{card.name}.pcap")
