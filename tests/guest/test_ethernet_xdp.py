# SPDX-License-Identifier: Apache-2.0
"""XDP in the stock driver: pass, drop, send back, redirect; with and without multi-packet WQEs;
sockets that share their memory with the card (AF_XDP)."""

import base64
import pathlib
import re
import shutil
import subprocess

import pytest

import traffic
from conftest import KERNELS

pytestmark = pytest.mark.one_kernel

FOLDER = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def tool(tmp_path_factory):
    """tool(guest, name): a C program of this folder, built without a library, as /tmp/NAME."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the guest's programs")
    folder = tmp_path_factory.mktemp("tools")

    def install(guest, name):
        program = folder / name
        subprocess.run([compiler, "-std=gnu11", "-O1", "-s", "-static", "-nostdlib",
                        "-ffreestanding", "-fno-stack-protector",
                        "-fno-tree-loop-distribute-patterns", "-Wall", "-Werror", "-o", program,
                        FOLDER / f"{name}.c"], check=True, timeout=60)
        guest.check(f"base64 -d >/tmp/{name} <<'END'\n"
                    f"{base64.encodebytes(program.read_bytes()).decode()}END\nchmod +x /tmp/{name}")
    return install


@pytest.mark.parametrize("kernel", KERNELS)
def test_xdp_programs(pair, tool, kernel):
    guest, (first, second), _ = pair(kernel)
    tool(guest, "xdp_loader")
    traffic.script(guest, f"""
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


# How the driver lets the card reach frames of the socket's memory, by what they are like.
MEMORIES = (("4096", "", "on"),     # pages (MTT)
            ("4096", "ub", "on"),   # anywhere, all of one size (KSM)
            ("3072", "u", "on"),    # anywhere, three pieces and a garbage page (KSM)
            ("2048", "b", "on"),    # smaller than a page of the card: with a garbage page (KLM)
            ("2048", "", "off"))    # cyclic queue
SLOW_MEMORY = r"Expected slowdown with XSK frame size 2048"
DATAGRAMS = 40
FLOOD = 400


@pytest.mark.parametrize("kernel", KERNELS)
def test_socket_without_copies(pair, tool, kernel):
    """A zero-copy AF_XDP socket on queue 0 sends datagrams back; all else goes on beside it."""
    guest, (first, second), _ = pair(kernel)
    tool(guest, "xsk_echo")
    traffic.script(guest, f"in2 ethtool -X {second} equal 1 || fail; exchange")
    for chunk, mode, striding in MEMORIES:
        what = f"{kernel}: chunks of {chunk}{', anywhere' if 'u' in mode else ''}, " \
               f"{'striding' if striding == 'on' else 'cyclic'} queue"
        before = traffic.statistics(guest, "ns2", second)
        out = traffic.script(guest, f"""
in2 ethtool --set-priv-flags {second} rx_striding_rq {striding} || fail
carrier
index=$(in2 cat /sys/class/net/{second}/ifindex)
in2 /tmp/xsk_echo $index 0 {chunk} "x{mode}" 7777 3000 >/tmp/said 2>&1 &
echo=$!
for try in {{1..100}}; do grep -q ready /tmp/said && break; sleep 0.1; done
grep -q ready /tmp/said || fail "$(</tmp/said)"
carrier
# Words of 1 to 1400 bytes; each must come back as it was before the next is sent.
asked() {{
    local word answer number
    exec 3<>/dev/udp/10.0.0.2/7777
    for ((number = 0; number < {DATAGRAMS}; ++number)); do
        printf -v word '%0*d' $((1 + number * 1399 / ({DATAGRAMS} - 1))) $((number * 7919 % 10))
        word=${{word//0/$((number % 9 + 1))}}
        printf %s "$word" >&3
        LC_ALL=C IFS= read -r -t 5 -N ${{#word}} -u 3 answer || fail "no answer to $number"
        [ "$answer" = "$word" ] || fail "$number came back as '$answer'"
    done
}}
export -f asked fail
in1 bash -c asked || {{ cat /tmp/said; exit 1; }}
pings ns1 10.0.0.2 56 1400   # not for the socket: the kernel's
pull ns1 10.0.0.2
in1 bash -c 'head -c $((200 * {FLOOD})) /dev/zero | dd bs=200 iflag=fullblock status=none >/dev/udp/10.0.0.2/7777'
wait $echo || fail "$(</tmp/said)"
cat /tmp/said
""")
        after = traffic.statistics(guest, "ns2", second)
        grown = {name: value - before.get(name, 0) for name, value in after.items()
                 if "xsk" in name and value != before.get(name, 0)}
        got, sent, strange = map(int, re.search(r"received (\d+) sent (\d+) strange (\d+)",
                                                out).groups())
        print(f"{what}: {got} received, {sent} sent")
        assert strange == 0 and got == sent, out
        assert DATAGRAMS + FLOOD / 4 <= got <= DATAGRAMS + FLOOD, (what, got, grown)
        assert grown["rx_xsk_xdp_redirect"] == grown["tx_xsk_xmit"] == got, (what, got, grown)
        assert grown["rx_xsk_packets"] > 4, (what, grown)  # those that the kernel got
        for name in ("rx_xsk_wqe_err", "rx_xsk_buff_alloc_err", "tx_xsk_err",
                     "rx_xsk_oversize_pkts_sw_drop"):
            assert name not in grown, (what, grown)
        traffic.script(guest, "exchange")
    bad = guest.violations((SLOW_MEMORY,))
    assert not bad, "\n".join(map(str, bad))
    # The device can be taken while a socket holds a queue of it.
    guest.check(f"""
index=$(ip netns exec ns2 cat /sys/class/net/{second}/ifindex)
bdf=$(basename $(ip netns exec ns2 readlink /sys/class/net/{second}/device))
ip netns exec ns2 ethtool --set-priv-flags {second} rx_striding_rq on
ip netns exec ns2 /tmp/xsk_echo $index 0 4096 x 7777 4000 >/tmp/said 2>&1 &
echo=$!
for try in {{1..100}}; do grep -q ready /tmp/said && break; sleep 0.1; done
echo $bdf >/sys/bus/pci/drivers/mlx5_core/unbind
wait $echo
cat /tmp/said
echo $bdf >/sys/bus/pci/drivers/mlx5_core/bind
""")
    bad = guest.violations((SLOW_MEMORY,))
    assert not bad, "\n".join(map(str, bad))
