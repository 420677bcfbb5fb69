# SPDX-License-Identifier: Apache-2.0
"""Captures of RoCE: a decoder that shares nothing with the simulator's, Wireshark's beside it, and
the habits of real cards' packets.

  frames(path)        (seconds, bytes) of each frame of a capture with nanoseconds
  packets(path)       its RoCE packets, decoded here, each with a right ICRC or AssertionError
  check(path)         all of the above, Wireshark's opinion of each packet, habits; a `Summary`
"""

import collections
import dataclasses
import shutil
import struct
import subprocess
import zlib

import pytest

UDP_PORT = 4791
ETHERTYPE = 0x8915

# Names of opcodes after their transport service (IBTA 9.2.1), and the CNP of RoCEv2 (annex A17).
SERVICES = {0: "RC", 1: "UC", 3: "UD"}
OPERATIONS = ("SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_IMM", "SEND_ONLY",
              "SEND_ONLY_IMM", "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST", "WRITE_LAST_IMM",
              "WRITE_ONLY", "WRITE_ONLY_IMM", "READ", "READ_FIRST", "READ_MIDDLE", "READ_LAST",
              "READ_ONLY", "ACK", "ATOMIC_ACK", "COMPARE_SWAP", "FETCH_ADD", "21", "SEND_LAST_INV",
              "SEND_ONLY_INV")
CNP = 0x81
# Bytes of the headers behind the BTH.
RETH = {"WRITE_FIRST", "WRITE_ONLY", "WRITE_ONLY_IMM", "READ"}
ATOMIC = {"COMPARE_SWAP", "FETCH_ADD"}
AETH = {"READ_FIRST", "READ_LAST", "READ_ONLY", "ACK", "ATOMIC_ACK"}


def frames(path):
    """Reads a capture with nanoseconds frame by frame: some are large."""
    with open(path, "rb") as file:
        magic, _, _, _, _, _, linktype = struct.unpack("<IHHiIII", file.read(24))
        assert magic == 0xA1B23C4D and linktype == 1
        while len(header := file.read(16)) == 16:
            seconds, nanoseconds, stored, length = struct.unpack("<IIII", header)
            data = file.read(stored)
            if len(data) < stored:
                return  # the rest is not yet written
            assert stored == length, "a frame is stored in part"
            yield seconds + nanoseconds / 1e9, data


def crc32(data):
    """Bit by bit, as the standard draws it; zlib's for all that is long."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@dataclasses.dataclass(slots=True)
class Packet:
    number: int  # of the frame in the capture, from 1 as Wireshark counts
    seconds: float
    version: int  # RoCE v1 or v2
    source: bytes  # MAC address
    ip: bytes  # IPv4, IPv6 header or GRH
    udp_source: int
    udp_checksum: int
    opcode: int
    bth: bytes
    syndrome: int | None  # of the AETH
    payload: int  # bytes, without padding
    icrc: int

    @property
    def psn(self):
        return int.from_bytes(self.bth[9:12], "big")

    @property
    def queue(self):
        return int.from_bytes(self.bth[5:8], "big")

    @property
    def operation(self):
        if self.opcode == CNP:
            return "CNP"
        return f"{SERVICES[self.opcode >> 5]} {OPERATIONS[self.opcode & 31]}"

    @property
    def asks(self):
        """AckReq."""
        return bool(self.bth[8] & 0x80)

    @property
    def ecn(self):
        return (self.ip[1] if self.ip[0] >> 4 == 4 else self.ip[1] >> 4) & 3


def decode(number, seconds, frame):
    """A `Packet`, or None if the frame is not RoCE. AssertionError for wrong lengths or ICRC."""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind = int.from_bytes(frame[at:at + 2], "big")
    at += 2
    udp = b""
    if kind == 0x0800:
        size = frame[at] % 16 * 4
        ip = frame[at:at + size]
        end = at + int.from_bytes(ip[2:4], "big")
        protocol = ip[9]
    elif kind in (0x86DD, ETHERTYPE):
        ip = frame[at:at + 40]
        end = at + 40 + int.from_bytes(ip[4:6], "big")
        protocol = ip[6]
    else:
        return None
    at += len(ip)
    if kind != ETHERTYPE:
        if protocol != 17 or int.from_bytes(frame[at + 2:at + 4], "big") != UDP_PORT:
            return None
        udp = frame[at:at + 8]
        assert int.from_bytes(udp[4:6], "big") == end - at, "length of UDP"
        at += 8
    assert at + 16 <= end <= len(frame) and (end - at) % 4 == 0, f"frame {number}: length"
    bth, rest, sent = frame[at:at + 12], frame[at + 12:end - 4], frame[end - 4:end]

    # What routers may change counts as ones.
    masked = bytearray(ip)
    if masked[0] >> 4 == 4:
        masked[1], masked[8], masked[10:12] = 0xFF, 0xFF, b"\xff\xff"
    else:
        masked[0:4] = bytes([masked[0] | 0x0F]) + b"\xff\xff\xff"
        masked[7] = 0xFF
    covered = b"\xff" * 8 + masked + (udp[:6] + b"\xff\xff" if udp else b"") + bth[:4] + b"\xff" + \
        bth[5:] + rest
    icrc = zlib.crc32(covered)
    assert int.from_bytes(sent, "little") == icrc, f"frame {number}: ICRC {sent.hex()}, not {icrc:#x}"
    if len(covered) < 120:
        assert crc32(covered) == icrc

    headers, syndrome = 0, None
    if bth[0] != CNP:
        assert bth[0] >> 5 in SERVICES, f"frame {number}: opcode {bth[0]:#x}"
        operation = OPERATIONS[bth[0] & 31]
        headers = 16 * (operation in RETH) + 28 * (operation in ATOMIC) + \
            4 * (operation in AETH) + 4 * operation.endswith(("_IMM", "_INV")) + \
            8 * (bth[0] >> 5 == 3) + 8 * (operation == "ATOMIC_ACK")
        syndrome = rest[0] if operation in AETH else None
    payload = len(rest) - headers - (bth[1] >> 4 & 3)
    assert payload >= 0, f"frame {number}: shorter than its headers"
    return Packet(number, seconds, 2 if udp else 1, frame[6:12], ip,
                  int.from_bytes(udp[0:2], "big"), int.from_bytes(udp[6:8], "big"), bth[0], bth,
                  syndrome, payload, icrc)


def packets(path):
    for number, (seconds, frame) in enumerate(frames(path), 1):
        packet = decode(number, seconds, frame)
        if packet is not None:
            yield packet


# What Wireshark says of a frame. Programs' payload is theirs: nothing is guessed about it.
FIELDS = ("frame.number", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp",
          "infiniband.aeth.syndrome", "infiniband.invariant.crc", "_ws.malformed",
          "_ws.expert.severity", "_ws.expert.message")
GUESSES = ("rpcordma", "smb_direct", "smc", "iser", "lnet", "nvme-rdma", "fcoib",
           "infiniband.eoib", "infiniband_sdp", "drbd")
WARNING = 0x00600000


def dissected(path):
    """{frame number: values of FIELDS} of what Wireshark takes for InfiniBand."""
    if shutil.which("tshark") is None:
        pytest.skip("no tshark (run scripts/setup)")
    command = ["tshark", "-n", "-r", str(path), "-Y", "infiniband || _ws.malformed",
               "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]
    for field in FIELDS:
        command += ["-e", field]
    for protocol in GUESSES:
        command += ["--disable-protocol", protocol]
    command += ["--disable-heuristic", "eth_over_ib"]  # likewise: a guess, of a protocol in use
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    rows = (line.split("\t") for line in run.stdout.splitlines())
    return {int(row[0]): dict(zip(FIELDS, row, strict=True)) for row in rows}


def agrees(packet, row):
    """Wireshark reads the same from a packet, and has nothing to complain about."""
    said = {name: row[name] for name in FIELDS}
    assert not row["_ws.malformed"], said
    complaints = [int(s) for s in row["_ws.expert.severity"].split(",") if s]
    assert all(severity < WARNING for severity in complaints), said
    values = {"infiniband.bth.opcode": packet.opcode, "infiniband.bth.psn": packet.psn,
              "infiniband.bth.destqp": packet.queue}
    if packet.opcode != CNP:  # of which Wireshark shows no more than the BTH
        values["infiniband.invariant.crc"] = \
            int.from_bytes(packet.icrc.to_bytes(4, "little"), "big")
    if packet.syndrome is not None:
        values["infiniband.aeth.syndrome"] = packet.syndrome
    for name, value in values.items():
        assert row[name] and int(row[name], 0) == value, f"{name} is not {value:#x}: {said}"


class Habits:
    """What packets of real cards have in common beyond the standard, as captures show."""

    def __init__(self):
        self._identification = {}  # the next of each port

    def check(self, packet):
        where = f"frame {packet.number} ({packet.operation})"
        if packet.ecn == 3:
            return  # made by a test that plays a switch with a queue
        ip, service = packet.ip, packet.opcode >> 5
        # One counter for each port and all of its queues. Packets of version 1 take numbers, too,
        # which nobody sees.
        expected = self._identification.get(packet.source)
        assert packet.bth[1] & 0x4F == 0x40, f"{where}: MigReq set, header version 0"
        assert packet.bth[2:4] == b"\xff\xff" and packet.bth[8] & 0x7F == 0, f"{where}: P_Key"
        assert packet.bth[4] & 0x3F == 0, f"{where}: reserved byte with FECN and BECN"
        if packet.version == 2:
            assert packet.udp_checksum == 0, f"{where}: UDP checksum"
            assert 49152 <= packet.udp_source, f"{where}: UDP source port {packet.udp_source}"
            if ip[0] >> 4 == 4:
                assert ip[0] == 0x45 and ip[6:8] == b"\x40\x00", f"{where}: DF, no fragment"
                number = int.from_bytes(ip[4:6], "big")
                assert expected in (None, number), \
                    f"{where}: identification {number}, not {expected}"
                expected = number
        if expected is not None:
            self._identification[packet.source] = (expected + 1) % 65536
        if service in (0, 1):
            hops = ip[8] if ip[0] >> 4 == 4 else ip[7]
            assert hops == 64, f"{where}: hops {hops}"
            assert packet.ecn == 2, f"{where}: ECT(0), not {packet.ecn}"
        operation = packet.operation.split()[-1]
        if service == 0 and operation in ("SEND_LAST", "SEND_ONLY", "WRITE_LAST", "WRITE_ONLY",
                                          "SEND_LAST_IMM", "SEND_ONLY_IMM", "WRITE_LAST_IMM",
                                          "WRITE_ONLY_IMM", "READ", "COMPARE_SWAP", "FETCH_ADD"):
            assert packet.asks, f"{where}: AckReq"
        elif service != 0 or operation in AETH | {"READ_MIDDLE"}:
            assert not packet.asks, f"{where}: AckReq"
        if packet.syndrome is not None and packet.syndrome >> 5 == 0:
            assert packet.syndrome == 0x1F, f"{where}: credits {packet.syndrome:#x}"


@dataclasses.dataclass
class Summary:
    """How many packets of a capture."""
    operations: collections.Counter  # by (version, operation)
    icrcs: int

    def count(self, operation, version=None):
        return sum(n for (v, o), n in self.operations.items()
                   if o == operation and version in (None, v))


def check(path):
    """Every RoCE packet of the capture of one port: ICRC, Wireshark, habits. A `Summary`."""
    rows, habits = dissected(path), Habits()
    summary = Summary(collections.Counter(), 0)
    for packet in packets(path):
        row = rows.pop(packet.number, None)
        assert row is not None, f"frame {packet.number}: Wireshark sees no {packet.operation}"
        agrees(packet, row)
        habits.check(packet)
        summary.operations[packet.version, packet.operation] += 1
        summary.icrcs += 1
    assert not rows, f"Wireshark alone sees RoCE or a broken frame: {list(rows.values())[:3]}"
    return summary
