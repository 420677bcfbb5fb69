# SPDX-License-Identifier: Apache-2.0
"""`scripts/bench network`: frames through two whole cards back to back, in one process.

The native part is tests/perf/bench_network.cpp: drivers that post WQEs and take completions
through BAR0 and host memory. Rates are in simulated time and the same on any machine; each stands
beside the smallest of its bounds (the wire's arithmetic, PCIe of sender and receiver, host memory,
the send queues' pipeline), which it must meet. Sizes of frames include the FCS.

RDMA WRITEs through a switch follow (tests/perf/rdma_load.h): packets a second of wall time on one
processor, beside an ordered map of events in the same run, which tells how fast the machine was.
"""

import json
import os
import subprocess

from . import core
from .table import Row

WIRE_TOLERANCE_PERCENT = 0.5
OTHER_TOLERANCE_PERCENT = 1.0
CASE_SECONDS = 300
# By case of tests/perf/rdma_load.h; payload that is moved through PCIe has no bound.
RDMA_MPACKETS = {0: 2.0, 2: 1.0}
MEMORY_MIB = 64
QUIET = os.environ | {"SYSTEMC_DISABLE_COPYRIGHT_MESSAGE": "1"}


def run(program, *words):
    out = subprocess.run([str(program), *words], stdout=subprocess.PIPE, text=True,
                         timeout=CASE_SECONDS, check=True, env=QUIET).stdout
    return json.loads(out)


def rate_row(values):
    name, bound = min(values["bounds"].items(), key=lambda item: item[1])
    deviation = 100 * (values["rate"] / bound - 1)
    allowed = WIRE_TOLERANCE_PERCENT if name == "wire" else OTHER_TOLERANCE_PERCENT
    note = (f"{values['rate'] / 1e6:.3f} Mframes/s of {bound / 1e6:.3f}, {name} "
            f"({deviation:+.2f} %); {values['events']:.2f} events and "
            f"{values['allocations']:.4f} allocations a frame, "
            f"{values['wall'] / 1e3:.0f} kframes/s of wall time")
    if values["wrong"]:
        note += f"; {values['wrong']} frames came out wrong"
        deviation = 100.0
    what = f"{values['card']} {values['mode']}, {values['bytes']} bytes"
    return Row(what, abs(deviation), "% off", allowed, note)


def rdma_rows(values, bound):
    note = (f"{values['events']:.2f} events, {values['allocations']:.4f} allocations a packet, "
            f"goodput {values['goodput'] / 1e9:.2f} Gb/s; an event of std::multimap at 100 and 1000 "
            f"pending: {values['multimap_100']:.0f} and {values['multimap_1000']:.0f} ns")
    what = f"RDMA WRITE, {values['name']}"
    return [Row(what, values["rate"] / 1e6, "Mpackets/s", bound, note, at_least=True),
            Row(f"{what}: memory", values["memory_kib"] / 1024, "MiB", MEMORY_MIB)]


def measure(_options):
    folder = core.build(["bench_network"])
    program = folder / "tests" / "bench_network"
    rows = [rate_row(run(program, str(case))) for case in range(run(program)["cases"])]
    for card in ("connectx4lx", "connectx5", "connectx6dx", "connectx7"):
        values = run(program, "latency", card)
        rows.append(Row(f"{card} {values['mode']}, half a round trip of 64 bytes",
                        values["half_round_trip_ns"], "ns", None,
                        "doorbell to visible completion, drivers that poll"))
    for case in range(run(program)["rdma_cases"]):
        rows += rdma_rows(run(program, "rdma", str(case)), RDMA_MPACKETS.get(case))
    return rows
