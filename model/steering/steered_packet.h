// SPDX-License-Identifier: Apache-2.0
// A packet as the flow tables see and change it. eth/offloads implements it over a frame; steering
// itself knows no header.
#pragma once

#include "model/steering/flow_key.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::model {

class SteeredPacket {
  public:
    virtual ~SteeredPacket() = default;

    /// In step with the packet: edits below update it. Metadata (misc_parameters_2.metadata_reg_*)
    /// lives only here.
    virtual FlowKey& key() = 0;
    /// Length that flow counters count: the frame without FCS.
    virtual std::uint32_t bytes() const = 0;

    // Edits. False: the packet has no such header, the bits lie outside of the field, or there is
    // no room; the packet is unchanged then and steering drops it (counted).

    /// Header fields by the PRM's numbers (set_action_in.field and so on); offset and length in
    /// bits, length 0 means 32. Checksums that depend on the field are kept right.
    virtual bool set_field(std::uint32_t field, unsigned offset, unsigned length,
                           std::uint32_t value) = 0;
    virtual bool add_field(std::uint32_t field, std::uint32_t value) = 0;
    virtual bool copy_field(std::uint32_t from, unsigned from_offset, std::uint32_t to,
                            unsigned to_offset, unsigned length) = 0;
    /// The outermost tag; `tpid` 0x8100 or 0x88a8, `tci` with priority and DEI.
    virtual bool push_vlan(std::uint16_t tpid, std::uint16_t tci) = 0;
    virtual bool pop_vlan() = 0;
    /// Removes the outer headers of a tunnel up to the inner L2 header (flow_context.action DECAP).
    virtual bool decapsulate() = 0;
    /// Packet reformat; type and parameters as in packet_reformat_context_in.
    virtual bool reformat(std::uint8_t type, std::uint8_t parameter_0, std::uint8_t parameter_1,
                          std::span<const std::byte> data) = 0;

    /// An independent copy, with key and metadata, for a destination that wants the packet
    /// differently than another; it lives as long as this packet. Null: no room, or not supported;
    /// that destination then gets nothing (counted).
    virtual SteeredPacket* copy() { return nullptr; }
};

}  // namespace cxsim::model
