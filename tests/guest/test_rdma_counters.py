# SPDX-License-Identifier: Apache-2.0
"""Counters of RDMA as `rdma statistic` and sysfs show them, after traffic of known size and after
faults made on purpose; parameters of congestion control in debugfs."""

import base64
import json
import pathlib
import shutil
import subprocess

import pytest

import packets
import rdma
import traffic
from conftest import KERNELS

SOURCE = pathlib.Path(__file__).with_name("verbs_pair.c")
NAK, RNR_NAK = 0x60, 0x20  # AETH syndromes: PSN sequence error, and what RNR NAKs begin with


@pytest.fixture(scope="session")
def verbs_pair(tmp_path_factory):
    """verbs_pair(guest): the program of that name, as /tmp/verbs_pair."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not pathlib.Path("/usr/include/infiniband/verbs.h").exists():
        pytest.skip("no C compiler or no libibverbs-dev (run scripts/setup)")
    program = tmp_path_factory.mktemp("verbs") / "verbs_pair"
    subprocess.run([compiler, "-std=gnu11", "-O1", "-s", "-Wall", "-Wextra", "-Werror", "-o",
                    program, SOURCE, "-libverbs"], check=True, timeout=60)

    def install(guest):
        guest.check(f"base64 -d >/tmp/verbs_pair <<'END'\n"
                    f"{base64.encodebytes(program.read_bytes()).decode()}END\n"
                    "chmod +x /tmp/verbs_pair")
    return install


# Counters that the driver of 6.1 does not know.
NEWER = ("req_transport_retries_exceeded", "req_rnr_retries_exceeded")


class Counters:
    """What grew on each of two cards while `step` ran."""

    def __init__(self, guest, names):
        self._guest, self._names = guest, names
        self._last = self._read()

    def _read(self):
        values = []
        for number, name in enumerate(self._names, 1):
            listed, files = rdma.script(self._guest, f"""
in{number} rdma -j statistic show link {name}/1
echo ====
in{number} grep -H . -r /sys/class/infiniband/{name}/ports/1/hw_counters/
""").split("====")
            shown = {key: value for key, value in json.loads(listed)[0].items()
                     if key not in ("ifname", "port", "ifindex")}
            sysfs = dict(line.rpartition("/")[2].split(":") for line in files.split())
            del sysfs["lifespan"]
            assert {key: int(value) for key, value in sysfs.items()} == shown
            values.append(shown)
        return values

    def shown(self, expected):
        """Without what this kernel's driver does not ask for."""
        missing = set(NEWER) - set(self._last[0])
        return {name: value for name, value in expected.items() if name not in missing}

    def step(self, *steps):
        """({counter: growth} of card 1, of card 2); what did not grow is left out."""
        one, two = self._names
        rdma.script(self._guest, f"timeout 100 /tmp/verbs_pair ns1:{one} ns2:{two} {' '.join(steps)}")
        before, self._last = self._last, self._read()
        return tuple({key: value - old[key] for key, value in new.items() if value != old[key]}
                     for old, new in zip(before, self._last, strict=True))


# Step, what it counts at the requester and at the responder: all of it, each exactly.
FAULTS = (
    ("traffic:5", {}, {"rx_write_requests": 10, "rx_read_requests": 5, "rx_atomic_requests": 5}),
    # Two retries, then the error; three requests behind it are flushed.
    ("rnr", {"rnr_nak_retry_err": 2, "req_rnr_retries_exceeded": 1, "req_cqe_error": 4,
             "req_cqe_flush_error": 3}, {"out_of_buffer": 3}),
    ("access", {"req_remote_access_errors": 1, "req_cqe_error": 1},
     {"resp_remote_access_errors": 1, "resp_cqe_error": 2, "resp_cqe_flush_error": 2}),
    ("length", {"req_remote_invalid_request": 1, "req_cqe_error": 1},
     {"resp_local_length_error": 1, "resp_cqe_error": 1}),
    # Of each type three rounds of a WRITE and a READ; then a WRITE to a closed window.
    ("windows:3", {"req_remote_access_errors": 6, "req_cqe_error": 6},
     {"rx_write_requests": 6, "rx_read_requests": 6, "resp_remote_access_errors": 6}),
    ("rebind", {}, {"req_cqe_error": 1}),
    # A timeout of 1 ms is below all that adapts. The last one is the error's.
    ("silent:8:3", {"local_ack_timeout_err": 3, "req_transport_retries_exceeded": 1,
                    "req_cqe_error": 1}, {}),
    ("marked:3", {"rp_cnp_handled": 3},
     {"np_ecn_marked_roce_packets": 3, "np_cnp_sent": 3, "duplicate_request": 3}),
)


def congestion(guest, number):
    """debugfs's directory of a card's congestion control (0: the first)."""
    return f"/sys/kernel/debug/mlx5/{guest.functions[number].bdf}/cc_params"


@pytest.mark.parametrize("kernel", KERNELS)
def test_counters(verbs, verbs_pair, kernel):
    guest, _, names, server = verbs(kernel, capture=True)
    verbs_pair(guest)
    counters = Counters(guest, names)
    for step, requester, responder in FAULTS:
        assert counters.step(step) == (counters.shown(requester), responder), step

    # As often as the wire shows: RNR NAKs until the receive came, and what adaptive timers repeat.
    first, second = counters.step("late")
    assert first == {"rnr_nak_retry_err": second["out_of_buffer"]} and len(second) == 1
    before = len(list(packets.packets(server.captures[0])))
    first, second = counters.step("silent:14:7")
    retries = first.pop("roce_adp_retrans") + first.pop("local_ack_timeout_err")
    assert first == counters.shown({"roce_adp_retrans_to": 1, "req_cqe_error": 1,
                                    "req_transport_retries_exceeded": 1}) and second == {}
    assert retries + 1 == len(list(packets.packets(server.captures[0]))) - before

    # What a guest sets reaches the card: the pace of CNPs, and their class.
    guest.check(f"cd {congestion(guest, 1)}; echo 100000 >np_min_time_between_cnps && "
                "echo 10 >np_cnp_dscp")
    first, second = counters.step("marked:4")
    assert first == {"rp_cnp_handled": 1}
    assert second == {"np_ecn_marked_roce_packets": 4, "np_cnp_sent": 1, "duplicate_request": 4}
    cnps = [p for p in packets.packets(server.captures[0]) if p.operation == "CNP"]
    assert [p.ip[1] >> 2 for p in cnps] == [48, 48, 48, 10] and all(p.payload == 16 for p in cnps)
    traffic.clean(guest)


@pytest.mark.one_kernel
@pytest.mark.parametrize("kernel", KERNELS)
def test_counters_of_lost_packets(verbs, verbs_pair, kernel):
    """A cable with bit errors: the bytes are right, and counters agree with the wire."""
    guest, _, names, server = verbs(kernel, capture=True)
    verbs_pair(guest)
    counters = Counters(guest, names)
    server.ctl("link", "0", "ber", "5e-4")
    first, second = counters.step("traffic:150")
    server.ctl("link", "0", "ber", "0")
    links = server.state()["network"]
    damaged = [links[f"network.link0.damaged_to_end{end}"] for end in (0, 1)]
    assert min(damaged) > 0
    # Each request counts once, however often it came.
    assert [second[f"rx_{kind}_requests"] for kind in ("write", "read", "atomic")] == [300, 150, 150]
    naks = [p for p in packets.packets(server.captures[1]) if p.syndrome == NAK]
    assert second["out_of_sequence"] == len(naks) > 0
    assert 0 <= len(naks) - first["packet_seq_err"] <= damaged[0]
    assert second["duplicate_request"] > 0 and first["roce_adp_retrans"] > 0
    # No counter of an error.
    assert set(first) <= {"packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err",
                          "roce_adp_retrans", "roce_adp_retrans_to"}, first
    assert set(second) <= {"rx_write_requests", "rx_read_requests", "rx_atomic_requests",
                           "out_of_sequence", "duplicate_request"}, second
    traffic.clean(guest)


# Defaults as configuration dumps of ConnectX-4 Lx and later show them.
DEFAULTS = {
    "rp_clamp_tgt_rate": 0, "rp_clamp_tgt_rate_ati": 1, "rp_time_reset": 300,
    "rp_byte_reset": 32767, "rp_threshold": 1, "rp_ai_rate": 5, "rp_max_rate": 0,
    "rp_hai_rate": 50, "rp_min_dec_fac": 50, "rp_min_rate": 1, "rp_rate_to_set_on_first_cnp": 0,
    "rp_dce_tcp_g": 1019, "rp_dce_tcp_rtt": 1, "rp_rate_reduce_monitor_period": 4,
    "rp_initial_alpha_value": 1023, "rp_gd": 11, "np_min_time_between_cnps": 4,
    "np_cnp_dscp": 48, "np_cnp_prio_mode": 0, "np_cnp_prio": 6}
OTHERS = {
    "rp_clamp_tgt_rate": 1, "rp_clamp_tgt_rate_ati": 0, "rp_time_reset": 55,
    "rp_byte_reset": 15000, "rp_threshold": 5, "rp_ai_rate": 40, "rp_max_rate": 9000,
    "rp_hai_rate": 200, "rp_min_dec_fac": 70, "rp_min_rate": 100,
    "rp_rate_to_set_on_first_cnp": 8000, "rp_dce_tcp_g": 1020, "rp_dce_tcp_rtt": 55,
    "rp_rate_reduce_monitor_period": 50, "rp_initial_alpha_value": 1000, "rp_gd": 10,
    "np_min_time_between_cnps": 50, "np_cnp_dscp": 46, "np_cnp_prio_mode": 1, "np_cnp_prio": 5}


@pytest.mark.parametrize("kernel", KERNELS)
def test_congestion_parameters(serve, boot, kernel):
    """All four cards: their defaults, and each parameter written and read back."""
    server = serve("connectx4lx", "connectx5", "connectx6dx", "connectx7")
    guest = boot(kernel, server.sockets)

    for number in range(4):
        # Shell builtins alone: a process takes longer than a question to the card.
        before, after = guest.check(f"""cd {congestion(guest, number)}
show() {{ for file in *; do read -r value <$file; echo -n "$file $value "; done; echo; }}
show
{"".join(f"echo {value} >{name}{chr(10)}" for name, value in sorted(OTHERS.items()))}
show""").splitlines()

        def said(line):
            return dict(zip(line.split()[::2], map(int, line.split()[1::2]), strict=True))
        assert said(before) == DEFAULTS
        # The driver sends a priority of 0 with the mode.
        assert said(after) == {**OTHERS, "np_cnp_prio": 0}
    # One card's settings are not another's, and the firmware refused nothing.
    guest.check(f"echo 7 >{congestion(guest, 2)}/rp_ai_rate")
    rates = guest.check(" ".join(["cat", *(f"{congestion(guest, n)}/rp_ai_rate" for n in range(4))]))
    assert rates.split() == ["40", "40", "7", "40"]
    for card in server.state()["cards"]:
        asked = {c["opcode"]: c for c in card["commands"]}["MODIFY_CONG_PARAMS"]
        assert asked["count"] >= len(OTHERS) and asked["refused"] == 0
    assert not guest.violations()
