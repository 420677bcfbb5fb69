# SPDX-License-Identifier: Apache-2.0
"""Stock Debian kernels in QEMU with the simulated card attached; `scripts/guest` is its face."""

from .cache import Cache
from .common import Deadline, GuestError, GuestTimeout, GuestUnavailable
from .guest import Guest
from .server import CARDS, Server
from .setup import Kit, prepare

__all__ = ["CARDS", "Cache", "Deadline", "Guest", "GuestError", "GuestTimeout",
           "GuestUnavailable", "Kit", "Server", "prepare"]
