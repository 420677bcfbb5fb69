// SPDX-License-Identifier: Apache-2.0
#include "model/steering/header_rewrite.h"

#include "model/base/endian.h"
#include "model/prm/bits.h"
#include "model/steering/flow_action.h"

#include <optional>

namespace cxsim::model {
namespace {

using Param = prm::fte_match_param;
using Headers = prm::fte_match_set_lyr_2_4;
using Misc2 = prm::fte_match_set_misc2;
using Misc3 = prm::fte_match_set_misc3;
using Set = prm::set_action_in;
using Add = prm::add_action_in;
using Copy = prm::copy_action_in;

constexpr std::uint32_t kRegisterA = 0x49;
constexpr std::uint32_t kRegisterB = 0x50;
constexpr std::uint32_t kRegisterC0 = 0x51;
constexpr std::uint32_t kRegisterC7 = 0x58;
constexpr std::uint32_t kMisc2Bits = 0x600;

/// Bits of a packet's key.
struct KeyField {
    std::uint32_t offset = 0;
    std::uint32_t width = 0;
};

template <class F>
constexpr KeyField in_outer() {
    return {F::kOffset, F::kWidth};
}

template <class F>
constexpr KeyField in_misc3() {
    return {Param::misc_parameters_3::kOffset + F::kOffset, F::kWidth};
}

constexpr KeyField address_word(std::uint32_t address, std::uint32_t word) {
    return {address + 32 * word, 32};
}

/// Where the key holds a header field, by its number in the PRM (set_action_in.field). Copies into
/// registers read from there.
std::optional<KeyField> header_field(std::uint32_t field) {
    constexpr std::uint32_t kSource = Headers::src_ipv4_src_ipv6::kOffset;
    constexpr std::uint32_t kDestination = Headers::dst_ipv4_dst_ipv6::kOffset;
    switch (field) {
        case 0x01:
            return in_outer<Headers::smac_47_16>();
        case 0x02:
            return in_outer<Headers::smac_15_0>();
        case 0x03:
            return in_outer<Headers::ethertype>();
        case 0x04:
            return in_outer<Headers::dmac_47_16>();
        case 0x05:
            return in_outer<Headers::dmac_15_0>();
        case 0x06:
            return in_outer<Headers::ip_dscp>();
        case 0x07:
            return in_outer<Headers::tcp_flags>();
        case 0x08:
            return in_outer<Headers::tcp_sport>();
        case 0x09:
            return in_outer<Headers::tcp_dport>();
        case 0x0a:
        case 0x47:
            return in_outer<Headers::ttl_hoplimit>();
        case 0x0b:
            return in_outer<Headers::udp_sport>();
        case 0x0c:
            return in_outer<Headers::udp_dport>();
        case 0x0d:
        case 0x0e:
        case 0x0f:
        case 0x10:
            return address_word(kSource, field - 0x0d);
        case 0x11:
        case 0x12:
        case 0x13:
        case 0x14:
            return address_word(kDestination, field - 0x11);
        case 0x15:
            return address_word(kSource, 3);
        case 0x16:
            return address_word(kDestination, 3);
        case 0x17:
            return in_outer<Headers::first_vid>();
        case 0x59:
            return in_misc3<Misc3::outer_tcp_seq_num>();
        case 0x5b:
            return in_misc3<Misc3::outer_tcp_ack_num>();
        default:
            return std::nullopt;
    }
}

/// Where the key holds a register; B is not there.
std::uint32_t register_offset(std::uint32_t field) {
    // The registers C stand in falling order.
    return field == kRegisterA
               ? kMisc2Bits + Misc2::metadata_reg_a::kOffset
               : kMisc2Bits + Misc2::metadata_reg_c_0::kOffset - 32 * (field - kRegisterC0);
}

class Registers {
  public:
    Registers(SteeredPacket& packet, std::uint32_t& register_b)
        : packet_(packet), register_b_(register_b) {}

    std::uint32_t get(std::uint32_t field) const {
        if (field == kRegisterB) return register_b_;
        return load_be<std::uint32_t>(packet_.key().bytes.data() + register_offset(field) / 8);
    }
    void set(std::uint32_t field, std::uint32_t value) const {
        if (field == kRegisterB) {
            register_b_ = value;
        } else {
            store_be<std::uint32_t>(packet_.key().bytes.data() + register_offset(field) / 8, value);
        }
    }

  private:
    SteeredPacket& packet_;
    std::uint32_t& register_b_;
};

/// Length 0 means 32 bits.
unsigned bits_of(std::uint32_t length) {
    return length == 0 ? 32 : length;
}

std::uint32_t ones(unsigned bits) {
    return bits >= 32 ? ~0U : (1U << bits) - 1;
}

bool put(const Registers& registers, std::uint32_t field, unsigned offset, unsigned bits,
         std::uint32_t value) {
    if (offset + bits > 32) return false;
    const std::uint32_t mask = ones(bits) << offset;
    registers.set(field, (registers.get(field) & ~mask) | ((value << offset) & mask));
    return true;
}

bool do_set(prm::ConstView<Set> action, SteeredPacket& packet, const Registers& registers) {
    const auto field = action.get<Set::field>();
    const auto offset = action.get<Set::offset>();
    const auto length = action.get<Set::length>();
    const auto data = action.get<Set::data>();
    if (is_metadata_register(field)) return put(registers, field, offset, bits_of(length), data);
    return packet.set_field(field, offset, length, data);
}

bool do_add(prm::ConstView<Add> action, SteeredPacket& packet, const Registers& registers) {
    const auto field = action.get<Add::field>();
    const auto data = action.get<Add::data>();
    if (!is_metadata_register(field)) return packet.add_field(field, data);
    registers.set(field, registers.get(field) + data);
    return true;
}

bool do_copy(prm::ConstView<Copy> action, SteeredPacket& packet, const Registers& registers) {
    const auto from = action.get<Copy::src_field>();
    const auto from_offset = action.get<Copy::src_offset>();
    const auto to = action.get<Copy::dst_field>();
    const auto to_offset = action.get<Copy::dst_offset>();
    const auto length = action.get<Copy::length>();
    const unsigned bits = bits_of(length);
    if (!is_metadata_register(from) && !is_metadata_register(to)) {
        return packet.copy_field(from, from_offset, to, to_offset, length);
    }
    std::uint32_t value = 0;
    std::uint32_t width = 32;
    if (is_metadata_register(from)) {
        value = registers.get(from);
    } else {
        const auto place = header_field(from);
        if (!place) return false;
        width = place->width;
        value = static_cast<std::uint32_t>(
            prm::get_bits(packet.key().bytes, place->offset, place->width));
    }
    if (from_offset + bits > width) return false;
    value = (value >> from_offset) & ones(bits);
    if (is_metadata_register(to)) return put(registers, to, to_offset, bits, value);
    return packet.set_field(to, to_offset, length, value);
}

}  // namespace

bool is_metadata_register(std::uint32_t field) {
    return field == kRegisterA || (field >= kRegisterB && field <= kRegisterC7);
}

bool rewrite(std::span<const std::byte> action, SteeredPacket& packet, std::uint32_t& register_b) {
    const Registers registers(packet, register_b);
    const auto type = prm::ConstView<Set>(action).get<Set::action_type>();
    switch (static_cast<RewriteType>(type)) {
        case RewriteType::set:
            return do_set(prm::ConstView<Set>(action), packet, registers);
        case RewriteType::add:
            return do_add(prm::ConstView<Add>(action), packet, registers);
        case RewriteType::copy:
            return do_copy(prm::ConstView<Copy>(action), packet, registers);
    }
    return false;
}

}  // namespace cxsim::model
