# SPDX-License-Identifier: Apache-2.0
"""Two cards of one guest on a wire, each with its network and its RDMA device in a namespace.

On top of traffic.py's library, for scripts that begin with `. /tmp/rdma.sh`:
  gid N [TYPE]            index of card N's (1 or 2) GID of its IPv4 address, "RoCE v2" or TYPE
  between SERVER -- CLIENT  runs SERVER in ns2 and, when it listens, CLIENT in ns1; both must end
                            well, their output is in /tmp/server.out and /tmp/client.out
  counter N NAME          of hw_counters of card N
  counted N               all hw_counters of card N that are not 0
"""

import typing

import guestlib
import traffic

PATIENCE = 120.0

LIBRARY = r"""
. /tmp/traffic.sh
D1=RDMA0; D2=RDMA1
in_() { ip netns exec ns$1 "${@:2}"; }
gid() {
    local device=D$1 type=${2:-RoCE v2} base
    base=/sys/class/infiniband/${!device}/ports/1
    in_ $1 bash -c '
        for i in $(seq 0 15); do
            [ "$(cat '$base'/gid_attrs/types/$i 2>/dev/null)" = "'"$type"'" ] || continue
            case $(cat '$base'/gids/$i) in
            0000:0000:0000:0000:0000:ffff:*) echo $i; exit 0 ;;
            esac
        done; exit 1' || fail "card $1 has no GID of $type: $(in_ $1 bash -c "grep . $base/gids/? $base/gid_attrs/types/?" 2>&1)"
}
counter() {
    local device=D$1
    in_ $1 cat /sys/class/infiniband/${!device}/ports/1/hw_counters/$2
}
# What a card counted: of a run that waits for a message this tells whether one was dropped.
counted() {
    local device=D$1
    in_ $1 bash -c 'cd /sys/class/infiniband/'${!device}'/ports/1/hw_counters && grep -v "^0$" *' |
        grep -v ^lifespan | tr '\n' ' '
}
between() {
    local server=() client=()
    while [ "$1" != -- ]; do server+=("$1"); shift; done
    shift; client=("$@")
    timeout 60 ip netns exec ns2 "${server[@]}" >/tmp/server.out 2>&1 & local pid=$!
    sleep ${LISTEN:-1}
    local status=0
    timeout 60 ip netns exec ns1 "${client[@]}" >/tmp/client.out 2>&1 || status=$?
    [ $status = 0 ] || { kill $pid 2>/dev/null; fail "${client[*]}: status $status
$(tail -n 12 /tmp/client.out)
server: $(tail -n 12 /tmp/server.out)
counters: $(counted 1); $(counted 2)"; }
    wait $pid || fail "${server[*]}: status $?: $(tail -n 12 /tmp/server.out)
counters: $(counted 1); $(counted 2)"
}
"""

SETUP = r"""
rdma dev set RDMA0 netns ns1 || fail "first device"
rdma dev set RDMA1 netns ns2 || fail "second device"
for try in {1..100}; do
    (gid 1 && gid 2) >/dev/null 2>&1 && break
    sleep 0.1
done
gid 1 >/dev/null; gid 2 >/dev/null
"""


class Session(typing.NamedTuple):
    guest: guestlib.Guest
    devices: list  # network devices
    names: list  # RDMA devices
    server: guestlib.Server


def prepare(guest):
    """Namespaces ns1 and ns2 with network and RDMA device of a card each."""
    guest.check("rdma system set netns exclusive")  # before there is any namespace
    devices = traffic.prepare(guest)
    names = [function.ibdevs[0] for function in guest.functions[:2]]
    library = LIBRARY.replace("RDMA0", names[0]).replace("RDMA1", names[1])
    guest.check(f"cat >/tmp/rdma.sh <<'END'\n{library}END\n")
    script(guest, SETUP.replace("RDMA0", names[0]).replace("RDMA1", names[1]))
    return devices, names


def script(guest, text, seconds=PATIENCE):
    """Runs `text` after the library in the guest; the output. A failed step fails the test."""
    result = guest.run(f". /tmp/rdma.sh\n{text}", guestlib.Deadline(seconds))
    log = "\n".join(str(r) for r in guest.dmesg()[-8:]) if result.status != 0 else ""
    assert result.status == 0, f"{result.output[-3000:]}\n{log}"
    return result.output
