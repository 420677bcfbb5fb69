// SPDX-License-Identifier: Apache-2.0
// What an application says to the RDMA driver and hears from it: requests, addresses, completions.
#pragma once

#include "model/base/units.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace cxsim::scenarios {

using Gid = std::array<std::uint8_t, 16>;
using MacAddress = std::array<std::uint8_t, 6>;

/// qpc.st
enum class QpService : std::uint8_t { rc = 0, uc = 1, ud = 2 };

/// qpc.state, as QUERY_QP says it.
enum class VerbsState : std::uint8_t {
    reset = 0,
    init = 1,
    rtr = 2,
    rts = 3,
    send_error = 4,
    drained = 5,
    error = 6,
    draining = 7,
};

/// wqe_ctrl_seg.opcode
enum class SendOp : std::uint8_t {
    nop = 0x00,
    send_invalidate = 0x01,
    write = 0x08,
    write_immediate = 0x09,
    send = 0x0a,
    send_immediate = 0x0b,
    read = 0x10,
    compare_swap = 0x11,
    fetch_add = 0x12,
    local_invalidate = 0x1b,  ///< of the key in `immediate`
    bind = 0x25,              ///< of a memory window, or its end (SendRequest::binding)
};

/// cqe64.opcode of completions without error.
enum class CompletionKind : std::uint8_t {
    sent = 0,  ///< of the send queue; Completion::op says what it was
    received_write_immediate = 1,
    received = 2,
    received_immediate = 3,
    received_invalidate = 4,
};

/// err_cqe.syndrome; the IBTA's completion statuses.
enum class CompletionStatus : std::uint8_t {
    success = 0x00,
    local_length = 0x01,
    local_qp_operation = 0x02,
    local_protection = 0x04,
    flushed = 0x05,
    window_bind = 0x06,
    bad_response = 0x10,
    local_access = 0x11,
    remote_invalid_request = 0x12,
    remote_access = 0x13,
    remote_operation = 0x14,
    transport_retries_exceeded = 0x15,
    rnr_retries_exceeded = 0x16,
    aborted = 0x22,
};
/// "remote_access", or "unknown".
std::string_view to_string(CompletionStatus status);

/// Rights of a memory region or, for peers, of a queue pair. Local reads are always allowed.
struct AccessRights {
    bool local_write = true;
    bool remote_read = false;
    bool remote_write = false;
    bool remote_atomic = false;

    static constexpr AccessRights all() { return {true, true, true, true}; }
};

/// A piece of memory of a work request.
struct Sge {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;  ///< below 2^31
    std::uint32_t lkey = 0;
};

/// What a request of the send queue makes of a memory window.
struct WindowBinding {
    bool of_queue = false;         ///< type 2: the window must be free, and is this queue's then
    std::uint32_t key = 0;         ///< that the window has
    std::uint32_t new_key = 0;     ///< that it gets: the low byte counts
    std::uint32_t region_key = 0;  ///< whose memory it opens
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  ///< 2^31 at most; 0: the window is closed
    AccessRights access{};
    bool zero_based = false;  ///< peers count from 0, not from `address`
};

enum class RoceVersion : std::uint8_t { v1 = 0, v2 = 2 };  // roce_addr_layout.roce_version

/// An entry of the card's table of source addresses.
struct RoceAddress {
    Gid gid{};
    MacAddress mac{};
    RoceVersion version = RoceVersion::v2;
    bool vlan_valid = false;
    std::uint16_t vlan = 0;
};

/// ::ffff:a.b.c.d
Gid gid_of_ipv4(std::uint32_t address);
bool is_ipv4(const Gid& gid);
/// fe80:: with the modified EUI-64 of the MAC.
Gid link_local_gid(const MacAddress& mac);

/// The way to a peer: the primary path of a connected QP, or the address vector of a datagram.
struct AddressHandle {
    Gid gid{};
    MacAddress mac{};
    std::uint8_t source_index = 0;  ///< in the card's table of addresses
    std::uint8_t hop_limit = 64;
    std::uint8_t traffic_class = 0;  ///< DSCP in the upper six bits
    std::uint32_t flow_label = 0;
    std::uint8_t priority = 0;  ///< service level: 802.1p priority
    std::uint16_t udp_source_port = 0xc000;
};

struct SendRequest {
    std::uint64_t id = 0;  ///< comes back with the completion
    SendOp op = SendOp::send;
    std::span<const Sge> sges{};
    bool inlined = false;  ///< the bytes of `sges` are copied into the WQE
    bool signaled = true;
    bool solicited = false;
    bool fence = false;
    std::uint32_t immediate = 0;  ///< or the rkey that SEND with invalidate frees
    std::uint64_t remote_address = 0;
    std::uint32_t rkey = 0;
    std::uint64_t compare = 0;
    std::uint64_t swap_add = 0;
    const WindowBinding* binding = nullptr;
    // Of datagrams
    const AddressHandle* to = nullptr;
    std::uint32_t remote_qpn = 0;
    std::uint32_t queue_key = 0;
};

struct Completion {
    std::uint64_t id = 0;
    CompletionKind kind = CompletionKind::sent;
    CompletionStatus status = CompletionStatus::success;
    SendOp op = SendOp::nop;  ///< of `sent`, errors included; not of NOP's own making
    bool receive = false;     ///< of a receive queue, errors included
    std::uint8_t vendor_syndrome = 0;
    std::uint32_t bytes = 0;  ///< received; of READs and atomics fetched
    std::uint32_t qpn = 0;    ///< of this side
    std::uint32_t source_qpn = 0;
    std::uint32_t immediate = 0;  ///< or the key that was invalidated
    std::uint8_t priority = 0;
    bool solicited = false;
    bool grh = false;  ///< a datagram's first 40 bytes hold a network header
    model::Picoseconds time;  ///< at which the application could see it

    bool ok() const { return status == CompletionStatus::success; }
};

}  // namespace cxsim::scenarios
