# SPDX-License-Identifier: Apache-2.0
"""The host's end of the agent's channels (agent.sh tells the protocol)."""

import base64
import dataclasses
import os
import re
import socket
import threading
import time

from . import klog
from .common import GuestError, GuestTimeout
from .qmp import connect_unix

_EVENT = re.compile(rb"\x1e(?:R ([0-9a-f-]{36})|P ([0-9a-f]{32}) ([0-9a-f-]{36}))\n")


@dataclasses.dataclass
class Result:
    status: int
    output: str
    seconds: float


class Rebooted(GuestError):
    """The guest started anew while somebody waited for it."""


class Channel:
    """One request at a time; others wait for the lock."""

    def __init__(self, path, name, deadline, alive):
        self.name, self._alive = name, alive
        self._sock = connect_unix(path, deadline, alive)
        self._buffer = b""
        self._lock = threading.Lock()
        self.boot_id = None
        self.busy_with = None  # the script being run, for a diagnosis

    def close(self):
        self._sock.close()

    def _send(self, line):
        try:
            self._sock.settimeout(30)
            self._sock.sendall(line.encode() + b"\n")
        except OSError as error:
            raise GuestError(f"agent channel {self.name}: {error}") from error

    def _receive(self, deadline, why):
        """Adds what came to the buffer; GuestTimeout when nothing came in time."""
        while True:
            if deadline.expired():
                raise GuestTimeout(why)
            self._sock.settimeout(max(deadline.left(0.5), 0.001))
            try:
                data = self._sock.recv(65536)
            except socket.timeout:
                if not self._alive():
                    raise GuestError("QEMU ended while the agent was busy") from None
                continue
            except OSError as error:
                raise GuestError(f"agent channel {self.name}: {error}") from error
            if not data:
                raise GuestError("QEMU ended (an agent channel closed)")
            self._buffer += data
            return

    def wait_ready(self, deadline, other_than=None):
        """Until the agent answers; with `other_than` (a boot id) until it is a later boot's."""
        with self._lock:
            nonces = set()

            def ping():
                nonce = os.urandom(16).hex()
                nonces.add(nonce.encode())
                self._send(f"ping {nonce}")

            if other_than is None:
                ping()
            while True:
                match = _EVENT.search(self._buffer)
                if match:
                    self._buffer = self._buffer[match.end():]
                    started, nonce, boot_id = match.groups()
                    if started and started.decode() != other_than:
                        ping()
                    elif nonce in nonces and boot_id.decode() != other_than:
                        self.boot_id = boot_id.decode()
                        return self.boot_id
                    continue
                self._receive(deadline, "the guest's agent does not answer (channel "
                                        f"{self.name})")

    def run(self, script, deadline, on_output=None):
        """Runs a bash script in the guest; its output and exit status.

        `on_output(text)` gets the output as it comes. GuestTimeout leaves the script running.
        """
        with self._lock:
            self.busy_with = script
            nonce = os.urandom(16).hex()
            begin = time.monotonic()
            encoded = base64.b64encode(script.encode()).decode()
            self._send(f"run {nonce} {encoded}")
            self._find(re.compile(rb"\x1eB " + nonce.encode() + rb"\n"), deadline, script)
            end = re.compile(rb"\x1eE " + nonce.encode() + rb" (\d+)\n")
            parts = []
            decoder = _Utf8(on_output)
            while True:
                match = end.search(self._buffer)
                done = self._buffer[:match.start()] if match else self._safe_part()
                if done:
                    parts.append(done)
                    decoder.feed(done)
                    self._buffer = self._buffer[len(done):]
                if match:
                    self._buffer = self._buffer[match.end() - len(done):]
                    break
                if re.match(rb"\x1eR [0-9a-f-]{36}\n", self._buffer):
                    raise Rebooted(f"the guest restarted during: {_short(script)}")
                self._receive(deadline, f"the guest still runs: {_short(script)}")
            decoder.finish()
            self.busy_with = None
            return Result(int(match.group(1)), b"".join(parts).decode(errors="replace"),
                          time.monotonic() - begin)

    def _find(self, pattern, deadline, script):
        while True:
            match = pattern.search(self._buffer)
            if match:
                self._buffer = self._buffer[match.end():]
                return
            if re.search(rb"\x1eR [0-9a-f-]{36}\n", self._buffer):
                raise Rebooted(f"the guest restarted before: {_short(script)}")
            self._receive(deadline, f"the agent did not take the command: {_short(script)}")

    def _safe_part(self):
        """The part of the buffer that cannot be the beginning of a marker.

        A marker is at most 48 bytes, begins with RS and holds none but that one."""
        at = self._buffer.rfind(b"\x1e")
        if at < 0 or len(self._buffer) - at > 64:
            return self._buffer
        return self._buffer[:at]


class _Utf8:
    """Hands on whole characters, so that a split one is not shown as two errors."""

    def __init__(self, callback):
        self._callback, self._rest = callback, b""

    def feed(self, data):
        if self._callback is None:
            return
        data = self._rest + data
        cut = len(data)
        for back in range(1, min(4, len(data)) + 1):
            byte = data[-back]
            if byte >= 0xC0:
                need = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                cut = len(data) - back if back < need else len(data)
                break
            if byte < 0x80:
                break
        self._rest = data[cut:]
        if cut:
            self._callback(data[:cut].decode(errors="replace"))

    def finish(self):
        if self._callback is not None and self._rest:
            self._callback(self._rest.decode(errors="replace"))


def _short(script):
    line = " ".join(script.split())
    return line if len(line) <= 120 else line[:117] + "..."


class LogStream(threading.Thread):
    """Reads the kernel log channel all the time: a guest must never wait for its log's reader."""

    def __init__(self, path, deadline, alive):
        super().__init__(daemon=True, name="kmsg")
        self._sock = connect_unix(path, deadline, alive)
        self._parser = klog.Parser()
        self._changed = threading.Condition()
        self.records = []  # of every boot since the start
        self.lost = 0
        self._closed = False
        self.start()

    def run(self):
        pending = b""
        while True:
            try:
                data = self._sock.recv(65536)
            except OSError:
                data = b""
            with self._changed:
                if not data:
                    self._closed = True
                    self._changed.notify_all()
                    return
                pending += data
                while (match := re.search(rb"\x1eR ([0-9a-f-]{36})\n", pending)):
                    self._take(pending[:match.start()])
                    pending = pending[match.end():]
                    self.lost += self._parser.lost
                    self._parser = klog.Parser()
                if b"\x1e" not in pending:
                    self._take(pending)
                    pending = b""
                self._changed.notify_all()

    def _take(self, data):
        self.records += self._parser.feed(data)

    def lost_records(self):
        return self.lost + self._parser.lost

    def wait_for(self, text, deadline):
        """Until a record with `text` came (the marker that `Guest.dmesg` writes)."""
        with self._changed:
            begin = 0
            while True:
                for record in self.records[begin:]:
                    if text in record.text:
                        return True
                begin = len(self.records)
                if self._closed or deadline.expired():
                    return False
                self._changed.wait(deadline.left(0.5))

    def close(self):
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._sock.close()
