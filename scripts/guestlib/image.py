# SPDX-License-Identifier: Apache-2.0
"""The guest's user space: an initramfs from Debian 12 packages, our agent as its first process."""

import fnmatch
import hashlib
import os
import pathlib
import shutil
import stat

from . import debian, procs
from .common import GuestError, say

PACKAGES = """
busybox-static bash coreutils util-linux procps kmod pciutils pci.ids iproute2 ethtool iputils-ping
rdma-core libibverbs1 ibverbs-utils ibverbs-providers rdmacm-utils perftest infiniband-diags
mstflint iperf3 tcpdump
""".split()

# Drawn in only for maintainer scripts or for single scripts that we do without.
LEFT_OUT = """
perl perl-base perl-modules-* libperl* lib*-perl python3* libpython3* dpkg udev passwd adduser
debconf tar usrmerge init-system-helpers lsb-base sysvinit-utils base-files media-types gcc-12-base
libpam* libsemanage* libgdbm* libaudit-common util-linux-extra libcap2-bin debianutils mawk
readline-common
""".split()

PRUNED = """
usr/share/doc usr/share/man usr/share/info usr/share/locale usr/share/lintian usr/share/bug
usr/share/bash-completion usr/share/zoneinfo usr/share/perl5 usr/include usr/games usr/src var/lib
var/cache usr/lib/x86_64-linux-gnu/gconv usr/lib/systemd lib/systemd usr/lib/udev etc/init.d
usr/share/mstflint/prm_dbs/switch
""".split()

FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/hostname": "guest\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "root/.bash_profile": "export PS1='guest# '\ncd /root\n",
}
_WORK_BYTES = 500_000_000
_AGENT = pathlib.Path(__file__).with_name("agent.sh")


def image_key(extra=()):
    """Names one content of the user space: package choice, files, agent."""
    digest = hashlib.sha256()
    for part in (sorted(PACKAGES), LEFT_OUT, PRUNED, sorted(FILES.items()), sorted(extra),
                 _AGENT.read_bytes()):
        digest.update(repr(part).encode())
    return digest.hexdigest()[:12]


def _tree_key(extra):
    return hashlib.sha256(repr((sorted(PACKAGES), LEFT_OUT, PRUNED, sorted(extra)))
                          .encode()).hexdigest()[:12]


def user_space_root(cache, extra=(), refresh=False):
    """The unpacked tree (also the place of the kmod that runs depmod for us)."""
    final = cache.path("userspace", _tree_key(extra))
    if final.is_dir() and not refresh:
        return final
    cache.need(_WORK_BYTES, "the guest's user space")
    apt = debian.bookworm(cache)
    apt.update(force=refresh)
    rows = [row for row in apt.closure([*PACKAGES, *extra])
            if row[0] in PACKAGES or row[0] in extra or not _left_out(row[0], extra)]
    paths = apt.fetch(rows, "user space")
    work = cache.work("userspace")
    debian.unpack(paths, work, "user space")
    for waste in PRUNED:
        path = work / waste
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
    for path in work.rglob("*.a"):
        path.unlink()
    _link_applets(work)
    apt.drop(paths)
    return cache.publish(work, final)


def _left_out(package, extra):
    """Asking for a Python or Perl package brings its interpreter back."""
    for pattern in LEFT_OUT:
        if fnmatch.fnmatch(package, pattern):
            family = next((f for f in ("python3", "perl") if f in pattern), None)
            return not (family and any(family in name for name in extra))
    return False


def _link_applets(root):
    status, output = procs.run([root / "usr/bin/busybox", "--list"], 10)
    if status != 0:
        raise GuestError(f"the unpacked busybox does not run: {output.strip()}")
    folders = [root / "usr" / f for f in ("bin", "sbin")]
    for name in output.split():
        if not any(os.path.lexists(folder / name) for folder in folders):
            (folders[0] / name).symlink_to("busybox")
    shell = root / "usr/bin/sh"
    shell.unlink(missing_ok=True)
    shell.symlink_to("bash")  # busybox's shell prefers its own applets to real tools


class CpioWriter:
    """The `newc` format of the kernel's initramfs; owner root, times zero: files compare."""

    def __init__(self, handle):
        self._handle, self._inode, self._offset = handle, 0, 0

    def add(self, name, mode, data=b""):
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        self._write(b"070701" + "".join(f"{f:08x}" for f in fields).encode() + encoded)
        self._write(data)

    def tree(self, root, prefix=""):
        for base, folders, files in os.walk(root):
            folders.sort()
            inside = os.path.relpath(base, root)
            inside = prefix if inside == "." else os.path.join(prefix, inside)
            if inside:
                self.add(inside, stat.S_IFDIR | 0o755)
            for name in sorted(files + [f for f in folders
                                        if os.path.islink(os.path.join(base, f))]):
                path, target = os.path.join(base, name), os.path.join(inside, name)
                if os.path.islink(path):
                    self.add(target, stat.S_IFLNK | 0o777, os.readlink(path).encode())
                else:
                    with open(path, "rb") as handle:
                        mode = stat.S_IMODE(os.lstat(path).st_mode) & 0o777
                        self.add(target, stat.S_IFREG | mode, handle.read())

    def finish(self):
        self.add("TRAILER!!!", 0)
        self._write(b"\0" * (-self._offset % 512))

    def _write(self, data):
        pad = -len(data) % 4  # header plus name, and data, each end on four bytes
        self._handle.write(data + b"\0" * pad)
        self._offset += len(data) + pad


def initrd(cache, kernel, extra=(), refresh=False):
    """One initramfs per kernel and user space: tools, agent, that kernel's modules."""
    key = f"{kernel.key}-{image_key(extra)}"
    final = cache.path("initrds", key)
    if (final / "initrd").exists() and not refresh:
        return final / "initrd"
    root = user_space_root(cache, extra, refresh)
    cache.need(200_000_000, "the initramfs")
    work = cache.work(f"initrd-{key}")
    with open(work / "initrd", "wb") as handle:
        cpio = CpioWriter(handle)
        for name in ("dev", "proc", "sys", "run", "tmp", "root", "mnt", "var"):
            cpio.add(name, stat.S_IFDIR | 0o755)
        cpio.tree(root)
        for name, text in FILES.items():
            cpio.add(name, stat.S_IFREG | 0o644, text.encode())
        cpio.add("init", stat.S_IFREG | 0o755, _AGENT.read_bytes())
        cpio.tree(kernel.modules / "lib", "usr/lib")
        cpio.finish()
    size = (work / "initrd").stat().st_size
    cache.publish(work, final)
    say(f"initramfs for {kernel.release}: {size / 1e6:.0f} MB")
    return final / "initrd"
