# SPDX-License-Identifier: Apache-2.0
"""What a guest's kernel log must not and must hold. Data only; `klog.judge` applies it.

A forbidden line fails the run even when the command returned 0. An entry of ALLOWED states why
the line is harmless and for which kernels; without a reason nothing goes in here.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Forbidden:
    pattern: str
    reason: str
    max_level: int = 7  # forbidden at this level or more urgent (4: warning)
    ignore_case: bool = False

    def matches(self, record):
        flags = re.IGNORECASE if self.ignore_case else 0
        return record.level <= self.max_level and re.search(
            self.pattern, f"{record.text} {record.device}", flags) is not None


@dataclasses.dataclass(frozen=True)
class Allowed:
    pattern: str
    reason: str
    kernels: str = r".*"  # regular expression over `uname -r`

    def excuses(self, record, kernel):
        return (re.fullmatch(self.kernels, kernel) is not None
                and re.search(self.pattern, record.text) is not None)


@dataclasses.dataclass(frozen=True)
class Required:
    pattern: str  # group 1 tells the functions apart
    reason: str


WARNING = 4

FORBIDDEN = (
    # What the driver itself complains about, by the record's priority.
    Forbidden(r"mlx5|\bmlxfw\b", "the driver warns", WARNING),
    Forbidden(r"infiniband|\bib_(core|uverbs|cm|umad)\b|rdma_cm|iw_cm|\bibdev\b",
              "the RDMA core warns", WARNING),
    # The device seen from the bus.
    Forbidden(r"pcieport.*AER|\bAER:", "a PCIe error was reported", WARNING),
    Forbidden(r"BAR \d+.*(no space|failed to assign|can't)", "a BAR was not placed"),
    Forbidden(r"pci .*(invalid|overlap|disagree|Unknown header type)", "odd configuration space",
              WARNING),
    # Kernel-wide signs of damage; these count at any level.
    Forbidden(r"-+\[ cut here \]-+|^WARNING: ", "a kernel warning"),
    Forbidden(r"^BUG: |kernel BUG at|^Oops|\bOops: ", "a kernel bug"),
    Forbidden(r"Call Trace:", "a stack trace"),
    Forbidden(r"general protection fault|Unable to handle kernel", "a kernel fault"),
    Forbidden(r"INFO: task .* blocked for more than", "a hung task"),
    Forbidden(r"rcu.*detected (stalls|expedited stalls)|self-detected stall", "an RCU stall"),
    Forbidden(r"soft lockup|hard LOCKUP", "a locked-up CPU"),
    Forbidden(r"refcount_t: |refcount.*(underflow|saturated)", "a reference count went wrong"),
    Forbidden(r"hw csum failure", "a completion's checksum was wrong"),
    Forbidden(r"NETDEV WATCHDOG", "a send queue stopped"),
    Forbidden(r"unregister_netdevice: waiting for", "a leaked network device reference"),
    Forbidden(r"possible (circular|recursive) locking|inconsistent lock state", "a lock problem"),
    Forbidden(r"irq \d+: nobody cared|Disabling IRQ", "an interrupt nobody wanted"),
    Forbidden(r"slab-use-after-free|KASAN|UBSAN", "a sanitizer report"),
    Forbidden(r"SLUB: Unable to allocate|page allocation failure|Out of memory", "memory ran out"),
    Forbidden(r"Kernel panic", "a panic"),
)

ALLOWED = (
    Allowed(r"^Spectre V2 : WARNING: |^Speculative Return Stack Overflow: WARNING: ",
            "about the host's emulated CPU model; the guest runs with mitigations=off"),
    Allowed(r"mlx5e_tc_post_act_init:.*firmware level support is missing",
            "a ConnectX-4 Lx cannot ignore flow levels; the driver says so once and goes on"),
    Allowed(r"PCI Sync FW Update Reset Ack[.] Device reset is expected"
            r"|Sync Reset now[.] Device is going to reset",
            "how the driver announces the reset of `devlink dev reload action fw_activate`"),
    Allowed(r"mlx5_wait_for_pages:.*Skipping wait for (vf|host PF) pages stage",
            "the driver leaves a function that such a reset has taken; its pages went with it"),
)

REQUIRED = (
    Required(r"mlx5_core ([0-9a-f:.]+): firmware version: \S+",
             "the driver read the firmware version"),
)
