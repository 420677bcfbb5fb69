# SPDX-License-Identifier: Apache-2.0
"""The Python module: a switch with options, priorities, congestion control, samples in time."""

import unittest

import cxsim

bed = None


def setUpModule():
    global bed
    bed = cxsim.Testbed(["connectx5"] * 3, "switch", delay=1e-6, payload="counted",
                        switch=cxsim.Switch(rate=25e9, trust_dscp=True, buffer=1e6, lossless=[3],
                                            alpha=0.125, headroom=40e3, ecn={3: (5e3, 20e3, 1.0)}))
    bed.open()


def tearDownModule():
    bed.close()


class Switch(unittest.TestCase):
    def test_options_that_contradict_each_other_are_refused(self):
        for wrong in (dict(rate=26e9), dict(ecn=(2, 1, 0.1)), dict(ecn=(1, 2)), dict(lossless=[8]),
                      dict(lossless=[3]), dict(alpha=0.5), dict(dscp={64: 1}), dict(buffer=-1),
                      dict(alpha=1, buffer=1e6, xoff=1), dict(latency=-1)):
            with self.assertRaises(ValueError, msg=wrong):
                cxsim.Switch(**wrong)
        with self.assertRaises(ValueError):
            cxsim.Testbed(["connectx5"] * 2, "link", switch=cxsim.Switch())
        with self.assertRaises(ValueError):
            cxsim.Testbed(payload="none")

    def test_the_switch_tells_what_lies_in_it(self):
        card = bed.cards[0]
        self.assertEqual(bed.switch.queue(card), 0)
        self.assertEqual(bed.switch.queue(card, 3), 0)
        self.assertEqual(bed.switch.held(), 0)
        self.assertEqual(bed.switch.held(card, 3), 0)
        self.assertEqual(bed.switch.paused(card), [])
        self.assertEqual(bed.switch.threshold, (1_000_000 - 3 * 40_000) // 8)
        self.assertIn("pauses_sent", bed.switch.counters())
        with self.assertRaises(ValueError):
            bed.switch.queue(card, 8)


class Card(unittest.TestCase):
    def test_registers_go_by_name(self):
        card = bed.cards[0]
        card.set_priorities(lossless=[3], trust_dscp=True, dscp={10: 3})
        self.assertEqual(card.register("PFCC")["pfcrx"], 8)
        self.assertEqual(card.register("QPTS")["trust_state"], 2)
        self.assertEqual(card.register("QPDPM")["dscp"][10]["prio"], 3)
        card.register("QPTS", {"trust_state": 1}, write=True)
        self.assertEqual(card.register("QPTS")["trust_state"], 1)
        with self.assertRaises(cxsim.CommandFailed):
            card.register("QPTS", {"trust_state": 7}, write=True)
        with self.assertRaises(cxsim.DriverError):
            card.register("NONE")
        with self.assertRaises(ValueError):
            card.set_priorities(lossless=[9])

    def test_congestion_parameters_have_their_real_names(self):
        card = bed.cards[0]
        before = card.congestion()
        self.assertEqual((before["rpg_ai_rate"], before["dce_tcp_g"], before["cnp_dscp"]),
                         (5, 1019, 48))
        card.set_congestion(rpg_ai_rate=20, min_time_between_cnps=50)
        after = card.congestion()
        self.assertEqual((after["rpg_ai_rate"], after["min_time_between_cnps"]), (20, 50))
        self.assertEqual(after["rpg_hai_rate"], before["rpg_hai_rate"])
        card.set_congestion(rpg_ai_rate=5, min_time_between_cnps=before["min_time_between_cnps"])
        with self.assertRaises(cxsim.DriverError):
            card.set_congestion(ai_rate=1)
        with self.assertRaises(cxsim.CommandFailed):
            card.set_congestion(rpg_threshold=32)
        card.set_congestion_status(5, reaction_point=False)
        self.assertEqual(card.congestion_status(5), (False, True))
        card.set_congestion_status(5)
        self.assertEqual(card.congestion_status(5), (True, True))


class Traffic(unittest.TestCase):
    def test_rates_and_queue_are_seen_in_time_and_counted_as_the_card_does(self):
        receiver = bed.cards[-1]
        for card in bed.cards:
            card.set_priorities(lossless=[3], trust_dscp=True)
        flows = []
        for card in bed.cards[:-1]:
            cq, source, target = card.cq(), card.mr(300_000), receiver.mr(300_000)
            qp = card.qp(cq)
            with self.assertRaises(ValueError):
                qp.rate
            cxsim.connect(qp, receiver.qp(receiver.cq()), traffic_class=26 << 2)
            self.assertEqual(qp.rate, 25e9)
            flows.append((qp, cq, source, target))
        # Connecting takes time: all begin together only now.
        for qp, _, source, target in flows:
            qp.post_send("write", [(source, 0, 300_000)], (target, 0))
        rows = []
        ticker = bed.every(2e-6, lambda: rows.append((bed.now, bed.switch.queue(receiver, 3),
                                                      flows[0][0].rate)))
        for _, cq, *_ in flows:
            self.assertTrue(cq.wait()[0].ok)
        ticker.stop()
        count = len(rows)
        bed.run(50e-6)
        self.assertEqual(len(rows), count)
        self.assertAlmostEqual(rows[5][0] - rows[4][0], 2e-6, places=12)
        self.assertGreater(max(queue for _, queue, _ in rows), 5_000)
        self.assertLess(min(rate for *_, rate in rows), 13e9)
        counts = receiver.congestion_counters()
        told = receiver.command("QUERY_CONG_STATISTICS")
        self.assertGreater(counts["np_cnp_sent"], 0)
        self.assertEqual(counts["np_cnp_sent"], told["np_cnp_sent_low"])
        self.assertEqual(counts["np_cnp_sent"], sum(
            card.congestion_counters()["rp_cnp_handled"] for card in bed.cards[:-1]))
        self.assertGreater(bed.switch.peak_queue(receiver, 3), 5_000)
        bed.switch.reset_peaks()
        self.assertEqual(bed.switch.peak_queue(receiver, 3), 0)

    def test_an_error_in_a_callback_reaches_the_script(self):
        def wrong():
            raise KeyError("here")
        ticker = bed.every(1e-6, wrong)
        with self.assertRaises(KeyError):
            bed.run(10e-6)
        self.assertFalse(ticker.running)
        bed.run(10e-6)
        # No time can pass inside.
        bed.every(1e-6, lambda: bed.run(1e-6))
        with self.assertRaises(RuntimeError):
            bed.run(10e-6)
        with self.assertRaises(ValueError):
            bed.every(0, wrong)


if __name__ == "__main__":
    unittest.main()
