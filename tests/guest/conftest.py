# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests that boot guests. They skip, with the reason, where this machine cannot.

CXSIM_GUEST_ROUNDS   rounds of each repetition (default 3; the full numbers come with 100)
CXSIM_GUEST_KERNELS  kernels, comma separated (default 6.1,6.12,newest)
CXSIM_GUEST_CARDS    cards, comma separated (default all four)
CXSIM_FULL           1: cases marked one_kernel run on every kernel, big transfers in full size
"""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import books  # noqa: E402
import guestlib  # noqa: E402
import packets  # noqa: E402
import rdma  # noqa: E402
import traffic  # noqa: E402
from guestlib import server as serving, setup  # noqa: E402


def listed(name, default):
    return [item for item in os.environ.get(name, default).split(",") if item]


KERNELS = listed("CXSIM_GUEST_KERNELS", "6.1,6.12,newest")
CARDS = listed("CXSIM_GUEST_CARDS", ",".join(guestlib.CARDS))


FULL = os.environ.get("CXSIM_FULL", "") not in ("", "0")
# Where one kernel has to stand for all: the middle one.
ONE_KERNEL = "6.12" if "6.12" in KERNELS else KERNELS[0]


def pytest_configure(config):
    config.addinivalue_line("markers", "one_kernel: on one kernel only, unless CXSIM_FULL is set")


def pytest_collection_modifyitems(config, items):
    """Leaves out the other kernels of cases that are marked one_kernel."""
    if FULL:
        return

    def left_out(item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        return item.get_closest_marker("one_kernel") and \
            parameters.get("kernel", ONE_KERNEL) != ONE_KERNEL

    config.hook.pytest_deselected(items=[item for item in items if left_out(item)])
    items[:] = [item for item in items if not left_out(item)]


def rounds(full):
    """Rounds for a repetition whose full number is `full`."""
    return min(full, int(os.environ.get("CXSIM_GUEST_ROUNDS", "3")))


def need_cxsim():
    """The program; skips the test where it is not built."""
    if not serving.is_built():
        pytest.skip("cxsim is not built (run scripts/cxsim cards, or set CXSIM_BINARY)")
    return serving.cxsim_program()


@pytest.fixture(scope="session")
def cache():
    return guestlib.Cache()


@pytest.fixture(scope="session")
def parts(cache):
    """parts(kernel) -> (kit, snapshot, log folder); made once per session."""
    made = {}

    def get(kernel):
        if kernel not in made:
            folder = setup.new_log_folder(cache)
            try:
                made[kernel] = (*guestlib.prepare(cache, kernel, log_folder=folder), folder)
            except guestlib.GuestUnavailable as error:
                made[kernel] = error
        if isinstance(made[kernel], Exception):
            pytest.skip(f"guest not available: {made[kernel]}")
        return made[kernel]
    return get


@pytest.fixture
def serve(cache, tmp_path_factory):
    """serve(cards, options=.., capture=..) -> a started Server. It ends after the test, when its
    books must balance and every RoCE packet of its captures must be as it should."""
    running = []

    def start(*cards, options=(), capture=False):
        folder = pathlib.Path(setup.new_log_folder(cache))
        need_cxsim()
        server = guestlib.Server(cards, tmp_path_factory.mktemp("s"), folder / "server.log",
                                 options, capture)
        running.append(server)
        return server.start(guestlib.Deadline(600))
    yield start
    states = [server.state() for server in running if server.alive()]
    for server in running:
        server.close()
    for state in states:
        books.check(state)
    for server in running:
        # Both ports of a cable see the same frames.
        joined = len(server.cards) == 2 and "--wire=switch" not in server.options
        for path in server.captures[:1] if joined else server.captures:
            print(f"\n{path.name}: {packets.check(path)}")
            path.unlink()  # some are large


@pytest.fixture
def boot(parts):
    """boot(kernel, sockets, cold=False, driver=True) -> a started Guest with its driver bound."""
    running = []

    def start(kernel, sockets=(), cold=False, driver=True, seconds=120):
        kit, snapshot, folder = parts(kernel)
        guest = guestlib.Guest(kit, sockets, f"guest{len(running)}", folder, cold, snapshot,
                               driver)
        running.append(guest)
        deadline = guestlib.Deadline(seconds)
        guest.start(deadline)
        if sockets and driver:
            guest.load_driver(deadline)
        return guest
    yield start
    for guest in running:
        guest.close()


@pytest.fixture
def pair(serve, boot):
    """pair(kernel, cards=..) -> (guest, devices, server): two cards joined, see traffic.py."""
    def start(kernel, cards=("connectx5", "connectx5")):
        server = serve(*cards)
        guest = boot(kernel, server.sockets)
        return guest, traffic.prepare(guest), server
    return start


@pytest.fixture
def verbs(serve, boot):
    """verbs(kernel, cards=.., capture=..) -> rdma.Session: two cards of a guest, see rdma.py."""
    def start(kernel, cards=("connectx5", "connectx5"), capture=False):
        server = serve(*cards, capture=capture)
        guest = boot(kernel, server.sockets)
        return rdma.Session(guest, *rdma.prepare(guest), server)
    return start
