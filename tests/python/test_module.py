# SPDX-License-Identifier: Apache-2.0
"""The Python module: a testbed of two cards, objects, commands, errors, traffic.

One testbed for the whole file: a process holds one.
"""

import json
import pathlib
import struct
import tempfile
import unittest

import cxsim

DIRECTORY = tempfile.TemporaryDirectory()
TRACE = pathlib.Path(DIRECTORY.name) / "trace.json"
bed = None


def setUpModule():
    global bed
    bed = cxsim.Testbed(["connectx5", "connectx6dx"], pcap=DIRECTORY.name + "/wire",
                        traces=[str(TRACE)])
    bed.open()


def tearDownModule():
    bed.close()
    events = json.loads(TRACE.read_text())
    assert any(event.get("name", "").startswith("CREATE_MKEY") for event in events), "no command"
    for card in ("card0", "card1"):
        with open(f"{DIRECTORY.name}/wire.{card}.pcap", "rb") as file:
            assert struct.unpack("<I", file.read(4))[0] in (0xA1B2C3D4, 0xA1B23C4D), "no capture"
    try:
        bed.cards
    except RuntimeError:
        DIRECTORY.cleanup()
        return
    raise AssertionError("a closed testbed has cards")


class Objects(unittest.TestCase):
    def test_cards_have_names_models_and_addresses(self):
        a, b = bed.cards
        self.assertEqual((a.name, a.model), ("card0", "connectx5"))
        self.assertEqual((b.name, b.model), ("card1", "connectx6dx"))
        self.assertEqual(a.address(), "10.0.0.1")
        self.assertTrue(a.address(1).startswith("fe80:"))
        self.assertEqual(len(a.mac), 6)
        self.assertNotEqual(a.mac, b.mac)

    def test_a_region_is_memory_in_one_piece(self):
        mr = bed.cards[0].mr(1 << 20, ["local_write", "remote_read"])
        view = memoryview(mr.memory)
        self.assertEqual((view.shape, view.format, view.readonly), ((1 << 20,), "B", False))
        self.assertEqual(bytes(view[:16]), bytes(16))
        view[70000:70004] = b"abcd"
        self.assertEqual(mr.read(70000, 4), b"abcd")
        mr.fill((1 << 20) - 2, b"yz")
        self.assertEqual(bytes(view[-2:]), b"yz")
        with self.assertRaises(IndexError):
            mr.fill((1 << 20) - 1, b"yz")
        key = bed.cards[0].command("QUERY_MKEY", {"mkey_index": mr.lkey >> 8})
        key = key["memory_key_mkey_entry"]
        self.assertEqual((key["lw"], key["rr"], key.get("rw", 0)), (1, 1, 0))
        self.assertEqual((key["len"], key["start_addr"]), (1 << 20, mr.address))
        mr.destroy()
        with self.assertRaises(RuntimeError):
            mr.lkey
        view[0] = 1  # valid memory still

    def test_queue_pairs_change_state_and_hold_what_they_use(self):
        a, b = bed.cards
        cq, peer_cq = a.cq(100), b.cq()
        self.assertEqual(cq.entries, 128)
        qp, peer = a.qp(cq), b.qp(peer_cq)
        self.assertEqual(qp.state, "reset")
        cxsim.connect(qp, peer, mtu=2048)
        self.assertEqual((qp.state, peer.state), ("rts", "rts"))
        context = qp.query()
        self.assertEqual((context["remote_qpn"], context["mtu"]), (peer.number, 4))
        with self.assertRaises(cxsim.CommandFailed) as caught:
            cq.destroy()
        self.assertEqual(caught.exception.opcode, "DESTROY_CQ")
        self.assertTrue(caught.exception.status)
        qp.to_error()
        self.assertEqual(qp.state, "error")
        for thing in (qp, peer, cq, peer_cq):
            thing.destroy()

    def test_receives_of_a_queue_pair_in_error_come_back(self):
        card = bed.cards[0]
        cq, mr = card.cq(), card.mr(4096)
        qp = card.qp(cq, "ud")
        qp.to_ready()
        self.assertTrue(qp.post_receive([(mr, 0, 100)], id=7))
        self.assertEqual(cq.poll(), [])
        qp.to_error()
        (done,) = cq.wait(1, timeout=1e-3)
        self.assertEqual((done.id, done.status, done.receive), (7, "flushed", True))
        with self.assertRaises(cxsim.DriverTimeout):
            cq.wait(1, timeout=1e-3)
        self.assertGreaterEqual(card.counters()["resp_cqe_flush_error"], 1)

    def test_wrong_words_are_refused(self):
        card = bed.cards[0]
        cq = card.cq()
        with self.assertRaises(ValueError):
            card.mr(10, ["everything"])
        with self.assertRaises(cxsim.DriverError):
            card.mr(0)
        with self.assertRaises(ValueError):
            card.qp(cq, "dc")
        with self.assertRaises(ValueError):
            card.qp(cq).post_send("teleport")
        with self.assertRaises(cxsim.DriverError):
            card.command("NO_SUCH_COMMAND")
        with self.assertRaises(cxsim.CommandFailed):
            card.command("QUERY_MKEY", {"mkey_index": 0xFFFFFF})
        with self.assertRaises(ValueError):
            bed.run(-1)
        with self.assertRaises(RuntimeError):
            cxsim.Testbed()


class Commands(unittest.TestCase):
    def test_a_command_goes_by_field_name_both_ways(self):
        out = bed.cards[0].command("QUERY_HCA_CAP", {"op_mod": 1})
        self.assertEqual(out["capability"]["cmd_hca_cap"]["num_ports"], 1)
        pd = bed.cards[0].command("ALLOC_PD")["pd"]
        bed.cards[0].command("DEALLOC_PD", {"pd": pd})

    def test_time_passes_as_asked(self):
        start = bed.now
        bed.run(1e-3)
        self.assertAlmostEqual(bed.now - start, 1e-3, places=12)
        self.assertFalse(bed.run_until(lambda: False, timeout=1e-4))
        self.assertTrue(bed.run_until(lambda: bed.now > start, timeout=1))


class Traffic(unittest.TestCase):
    def test_a_write_moves_bytes_and_is_counted(self):
        a, b = bed.cards
        cq = a.cq()
        qp, peer = a.qp(cq), b.qp(b.cq())
        cxsim.connect(qp, peer)
        source, target = a.mr(1 << 18), b.mr(1 << 18)
        data = bytes((i * 31 + (i >> 8)) & 0xFF for i in range(100_000))
        source.fill(0, data)
        before = b.counters()["rx_write_requests"]
        start = bed.now
        self.assertTrue(qp.post_send("write", [(source, 0, len(data))], (target, 77), id=5))
        (done,) = cq.wait(timeout=10e-3)
        self.assertEqual((done.id, done.status, done.op), (5, "success", "write"))
        self.assertGreater(done.time, start + 1e-6)
        self.assertEqual(target.read(77, len(data)), data)
        self.assertEqual(target.read(0, 77), bytes(77))
        self.assertEqual(b.counters()["rx_write_requests"], before + 1)


if __name__ == "__main__":
    unittest.main()
