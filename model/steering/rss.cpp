// SPDX-License-Identifier: Apache-2.0
#include "model/steering/rss.h"

#include "model/base/assert.h"
#include "model/base/endian.h"

#include <algorithm>
#include <cstring>

namespace cxsim::model {
namespace {

using Headers = prm::fte_match_set_lyr_2_4;
using Misc = prm::fte_match_set_misc;
using Param = prm::fte_match_param;
using Selector = prm::rx_hash_field_select;
using prm::ConstView;
using prm::tirc;

enum HashFunction : std::uint32_t { kNone = 0, kInvertedXor8 = 1, kToeplitz = 2 };

// selected_fields
constexpr std::uint32_t kSourceAddress = 1U << 0;
constexpr std::uint32_t kDestinationAddress = 1U << 1;
constexpr std::uint32_t kSourcePort = 1U << 2;
constexpr std::uint32_t kDestinationPort = 1U << 3;
constexpr std::uint32_t kSpi = 1U << 4;

constexpr std::uint32_t kTcp = 6;
constexpr std::uint32_t kUdp = 17;
constexpr std::uint32_t kEsp = 50;

class HashInput {
  public:
    void add(std::span<const std::byte> bytes) {
        std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
        size_ += bytes.size();
    }
    /// Both, in their order, or in a form that is the same for both directions: the bits of either
    /// and the bits that differ (Linux calls it symmetric-or-xor, and this card's hash).
    void add_pair(std::span<const std::byte> source, std::span<const std::byte> destination,
                  bool symmetric) {
        const std::size_t at = size_;
        add(source);
        add(destination);
        if (!symmetric) return;
        for (std::size_t i = 0; i < source.size(); ++i) {
            bytes_[at + i] = source[i] | destination[i];
            bytes_[at + source.size() + i] = source[i] ^ destination[i];
        }
    }
    std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

  private:
    std::array<std::byte, kRssInputBytes> bytes_{};
    std::size_t size_ = 0;
};

struct Selection {
    ConstView<Selector> selector;
    ConstView<Headers> headers;
    std::uint32_t spi = 0;
};

/// Which headers a TIR hashes: the inner ones if it selects fields there and the packet has them.
Selection select(ConstView<tirc> tir, const FlowKey& key) {
    const auto inner = tir.nested<tirc::rx_hash_field_selector_inner>();
    const auto packet = key.view();
    if (tir.get<tirc::tunneled_offload_en>() != 0 && inner.get<Selector::selected_fields>() != 0) {
        return {inner, packet.nested<Param::inner_headers>(),
                packet.get<Param::misc_parameters, Misc::inner_esp_spi>()};
    }
    return {tir.nested<tirc::rx_hash_field_selector_outer>(), packet.nested<Param::outer_headers>(),
            packet.get<Param::misc_parameters, Misc::outer_esp_spi>()};
}

void add_either(HashInput& input, std::span<const std::byte> source,
                std::span<const std::byte> destination, bool with_source, bool with_destination,
                bool symmetric) {
    if (with_source && with_destination) {
        input.add_pair(source, destination, symmetric);
    } else if (with_source) {
        input.add(source);
    } else if (with_destination) {
        input.add(destination);
    }
}

/// The type of ports or SPI that went into `input`; 0: none.
std::uint8_t add_layer_4(HashInput& input, const Selection& from, std::uint32_t fields,
                         bool symmetric) {
    const auto headers = from.headers;
    const auto protocol = headers.get<Headers::ip_protocol>();
    if (headers.get<Headers::frag>() != 0) return 0;
    const bool udp = from.selector.get<Selector::l4_prot_type>() != 0;
    if ((fields & (kSourcePort | kDestinationPort)) != 0 && protocol == (udp ? kUdp : kTcp)) {
        const auto source =
            udp ? headers.bytes<Headers::udp_sport>() : headers.bytes<Headers::tcp_sport>();
        const auto destination =
            udp ? headers.bytes<Headers::udp_dport>() : headers.bytes<Headers::tcp_dport>();
        add_either(input, source, destination, (fields & kSourcePort) != 0,
                   (fields & kDestinationPort) != 0, symmetric);
        return udp ? 2 : 1;
    }
    if ((fields & kSpi) != 0 && protocol == kEsp) {
        std::array<std::byte, 4> spi{};
        store_be<std::uint32_t>(spi.data(), from.spi);
        input.add(spi);
        return 3;
    }
    return 0;
}

/// The XOR of all bytes with its bits in reverse: drivers write the queue table in that order.
std::uint32_t inverted_xor8(std::span<const std::byte> input) {
    std::byte sum{0};
    for (const std::byte byte : input) sum ^= byte;
    std::uint32_t value = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
        value = value << 1 | (std::to_integer<std::uint32_t>(sum) >> bit & 1);
    }
    return value;
}

}  // namespace

std::uint32_t toeplitz(std::span<const std::byte> key, std::span<const std::byte> input) {
    const auto key_bit = [&](std::size_t bit) -> std::uint32_t {
        if (bit / 8 >= key.size()) return 0;
        return std::to_integer<std::uint32_t>(key[bit / 8]) >> (7 - bit % 8) & 1;
    };
    std::uint32_t window = 0;
    for (std::size_t bit = 0; bit < 32; ++bit) window = window << 1 | key_bit(bit);
    std::uint32_t hash = 0;
    for (std::size_t bit = 0; bit < input.size() * 8; ++bit) {
        if ((std::to_integer<std::uint32_t>(input[bit / 8]) >> (7 - bit % 8) & 1) != 0) {
            hash ^= window;
        }
        window = window << 1 | key_bit(bit + 32);
    }
    return hash;
}

void ToeplitzTable::set_key(std::span<const std::byte, kToeplitzKeyBytes> key) {
    std::copy(key.begin(), key.end(), key_.begin());
    made_ = true;
    std::array<std::byte, kRssInputBytes> input{};
    for (std::size_t place = 0; place < parts_.size(); ++place) {
        for (std::uint32_t nibble = 0; nibble < 16; ++nibble) {
            input[place / 2] = static_cast<std::byte>(place % 2 == 0 ? nibble << 4 : nibble);
            parts_[place][nibble] = toeplitz(key_, input);
        }
        input[place / 2] = std::byte{0};
    }
}

bool ToeplitzTable::has_key(std::span<const std::byte, kToeplitzKeyBytes> key) const {
    return made_ && std::memcmp(key_.data(), key.data(), key_.size()) == 0;
}

std::uint32_t ToeplitzTable::hash(std::span<const std::byte> input) const {
    CX_ASSERT(input.size() <= kRssInputBytes, "{} bytes to hash", input.size());
    std::uint32_t hash = 0;
    for (std::size_t i = 0; i < input.size(); ++i) {
        const auto byte = std::to_integer<std::size_t>(input[i]);
        hash ^= parts_[2 * i][byte >> 4] ^ parts_[2 * i + 1][byte & 15];
    }
    return hash;
}

RssHasher::RssHasher() = default;
RssHasher::~RssHasher() = default;

RssHash RssHasher::hash(ConstView<tirc> tir, const FlowKey& key) {
    const auto function = tir.get<tirc::rx_hash_fn>();
    if (function == kNone) return {};
    const Selection from = select(tir, key);
    const auto fields = from.selector.get<Selector::selected_fields>();
    const bool ipv6 = from.selector.get<Selector::l3_prot_type>() != 0;
    if (from.headers.get<Headers::ip_version>() != (ipv6 ? 6U : 4U) || fields == 0) return {};
    // The XOR of all bytes is symmetric anyway.
    const bool symmetric = tir.get<tirc::rx_hash_symmetric>() != 0 && function == kToeplitz;
    HashInput input;
    // An IPv4 address is the last of the four words.
    const std::size_t skip = ipv6 ? 0 : 12;
    add_either(input, from.headers.bytes<Headers::src_ipv4_src_ipv6>().subspan(skip),
               from.headers.bytes<Headers::dst_ipv4_dst_ipv6>().subspan(skip),
               (fields & kSourceAddress) != 0, (fields & kDestinationAddress) != 0, symmetric);
    RssHash result;
    result.type_ip = ipv6 ? 2 : 1;
    result.type_l4 = add_layer_4(input, from, fields, symmetric);
    if (function == kInvertedXor8) {
        result.value = inverted_xor8(input.bytes());
        return result;
    }
    if (!tables_) tables_ = std::make_unique<std::array<ToeplitzTable, kTables>>();
    const auto secret =
        std::span<const std::byte, kToeplitzKeyBytes>(tir.bytes<tirc::rx_hash_toeplitz_key>());
    // Drivers use one key for all TIRs, or a few: any place for a key will do.
    const auto place = load_le<std::uint32_t>(secret.data()) * 0x9e3779b1U >> 29;
    ToeplitzTable& table = (*tables_)[place];
    if (!table.has_key(secret)) table.set_key(secret);
    result.value = table.hash(input.bytes());
    return result;
}

}  // namespace cxsim::model
