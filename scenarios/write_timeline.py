#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One RDMA WRITE between two cards as a timeline: every stage a slice, arrows from each to the next.

usage: scripts/cxsim run scenarios/write_timeline.py [--card NAME] [--bytes N] [--out DIRECTORY]
Leaves write_timeline.json in DIRECTORY, to be opened in ui.perfetto.dev, and prints its stages.
"""

import argparse
import json
import pathlib

import cxsim

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--card", default="connectx5")
parser.add_argument("--bytes", type=int, default=4096)
parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
options = parser.parse_args()
options.out.mkdir(parents=True, exist_ok=True)
path = options.out / "write_timeline.json"

with cxsim.Testbed([options.card] * 2, traces=[str(path)]) as bed:
    bed.open()
    here, there = bed.cards
    source, target = here.mr(options.bytes), there.mr(options.bytes)
    cq = here.cq()
    qp, peer = here.qp(cq), there.qp(there.cq())
    cxsim.connect(qp, peer, mtu=1024)
    source.fill(0, bytes((i * 7 + i // 256) & 0xFF for i in range(options.bytes)))
    begin = bed.now
    qp.post_send("write", [(source, 0, options.bytes)], (target, 0))
    (done,) = cq.wait()
    if not done.ok:
        raise SystemExit(f"write_timeline: {done}")
    end = done.time

tracks, slices = {}, []
for event in json.loads(path.read_text()):
    if event["ph"] == "M" and event["name"] == "thread_name":
        tracks[event["tid"]] = event["args"]["name"]
    elif event["ph"] == "X" and begin * 1e6 <= event["ts"] <= end * 1e6:
        slices.append(event)
print(f"{options.card}: {options.bytes} bytes, {(end - begin) * 1e6:.3f} us from doorbell to completion\n")
print(f"{'after, ns':>10} {'takes, ns':>10}  stage")
for event in sorted(slices, key=lambda one: one["ts"]):
    args = event["args"]
    print(f"{(event['ts'] - begin * 1e6) * 1e3:>10.1f} {event['dur'] * 1e3:>10.1f}  "
          f"{tracks[event['tid']]:<24} {args['bytes']:>5} bytes, number {args['number']}")
print(f"\ntimeline  {path}, from {begin * 1e3:.3f} ms on")
