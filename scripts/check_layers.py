#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the arrows between folders: every #include of ours must follow the table below.

Prints one line for each include that points the wrong way and ends with status 1, else 0.
With file names as arguments only those are checked (the pre-commit hook).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A folder may include itself and what stands to its right. The longest matching name counts;
# "prm" is the generated part of model/prm.
PRM = ["model/prm", "prm", "model/base"]
MODEL_LOW = ["model/base"]
ALLOWED = {
    "model/base": [],
    "model/prm": ["prm", "model/base"],
    "model/sim": MODEL_LOW,
    "model/params": PRM + MODEL_LOW,
    "model/stats": MODEL_LOW,
    "model/trace": PRM + ["model/params", "model/stats", "model/sim"],
    "model/ports": MODEL_LOW,
    "model/memory": PRM + ["model/ports", "model/sim", "model/stats"],
    "model/resources": PRM + ["model/ports", "model/sim", "model/memory"],
    "model/queues": PRM + ["model/ports", "model/sim", "model/memory", "model/resources",
                           "model/stats", "model/trace"],
    "model/steering": PRM + ["model/ports", "model/resources", "model/memory", "model/sim",
                             "model/stats"],
    "pcie/vfio_user": [],
    "pcie": ["model", "prm", "pcie/vfio_user"],
    "eth/wire": ["model"],
    "eth": ["model", "prm", "eth/wire"],
    "roce": ["model", "prm", "eth/wire"],
    "firmware_stub": ["model", "prm"],
    "scenarios": ["model", "prm", "pcie", "eth", "roce", "firmware_stub"],
    "tests": ["model", "prm", "pcie", "eth", "roce", "firmware_stub", "scenarios"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".h", ".cpp"}


def folder_of(path):
    """The longest name of the table that `path` lies in, or None."""
    best = None
    for folder in [*ALLOWED, "prm"]:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def violations(path):
    """(line number, included file, reason) of each include that the table does not allow."""
    here = folder_of(path)
    if here is None:
        return
    text = (ROOT / path).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        there = folder_of(target)
        if there is None:
            yield number, target, "is not named from the root of the tree"
        elif there != here and not any(
            there == allowed or there.startswith(allowed + "/") for allowed in ALLOWED[here]
        ):
            yield number, target, f"{here} may not use {there}"


def main(arguments):
    """Checks `arguments`, or the whole tree; returns the exit status."""
    if arguments:
        paths = [pathlib.Path(a).resolve().relative_to(ROOT).as_posix() for a in arguments]
    else:
        paths = [
            p.relative_to(ROOT).as_posix()
            for top in sorted({name.split("/")[0] for name in ALLOWED})
            for p in sorted((ROOT / top).rglob("*"))
        ]
    bad = 0
    checked = 0
    for path in paths:
        if pathlib.Path(path).suffix not in SUFFIXES:
            continue
        checked += 1
        for number, target, reason in violations(path):
            print(f"{path}:{number}: {target}: {reason}")
            bad += 1
    print(f"{checked} files, {bad} includes against the arrows")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
