# SPDX-License-Identifier: Apache-2.0
"""Puts together what one guest needs, making what is missing in the cache."""

import dataclasses
import os
import pathlib
import re
import shutil
import time

from . import image, kernels, qemu as machine, snapshot
from .cache import last_use, touch_use
from .common import Deadline, GuestError, megabytes, say

_FIRST_MAKING_BYTES = 1_500_000_000  # one kernel from nothing, with what is needed in between


@dataclasses.dataclass
class Kit:
    qemu: machine.Qemu
    kernel: kernels.Kernel
    initrd: pathlib.Path
    memory: str = "1G"
    cpus: int = 2


def memory_size(text):
    if not re.fullmatch(r"[1-9]\d*[MG]", text):
        raise GuestError(f"--memory {text}: a number with M or G is meant, as in 1G or 1536M")
    return text


def _complete(cache, name, packages):
    """A kit from what lies in the cache, or None: the fast path takes no lock."""
    known_qemu = cache.read_json("qemu.json")
    release = (cache.read_json("selection.json") or {}).get(name)
    if not known_qemu or not release or not os.path.exists(known_qemu["argv"][0]):
        return None
    release = release.removeprefix("linux-image-")
    key = kernels.cache_key(release)
    folder = cache.root / "kernels" / key
    kernel = kernels.Kernel(release, folder / "image", folder, key)
    initrd = cache.root / "initrds" / f"{key}-{image.image_key(packages)}" / "initrd"
    if not kernel.image.exists() or not initrd.exists():
        return None
    return Kit(machine.Qemu(**known_qemu), kernel, initrd)


def prepare(cache, name, memory="1G", cpus=2, packages=(), modules=None, cold=False,
            refresh=False, log_folder=None, deadline=None):
    """(kit, snapshot or None). Makes what is missing; says what it does."""
    memory_size(memory)
    log_folder = log_folder or new_log_folder(cache)
    kit = None if refresh else _complete(cache, name, packages)
    if kit:
        kit.memory, kit.cpus = memory, cpus
        if _accelerator_known(cache, kit):
            machine.choose_accelerator(cache, kit.qemu, None)
            found = None if cold else snapshot.find(cache, kit)
            if cold or found:
                touch_use(kit.initrd.parent)
                return kit, found
    begin = time.monotonic()
    with cache.maker(deadline or Deadline(3600)):
        if not (cache.root / "qemu.json").exists():
            cache.need(_FIRST_MAKING_BYTES, "the first making of guest parts")
            say(f"first start: QEMU, user space, kernel and boot snapshot are made in {cache.root}")
        qemu = machine.prepare(cache, refresh)
        kernel = kernels.prepare(cache, name, refresh, modules)
        initrd = image.initrd(cache, kernel, packages, refresh)
        kit = Kit(qemu, kernel, initrd, memory, cpus)
        machine.choose_accelerator(cache, qemu, lambda accel: _boots(kit, accel, log_folder),
                                   refresh)
        found = None if cold else snapshot.prepare(cache, kit, log_folder, refresh)
        _tidy(cache)
        cache.prune()
    say(f"ready: {kernel.release}, all made in {time.monotonic() - begin:.1f} s, cache "
        f"{cache.root} takes {megabytes(cache.usage())}")
    return kit, found


_KEPT_PER_KIND = 2


def _tidy(cache):
    """Removes what a next start does not need: work in progress, apt's caches, what was replaced
    by a newer agent or package list (the last two of a kind stay, for --packages)."""
    shutil.rmtree(cache.root / "work", ignore_errors=True)
    for path in cache.root.glob("apt/*/cache/*.bin"):
        path.unlink(missing_ok=True)
    # Kernels made with another list of modules, and what was made of them.
    current = kernels.list_key()
    for path in (cache.root / "kernels").glob("*"):
        if current in path.name.split("-"):
            continue
        for made in [path, *cache.root.glob(f"initrds/{path.name}-*"),
                     *cache.root.glob(f"snapshots/{path.name}-*")]:
            if made == path or current not in made.name.split("-"):
                shutil.rmtree(made, ignore_errors=True)
    own = sorted((cache.root / "kernels").glob("own-*"), key=last_use)
    for path in own[:-_KEPT_PER_KIND]:
        for made in [path, *cache.root.glob(f"initrds/{path.name}-*"),
                     *cache.root.glob(f"snapshots/{path.name}-*")]:
            shutil.rmtree(made, ignore_errors=True)
    for folder in ("snapshots", "initrds"):
        kinds = {}
        for path in (cache.root / folder).glob("*"):
            kinds.setdefault(path.name.rsplit("-", 1)[0], []).append(path)
        for paths in kinds.values():
            for path in sorted(paths, key=last_use)[:-_KEPT_PER_KIND]:
                shutil.rmtree(path, ignore_errors=True)


def _accelerator_known(cache, kit):
    if os.environ.get("CXSIM_GUEST_ACCEL") in ("tcg", "kvm"):
        return True
    known = cache.read_json("accelerator.json")
    return bool(known) and known["key"] == machine.accelerator_key(kit.qemu)


def _boots(kit, accel, log_folder):
    from .guest import Guest
    trial = dataclasses.replace(kit, qemu=dataclasses.replace(kit.qemu, accel=accel))
    try:
        with Guest(trial, name="kvm-trial", log_folder=log_folder, cold=True) as guest:
            guest.start(Deadline(20))
        return True
    except GuestError as error:
        say(f"no boot with it: {str(error).splitlines()[0]}")
        return False


_KEPT_LOG_FOLDERS = 40


def new_log_folder(cache):
    """A new folder for one run's logs; the oldest runs' go, except those of running processes."""
    base = cache.path("logs", "x").parent
    old = sorted((p for p in base.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
    for path in old[:-_KEPT_LOG_FOLDERS]:
        if not os.path.exists(f"/proc/{path.name.rpartition('-')[2]}"):
            shutil.rmtree(path, ignore_errors=True)
    path = base / time.strftime(f"%Y%m%d-%H%M%S-{os.getpid()}")
    path.mkdir(exist_ok=True)
    return path
