# SPDX-License-Identifier: Apache-2.0
"""Programs of ibverbs and librdmacm between two cards of one guest, with the stock driver."""

import pytest

import rdma
import traffic
from conftest import KERNELS

PINGPONGS = ("rc", "uc", "ud", "srq")


@pytest.mark.parametrize("kernel", KERNELS)
def test_pingpongs(verbs, kernel):
    """The programs of ibverbs-utils over RoCE v2 and v1; rc checks its buffers, too."""
    guest, _, names = verbs(kernel)
    for version in ("RoCE v2", "IB/RoCE v1"):
        for kind in PINGPONGS:
            check = "-c" if kind == "rc" else ""
            rdma.script(guest, f"""
one=$(gid 1 '{version}'); two=$(gid 2 '{version}')
between ibv_{kind}_pingpong -d $D2 -g $two -n 200 {check} -- \
    ibv_{kind}_pingpong -d $D1 -g $one -n 200 {check} 10.0.0.2
grep -q iters /tmp/client.out || fail "$(cat /tmp/client.out)"
""")
    traffic.clean(guest)
