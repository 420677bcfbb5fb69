# SPDX-License-Identifier: Apache-2.0
"""What every module here needs: the error type, deadlines, and progress on standard error."""

import sys
import threading
import time

START = time.monotonic()


class GuestError(Exception):
    """Something the user can act on; `str()` of it is the whole message, without a traceback."""

    exit_status = 70


class GuestUnavailable(GuestError):
    """This machine lacks something (disk, mirror, a built cxsim); a test skips with the text."""


class GuestTimeout(GuestError):
    """A bounded wait ran out; the caller decides whether to print a diagnosis."""

    exit_status = 124


class Deadline:
    """A point in monotonic time. Seconds everywhere; never in the past by less than zero."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self, at_most=None):
        rest = max(0.0, self._end - time.monotonic())
        return rest if at_most is None else min(rest, at_most)

    def expired(self):
        return self.left() <= 0.0

    def sub(self, seconds):
        """A deadline of `seconds` that does not outlive this one."""
        return Deadline(min(seconds, self.left()))


_print_lock = threading.Lock()
_quiet = False


def set_quiet(quiet):
    global _quiet
    _quiet = quiet


def say(text, always=False):
    """One line for the person who waits; standard output stays free for the guest's own output."""
    if _quiet and not always:
        return
    with _print_lock:
        sys.stderr.write(f"guest: {text}\n")
        sys.stderr.flush()


def emit(stream, text):
    """Writes guest output without interleaving with other threads' lines."""
    with _print_lock:
        stream.write(text)
        stream.flush()


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


def natural_key(text):
    """Sort key under which 6.12.117 follows 6.12.95."""
    out, number = [], ""
    for char in text + "\0":
        if char.isdigit():
            number += char
            continue
        if number:
            out.append((1, int(number), ""))
            number = ""
        out.append((0, 0, char))
    return out


class Progress:
    """Plain progress lines: what, done of total, rate, time left; at most one per `interval`."""

    def __init__(self, what, total, unit="bytes", interval=2.0):
        self.what, self.total, self.unit, self.interval = what, total, unit, interval
        self.begin = self.last = time.monotonic()
        self.first = None

    def _amount(self, value):
        return megabytes(value) if self.unit == "bytes" else f"{value:.0f}"

    def update(self, done):
        now = time.monotonic()
        if self.first is None:
            self.first = done
        if now - self.last < self.interval or done >= self.total:
            return  # the finishing line says the rest
        self.last = now
        rate = (done - self.first) / max(now - self.begin, 1e-6)
        left = f"{(self.total - done) / rate:.0f} s left" if rate > 0 else "stalled"
        unit = "" if self.unit == "bytes" else f" {self.unit}"
        say(f"{self.what}: {self._amount(done)} of {self._amount(self.total)}{unit}, "
            f"{self._amount(rate)}{unit}/s, {left}")

    def finish(self, note=""):
        took = time.monotonic() - self.begin
        unit = "" if self.unit == "bytes" else f" {self.unit}"
        say(f"{self.what}: {self._amount(self.total)}{unit} in {took:.1f} s{note}")
