# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/guest that need no machine: parsers, tables, copies, the channel."""

import base64
import collections
import io
import os
import re
import socket
import struct
import subprocess
import threading

import pytest

from guestlib import agent, cache, cli, common, debian, diagnose, image, kernels, klog, logrules
from guestlib import memory, server, setup


CLASSIC = """
# deb http://commented.example/debian bookworm main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://m.example/debian bookworm main
deb-src http://m.example/debian bookworm main
deb http://m.example/debian-security bookworm-security main   # comment
deb https://third.example/apt bookworm stable
"""
DEB822 = """Types: deb deb-src
# a comment inside
URIs: http://m.example/debian/
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: http://m.example/debian-security
Suites: bookworm-security
Components: main
"""


@pytest.mark.parametrize("text, parse", [(CLASSIC, debian.parse_list),
                                         (DEB822, debian.parse_sources)])
def test_both_formats_of_apt_sources_give_archive_and_security_mirror(text, parse):
    assert debian.mirrors(parse(text)) == ("http://m.example/debian",
                                           "http://m.example/debian-security")


def test_a_third_party_that_borrows_a_suite_name_is_not_taken_for_debian():
    entries = debian.parse_list("deb http://vendor.example/repo bookworm main\n" + CLASSIC)
    assert debian.mirrors(entries)[0] == "http://m.example/debian"


def test_without_a_debian_archive_the_error_says_where_it_was_looked_for():
    with pytest.raises(common.GuestUnavailable, match="sources.list"):
        debian.mirrors(debian.parse_list("deb http://v.example/apt nodistro main"))


def test_versions_sort_by_number():
    names = ["linux-image-6.12.95+deb12-amd64", "linux-image-6.12.117+deb12-amd64",
             "linux-image-6.12.90+deb12.1-amd64"]
    assert sorted(names, key=common.natural_key)[-1] == names[1]


def record(level, text, facility=0):
    return klog.Record(level, facility, 1, 0.0, text)


def test_kmsg_records_are_parsed_whole_whatever_the_pieces():
    data = (b"6,10,1000,-;first\n"
            b"4,11,2000000,-;mlx5_core 0000:01:00.0: tab\\x09here\n SUBSYSTEM=pci\n"
            b" DEVICE=+pci:0000:01:00.0\n"
            b"15,12,2000001,-;from user space\n")
    for size in (1, 7, len(data)):
        parser, out = klog.Parser(), []
        for begin in range(0, len(data), size):
            out += parser.feed(data[begin:begin + size])
        assert [(r.level, r.facility, r.sequence) for r in out] == [(6, 0, 10), (4, 0, 11),
                                                                    (7, 1, 12)]
        assert out[1].text == "mlx5_core 0000:01:00.0: tab\there"
        assert out[1].seconds == 2.0


def test_records_read_twice_count_once_and_lost_ones_are_counted():
    parser = klog.Parser()
    out = parser.feed(b"6,1,0,-;a\n6,2,0,-;b\n6,1,0,-;a\n6,2,0,-;b\n6,5,0,-;c\n")
    assert [r.text for r in out] == ["a", "b", "c"]
    assert parser.lost == 2


FORBIDDEN_LINES = [
    (4, "mlx5_core 0000:01:00.0: mlx5_cmd_check:782: QUERY_PAGES failed"),
    (3, "infiniband mlx5_0: Couldn't open port 1"),
    (4, "------------[ cut here ]------------"),
    (4, "WARNING: CPU: 0 PID: 1 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110"),
    (4, "refcount_t: underflow; use-after-free."),
    (1, "BUG: kernel NULL pointer dereference, address: 0000000000000000"),
    (4, "Oops: 0002 [#1] PREEMPT SMP NOPTI"),
    (6, "Call Trace:"),
    (3, "INFO: task modprobe:181 blocked for more than 120 seconds."),
    (3, "rcu: INFO: rcu_preempt self-detected stall on CPU"),
    (3, "eth0: hw csum failure"),
    (6, "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 0 timed out"),
    (0, "unregister_netdevice: waiting for eth0 to become free. Usage count = 2"),
]


@pytest.mark.parametrize("level, text", FORBIDDEN_LINES)
def test_a_forbidden_line_is_found(level, text):
    found = klog.judge([record(level, text)], logrules.FORBIDDEN, logrules.ALLOWED, "6.1.0-57")
    assert len(found) == 1


@pytest.mark.parametrize("level, text, facility", [
    (6, "mlx5_core 0000:01:00.0: firmware version: 16.35.2000", 0),
    (5, "mlx5_core 0000:01:00.0: E-Switch: Total vports 2", 0),
    (3, "mlx5_core 0000:01:00.0: written by a user", 1),
    (4, "Spectre V2 : WARNING: Unprivileged eBPF is enabled", 0),
])
def test_a_harmless_line_is_not_found(level, text, facility):
    assert not klog.judge([record(level, text, facility)], logrules.FORBIDDEN, logrules.ALLOWED,
                          "6.1.0-57-amd64")


def test_an_allowed_line_counts_only_for_the_kernels_it_names():
    allowed = (logrules.Allowed("QUERY_PAGES", "known", r"6\.1\..*"),)
    lines = [record(*FORBIDDEN_LINES[0])]
    assert not klog.judge(lines, logrules.FORBIDDEN, allowed, "6.1.0-57-amd64")
    assert klog.judge(lines, logrules.FORBIDDEN, allowed, "6.12.117+deb12-amd64")
    assert not klog.judge(lines, logrules.FORBIDDEN, (), "6.12.117", ["QUERY_P.GES"])


def test_every_allowed_line_has_a_reason_and_valid_patterns():
    for entry in logrules.ALLOWED:
        assert len(entry.reason) > 20
        re.compile(entry.pattern), re.compile(entry.kernels)


def test_a_required_line_must_come_from_each_function():
    line = "mlx5_core 0000:0{}:00.0: firmware version: 16.35.2000"
    records = [record(6, line.format(1)), record(6, line.format(1))]
    assert klog.missing(records, logrules.REQUIRED, 2)
    assert not klog.missing([*records, record(6, line.format(2))], logrules.REQUIRED, 2)


def test_modules_come_with_what_they_depend_on():
    dep = ("kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.xz: kernel/net/x.ko.xz\n"
           "kernel/net/x.ko.xz:\nkernel/sound/y.ko.xz: kernel/net/x.ko.xz\n")
    assert kernels.choose_modules(dep) == [
        "kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.xz", "kernel/net/x.ko.xz"]


def test_a_file_that_is_no_kernel_is_refused(tmp_path, cache=None):
    path = tmp_path / "bzImage"
    path.write_bytes(b"\0" * 4096)
    with pytest.raises(common.GuestError, match="no bzImage"):
        kernels.image_release(path.read_bytes(), path)
    assert kernels.quick_image(b"\0" * 4096) is None


def test_memory_with_holes_survives_saving_and_loading(tmp_path):
    first = memory.Ram("8M")
    os.pwrite(first.fd, b"begin", 0)
    os.pwrite(first.fd, b"middle", 3 << 20)
    os.pwrite(first.fd, b"\0" * 4096, 5 << 20)
    os.pwrite(first.fd, b"end", (8 << 20) - 3)
    first.save(tmp_path / "ram")
    second = memory.Ram("8M")
    second.load(tmp_path / "ram")
    assert os.pread(second.fd, 8 << 20, 0) == os.pread(first.fd, 8 << 20, 0)
    assert (tmp_path / "ram").stat().st_blocks * 512 <= 4 * 65536
    first.close()
    second.close()


def test_the_initramfs_is_read_back_by_cpio(tmp_path):
    tree = tmp_path / "tree"
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/tool").write_bytes(b"x" * 1001)
    (tree / "usr/bin/tool").chmod(0o755)
    (tree / "bin").symlink_to("usr/bin")
    buffer = io.BytesIO()
    writer = image.CpioWriter(buffer)
    writer.tree(tree)
    writer.finish()
    assert len(buffer.getvalue()) % 512 == 0
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["cpio", "-idm", "--quiet", "--no-absolute-filenames"], cwd=out,
                   input=buffer.getvalue(), check=True, timeout=30)
    assert (out / "bin/tool").read_bytes() == b"x" * 1001
    assert os.access(out / "usr/bin/tool", os.X_OK)


def test_too_little_disk_is_said_before_anything_is_made(tmp_path, monkeypatch):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda _: usage(10**12, 10**12, 10**6))
    with pytest.raises(common.GuestUnavailable, match="1.0 MB of the disk are free.*CXSIM_CACHE"):
        cache.Cache(tmp_path).need(10**9, "QEMU")


def test_the_budget_removes_the_least_recently_used_snapshot(tmp_path, monkeypatch):
    store = cache.Cache(tmp_path)
    for age, name in enumerate(["new", "old"]):
        folder = store.path("snapshots", name, "state").parent
        (folder / "state").write_bytes(os.urandom(200_000))
        os.utime(folder, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(cache, "BUDGET", 300_000)
    store.prune()
    assert [p.name for p in (tmp_path / "snapshots").iterdir()] == ["new"]


def test_the_budget_removes_a_replaced_initrd_before_a_snapshot_in_use(tmp_path, monkeypatch):
    store = cache.Cache(tmp_path)
    for age, folder, name in ((3, "initrds", "replaced"), (2, "snapshots", "in use"),
                              (1, "initrds", "in use"), (0, "snapshots", "newest")):
        made = store.path(folder, name, "state").parent
        (made / "state").write_bytes(os.urandom(200_000))
        os.utime(made, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(cache, "BUDGET", 700_000)
    store.prune()
    assert [p.name for p in (tmp_path / "initrds").iterdir()] == ["in use"]
    assert {p.name for p in (tmp_path / "snapshots").iterdir()} == {"in use", "newest"}


def test_a_second_maker_waits_and_gives_up_at_its_deadline(tmp_path):
    store = cache.Cache(tmp_path)
    with store.maker(common.Deadline(5)):
        with pytest.raises(common.GuestTimeout, match=str(os.getpid())):
            with cache.Cache(tmp_path).maker(common.Deadline(0.3)):
                pass
    with store.maker(common.Deadline(1)):
        pass


class FakeAgent(threading.Thread):
    """Answers like agent.sh over a socket; `script` decodes to what it sends back."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.start()

    def run(self):
        connection, _ = self.listener.accept()
        boot = b"01234567-0123-0123-0123-0123456789ab"
        for line in connection.makefile("rb"):
            verb, nonce, *payload = line.split()
            if verb == b"ping":
                connection.sendall(b"noise\x1eP " + nonce + b" " + boot + b"\n")
                continue
            connection.sendall(b"late output\n\x1eB " + nonce + b"\n")
            for byte in base64.b64decode(payload[0]):
                connection.sendall(bytes([byte]))
            connection.sendall(b"\x1eE " + nonce + b" 7\n")


def test_the_channel_separates_output_and_status(tmp_path):
    FakeAgent(tmp_path / "exec")
    channel = agent.Channel(tmp_path / "exec", "exec", common.Deadline(5), lambda: True)
    channel.wait_ready(common.Deadline(5))
    tricky = "ü\x1eE 00 0\nno newline at the end \x1e"
    seen = []
    for _ in range(2):
        result = channel.run(tricky, common.Deadline(5), seen.append)
        assert (result.status, result.output) == (7, tricky)
    assert "".join(seen) == tricky * 2
    channel.close()


def test_the_serve_command_names_each_card_with_its_socket():
    assert server.serve_command("cxsim", ["connectx5", "connectx7"], ["/a", "/b"], "/c",
                                ["--seed", "2"]) == [
        "cxsim", "serve", "--card", "connectx5", "--socket", "/a", "--card", "connectx7",
        "--socket", "/b", "--control", "/c", "--seed", "2"]


@pytest.mark.parametrize("arguments, message", [
    (["--card", "connectx9"], "invalid choice"),
    (["--guests", "2", "--exec0", "true"], "guest 1 has no command"),
    (["--exec1", "true"], "guests 0 to 0"),
    (["--exec0"], "expected one argument"),
    (["--card0", "nothing"], "choose from"),
    (["--nics", "-1"], "0 or more"),
    (["--timeout", "0"], "more than 0"),
    (["--allow-log", "("], "allow-log"),
    (["--guests", "0"], "at least 1"),
])
def test_a_wrong_option_is_refused_with_a_reason(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.parse(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_cards_are_dealt_to_guests():
    options = cli.parse(["--guests", "2", "--exec", "true", "--card", "connectx5", "--card",
                         "connectx7", "--card1", "connectx6dx"])
    assert cli.cards_of(options, 0) == ["connectx5", "connectx7"]
    assert cli.cards_of(options, 1) == ["connectx6dx"]
    options = cli.parse(["--nics", "3", "--card", "connectx5", "--card", "connectx7"])
    assert cli.cards_of(options, 0) == ["connectx5", "connectx7", "connectx5"]
    assert cli.cards_of(cli.parse(["--nics", "0"]), 0) == []
    assert cli.cards_of(cli.parse([]), 0) == [cli.DEFAULT_CARD]


@pytest.mark.parametrize("text", ["1", "0G", "1T", "-1G", "1.5G"])
def test_a_memory_size_without_a_meaning_is_refused(text):
    with pytest.raises(common.GuestError, match="--memory"):
        setup.memory_size(text)


def test_a_panic_in_the_serial_log_is_found(tmp_path):
    path = tmp_path / "serial"
    path.write_text("[ 1.0] fine\n[ 2.0] Kernel panic - not syncing: Fatal exception\n")
    assert diagnose.serial_damage(path) == ["serial: Kernel panic - not syncing: Fatal exception"]


def test_the_payload_of_a_kernel_without_a_pvh_note_stays_packed():
    import gzip
    payload = gzip.compress(b"\x7fELF" + b"\0" * 5000)
    raw = bytearray(4096 + len(payload) + 4)
    raw[0x202:0x206] = b"HdrS"
    raw[0x1F1] = 7
    struct.pack_into("<II", raw, 0x248, 0, len(payload) + 4)
    raw[4096:4096 + len(payload)] = payload
    assert kernels.quick_image(bytes(raw)) is None


def program(tmp_path, monkeypatch, text):
    path = tmp_path / "cxsim"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    monkeypatch.setenv("CXSIM_BINARY", str(path))
    return server.Server(["connectx5"], tmp_path, tmp_path / "log")


def test_a_server_that_ends_at_once_is_reported_with_its_words(tmp_path, monkeypatch):
    serving = program(tmp_path, monkeypatch, "echo no such card >&2; exit 6")
    with pytest.raises(common.GuestError, match="status 6:\nno such card"):
        serving.start(common.Deadline(10))


def test_a_server_without_a_socket_is_a_timeout_and_is_ended(tmp_path, monkeypatch):
    serving = program(tmp_path, monkeypatch, "echo thinking; exec sleep 1000")
    with pytest.raises(common.GuestTimeout, match="(?s)offers no socket.*thinking"):
        serving.start(common.Deadline(0.5))
    assert serving.alive()
    serving.close()
    assert not serving.alive()


def test_the_servers_state_is_what_ctl_prints(tmp_path, monkeypatch):
    serving = program(tmp_path, monkeypatch, """
[ "$1 $4" = "ctl status" ] && { echo '{"cards": [{"objects": {}, "pages_held": 0}]}'; exit 0; }
touch "$5"; touch "$7"; exec sleep 1000""")
    with serving.start(common.Deadline(10)):
        end = common.Deadline(5)
        while not serving.control.exists() and not end.expired():
            pass
        assert serving.state()["cards"][0]["pages_held"] == 0


def test_without_a_program_the_message_names_the_ways_out(tmp_path, monkeypatch):
    monkeypatch.setenv("CXSIM_BINARY", str(tmp_path / "nothing"))
    assert not server.is_built()
    with pytest.raises(common.GuestUnavailable, match="--attach SOCKET.*--nics 0"):
        server.Server(["connectx5"], tmp_path, tmp_path / "log")
