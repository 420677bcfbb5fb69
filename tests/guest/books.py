# SPDX-License-Identifier: Apache-2.0
"""The books of a server: every frame is delivered, dropped for a reason that has a counter, or on
its way. `check(state)` takes what `cxsim ctl status` says and raises AssertionError with the sums."""


def _port(card):
    """Counters of the port by their own names; what is missing is zero."""
    values = {path.split(".", 2)[2]: value for path, value in card["port"].items()}
    return lambda name: values.get(name, 0)


def check_card(card, on_the_way):
    """`on_the_way`: frames of all cards that still have memory."""
    port, sent, got = _port(card), card["pipelines"]["transmit"], card["pipelines"]["receive"]
    rdma = card["transport"]
    lines = [
        ("given to the port", sent["frames"] + rdma["frames_to_port"], port("tx_accepted"), 0),
        ("taken by the port", port("tx_accepted"),
         port("tx_frames") - port("tx_control") + port("tx_discards"), on_the_way),
        ("arrived", port("rx_events"),
         port("rx_frames") + port("rx_errors") + port("rx_damaged_kept"), 0),
        ("good at the port", port("rx_frames") + port("rx_damaged_kept"),
         port("rx_control") + port("rx_delivered") + port("rx_discards") +
         port("rx_no_receiver"), 0),
        ("handed over", port("rx_delivered"), got["frames"] + rdma["frames_from_port"], 0),
        ("RoCE's", rdma["frames_from_port"] + rdma["looped"],
         sum(rdma[name] for name in ("vport_down", "bad_icrc", "malformed", "packets_received")),
         on_the_way),
        ("packets for QPs", rdma["packets_received"] + rdma["copies"],
         sum(rdma[name] for name in ("requests", "responses", "notifications", "no_queue",
                                     "not_ready", "bad_pkey", "bad_qkey", "bad_address")), 0),
        ("steered", got["frames"] + got.get("looped", 0) + got.get("copies", 0),
         got["vport_down"] + got["steered_away"] + got["deliveries"], 0),
        ("delivered", got["deliveries"],
         got["received"] + got["no_buffer"] + got["not_ready"] + got["too_small"] +
         got["failures"] + got["no_queue"] + got.get("loop_blocked", 0) +
         got["merged_frames"] - got["merged_packets"], on_the_way),
    ]
    wrong = [f"{card['socket']}: {what}: {left} in, {right} out, {slack} on the way"
             for what, left, right, slack in lines if not 0 <= left - right <= slack]
    assert not wrong, "\n".join(wrong)


def check(state):
    on_the_way = state["frames_in_use"]
    for card in state["cards"]:
        check_card(card, on_the_way)
    network = state["network"]
    for path, count in network.items():
        if ".sent_to_end" not in path:
            continue
        link, _, end = path.rpartition(".sent_to_end")
        ended = sum(network.get(f"{link}.{what}_to_end{end}", 0) for what in ("delivered", "lost"))
        assert 0 <= count - ended <= on_the_way, \
            f"{link} to end {end}: {count} in, {ended} out, {on_the_way} on the way"
