# SPDX-License-Identifier: Apache-2.0
"""Wires between guests: back to back, through the switch, to a TAP device of the host; captures;
cables that are pulled while traffic runs."""

import json
import os
import pathlib
import struct
import subprocess
import threading
import time

import pytest

import guestlib
from conftest import KERNELS, need_cxsim

KERNEL = "6.12" if "6.12" in KERNELS else KERNELS[0]

LINKED = """
for try in $(seq 200); do ip link show DEVICE | grep -q LOWER_UP && exit 0; sleep 0.1; done
exit 1
"""


def bring_up(*guests):
    """10.0.0.1 for the first guest's card and so on. A port that nobody opened has no link."""
    devices = [guest.functions[0].netdevs[0] for guest in guests]
    for number, (guest, device) in enumerate(zip(guests, devices, strict=True)):
        guest.check(f"ip address add 10.0.0.{number + 1}/24 dev {device}; ip link set {device} up")
    for guest, device in zip(guests, devices, strict=True):
        guest.check(LINKED.replace("DEVICE", device))


def ctl(server, *words):
    run = subprocess.run([need_cxsim(), "ctl", "--socket", str(server.control), *words],
                         capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def clean(*guests):
    for guest in guests:
        bad = guest.violations()
        assert not bad, "\n".join(map(str, bad))


def captured(path):
    """(seconds, bytes) of each frame of a capture with nanoseconds."""
    data = pathlib.Path(path).read_bytes()
    magic, _, _, _, _, _, linktype = struct.unpack_from("<IHHiIII", data)
    assert magic == 0xA1B23C4D and linktype == 1
    at, frames = 24, []
    while at < len(data):
        seconds, nanoseconds, stored, _ = struct.unpack_from("<IIII", data, at)
        frames.append((seconds + nanoseconds / 1e9, data[at + 16:at + 16 + stored]))
        at += 16 + stored
    return frames


@pytest.fixture
def network(cache, tmp_path_factory):
    """network(cards, options) -> a started Server; ended after the test."""
    running = []

    def start(cards, *options):
        from guestlib import setup
        folder = pathlib.Path(setup.new_log_folder(cache))
        need_cxsim()
        server = guestlib.Server(cards, tmp_path_factory.mktemp("n"), folder / "server.log",
                                 options)
        running.append(server)
        return server.start(guestlib.Deadline(60))
    yield start
    for server in running:
        server.close()


def test_two_guests_back_to_back(network, boot, tmp_path):
    server = network(["connectx5", "connectx6dx"], f"--pcap={tmp_path}/wire", "--delay=5us")
    guests = [boot(KERNEL, [server.sockets[n]]) for n in range(2)]
    bring_up(*guests)
    for address, guest in (("10.0.0.2", guests[0]), ("10.0.0.1", guests[1])):
        result = guest.run(f"ping -c 5 -i 0.1 -W 2 -s 1000 {address}")
        assert result.status == 0 and " 0% packet loss" in result.output, result.output
    serving = threading.Thread(
        target=lambda: guests[1].run("iperf3 -s -1", guestlib.Deadline(60)), daemon=True)
    serving.start()
    time.sleep(1)
    result = guests[0].run("timeout 40 iperf3 -c 10.0.0.2 -n 20M -f m", guestlib.Deadline(60))
    assert result.status == 0, result.output
    serving.join(60)
    clean(*guests)
    server.close()
    one, other = (captured(f"{tmp_path}/wire.card{n}.pcap") for n in range(2))
    echo = [f for f in one if len(f[1]) == 1042 and f[1][34] == 8]
    assert len(echo) == 10
    # What left one port arrived at the other, later by the delay of the link at least.
    for sent, frame in echo:
        arrivals = [t for t, seen in other if seen == frame]
        assert arrivals and abs(arrivals[0] - sent) >= 5e-6


def test_a_pulled_cable_stops_the_link_and_comes_back(network, boot):
    server = network(["connectx5", "connectx5"])
    guest = boot(KERNEL, server.sockets)
    devices = [function.netdevs[0] for function in guest.functions]
    guest.check(f"ip netns add far; ip link set {devices[1]} netns far;"
                f"ip -n far address add 10.0.0.2/24 dev {devices[1]};"
                f"ip -n far link set {devices[1]} up")
    bring_up(guest)
    guest.check("ping -c 2 -W 3 10.0.0.2")
    for _ in range(3):
        reply = ctl(server, "link", "0", "down")
        assert reply["link"] == {"up": False, "reason": "no cable", "delay_us": 0.01,
                                 "bit_error_ratio": 0.0}
        guest.check(f"for try in $(seq 50); do ip link show {devices[0]} | grep -q NO-CARRIER &&"
                    " exit 0; sleep 0.1; done; exit 1")
        assert guest.run("ping -c 1 -W 1 10.0.0.2").status != 0
        ctl(server, "link", "0", "up")
        guest.check("for try in $(seq 100); do ping -c 1 -W 1 10.0.0.2 && exit 0; done; exit 1")
    clean(guest)


def test_a_card_in_the_network_of_the_host(network, boot):
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        pytest.skip("needs root and /dev/net/tun for a TAP device")
    name = f"cxt{os.getpid() % 100000}"
    space = f"{name}-ns"
    try:
        server = network(["connectx5", "connectx7"], f"--tap={name}")
    except guestlib.GuestError as error:
        pytest.skip(f"no TAP device here: {str(error).splitlines()[-1]}")
    commands = [f"ip netns add {space}", f"ip link set {name} netns {space}",
                f"ip -n {space} address add 10.0.0.9/24 dev {name}",
                f"ip -n {space} link set {name} up"]
    try:
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True, timeout=20,
                                  check=False)
            if done.returncode:
                pytest.skip(f"{command}: {done.stderr.strip()}")
        guests = [boot(KERNEL, [server.sockets[n]]) for n in range(2)]
        bring_up(*guests)
        for guest in guests:
            for address in ("10.0.0.1", "10.0.0.2", "10.0.0.9"):
                result = guest.run(f"ping -c 3 -i 0.1 -W 3 {address}")
                assert result.status == 0, result.output
        clean(*guests)
        counters = server.state()["network"]
        assert counters[f"network.{name}.from_host"] >= 6
        assert counters[f"network.{name}.to_host"] >= 6
        assert counters["network.switch0.forwarded"] > counters["network.switch0.flooded"]
    finally:
        server.close()
        subprocess.run(["ip", "netns", "delete", space], capture_output=True, timeout=20,
                       check=False)


def test_wrong_wishes_are_refused_with_words(network):
    def refused(arguments, words):
        run = subprocess.run([need_cxsim(), "serve", "--card", "connectx5", "--socket",
                              "/nonexistent/x", *arguments], capture_output=True, text=True,
                             timeout=30, check=False)
        assert run.returncode != 0 and words in run.stdout + run.stderr, run.stdout + run.stderr
    refused(["--ber=0.1"], "1e-3")
    server = network(["connectx5"])
    for question, words in ((("link", "0", "down"), "no cable"), (("link", "7", "up"), "no card"),
                            (("link", "0"), "link CARD"), (("fly",), "unknown question")):
        run = subprocess.run([need_cxsim(), "ctl", "--socket", str(server.control), *question],
                             capture_output=True, text=True, timeout=30, check=False)
        assert run.returncode == 1 and words in run.stdout, run.stdout
