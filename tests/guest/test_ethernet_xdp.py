# SPDX-License-Identifier: Apache-2.0
"""XDP in the stock driver: pass, drop, send back, redirect; with and without multi-packet WQEs."""

import base64
import pathlib
import shutil
import subprocess

import pytest

import traffic
from conftest import KERNELS

pytestmark = pytest.mark.one_kernel

LOADER = pathlib.Path(__file__).with_name("xdp_loader.c")


@pytest.fixture(scope="session")
def loader(tmp_path_factory):
    """xdp_loader, built for the guest: it needs no library there."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the guest's XDP loader")
    program = tmp_path_factory.mktemp("xdp") / "xdp_loader"
    subprocess.run([compiler, "-std=gnu11", "-O1", "-s", "-static", "-nostdlib", "-ffreestanding",
                    "-fno-stack-protector", "-fno-tree-loop-distribute-patterns", "-Wall",
                    "-Werror", "-o", program, LOADER], check=True, timeout=60)
    return program.read_bytes()


@pytest.mark.parametrize("kernel", KERNELS)
def test_xdp_programs(pair, loader, kernel):
    guest, (first, second), _ = pair(kernel)
    traffic.script(guest, f"""
base64 -d >/tmp/xdp_loader <<'END'
{base64.encodebytes(loader).decode()}END
chmod +x /tmp/xdp_loader
mount -t bpf bpf /sys/fs/bpf
index=$(in2 cat /sys/class/net/{second}/ifindex)
for program in pass drop answer; do /tmp/xdp_loader $program /sys/fs/bpf/$program || fail; done
/tmp/xdp_loader redirect /sys/fs/bpf/redirect $index || fail
""")

    def attach(program):
        # `ip netns exec` would hide the programs behind a sysfs of its own.
        traffic.script(guest, "nsenter --net=/run/netns/ns2 "
                       f"ip -force link set dev {second} {program} || fail {program}\ncarrier")

    def pinged(size=56, count=20):
        """(answers, by how much each counter of the second card grew) of pings to it."""
        before = traffic.statistics(guest, "ns2", second)
        answers = int(traffic.script(guest, f"""
before=$(answers)
in1 ping -q -c {count} -i 0.02 -W 1 -s {size} 10.0.0.2 >/dev/null
sleep 0.5
echo $(($(answers) - before))"""))
        after = traffic.statistics(guest, "ns2", second)
        return answers, {name: value - before.get(name, 0) for name, value in after.items()}

    def xdp(grown):
        return {name: value for name, value in grown.items() if "xdp" in name and value}

    traffic.script(guest, "exchange")
    for mode in ("on", "off"):  # enhanced multi-packet WQEs of the XDP send queue
        guest.check(f"ip netns exec ns2 ethtool --set-priv-flags {second} xdp_tx_mpwqe {mode}")
        attach("xdpdrv pinned /sys/fs/bpf/pass")
        traffic.script(guest, "exchange")
        # Replacing a program by another needs no new queues.
        attach("xdpdrv pinned /sys/fs/bpf/drop")
        answers, grown = pinged(count=5)
        assert answers == 0 and grown["rx_xdp_drop"] >= 5, xdp(grown)
        for size in (56, 1400):
            attach("xdpdrv pinned /sys/fs/bpf/answer")
            answers, grown = pinged(size)
            assert answers == 20, f"XDP_TX {mode} {size}: {answers} of 20"
            # Completions are counted when the queue is polled next.
            assert grown["rx_xdp_tx_xmit"] == 20 >= grown["rx_xdp_tx_cqe"] > 0, xdp(grown)
            if mode == "off":
                assert grown["rx_xdp_tx_mpwqe"] == 0, xdp(grown)
            else:
                assert grown["rx_xdp_tx_mpwqe"] > 0, xdp(grown)
            attach("xdpdrv pinned /sys/fs/bpf/redirect")
            answers, grown = pinged(size)
            assert answers == 20, f"redirect {mode} {size}: {answers} of 20"
            assert grown["rx_xdp_redirect"] == grown["tx_xdp_xmit"] == 20, xdp(grown)
            assert grown["tx_xdp_err"] == grown["tx_xdp_full"] == 0, xdp(grown)
        traffic.script(guest, "pull ns1 10.0.0.2; pull ns2 10.0.0.1")
        attach("xdpdrv off")
        traffic.script(guest, "exchange")
    # Large frames: the queue is another one, with linear buffers no more, where the kernel can.
    guest.check(f"ip -n ns1 link set {first} mtu 3000; ip -n ns2 link set {second} mtu 3000")
    attach("xdpdrv pinned /sys/fs/bpf/pass")
    traffic.script(guest, "exchange")
    traffic.clean(guest)
