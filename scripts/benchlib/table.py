# SPDX-License-Identifier: Apache-2.0
"""Rows of a benchmark: what, how much, and the bound that it must keep."""

import dataclasses


@dataclasses.dataclass
class Row:
    """`value` None: not measured, `note` says why. `bound`: the largest value that is right, or,
    with `at_least`, the smallest."""

    what: str
    value: float | None
    unit: str
    bound: float | None = None
    note: str = ""
    at_least: bool = False

    def missed(self):
        if self.value is None or self.bound is None:
            return False
        return self.value < self.bound if self.at_least else self.value > self.bound

    def bound_text(self):
        if self.bound is None:
            return ""
        return f"{'>=' if self.at_least else '<='} {_number(self.bound)}"

    def verdict(self):
        if self.value is None:
            return "skipped"
        if self.bound is None:
            return ""
        return "MISSED" if self.missed() else "ok"


def _number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def show(title, rows):
    cells = [(r.what, _number(r.value), r.unit, r.bound_text(), r.verdict(), r.note)
             for r in rows]
    head = (title, "value", "unit", "bound", "", "")
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    for row in [head, *cells]:
        line = [row[0].ljust(widths[0]), row[1].rjust(widths[1])]
        line += [row[i].ljust(widths[i]) for i in range(2, len(row))]
        print("  ".join(line).rstrip())
