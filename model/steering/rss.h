// SPDX-License-Identifier: Apache-2.0
// Receive side scaling: the hash of a packet's headers that a TIR asks for.
#pragma once

#include "model/resources/objects.h"
#include "model/steering/flow_key.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cxsim::model {

/// The queue for a packet and what its CQE tells of the hash.
struct RqChoice {
    bool found = false;  ///< false: there is no queue, drop the packet
    std::uint32_t rqn = 0;
    std::uint32_t hash = 0;  ///< rx_hash_result
    /// Bits 3:2 and 7:6 of the CQE's rss_hash_type; 0 0: not hashed.
    std::uint8_t hash_type_ip = 0;  ///< 1 IPv4, 2 IPv6
    std::uint8_t hash_type_l4 = 0;  ///< 1 TCP, 2 UDP, 3 IPsec SPI

    std::uint8_t cqe_hash_type() const {
        return static_cast<std::uint8_t>(hash_type_ip << 2 | hash_type_l4 << 6);
    }
};

struct RssHash {
    std::uint32_t value = 0;
    std::uint8_t type_ip = 0;
    std::uint8_t type_l4 = 0;
};

inline constexpr std::size_t kToeplitzKeyBytes = 40;
/// Longest input: two IPv6 addresses, and two ports or an SPI; symmetric input is no longer.
inline constexpr std::size_t kRssInputBytes = 36;

/// The hash as defined, bit by bit: `key` is at least 4 bytes longer than `input`, or zeros follow.
std::uint32_t toeplitz(std::span<const std::byte> key, std::span<const std::byte> input);

/// The Toeplitz hash of one key, four bits of input a step.
class ToeplitzTable {
  public:
    void set_key(std::span<const std::byte, kToeplitzKeyBytes> key);
    bool has_key(std::span<const std::byte, kToeplitzKeyBytes> key) const;
    /// At most kRssInputBytes of input.
    std::uint32_t hash(std::span<const std::byte> input) const;

  private:
    bool made_ = false;
    std::array<std::byte, kToeplitzKeyBytes> key_{};
    std::array<std::array<std::uint32_t, 16>, 2 * kRssInputBytes> parts_{};
};

/// Hashes for all TIRs of a function. Their keys come and go with commands; tables for the keys in
/// use are kept and made anew when a TIR shows another key.
class RssHasher {
  public:
    RssHasher();
    ~RssHasher();
    /// What `tir` makes of the packet; type_ip 0 if it hashes other packets than this.
    RssHash hash(prm::ConstView<prm::tirc> tir, const FlowKey& key);

  private:
    static constexpr std::size_t kTables = 8;
    std::unique_ptr<std::array<ToeplitzTable, kTables>> tables_;
};

}  // namespace cxsim::model
