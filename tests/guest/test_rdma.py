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
def test_devices_and_pingpongs(verbs, kernel):
    """Devices and their limits as programs see them; the programs of ibverbs-utils over RoCE v2 and
    v1. rc checks its buffers, too."""
    guest = verbs(kernel, capture=True).guest
    output = rdma.script(guest, "in1 ibv_devinfo -v -d $D1; in1 rdma resource show $D1")
    for line in ("PORT_ACTIVE", "max_qp_rd_atom:\t\t\t16", "link_layer:\t\tEthernet"):
        assert line in output, output
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


# tool, options, services: each with the checks that the tool has. This perftest has no option for
# WRITE with immediate: rstream and verbs_pair.c have.
BANDWIDTH = (
    ("ib_write_bw", ("", "-a", "-b", "-I 128 -s 128", "-R", "-q 64 -s 4096 -n 100"),
     ("RC", "UC")),
    ("ib_read_bw", ("", "-a", "-e", "-R", "-q 64 -s 4096 -n 100", "-b"), ("RC",)),
    ("ib_send_bw", ("", "-a", "-b", "-R", "-I 128 -s 128", "-r 64 -e"), ("RC", "UC")),
    ("ib_send_bw", ("--use-srq", "-q 64 -s 4096 -n 100", "-q 8 --use-srq -s 4096"), ("RC",)),
    ("ib_send_bw", ("-s 1024", "-e -s 1024", "-R -s 1024", "-s 512 -b"), ("UD",)),
    ("ib_atomic_bw", ("", "-b", "-e", "-R", "-q 64 -n 100", "-A CMP_AND_SWAP"), ("RC",)),
)
LATENCY = (
    ("ib_write_lat", ("", "-a", "-R", "-I 128"), ("RC", "UC")),
    ("ib_read_lat", ("", "-R", "-a"), ("RC",)),
    ("ib_send_lat", ("", "-a", "-R", "-I 64"), ("RC", "UC")),
    ("ib_send_lat", ("-s 512",), ("UD",)),
    ("ib_atomic_lat", ("", "-A CMP_AND_SWAP", "-R"), ("RC",)),
)
# These ask for the next event before they have polled the completion that the last one told of.
EVENTS = (
    ("ib_send_lat", ("-e",), ("RC", "UC")),
    ("ib_read_lat", ("-e",), ("RC",)),
    ("ib_atomic_lat", ("-e",), ("RC",)),
)


def chosen(variants):
    return variants if traffic.full() else sorted({variants[0], variants[-1]})


@pytest.mark.one_kernel
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cases", [BANDWIDTH, LATENCY, EVENTS],
                         ids=["bandwidth", "latency", "events"])
def test_perftest(verbs, kernel, cases):
    guest = verbs(kernel, capture=traffic.full()).guest
    for tool, variants, services in cases:
        for service in services:
            for options in chosen(variants):
                if service == "UC" and "-R" in options:
                    continue  # "UC is not supported in librdmacm", the tool says
                count = "" if "-n" in options else "-n 5" if "-a" in options else "-n 200"
                if service == "UC" and "-r 64" in options:
                    count = "-n 60"  # more than is posted may be dropped: nothing tells the sender
                kind = "" if "atomic" in tool else f"-c {service}"
                command = f"{tool} {kind} {options} {count} -F"
                # Of connections made by MADs the tool finds the device itself.
                one, two = ("", "") if "-R" in options else ("-d $D1 -x $one", "-d $D2 -x $two")
                output = rdma.script(guest, f"""
one=$(gid 1); two=$(gid 2)
between {command} {two} -- {command} {one} 10.0.0.2
tail -n 2 /tmp/client.out
""", 300)
                print(f"{kernel} {command}: {output.strip().splitlines()[0]}")
    traffic.clean(guest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_connection_manager(verbs, kernel):
    """Connections made by MADs over QP1: rping and rstream check what they moved,
    rstream by WRITEs with immediate; ucmatose, udaddy; perftest -R."""
    guest = verbs(kernel, capture=True).guest
    rdma.script(guest, """
between rping -s -a 10.0.0.2 -C 20 -v -V -- rping -c -a 10.0.0.2 -C 20 -v -V
between ucmatose -b 10.0.0.2 -- ucmatose -s 10.0.0.2
between udaddy -b 10.0.0.2 -- udaddy -s 10.0.0.2
between ib_write_bw -R -F -n 200 -- ib_write_bw -R -F -n 200 10.0.0.2
between rstream -b 10.0.0.2 -T v -S all -I 5 -C 2 -- rstream -s 10.0.0.2 -T v -S all -I 5 -C 2
between mckey -m 239.1.1.1 -b 10.0.0.2 -- mckey -m 239.1.1.1 -b 10.0.0.1 -s
grep -q ERROR /tmp/client.out /tmp/server.out && fail "$(cat /tmp/client.out /tmp/server.out)"
true
""")
    traffic.clean(guest)
