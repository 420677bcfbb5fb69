# SPDX-License-Identifier: Apache-2.0
"""scenarios/incast.py, small: what congestion control and flow control do for senders and queue."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scenarios" / "incast.py"
SENDERS, BYTES = 2, 1_000_000
SMALL = ["--senders", str(SENDERS), "--bytes", str(BYTES), "--buffer", "2e6", "--kmin", "20e3",
         "--kmax", "80e3"]
# Matplotlib takes longer than the simulation and shows nothing here.
ENVIRONMENT = {**os.environ, "MPLBACKEND": "agg"}


class Result:
    """What a run printed and wrote."""

    def __init__(self, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [sys.executable, str(SCRIPT), *SMALL, *arguments, "--out", directory],
                env=ENVIRONMENT, capture_output=True, text=True, timeout=100, check=False)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
            with open(pathlib.Path(directory) / "incast.csv", encoding="utf-8") as file:
                self.samples = [{key: float(value) for key, value in row.items()}
                                for row in csv.DictReader(file)]
        self.text = done.stdout
        self.table = {line[:36].strip(): line[36:].strip() for line in done.stdout.splitlines()
                      if len(line) > 36}

    def number(self, name):
        return float(self.table[name].split()[0])

    @property
    def completion(self):
        return self.table["completion, us: min / median / max"]

    @property
    def median_completion(self):
        return float(self.completion.split("/")[1])


class Incast(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.both = Result()
        cls.pauses = Result("--dcqcn", "off")

    def test_congestion_control_pauses_less_and_keeps_the_queue_short(self):
        both, pauses = self.both, self.pauses
        self.assertGreater(both.number("notifications (CNPs)"), 0)
        self.assertGreater(both.number("marked packets"), 0)
        self.assertEqual(pauses.number("notifications (CNPs)"), 0)
        self.assertGreater(pauses.number("pauses"), SENDERS)
        self.assertLess(both.number("pauses"), pauses.number("pauses"))
        self.assertLess(both.number("longest queue, KB"), pauses.number("longest queue, KB"))
        for result in (both, pauses):
            self.assertEqual(result.number("dropped packets"), 0)
            self.assertEqual(result.number("retransmissions begun"), 0)
            self.assertGreater(result.number("Jain's index of the rates"), 0.9)

    def test_flow_control_alone_fills_the_link(self):
        ceiling = 100 * 1024 / 1106
        self.assertLess(self.pauses.number("goodput, Gb/s"), ceiling)
        self.assertGreater(self.pauses.number("goodput, Gb/s"), 0.9 * ceiling)
        self.assertGreater(self.pauses.number("Jain's index of the rates"), 0.99)

    def test_samples_show_rates_that_fall_and_counters_that_grow(self):
        rows = self.both.samples
        self.assertEqual(rows[0]["us"], 10)
        self.assertEqual(rows[1]["us"], 20)
        self.assertLess(min(row["gbps_0"] for row in rows), 60)
        self.assertGreaterEqual(min(row["gbps_0"] for row in rows), 1)  # rpg_min_rate
        self.assertEqual(min(row["gbps_0"] for row in self.pauses.samples), 100)
        for name in ("cnps", "pauses"):
            values = [row[name] for row in rows]
            self.assertEqual(values, sorted(values))
        peak = self.both.number("longest queue, KB") * 1e3
        self.assertLessEqual(max(row["queue_bytes"] for row in rows), peak + 51)
        self.assertGreater(max(row["queue_bytes"] for row in rows), 0)

    def test_looking_more_often_changes_nothing(self):
        often = Result("--period", "1e-6")
        self.assertGreater(len(often.samples), 5 * len(self.both.samples))
        self.assertEqual(often.completion, self.both.completion)
        self.assertEqual(often.table["marked packets"], self.both.table["marked packets"])

    def test_counted_payload_takes_as_long_but_for_reading_it(self):
        # Neither payload nor its translations are read. Marks fall differently in each run.
        counted, real = 0, 0
        for seed in ("1", "2", "3"):
            counted += Result("--seed", seed, "--payload", "counted").median_completion
            real += Result("--seed", seed).median_completion
        self.assertAlmostEqual(counted / real, 1, delta=0.02)

    def test_without_both_packets_are_lost_and_sent_again(self):
        # The script compares every byte.
        lossy = Result("--dcqcn", "off", "--pfc", "off", "--buffer", "200e3")
        self.assertGreater(lossy.number("dropped packets"), 0)
        self.assertGreater(lossy.number("retransmissions begun"), 0)
        self.assertEqual(lossy.number("pauses"), 0)
        self.assertLess(lossy.number("goodput, Gb/s"), self.pauses.number("goodput, Gb/s"))


if __name__ == "__main__":
    unittest.main()
