# SPDX-License-Identifier: Apache-2.0
"""Programs of ibverbs and librdmacm between two cards of one guest, with the stock driver.

CXSIM_FULL=1   every variant of perftest (default: the first and the last of each tool)
"""

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


# tool, options, services: each with the checks that the tool has.
BANDWIDTH = (
    ("ib_write_bw", ("", "-a", "-b", "-q 64 -s 4096 -n 100"), ("RC", "UC")),
    ("ib_read_bw", ("", "-a", "-b"), ("RC",)),
    ("ib_send_bw", ("", "-a", "-b", "-r 64 -e"), ("RC", "UC")),
    ("ib_send_bw", ("-s 1024", "-s 512 -b"), ("UD",)),
    ("ib_atomic_bw", ("", "-A CMP_AND_SWAP"), ("RC",)),
)
LATENCY = (
    ("ib_write_lat", ("", "-a", "-I 128"), ("RC", "UC")),
    ("ib_read_lat", ("", "-a"), ("RC",)),
    ("ib_send_lat", ("", "-a", "-I 64"), ("RC", "UC")),
    ("ib_send_lat", ("-s 512",), ("UD",)),
    ("ib_atomic_lat", ("",), ("RC",)),
)


@pytest.mark.one_kernel
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cases", [BANDWIDTH, LATENCY], ids=["bandwidth", "latency"])
def test_perftest(verbs, kernel, cases):
    guest, _, _ = verbs(kernel)
    for tool, variants, services in cases:
        for service in services:
            for options in variants if traffic.full() else sorted({variants[0], variants[-1]}):
                count = "" if "-n" in options else "-n 20" if "-a" in options else "-n 200"
                command = f"{tool} -c {service} {options} {count} -F"
                if "atomic" in tool:
                    command = f"{tool} {options} {count} -F"
                output = rdma.script(guest, f"""
one=$(gid 1); two=$(gid 2)
between {command} -d $D2 -x $two -- {command} -d $D1 -x $one 10.0.0.2
tail -n 2 /tmp/client.out
""", 300)
                print(f"{kernel} {command}: {output.strip().splitlines()[0]}")
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_connection_manager(verbs, kernel):
    """Connections made by MADs over QP1: rping checks what it moved, ucmatose, udaddy; perftest -R."""
    guest, _, _ = verbs(kernel)
    rdma.script(guest, """
between rping -s -a 10.0.0.2 -C 20 -v -V -- rping -c -a 10.0.0.2 -C 20 -v -V
between ucmatose -b 10.0.0.2 -- ucmatose -s 10.0.0.2
between udaddy -b 10.0.0.2 -- udaddy -s 10.0.0.2
between ib_write_bw -R -F -n 200 -- ib_write_bw -R -F -n 200 10.0.0.2
between mckey -m 239.1.1.1 -b 10.0.0.2 -- mckey -m 239.1.1.1 -b 10.0.0.1 -s
grep -q ERROR /tmp/client.out /tmp/server.out && fail "$(cat /tmp/client.out /tmp/server.out)"
true
""")
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_programs_see(verbs, kernel):
    """Devices, their limits and objects."""
    guest, _, names = verbs(kernel)
    output = rdma.script(guest, "in1 ibv_devinfo -v -d $D1; in1 rdma resource show $D1")
    for line in ("PORT_ACTIVE", "max_qp_rd_atom:\\t\\t\\t16", "link_layer:\\t\\tEthernet"):
        assert line.encode().decode("unicode_escape") in output, output
    traffic.clean(guest)
