# SPDX-License-Identifier: Apache-2.0
"""The boot snapshot: a machine without cards, stopped where its agent waits for the first command.

One per kernel, user space, memory size, CPU count, accelerator and QEMU version. Cards are plugged
into the restored machine; a snapshot never holds a card's state.
"""

import hashlib
import os
import time

from . import klog, logrules, qemu as machine
from .cache import touch_use
from .common import Deadline, GuestError, GuestTimeout, say
from .guest import Guest

_BYTES = 300_000_000
BOOT_SECONDS = 120.0  # a cold boot takes 3-10 s under TCG; a loaded machine may need much more

# The drivers are loaded (bound to nothing): loading them takes a second or two under TCG, which is
# the guest's affair and not the card's. A machine that must not have them unloads them again.
_PRELOAD = "modprobe mlx5_core && modprobe mlx5_ib"

# Freed memory still holds the initramfs archive; zeros cost nothing in the file.
_CLEAN = """
sync; echo 3 >/proc/sys/vm/drop_caches
free=$(awk '/MemFree/ { print int($2 / 1024 * 0.9) }' /proc/meminfo)
mkdir -p /run/zeros && mount -t tmpfs -o size=100% zeros /run/zeros
dd if=/dev/zero of=/run/zeros/file bs=1M count=$free 2>/dev/null
umount /run/zeros; rmdir /run/zeros
"""


def key(kit):
    arguments = machine.machine_arguments(kit.qemu, "kernel", "initrd", kit.memory, kit.cpus, "ram")
    arguments += machine.channel_arguments("folder")
    initrd = kit.initrd.parent.name
    digest = hashlib.sha256(repr((arguments, _PRELOAD, _CLEAN, kit.qemu.version, initrd)).encode())
    return f"{kit.kernel.key}-{kit.memory}-{kit.cpus}cpu-{kit.qemu.accel}-{digest.hexdigest()[:10]}"


def find(cache, kit):
    path = cache.path("snapshots", key(kit))
    if (path / "state").exists():
        touch_use(path)
        return path
    return None


def prepare(cache, kit, log_folder, refresh=False):
    """The snapshot's directory; makes it when missing. Hold the maker lock."""
    found = None if refresh else find(cache, kit)
    if found:
        return found
    cache.need(_BYTES, "the boot snapshot")
    work = cache.work("snapshot")
    begin = time.monotonic()
    say(f"boot snapshot of {kit.kernel.release}, {kit.memory}, {kit.cpus} CPUs "
        f"({kit.qemu.accel.upper()}): booting")
    with Guest(kit, name="snapshot", log_folder=log_folder, cold=True) as guest:
        guest.keep_ram = True
        deadline = Deadline(BOOT_SECONDS)
        try:
            guest.start(deadline)
        except GuestTimeout as error:
            raise GuestError(f"{kit.kernel.release} does not boot in {BOOT_SECONDS:.0f} s: {error}"
                             f" (serial log {guest.serial_log})") from error
        booted = time.monotonic() - begin
        bad = klog.judge(guest.dmesg(), logrules.FORBIDDEN, logrules.ALLOWED, kit.kernel.release)
        if bad:
            raise GuestError("the kernel log of a boot without any card is not clean:\n"
                             + "\n".join(map(str, bad)))
        guest.check(_PRELOAD, deadline)
        guest.run(_CLEAN, deadline)
        guest.qmp("stop")
        guest.qmp("migrate-set-capabilities", machine.SNAPSHOT_CAPABILITIES)
        guest.qmp("migrate", {"uri": f"file:{work / 'state'}"})
        while True:
            answer = guest.qmp("query-migrate")
            if answer.get("status") == "completed":
                break
            if answer.get("status") in ("failed", "cancelled") or deadline.expired():
                raise GuestError(f"QEMU could not save the machine: {answer}")
            time.sleep(0.02)
        guest.ram.save(work / "ram")
    size = os.stat(work / "ram").st_blocks * 512
    path = cache.publish(work, cache.path("snapshots", key(kit)))
    say(f"boot snapshot: booted in {booted:.1f} s, saved {size / 1e6:.0f} MB, "
        f"{time.monotonic() - begin:.1f} s in all")
    return path
