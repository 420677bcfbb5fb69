# SPDX-License-Identifier: Apache-2.0
"""Two guests with a card each, on a cable or at a switch: programs of ibverbs and librdmacm."""

import os
import statistics
import threading
import time
from concurrent import futures

import pytest

import guestlib
import rdma
import traffic
from conftest import ONE_KERNEL

LIBRARY = r"""
fail() { echo "FAILED: $*"; exit 1; }
gid() {  # index of the GID of this guest's IPv4 address
    cd /sys/class/infiniband/DEVICE/ports/1
    for try in {1..100}; do
        for i in {0..15}; do
            [ "$(cat gid_attrs/types/$i 2>/dev/null)" = "RoCE v2" ] || continue
            case $(cat gids/$i) in 0000:0000:0000:0000:0000:ffff:*) echo $i; exit 0 ;; esac
        done
        sleep 0.1
    done
    fail "no GID: $(grep . gids/? gid_attrs/types/? 2>&1)"
}
"""


class Side:
    """A guest with its card: 10.0.0.1 or 10.0.0.2."""

    def __init__(self, guest, number):
        self.guest, self.number = guest, number
        self.address = f"10.0.0.{number}"
        function = guest.functions[0]
        self.device = function.ibdevs[0]
        self._netdev = function.netdevs[0]
        guest.check(f"cat >/tmp/library.sh <<'END'\n{LIBRARY.replace('DEVICE', self.device)}END\n"
                    f"ip address add {self.address}/24 dev {self._netdev}\n"
                    f"ip link set {self._netdev} up")
        self.gid = None

    def find_gid(self):
        """Once both ports are up."""
        result = self.guest.run(". /tmp/library.sh; gid")
        assert result.status == 0, result.output
        self.gid = result.output.strip()

    def begin(self, command):
        """Runs a server in the background of the guest."""
        self.guest.check(f"rm -f /tmp/status; (timeout 60 {command} >/tmp/output 2>&1; "
                         "echo $? >/tmp/status.new; mv /tmp/status.new /tmp/status) "
                         "</dev/null >/dev/null 2>&1 &")

    def end(self):
        return self.guest.check("for try in {1..600}; do [ -e /tmp/status ] && break; sleep 0.1; done;"
                                "cat /tmp/status /tmp/output", guestlib.Deadline(90))


def between(server, client, command, options, arguments=""):
    """`command options` in both guests, `arguments` for the client; its output."""
    server.begin(f"{command} {options.format(side=server)}")
    server.guest.check("sleep 1")
    line = f"{command} {options.format(side=client)} {arguments}"
    result = client.guest.run(f"timeout 60 {line}", guestlib.Deadline(90))
    status, _, output = server.end().partition("\n")
    assert result.status == 0 and status == "0", \
        f"{line}: {result.status}, {status}\n{result.output[-1500:]}\nserver: {output[-1500:]}"
    return result.output


DEVICE = "-d {side.device}"
PINGPONGS = [(f"ibv_{kind}_pingpong", f"{DEVICE} -g {{side.gid}} -n 100 {check}", "10.0.0.2")
             for kind, check in (("rc", "-c"), ("uc", ""), ("ud", ""), ("srq", ""))]
PERFTEST = [(tool, f"{DEVICE} -x {{side.gid}} -F {options}", "10.0.0.2") for tool, options in (
    ("ib_write_bw", "-n 200"), ("ib_send_lat", "-n 200"), ("ib_read_bw", "-n 100"),
    ("ib_send_bw", "-n 100 -b"), ("ib_atomic_lat", "-n 100"))]


@pytest.mark.parametrize("wire, cards", [("link", ("connectx5", "connectx6dx")),
                                         ("switch", ("connectx4lx", "connectx7"))])
def test_two_guests(serve, boot, wire, cards):
    server = serve(*cards, options=(f"--wire={wire}",), capture=True)
    sides = [Side(boot(ONE_KERNEL, [socket]), number)
             for number, socket in enumerate(server.sockets, 1)]
    for side in sides:
        side.find_gid()
    one, two = sides
    for case in PINGPONGS + PERFTEST:
        between(two, one, *case)
    # Connections made by MADs; rping and rstream compare what they move.
    for command, server_options, client_options in (
            ("rping", "-s -a 10.0.0.2 -C 20 -v -V", "-c -a 10.0.0.2 -C 20 -v -V"),
            ("ucmatose", "-b 10.0.0.2", "-s 10.0.0.2"),
            ("rstream", "-b 10.0.0.2 -T v -S all -I 5 -C 2", "-s 10.0.0.2 -T v -S all -I 5 -C 2")):
        two.begin(f"{command} {server_options}")
        two.guest.check("sleep 1")
        result = one.guest.run(f"timeout 60 {command} {client_options}", guestlib.Deadline(90))
        status, _, output = two.end().partition("\n")
        assert result.status == 0 and status == "0", \
            f"{command}: {result.status}, {status}\n{result.output[-1500:]}\nserver: {output[-1500:]}"
    for side in sides:
        bad = side.guest.violations(traffic.EXCLUSIONS)
        assert not bad, "\n".join(map(str, bad))


class StallingReader(threading.Thread):
    """Reads a capture from a FIFO, but after `most` bytes nothing for `seconds`."""

    def __init__(self, path, most, seconds):
        super().__init__(daemon=True)
        os.mkfifo(path)
        self.path, self.bytes = path, 0
        self._most, self._seconds = most, seconds
        self.start()

    def run(self):
        with open(self.path, "rb", buffering=0) as file:  # waits for the writer
            while piece := file.read(65536):
                if self.bytes <= self._most < self.bytes + len(piece):
                    time.sleep(self._seconds)
                self.bytes += len(piece)


def test_slow_capture(serve, boot, tmp_path):
    """A capture whose reader stands still for longer than QEMU waits for an answer (5 s): the cards'
    time waits for it, no frame is lost, guest and control socket get their answers meanwhile."""
    (tmp_path / "wire.card0.pcap").symlink_to("/dev/null")
    reader = StallingReader(tmp_path / "wire.card1.pcap", 8e6, 8)
    server = serve("connectx5", "connectx5", options=[f"--pcap={tmp_path / 'wire'}"])
    guest = boot(ONE_KERNEL, server.sockets)
    rdma.prepare(guest)
    waits = []
    with futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(rdma.script, guest, """
one=$(gid 1); two=$(gid 2)
between ib_write_bw -F -s 65536 -n 800 -d $D2 -x $two -- \
    ib_write_bw -F -s 65536 -n 800 -d $D1 -x $one 10.0.0.2
""")
        while not run.done():
            asked = time.monotonic()
            server.state()
            waits.append(time.monotonic() - asked)
        run.result()
    traffic.clean(guest)
    state = server.state()
    server.close()
    reader.join(60)
    assert 7 < state["given_up_seconds"] < 20, state
    assert state["captures"][1]["frames"] > 800 * 65536 / 1024
    assert reader.bytes > 800 * 65536
    assert statistics.median(waits) < 1, waits
