// SPDX-License-Identifier: Apache-2.0
// From the driver's address vectors and the function's table of RoCE addresses to paths.
#pragma once

#include "model/prm/view.h"
#include "prm/layouts.h"
#include "roce/wire/codec.h"

#include <cstdint>
#include <optional>
#include <span>

namespace cxsim::roce {

/// An entry of the table of RoCE addresses (SET_ROCE_ADDRESS).
struct LocalAddress {
    NetworkKind kind = NetworkKind::roce_v1;
    Gid gid{};
    eth::MacAddress mac;
    bool has_vlan = false;
    std::uint16_t vlan = 0;
};

/// What the transport asks of the function's firmware.
class AddressTable {
  public:
    virtual ~AddressTable() = default;
    /// Nothing: the entry is empty or beyond the table.
    virtual std::optional<LocalAddress> address(std::uint32_t index) const = 0;
    /// Whether the driver has enabled RoCE on the vport (nic_vport_context.roce_en).
    virtual bool enabled() const = 0;
    /// Whether answers of atomics come to host memory with the most significant byte first
    /// (atomic_caps.atomic_req_8B_endianness_mode 0) instead of the host's order.
    virtual bool big_endian_originals() const { return false; }
    /// The port's queue for packets with a DSCP (0 to 63); nothing where it trusts 802.1p
    /// priorities.
    virtual std::optional<std::uint8_t> queue_of_dscp(std::uint8_t) const { return std::nullopt; }
    /// QPs attached to a multicast GID.
    virtual std::span<const std::uint32_t> members(const Gid& group) const = 0;
};

/// Of a connected QP (qpc.primary_address_path); nothing if its source address does not exist.
std::optional<Path> path_of(prm::ConstView<prm::ads> address, std::uint32_t local_qp,
                            std::uint32_t remote_qp, const AddressTable& table);

/// Of a datagram: base_av, or the whole av. Nothing: no such source address, or only a base.
std::optional<Path> path_of(std::span<const std::byte> address_vector, std::uint32_t local_qp,
                            const AddressTable& table);

/// The way back of a packet: to its source, from the address it came to, with another DSCP and
/// priority (VLAN tags keep their VLAN).
Path reply_path(const ReceivedPacket& packet, std::uint8_t traffic_class, std::uint8_t priority,
                const AddressTable& table);

}  // namespace cxsim::roce
