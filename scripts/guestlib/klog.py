# SPDX-License-Identifier: Apache-2.0
"""Kernel log records as /dev/kmsg gives them, and their judgement against the table of rules."""

import dataclasses
import re

LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
# prio,sequence,microseconds,flags[,more];text  — continuation lines start with a blank.
_RECORD = re.compile(rb"^(\d+),(\d+),(\d+),([^;]*);(.*)$", re.S)


@dataclasses.dataclass(frozen=True)
class Record:
    level: int  # 0 (emergency) to 7 (debug)
    facility: int  # 0 is the kernel itself
    sequence: int
    seconds: float  # of the guest's clock since its boot
    text: str
    device: str = ""  # driver core's "SUBSYSTEM=pci DEVICE=+pci:0000:01:00.0", when given

    def __str__(self):
        return f"[{self.seconds:12.6f}] {LEVELS[self.level]:6} {self.text}"


class Parser:
    """Bytes of the stream in, whole records out. Keeps the incomplete rest for the next call."""

    def __init__(self):
        self._rest = b""
        self._pending = None
        self.lost = 0  # records that the guest's ring dropped before they were read
        self._next = None

    def feed(self, data):
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        out = []
        for line in lines:
            if line.startswith(b" "):
                self._attribute(line[1:])
                continue
            self._flush(out)
            match = _RECORD.match(line)
            if match:
                self._pending = [match, []]
        if not self._rest:  # a write of the guest ends with a complete record
            self._flush(out)
        return out

    def _attribute(self, line):
        if self._pending is not None:
            self._pending[1].append(line.decode(errors="replace"))

    def _flush(self, out):
        if self._pending is None:
            return
        match, attributes = self._pending
        self._pending = None
        priority, sequence, micros, _, text = match.groups()
        sequence = int(sequence)
        if self._next is not None and sequence < self._next:
            return  # the guest's `cat` started again from the oldest record
        if self._next is not None:
            self.lost += sequence - self._next
        self._next = sequence + 1
        out.append(Record(int(priority) & 7, int(priority) >> 3, sequence, int(micros) / 1e6,
                          unescape(text), " ".join(attributes)))


def unescape(raw):
    """/dev/kmsg writes bytes outside printable ASCII as \\xNN."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]),
                  raw).decode(errors="replace")


@dataclasses.dataclass
class Violation:
    record: Record
    rule: str

    def __str__(self):
        return f"{self.record}   <- {self.rule}"


def judge(records, rules, allowed, kernel, extra_allowed=()):
    """Violations of `rules` that no entry of `allowed` excuses for this kernel release."""
    extra = [re.compile(pattern) for pattern in extra_allowed]
    found = []
    for record in records:
        if record.facility != 0:
            continue  # written by user space through /dev/kmsg
        rule = next((r for r in rules if r.matches(record)), None)
        if rule is None:
            continue
        if any(a.excuses(record, kernel) for a in allowed):
            continue
        if any(pattern.search(record.text) for pattern in extra):
            continue
        found.append(Violation(record, rule.reason))
    return found


def missing(records, required, cards):
    """Reasons of required lines that did not appear as often as there are bound cards."""
    out = []
    for rule in required:
        seen = {match.group(1) for r in records if (match := re.search(rule.pattern, r.text))}
        if len(seen) < cards:
            out.append(f"{rule.reason}: seen for {len(seen)} of {cards} functions "
                       f"(pattern {rule.pattern!r})")
    return out
