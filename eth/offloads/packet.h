// SPDX-License-Identifier: Apache-2.0
// A frame with its headers found, as flow tables and offloads work on it. One object serves many
// frames one after the other; nothing is allocated, but for the first copies.
#pragma once

#include "eth/offloads/flow_key.h"
#include "eth/offloads/headers.h"
#include "model/ports/frame.h"
#include "model/steering/deliveries.h"
#include "model/steering/flow_key.h"
#include "model/steering/steered_packet.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cxsim::eth {

/// What a packet's key holds besides its headers.
struct Origin {
    std::uint16_t vport = 0;    ///< misc_parameters.source_port
    std::uint16_t vhca_id = 0;  ///< misc_parameters.source_eswitch_owner_vhca_id
    std::uint32_t sqn = 0;      ///< misc_parameters.source_sqn (24 bits), 0 on receive
    std::uint32_t reg_a = 0;    ///< metadata_reg_a: a send WQE's flow_table_metadata
};

class Packet final : public model::SteeredPacket {
  public:
    /// Copies of one frame: as many as there can be destinations.
    static constexpr std::size_t kMaxCopies = model::Deliveries::kCapacity;

    /// `config` must outlive the packet; it may change between frames. Without a pool there are no
    /// copies; it must outlive the packet, too.
    explicit Packet(const ParserConfig& config, model::FramePool* pool = nullptr)
        : config_(&config), pool_(pool) {}
    Packet(const Packet&) = delete;
    Packet& operator=(const Packet&) = delete;

    /// Takes the frame and parses it. An earlier frame must have been released.
    void take(model::FramePtr frame, const Origin& origin = {});
    /// Gives the frame away; the packet is empty then. Copies stay until drop() or the next take().
    model::FramePtr release();
    /// Drops the frame and all copies (back to their pool).
    void drop();

    bool empty() const { return frame_ == nullptr; }
    model::Frame& frame() { return *frame_; }
    const model::Frame& frame() const { return *frame_; }
    /// In step with the frame; valid until the next edit.
    const Headers& headers();
    /// After the frame's bytes were changed past this object: parse again at the next use.
    void touched() { structure_changed(); }
    /// Metadata register B: a completion's ft_metadata.
    std::uint32_t metadata_b() const { return reg_b_; }

    // SteeredPacket. Fields: MLX5_ACTION_IN_FIELD_* and their inner counterparts.
    model::FlowKey& key() override;
    std::uint32_t bytes() const override { return frame_->size(); }
    bool set_field(std::uint32_t field, unsigned offset, unsigned length,
                   std::uint32_t value) override;
    bool add_field(std::uint32_t field, std::uint32_t value) override;
    bool copy_field(std::uint32_t from, unsigned from_offset, std::uint32_t to, unsigned to_offset,
                    unsigned length) override;
    bool push_vlan(std::uint16_t tpid, std::uint16_t tci) override;
    bool pop_vlan() override;
    bool decapsulate() override;
    bool reformat(std::uint8_t type, std::uint8_t parameter_0, std::uint8_t parameter_1,
                  std::span<const std::byte> data) override;
    /// Belongs to the packet that was steered: a copy's copy, too. Its frame may be released.
    model::SteeredPacket* copy() override;

  private:
    /// Where a field of the PRM's numbers is: a word of 1, 2 or 4 bytes in the frame, or a metadata
    /// register (in the key, or register B beside it).
    struct Place {
        enum class In : std::uint8_t { frame, key, reg_b };
        In in = In::frame;
        std::uint8_t word_bytes = 4;
        std::uint8_t shift = 0;
        std::uint8_t width = 32;
        bool structural = false;  ///< Changing it may change which headers there are.
        std::uint32_t offset = 0;
    };

    bool locate(std::uint32_t field, Place& place);
    std::uint32_t read(const Place& place) const;
    void write(const Place& place, std::uint32_t value);
    /// A 16-bit aligned piece of the frame at `offset` had the sum `before` and has `after`: keeps
    /// every checksum right that covers it.
    void checksums_follow(std::uint32_t offset, std::uint16_t before, std::uint16_t after);

    std::uint32_t l2_end();
    bool insert_at(std::uint32_t offset, std::span<const std::byte> data);
    void remove_at(std::uint32_t offset, std::uint32_t bytes);
    bool replace_front(std::uint32_t remove, std::span<const std::byte> data);
    void complete_tunnel(std::uint32_t header_bytes, std::uint16_t entropy);
    std::uint16_t flow_entropy();
    void trim(std::uint32_t size);
    void structure_changed() { stale_ = key_stale_ = true; }

    const ParserConfig* config_;
    model::FramePool* pool_;
    model::FramePtr frame_;
    Headers headers_;
    model::FlowKey key_;
    KeyParts used_;
    std::uint32_t reg_b_ = 0;
    bool stale_ = false;      // headers_
    bool key_stale_ = false;  // key_
    Packet* original_ = this;  // owns this copy; itself if it is none
    std::vector<std::unique_ptr<Packet>> copies_;  // kept for later frames
    std::size_t copies_used_ = 0;
};

}  // namespace cxsim::eth
