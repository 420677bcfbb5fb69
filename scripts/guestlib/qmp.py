# SPDX-License-Identifier: Apache-2.0
"""A small QMP client: one command at a time, events kept."""

import json
import socket
import time

from .common import Deadline, GuestError, GuestTimeout


def connect_unix(path, deadline, alive=None):
    """Connects to a socket that a process we started is about to offer."""
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(str(path))
            return sock
        except OSError as error:
            sock.close()
            if alive is not None and not alive():
                raise GuestError(f"the process behind {path} ended before it answered") from error
            if deadline.expired():
                raise GuestTimeout(f"no answer at {path}: {error}") from error
            time.sleep(0.01)


class Qmp:
    def __init__(self, path, deadline, alive=None):
        self._sock = connect_unix(path, deadline, alive)
        self._buffer = b""
        self.events = []
        self._receive(deadline)  # the greeting
        self.command("qmp_capabilities", deadline=deadline)

    def _receive(self, deadline):
        while b"\n" not in self._buffer:
            self._sock.settimeout(max(deadline.left(), 0.001))
            try:
                data = self._sock.recv(65536)
            except socket.timeout as error:
                raise GuestTimeout("QEMU does not answer on its QMP socket") from error
            except OSError as error:
                raise GuestError(f"QMP connection lost: {error}") from error
            if not data:
                raise GuestError("QEMU ended (its QMP socket closed)")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def command(self, name, arguments=None, deadline=None):
        """The command's return value; GuestError with QEMU's own words when refused."""
        deadline = deadline or Deadline(30)
        request = {"execute": name}
        if arguments:
            request["arguments"] = arguments
        try:
            self._sock.settimeout(max(deadline.left(), 0.001))
            self._sock.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise GuestError(f"QMP connection lost at {name}: {error}") from error
        while True:
            message = self._receive(deadline)
            if "event" in message:
                self.events.append(message)
            elif "error" in message:
                raise GuestError(f"QEMU refused {name}: {message['error'].get('desc')}")
            elif "return" in message:
                return message["return"]

    def close(self):
        self._sock.close()
