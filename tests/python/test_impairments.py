# SPDX-License-Identifier: Apache-2.0
"""The Python module: frames lost, doubled, out of order and damaged on purpose."""

import unittest

import cxsim

bed = None


def setUpModule():
    global bed
    bed = cxsim.Testbed(impairments=cxsim.Impairments())
    bed.open()


def tearDownModule():
    bed.close()


def sum_of(name):
    return sum(value for path, value in bed.statistics().items()
               if path.rsplit(".", 1)[-1].startswith(name))


class Impairments(unittest.TestCase):
    def test_what_is_no_probability_or_time_is_refused(self):
        for wrong in (dict(loss=-0.1), dict(duplicate=1.5), dict(reorder=float("nan")),
                      dict(corrupt=2), dict(reorder_time=-1)):
            with self.assertRaises(ValueError, msg=wrong):
                cxsim.Impairments(**wrong)
        given = cxsim.Impairments(loss=0.25, reorder_time=3e-6)
        self.assertEqual((given.loss, given.duplicate, given.reorder_time), (0.25, 0, 3e-6))

    def test_a_write_survives_what_is_done_to_its_packets(self):
        a, b = bed.cards
        cq = a.cq()
        qp = a.qp(cq)
        cxsim.connect(qp, b.qp(b.cq()))
        source, target = a.mr(1 << 20), b.mr(1 << 20)
        data = bytes((i * 29 + (i >> 10)) & 0xFF for i in range(1 << 20))
        source.fill(0, data)
        harm = cxsim.Impairments(loss=0.01, duplicate=0.02, reorder=0.02, corrupt=0.01)
        b.impair(towards=harm)
        self.assertTrue(qp.post_send("write", [(source, 0, len(data))], (target, 0)))
        (done,) = cq.wait(timeout=5.0)
        self.assertTrue(done.ok)
        self.assertEqual(target.read(0, len(data)), data)
        for what in ("lost_for", "duplicated_for", "reordered_for", "corrupted_for"):
            self.assertGreater(sum_of(what), 0, what)
        self.assertGreater(b.counters()["out_of_sequence"], 0)
        # The other direction was left alone, and so is this one from now on.
        self.assertGreater(sum_of("received_for_port0"), 0)
        self.assertEqual(sum_of("lost_for_port0"), 0)
        lost = sum_of("lost_for")
        b.impair()
        self.assertTrue(qp.post_send("write", [(source, 0, len(data))], (target, 0)))
        self.assertTrue(cq.wait(timeout=5.0)[0].ok)
        self.assertEqual(sum_of("lost_for"), lost)


if __name__ == "__main__":
    unittest.main()
