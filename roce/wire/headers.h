// SPDX-License-Identifier: Apache-2.0
// The base transport header and the order of the extended ones (IBTA volume 1, sections 9.2 to 9.4;
// XRCETH: annex A14). The order is written once, for writer and reader alike.
#pragma once

#include "eth/wire/header_view.h"
#include "roce/wire/codec.h"
#include "roce/wire/packet.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cxsim::roce {

inline constexpr std::uint32_t kQpnMask = 0xff'ffff;
/// Next header of a GRH (IBTA volume 1, section 8.3).
inline constexpr std::uint8_t kNextHeaderBth = 0x1b;

template <class Byte>
class BasicBth : public eth::HeaderView<Byte> {
  public:
    /// FECN, BECN and reserved bits: switches change them, the invariant CRC counts them as ones.
    static constexpr std::size_t kVariantOffset = 4;

    using eth::HeaderView<Byte>::HeaderView;
    std::uint8_t opcode() const { return this->template get<std::uint8_t>(0); }
    bool solicited() const { return (flags() >> 7 & 1) != 0; }
    bool migrated() const { return (flags() >> 6 & 1) != 0; }
    std::uint8_t pad() const { return flags() >> 4 & 3; }
    std::uint8_t version() const { return flags() & 0xf; }
    std::uint16_t pkey() const { return this->template get<std::uint16_t>(2); }
    bool fecn() const { return (this->template get<std::uint8_t>(4) >> 7 & 1) != 0; }
    bool becn() const { return (this->template get<std::uint8_t>(4) >> 6 & 1) != 0; }
    std::uint32_t destination_qp() const { return this->template get<std::uint32_t>(4) & kQpnMask; }
    bool ack_request() const { return (this->template get<std::uint8_t>(8) >> 7 & 1) != 0; }
    std::uint32_t psn() const { return this->template get<std::uint32_t>(8) & kPsnMask; }

    void set(const TransportHeaders& from, std::uint8_t pad) const {
        this->template put<std::uint8_t>(0, from.opcode);
        this->template put<std::uint8_t>(
            1, static_cast<std::uint8_t>((from.solicited ? 0x80U : 0U) |
                                         (from.migrated ? 0x40U : 0U) | (pad & 3U) << 4));
        this->template put<std::uint16_t>(2, from.pkey);
        this->template put<std::uint32_t>(4, (from.fecn ? 1U << 31 : 0U) |
                                                 (from.becn ? 1U << 30 : 0U) |
                                                 (from.destination_qp & kQpnMask));
        this->template put<std::uint32_t>(
            8, (from.ack_request ? 1U << 31 : 0U) | (from.psn & kPsnMask));
    }

  private:
    std::uint8_t flags() const { return this->template get<std::uint8_t>(1); }
};
using Bth = BasicBth<std::byte>;
using ConstBth = BasicBth<const std::byte>;

constexpr bool has_xrc_eth(WireService service, const OperationTraits& traits) {
    return service == WireService::xrc && traits.request;
}

/// `each(field)` takes whole fields, `each.low24(field)` those behind a reserved byte.
template <class Headers, class Each>
void for_each_extended_field(Headers& headers, Each& each) {
    static_assert(std::is_same_v<std::remove_const_t<Headers>, TransportHeaders>);
    const OperationTraits traits = headers.traits();
    const WireService service = headers.service();
    if (has_xrc_eth(service, traits)) each.low24(headers.xrc_srq);
    if (service == WireService::ud) {
        each(headers.queue_key);
        each.low24(headers.source_qp);
    }
    if (traits.reth || traits.atomic_eth) {
        each(headers.address);
        each(headers.key);
    }
    if (traits.reth) each(headers.dma_bytes);
    if (traits.atomic_eth) {
        each(headers.swap_add);
        each(headers.compare);
    }
    if (traits.aeth) each.high8_low24(headers.syndrome, headers.msn);
    if (traits.atomic_ack_eth) each(headers.original);
    if (traits.immediate) each(headers.immediate);
    if (traits.invalidate) each(headers.invalidated_key);
}

}  // namespace cxsim::roce
