// SPDX-License-Identifier: Apache-2.0
// Large send: one set of headers and a long payload become frames of at most mss payload bytes.
// The payload is not touched; the transmitter reads each piece straight into its frame.
#pragma once

#include "eth/offloads/headers.h"
#include "eth/offloads/transmit.h"
#include "model/ports/frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::eth {

class Segmenter {
  public:
    /// A WQE inlines at most this many header bytes.
    static constexpr std::uint32_t kMaxHeaderBytes = 1023;

    struct Options {
        /// Cards with tunnel_lso_const_out_ip_id repeat the outer IPv4 id of a tunnel; others
        /// count it up like the inner one.
        bool constant_outer_id = false;
        /// A longer payload is refused, so that a WQE of small segments has an end. mlx5e does
        /// not look at max_lso_cap (256 KiB); it sends what the stack allows, 8 * 65535 at most.
        std::uint64_t max_payload_bytes = 512 * 1024;
    };

    /// `headers`: from the Ethernet header on, ending where the payload begins. With no payload
    /// there is one segment. False: mss is 0, there is no whole TCP or UDP header, the payload is
    /// longer than allowed, or a frame longer than a pool makes; the WQE is refused then.
    bool start(std::span<const std::byte> headers, std::uint64_t payload_bytes,
               const SendOffloads& offloads, const ParserConfig& config, Options options);
    bool start(std::span<const std::byte> headers, std::uint64_t payload_bytes,
               const SendOffloads& offloads, const ParserConfig& config) {
        return start(headers, payload_bytes, offloads, config, Options{});
    }

    std::uint32_t count() const { return count_; }
    std::uint32_t header_bytes() const { return header_bytes_; }

    struct Piece {
        std::uint64_t offset;  ///< In the payload.
        std::uint32_t bytes;
    };
    Piece piece(std::uint32_t index) const;

    /// Headers of segment `index` (< count()) without L4 checksum, header_bytes() long.
    void write_headers(std::uint32_t index, std::span<std::byte> into) const;
    /// The frame holds headers and payload now: writes the checksums that the WQE asked for. A
    /// synthetic payload counts as zeros.
    void finish(model::Frame& frame) const;

  private:
    void write_layer(const Layer& layer, std::uint32_t index, std::uint32_t size, bool count_id,
                     std::byte* at) const;

    std::array<std::byte, kMaxHeaderBytes + 1> template_;
    Headers headers_;
    SendOffloads offloads_;
    std::uint64_t payload_bytes_ = 0;
    std::uint32_t header_bytes_ = 0;
    std::uint32_t count_ = 0;
    bool tunneled_ = false;
    Options options_;
};

}  // namespace cxsim::eth
