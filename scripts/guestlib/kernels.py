# SPDX-License-Identifier: Apache-2.0
"""Kernels: which package is meant by a name, its image and the part of its modules we need."""

import ctypes
import dataclasses
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import struct
import zlib

from . import debian, procs
from .common import GuestError, natural_key, say

NAMES = ("6.1", "6.12", "newest")
_WORK_BYTES = 750_000_000  # package + unpacked tree of the largest one, for a moment

# Paths below kernel/ (folders end with a slash); what they depend on comes along.
WANTED = """
drivers/net/ethernet/mellanox/mlx5/ drivers/net/ethernet/mellanox/mlxfw/
drivers/infiniband/core/ drivers/infiniband/hw/mlx5/ drivers/infiniband/sw/
drivers/infiniband/ulp/ipoib/ drivers/vdpa/mlx5/ drivers/vfio/pci/
drivers/net/bonding/ drivers/net/team/ drivers/net/macvlan drivers/net/macvtap drivers/net/ipvlan/
drivers/net/vxlan drivers/net/geneve drivers/net/veth drivers/net/vrf drivers/net/dummy
drivers/net/ifb drivers/net/tun drivers/net/virtio_net drivers/net/netconsole
drivers/net/netdevsim/ drivers/net/macsec
drivers/net/ethernet/intel/igb/ drivers/net/ethernet/intel/igbvf/
drivers/net/ethernet/intel/e1000e/
drivers/virtio/ drivers/char/virtio_console drivers/ptp/ptp drivers/pps/
net/8021q/ net/bridge/ net/sched/ net/core/ net/ipv4/gre net/ipv4/ip_tunnel net/ipv4/ip_gre
net/ipv4/udp_tunnel net/ipv4/ipip net/ipv6/ip6_tunnel net/ipv6/ip6_gre net/ipv6/ip6_udp_tunnel
net/ipv6/sit net/psample/ net/tls/ net/packet/ net/dcb/ net/mpls/ net/openvswitch/ net/xfrm/
net/netfilter/nf_conntrack net/netfilter/nf_flow_table net/netfilter/nf_tables
net/netfilter/nf_nat net/netfilter/nft_flow_offload net/netfilter/nft_ct
net/9p/ fs/9p/ fs/configfs/ fs/overlayfs/
crypto/crc32c_generic crypto/crc32_generic arch/x86/crypto/crc32c-intel
""".split()


@dataclasses.dataclass
class Kernel:
    release: str  # uname -r
    image: pathlib.Path  # what goes to -kernel
    modules: pathlib.Path  # holds lib/modules/<release>, reduced, with depmod done
    key: str  # names everything made from it


def list_key():
    """Stands for the list of modules."""
    return hashlib.sha256(" ".join(WANTED).encode()).hexdigest()[:6]


def cache_key(release):
    """Names what is made of a kernel: another list of modules makes another one."""
    return f"{release}-{list_key()}"


def _candidates(apt, pattern, prefix):
    names = [name for name in apt.names(prefix) if re.fullmatch(pattern, name)]
    return sorted(names, key=natural_key)


def _select(cache, name, refresh):
    """(apt root, package) for one of NAMES. Asked of apt once, then remembered."""
    roots = {"6.1": debian.bookworm, "6.12": debian.bookworm, "newest": debian.trixie}
    apt = roots[name](cache)
    known = cache.read_json("selection.json") or {}
    if name in known and not refresh:
        return apt, known[name]
    apt.update(force=refresh)
    if name == "6.1":
        found = _candidates(apt, r"linux-image-6\.1\.\d+-\d+-amd64", "linux-image-6.1.")
    elif name == "6.12":
        found = _candidates(apt, r"linux-image-6\.12\.[\d.]+\+deb12(\.\d+)?-amd64",
                            "linux-image-6.12")
    else:
        found = _candidates(apt, r"linux-image-\d+\.[\d.]+(\+deb\d+(\.\d+)?)?(-\d+)?-amd64",
                            "linux-image-")
    found = [package for package in found if apt.version(package)] if len(found) < 3 else found
    if not found:
        raise GuestError(f"the machine's Debian mirror offers no generic {name} kernel for amd64")
    package = found[-1]
    say(f"kernel {name}: {package} {apt.version(package)}")
    cache.write_json({**known, name: package}, "selection.json")
    return apt, package


def prepare(cache, name, refresh=False, modules=None):
    """Kernel for one of NAMES, or for a path of the user's."""
    if name not in NAMES:
        return _prepare_own(cache, pathlib.Path(name), modules)
    apt, package = _select(cache, name, refresh)
    release = package.removeprefix("linux-image-")
    key = cache_key(release)
    final = cache.path("kernels", key)
    if not (final / "image").exists():
        cache.need(_WORK_BYTES, f"kernel {release}")
        # Since 7.x image and modules are packages of their own, named after the same release.
        parts = [package] + [d for d in apt.depends(package) if d in (
            f"linux-binary-{release}", f"linux-modules-{release}")]
        paths = apt.fetch(apt.exactly(parts), f"kernel {release}")
        work = cache.work(f"kernel-{release}")
        debian.unpack(paths, work / "all", f"kernel {release}")
        images = [*work.glob("all/boot/vmlinuz-*"), *work.glob("all/usr/lib/modules/*/vmlinuz")]
        if not images:
            raise GuestError(f"{package} holds no kernel image; its layout has changed")
        _finish(cache, images[0], work / "all/usr/lib/modules" / release, release, work, final)
        apt.drop(paths)
    return Kernel(release, final / "image", final, key)


def _prepare_own(cache, path, modules):
    """The user's own: an image, or a directory that holds one; modules beside it or given."""
    if not path.exists():
        raise GuestError(f"--kernel {path}: neither one of {', '.join(NAMES)} nor a file or "
                         "directory")
    image = path
    if path.is_dir():
        found = [p for pattern in ("arch/x86/boot/bzImage", "bzImage", "boot/vmlinuz*", "vmlinuz*",
                                   "boot/bzImage*", "image") for p in sorted(path.glob(pattern))]
        if not found:
            raise GuestError(f"--kernel {path}: no bzImage or vmlinuz in it")
        image = found[0]
    release = image_release(image.read_bytes(), image)
    base = path if path.is_dir() else path.parent
    places = [pathlib.Path(modules)] if modules else []
    places += [base, base / "usr", base.parent, base.parent / "usr"]
    tree = next((p for place in places for p in (place / "lib/modules" / release, place / release,
                                                 place) if (p / "kernel").is_dir()
                 and (p / "modules.order").exists()), None)
    if tree is None:
        raise GuestError(f"--kernel {path}: no modules of {release} found (looked for "
                         f"lib/modules/{release} in {', '.join(map(str, places))}); "
                         "`make modules_install INSTALL_MOD_PATH=DIR` and give --modules DIR")
    order = tree / "modules.order"
    stamp = f"{image.resolve()} {image.stat().st_mtime_ns} {tree} {order.stat().st_mtime_ns}"
    key = f"own-{cache_key(release)}-{hashlib.sha256(stamp.encode()).hexdigest()[:10]}"
    final = cache.path("kernels", key)
    if not (final / "image").exists():
        cache.need(_WORK_BYTES, f"kernel {release}")
        _finish(cache, image, tree, release, cache.work(f"kernel-{key}"), final)
    return Kernel(release, final / "image", final, key)


def _finish(cache, image, tree, release, work, final):
    """Image made quick to start, wanted modules with their dependencies, depmod."""
    made = work / "made"
    target = made / "lib/modules" / release
    target.mkdir(parents=True)
    raw = image.read_bytes()
    (made / "image").write_bytes(quick_image(raw) or raw)
    kmod = kmod_command(cache)
    if not (tree / "modules.dep").exists():
        depmod(kmod, tree.parent.parent.parent, release)
    chosen = choose_modules((tree / "modules.dep").read_text())
    if not any("/mlx5_core.ko" in path for path in chosen):
        raise GuestError(f"kernel {release} has no mlx5_core module")
    for path in chosen:
        data = (tree / path).read_bytes()
        if path.endswith(".xz"):  # unpacked once here instead of at every modprobe
            path, data = path.removesuffix(".xz"), lzma.decompress(data)
        elif path.endswith(".gz"):
            path, data = path.removesuffix(".gz"), zlib.decompress(data, 47)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        if (tree / name).exists():
            shutil.copy(tree / name, target / name)
    depmod(kmod, made, release)
    cache.publish(made, final)
    shutil.rmtree(work, ignore_errors=True)
    say(f"kernel {release}: {len(chosen)} modules kept")


def choose_modules(modules_dep):
    """Paths from a modules.dep: WANTED and everything they depend on."""
    needs = {}
    for line in modules_dep.splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
    chosen = set()
    for path in needs:
        if any(path.startswith(f"kernel/{wanted}") for wanted in WANTED):
            chosen.add(path)
            chosen.update(needs[path])  # modules.dep lists the transitive closure
    return sorted(chosen)


def kmod_command(cache):
    """argv prefix that runs the unpacked kmod as `depmod`; the host need not have one."""
    from . import image
    root = image.user_space_root(cache)
    lib = root / "usr/lib/x86_64-linux-gnu"
    return [str(lib / "ld-linux-x86-64.so.2"), "--library-path", str(lib), "--argv0", "depmod",
            str(root / "usr/bin/kmod")]


def depmod(command, base, release):
    usr = base / "lib"
    if base.name == "usr":  # depmod wants DIR/lib/modules; an unpacked deb has DIR/usr/lib/modules
        base = base.parent
        if not (base / "lib").exists():
            (base / "lib").symlink_to(f"usr/{usr.name}")
    status, output = procs.run([*command, "-b", base, release], 300)
    if status != 0:
        raise GuestError(f"depmod failed for {release}: {output.strip()[-400:]}")


def image_release(raw, path):
    """`uname -r` of a bzImage, from its boot header, or of an ELF vmlinux, from its banner."""
    if raw[:4] == b"\x7fELF":
        match = re.search(rb"Linux version (\S+) ", raw)
        if not match:
            raise GuestError(f"{path} is an ELF file, but no Linux kernel")
        return match.group(1).decode()
    if raw[0x202:0x206] != b"HdrS":
        raise GuestError(f"{path} is no bzImage (give arch/x86/boot/bzImage or a vmlinuz)")
    offset = struct.unpack_from("<H", raw, 0x20E)[0] + 0x200
    return raw[offset:raw.index(b"\0", offset)].decode(errors="replace").split()[0]


def quick_image(raw):
    """The ELF inside a bzImage when QEMU can start it (PVH note), else None.

    Under TCG a guest needs seconds to unpack its own xz or zstd payload.
    """
    if raw[0x202:0x206] != b"HdrS":
        return None
    offset, length = struct.unpack_from("<II", raw, 0x248)
    begin = (raw[0x1F1] + 1) * 512 + offset
    payload = raw[begin:begin + length]
    size = struct.unpack("<I", payload[-4:])[0]
    try:
        if payload.startswith(b"\xfd7zXZ\0"):
            elf = lzma.LZMADecompressor().decompress(payload)
        elif payload.startswith(b"\x28\xb5\x2f\xfd"):
            elf = _zstd(payload[:-4], size)
        elif payload.startswith(b"\x1f\x8b"):
            elf = zlib.decompressobj(31).decompress(payload)
        else:
            return None
    except (lzma.LZMAError, zlib.error, OSError):
        return None
    # Owner "Xen", type 18 (XEN_ELFNOTE_PHYS32_ENTRY): what QEMU looks for.
    pvh = struct.pack("<III", 4, 8, 18) + b"Xen\0"
    pvh32 = struct.pack("<III", 4, 4, 18) + b"Xen\0"
    if elf is None or elf[:4] != b"\x7fELF" or (pvh not in elf and pvh32 not in elf):
        return None
    return elf


def _zstd(data, size):
    """Debian's dpkg brings libzstd everywhere; Python 3.11 has no zstd of its own."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p,
                                        ctypes.c_size_t]
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    done = library.ZSTD_decompress(out, size, data, len(data))
    return None if library.ZSTD_isError(done) else out.raw[:done]


def default_name():
    return os.environ.get("CXSIM_GUEST_KERNEL", "6.12")
