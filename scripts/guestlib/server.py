# SPDX-License-Identifier: Apache-2.0
"""The simulator's side: one `cxsim serve` process that offers all cards on sockets."""

import json
import os
import pathlib
import subprocess
import time

from . import procs
from .common import GuestError, GuestTimeout, GuestUnavailable

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
BUILD_SECONDS = 3600.0
CARDS = ("connectx4lx", "connectx5", "connectx6dx", "connectx7")


def cxsim_program():
    """The `cxsim` to run: CXSIM_BINARY (a build of one's own) or scripts/cxsim; None if absent."""
    own = os.environ.get("CXSIM_BINARY")
    if own is not None:
        return own if os.access(own, os.X_OK) else None
    script = SCRIPTS / "cxsim"
    return str(script) if os.access(script, os.X_OK) else None


def is_built():
    """Whether `cxsim_program` can run at once; scripts/cxsim would first build for minutes."""
    if os.environ.get("CXSIM_BINARY") is not None:
        return cxsim_program() is not None
    build = os.environ.get("CXSIM_BUILD_DIR") or SCRIPTS.parent / "build" / os.environ.get(
        "CXSIM_PRESET", "release")
    return os.access(pathlib.Path(build) / "bin/cxsim", os.X_OK)


def ensure_built():
    """Lets scripts/cxsim build itself, its words on our standard error, before the clock runs."""
    program = cxsim_program()
    if program is None or is_built():
        return
    child = procs.spawn([program, "cards"], stdout=subprocess.DEVNULL)
    try:
        status = child.wait(BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise GuestUnavailable(f"{program} was not built in {BUILD_SECONDS:.0f} s") from None
    finally:
        procs.terminate(child)
    if status != 0:
        raise GuestUnavailable(f"{program} could not be built (status {status})")


def serve_command(program, cards, sockets, control, options=()):
    """The one place that knows how `cxsim serve` is called."""
    command = [program, "serve"]
    for card, socket in zip(cards, sockets, strict=True):
        command += ["--card", card, "--socket", str(socket)]
    return [*command, "--control", str(control), *options]


class Server:
    """Serves `cards` on one socket each in `folder`; the log lies in `log`."""

    def __init__(self, cards, folder, log, options=(), capture=False):
        """`capture`: all frames of each card's port into a file of `captures`."""
        program = cxsim_program()
        if program is None:
            raise GuestUnavailable(
                "no cxsim to serve the card: scripts/cxsim is missing or CXSIM_BINARY names no "
                "executable; --attach SOCKET uses a running server, --nics 0 boots without a card")
        self.cards, self.log = list(cards), pathlib.Path(log)
        self.folder = pathlib.Path(folder)
        self.sockets = [self.folder / f"card{number}" for number in range(len(self.cards))]
        self.control = self.folder / "control"
        self.captures = []
        if capture:
            self.captures = [self.folder / f"wire.card{n}.pcap" for n in range(len(self.cards))]
            options = [*options, f"--pcap={self.folder / 'wire'}"]
        self.options = list(options)
        self._command = serve_command(program, self.cards, self.sockets, self.control, options)
        self._process = None

    def launch(self):
        for socket in self.sockets:
            socket.unlink(missing_ok=True)
        with open(self.log, "ab") as log:
            self._process = procs.spawn(self._command, stdout=log, stderr=log)
        return self

    def wait_ready(self, deadline):
        """Until all sockets exist; GuestError with the log's tail when the server ends instead."""
        while not all(socket.exists() for socket in self.sockets):
            if self._process.poll() is not None:
                raise GuestError(f"{' '.join(self._command[:2])} ended with status "
                                 f"{self._process.returncode}:\n{self.log_tail()}")
            if deadline.expired():
                raise GuestTimeout(f"{' '.join(self._command)} offers no socket after "
                                   f"{deadline.seconds:.0f} s:\n{self.log_tail()}")
            time.sleep(0.01)
        return self

    def start(self, deadline):
        return self.launch().wait_ready(deadline)

    @property
    def pid(self):
        return self._process.pid if self._process else None

    def alive(self):
        return self._process is not None and self._process.poll() is None

    def status(self, timeout=5.0):
        """What the server says of itself, or why it says nothing."""
        program = cxsim_program()
        if not self.control.exists():
            return "the server has no control socket"
        code, output = procs.run([program, "ctl", "--socket", self.control, "status"], timeout)
        return output.strip() if code == 0 else f"cxsim ctl failed ({code}): {output.strip()}"

    def state(self):
        """`cxsim ctl status` as a dictionary: per card the objects, pages, commands it holds."""
        return json.loads(self.status())

    def ctl(self, *words, timeout=30.0):
        """The answer to a question of `cxsim ctl` as a dictionary; GuestError if it is refused."""
        code, output = procs.run([cxsim_program(), "ctl", "--socket", self.control, *words], timeout)
        if code != 0:
            raise GuestError(f"cxsim ctl {' '.join(words)} failed ({code}): {output.strip()}")
        return json.loads(output)

    def log_tail(self, lines=20):
        return tail(self.log, lines)

    def close(self):
        procs.terminate(self._process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def tail(path, lines):
    try:
        text = pathlib.Path(path).read_text(errors="replace").strip().splitlines()
    except OSError as error:
        return f"({path}: {error.strerror})"
    return "\n".join(text[-lines:]) or f"({path} is empty)"
