# SPDX-License-Identifier: Apache-2.0
"""Which QEMU, which accelerator, which command line."""

import dataclasses
import json
import os
import re
import shutil

from . import debian, procs
from .common import GuestError, say

DEVICE = "vfio-user-pci"
ROOT_PORTS = 4
# Covers the largest BAR0 of our cards twice over (BAR plus a VF BAR on an empty port).
PORT_RESERVE = "128M"
_UNPACKED_BYTES = 260_000_000

# The smallest CPU under which Debian's kernels boot without complaint; `max` costs TCG seconds.
TCG_CPU = "qemu64,+x2apic,+rdrand"
KERNEL_ARGUMENTS = ("console=ttyS0 loglevel=5 panic=-1 mitigations=off nokaslr tsc=reliable "
                    "no_timer_check cryptomgr.notests log_buf_len=4M printk.devkmsg=on "
                    "hung_task_panic=0 rdinit=/init")


@dataclasses.dataclass
class Qemu:
    argv: list
    version: str
    origin: str
    accel: str = "tcg"


def _works(argv):
    """(version, has the device) of a candidate; version is None when it does not run."""
    status, output = procs.run([*argv, "--version"], 30)
    match = re.search(r"version (\S+)", output)
    if status != 0 or not match:
        return None, False
    status, devices = procs.run([*argv, "-device", "help"], 60)
    return match.group(1), f'"{DEVICE}"' in devices


def _unpacked_argv(root):
    lib = root / "usr/lib/x86_64-linux-gnu"
    return [str(lib / "ld-linux-x86-64.so.2"), "--library-path", str(lib),
            str(root / "usr/bin/qemu-system-x86_64"),
            "-L", str(root / "usr/share/qemu"), "-L", str(root / "usr/share/seabios")]


def prepare(cache, refresh=False):
    """The QEMU to use: the remembered one, the machine's own, or one unpacked into the cache."""
    known = cache.read_json("qemu.json")
    if known and not refresh and os.path.exists(known["argv"][0]):
        return Qemu(**known)
    own = shutil.which("qemu-system-x86_64")
    if own:
        version, able = _works([own])
        if able:
            return _remember(cache, Qemu([own], version, "the machine's own"))
        say(f"the machine's QEMU {version} has no {DEVICE}; unpacking a newer one")
    root = cache.path("qemu", "root")
    if refresh or not root.is_dir():
        cache.need(_UNPACKED_BYTES, "QEMU")
        apt = debian.trixie(cache)
        apt.update(force=refresh)
        # Without the suite for all of the closure the firmware would be too old for this QEMU.
        paths = apt.fetch(apt.closure(["qemu-system-x86"], "trixie-backports"), "QEMU")
        work = cache.work("qemu")
        debian.unpack(paths, work, "QEMU")
        for waste in ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/perl5",
                      "usr/share/lintian", "usr/share/icons"):
            shutil.rmtree(work / waste, ignore_errors=True)
        cache.publish(work, root)
        apt.drop(paths)
    version, able = _works(_unpacked_argv(root))
    if not able:
        raise GuestError(f"the unpacked QEMU ({version}) in {root} does not run or has no "
                         f"{DEVICE}; remove that directory and start again")
    return _remember(cache, Qemu(_unpacked_argv(root), version, "unpacked"))


def _remember(cache, qemu):
    say(f"QEMU {qemu.version} ({qemu.origin})")
    cache.write_json(dataclasses.asdict(qemu), "qemu.json")
    return qemu


def accelerator_key(qemu):
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK)
    return f"{os.uname().release} {qemu.version} kvm={usable}"


def choose_accelerator(cache, qemu, boots, refresh=False):
    """Sets `qemu.accel`. A /dev/kvm that exists may still not boot a guest: `boots(accel)` tries it
    once, and the answer is kept for this host kernel and this QEMU."""
    asked = os.environ.get("CXSIM_GUEST_ACCEL")
    if asked in ("tcg", "kvm"):
        qemu.accel = asked
        return
    key = accelerator_key(qemu)
    known = cache.read_json("accelerator.json")
    if known and known["key"] == key and not refresh:
        qemu.accel = known["accel"]
        return
    accel = "tcg"
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        say("/dev/kvm exists: trying one boot with it (at most 20 s)")
        accel = "kvm" if boots("kvm") else "tcg"
    say("accelerator: " + ("KVM" if accel == "kvm" else "TCG (no usable KVM on this machine)"))
    cache.write_json({"key": key, "accel": accel}, "accelerator.json")
    qemu.accel = accel


def machine_arguments(qemu, kernel, initrd, memory, cpus, ram):
    """The part of the command line that a snapshot depends on: equal for saver and restorer.

    `ram` is the path of a shared memory file of the guest's size (see memory.py); the server gets
    its descriptor through DMA_MAP."""
    cpu = "host" if qemu.accel == "kvm" else TCG_CPU
    accel = "kvm" if qemu.accel == "kvm" else "tcg,thread=multi"
    arguments = [
        "-machine", "q35,memory-backend=m0,hpet=off,smbus=off,sata=off,vmport=off,graphics=off",
        "-accel", accel, "-cpu", cpu, "-smp", str(cpus), "-m", memory,
        "-object", f"memory-backend-file,id=m0,size={memory},mem-path={ram},share=on",
        "-nodefaults", "-no-user-config", "-display", "none", "-vga", "none",
        "-rtc", "base=utc", "-kernel", str(kernel), "-initrd", str(initrd),
        "-append", KERNEL_ARGUMENTS,
        # A new generation at each restore makes the kernel draw fresh random numbers.
        "-device", "vmgenid,guid=auto",
        # Slots of the PCIe kind, not ACPI's: with those a root port never reports its link as
        # active, which a driver that toggles it waits for. Always powered: the guest has no
        # slot driver to switch them on (agent.sh).
        "-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
        "-global", "pcie-root-port.power_controller_present=off",
    ]
    for port in range(ROOT_PORTS):
        arguments += ["-device", f"pcie-root-port,id=rp{port},chassis={port + 1},slot={port + 1},"
                                 f"pref64-reserve={PORT_RESERVE}"]
    return arguments


# The guest's memory is shared and stays out of QEMU's stream: memory.py copies it far faster.
SNAPSHOT_CAPABILITIES = {"capabilities": [{"capability": "x-ignore-shared", "state": True}]}

CHANNELS = ("exec", "aux", "kmsg")


def channel_arguments(folder):
    """Serial log, the agent's channels and the interactive console; sockets lie in `folder`."""
    arguments = [
        "-chardev", f"file,id=serial,path={folder}/serial.log,append=on",
        "-serial", "chardev:serial",
        "-chardev", f"socket,id=qmp,path={folder}/qmp,server=on,wait=off",
        "-mon", "chardev=qmp,mode=control",
        "-device", "virtio-serial-pci,id=vs0,addr=0x1e.0",
        "-chardev", f"socket,id=console,path={folder}/console,server=on,wait=off",
        "-device", "virtconsole,chardev=console,nr=1",
    ]
    for number, name in enumerate(CHANNELS, 2):
        arguments += [
            "-chardev", f"socket,id={name},path={folder}/{name},server=on,wait=off",
            "-device", f"virtserialport,chardev={name},nr={number},name=cxsim.{name}"]
    return arguments


def nic_device(number, socket):
    return {"driver": DEVICE, "id": f"nic{number}", "bus": f"rp{number}",
            "socket": {"type": "unix", "path": str(socket)}}


def nic_arguments(sockets):
    arguments = []
    for number, socket in enumerate(sockets):
        arguments += ["-device", json.dumps(nic_device(number, socket))]
    return arguments
