# SPDX-License-Identifier: Apache-2.0
"""The cache directory: where it is, who may make things in it, how much of the disk it may take.

A thing is made under `work/` and renamed into place when complete, so a killed maker leaves
either nothing or the whole thing, and the next one goes on from the last finished step.
"""

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import shutil
import time

from .common import GuestTimeout, GuestUnavailable, megabytes, say

BUDGET = 2_900_000_000  # bytes; the promise to users is "under 3 GB"
RESERVE = 200_000_000  # bytes of the file system that stay free for everybody else


def default_root():
    if os.environ.get("CXSIM_CACHE"):
        return pathlib.Path(os.environ["CXSIM_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "cxsim"


class Cache:
    def __init__(self, root=None):
        self.root = pathlib.Path(root or default_root()).absolute()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GuestUnavailable(f"cannot create the cache {self.root}: {error.strerror}; "
                                   "set CXSIM_CACHE to a writable directory") from error

    def path(self, *parts):
        path = self.root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def work(self, name, keep=False):
        """An empty (or with `keep` possibly half-filled) directory to make something in."""
        path = self.root / "work" / name
        if path.exists() and not keep:
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def publish(self, made, final):
        """Renames a finished thing into place; replaces an older one."""
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.is_dir():
            shutil.rmtree(final)
        os.rename(made, final)
        return final

    def read_json(self, *parts):
        try:
            return json.loads(self.root.joinpath(*parts).read_text())
        except (OSError, ValueError):
            return None

    def write_json(self, value, *parts):
        path = self.path(*parts)
        temporary = path.with_name(path.name + f".{os.getpid()}")
        temporary.write_text(json.dumps(value, indent=1) + "\n")
        os.rename(temporary, path)

    @contextlib.contextmanager
    def maker(self, deadline):
        """Held while something is made: a second maker waits, and says for whom."""
        path = self.path("maker.lock")
        with open(path, "a+", encoding="ascii") as handle:
            told = False
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if error.errno not in (errno.EAGAIN, errno.EACCES):
                        raise
                handle.seek(0)
                owner = handle.read().strip() or "unknown"
                if not told:
                    say(f"process {owner} is preparing {self.root}; waiting for it")
                    told = True
                if deadline.expired():
                    raise GuestTimeout(f"process {owner} still prepares {self.root} after "
                                       f"{deadline.seconds:.0f} s (lock file {path})")
                time.sleep(0.2)
            handle.seek(0)
            handle.truncate()
            handle.write(f"{os.getpid()}\n")
            handle.flush()
            yield

    def usage(self):
        total = 0
        for base, _, names in os.walk(self.root):
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(os.path.join(base, name)).st_blocks * 512
        return total

    def need(self, size, what):
        """Refuses early when `size` bytes for `what` do not fit the disk or the budget."""
        free = shutil.disk_usage(self.root).free
        if free < size + RESERVE:
            raise GuestUnavailable(
                f"{what} needs {megabytes(size)} in {self.root}, but only {megabytes(free)} of "
                f"the disk are free ({megabytes(RESERVE)} are left to others): free some space "
                "or set CXSIM_CACHE to a directory on another disk")
        self.prune(size)

    def prune(self, coming=0):
        """Removes the least recently used snapshots and initrds, then kernels, until the budget
        holds; never the last used of a folder."""
        excess = self.usage() + coming - BUDGET
        for folders in (("snapshots", "initrds"), ("kernels",)):
            items = []
            for folder in folders:
                base = self.root / folder
                items += sorted(base.iterdir(), key=last_use)[:-1] if base.is_dir() else []
            for item in sorted(items, key=last_use):
                if excess <= 0:
                    return
                size = sum(f.lstat().st_blocks * 512 for f in [item, *item.rglob("*")])
                say(f"cache over its budget: removing {item.parent.name}/{item.name} "
                    f"({megabytes(size)})")
                shutil.rmtree(item, ignore_errors=True)
                excess -= size
        if excess > 0:
            raise GuestUnavailable(
                f"{self.root} would pass {megabytes(BUDGET)} by {megabytes(excess)}; remove it "
                "(scripts/guest --clean) and start again")


def last_use(path):
    stamp = path / "used"
    return stamp.stat().st_mtime if stamp.exists() else path.stat().st_mtime


def touch_use(path):
    with contextlib.suppress(OSError):
        (path / "used").touch()
