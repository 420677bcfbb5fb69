// SPDX-License-Identifier: Apache-2.0
// Large receive: TCP segments of one flow that follow each other become one packet of the host.
// Pure decisions; the receive queue moves the bytes. For each packet that goes to a queue with LRO:
//   const Lro::Decision d = lro.offer(packet, report, room, now);
//   if (d.closes) complete(*d.closes, lro.close(*d.closes));   // first
//   switch (d.action) {
//     ordinary: deliver the packet by itself, with `report`
//     opens:    write the whole packet (d.payload_offset + d.payload_bytes) into a new buffer of
//               session d.session
//     extends:  append d.payload_bytes from d.payload_offset to the buffer of session d.session
//   }
//   if (d.full) complete(d.session, lro.close(d.session));     // last
// and at lro.next_deadline(): while (auto s = lro.expired(now)) complete(*s, lro.close(*s)).
#pragma once

#include "eth/offloads/packet.h"
#include "eth/offloads/receive.h"
#include "model/base/units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cxsim::eth {

/// From the TIR and the card's capabilities.
struct LroConfig {
    bool ipv4 = false;  ///< packet_merge_mask bit 0
    bool ipv6 = false;  ///< packet_merge_mask bit 1
    /// lro_max_ip_payload_size in bytes (the field counts 256).
    std::uint32_t max_bytes = 0;
    /// lro_max_msg_sz_mode: max_bytes counts TCP header and payload (0), or all headers, too (1).
    bool max_counts_headers = false;
    model::Picoseconds timeout;  ///< lro_timeout_period_usecs, from a session's first packet.
    bool timestamps = true;      ///< lro_time_stamp: segments with the timestamp option, too.
    bool merge_psh = false;      ///< lro_psh_flag: a pushed segment does not end the session.
    /// lro_min_mss_size: the first segment must carry that much (TCP payload).
    std::uint32_t min_mss = 0;

    friend bool operator==(const LroConfig&, const LroConfig&) = default;
};

/// What the completion of a merged packet says, besides the report of its first packet.
struct LroResult {
    ReceiveReport report;          ///< check_sum: sum over the TCP payload alone.
    std::uint32_t byte_count = 0;  ///< Headers of the first packet and all payload.
    std::uint8_t segments = 0;     ///< lro_num_seg, at least 1.
    bool psh = false;
    std::uint32_t ack = 0;
    std::uint16_t window = 0;
    std::uint8_t min_ttl = 0;

    /// Fields of the completion, those of `report` included.
    void write(prm::View<prm::cqe64> cqe) const;
};

class Lro {
  public:
    /// Numbers of sessions; one is spare, for a new one while an old one is being closed.
    static constexpr std::size_t kSessions = 17;
    static constexpr std::uint8_t kMaxSegments = 255;

    enum class Action : std::uint8_t { ordinary, opens, extends };
    struct Decision {
        Action action = Action::ordinary;
        std::uint8_t session = 0;            ///< With opens and extends; below kSessions.
        bool full = false;                   ///< Close the session behind this packet.
        std::optional<std::uint8_t> closes;  ///< Close this session before this packet.
        std::uint32_t payload_offset = 0;    ///< In the packet.
        std::uint32_t payload_bytes = 0;
    };

    explicit Lro(const LroConfig& config) : config_(config) {}

    const LroConfig& config() const { return config_; }
    /// For a TIR that was modified; no session may be open.
    void configure(const LroConfig& config);

    /// `report` of examine() for this packet. `room`: bytes that a merged packet may have in a
    /// buffer of the queue; a session that opens remembers it. `now` never runs backwards. What
    /// the decision says to close must be closed before the next offer.
    Decision offer(Packet& packet, const ReceiveReport& report, std::uint32_t room,
                   model::Picoseconds now);
    /// Ends an open session.
    LroResult close(std::uint8_t session);

    /// When the first open session runs out; Picoseconds::max() without one.
    model::Picoseconds next_deadline() const;
    /// A session whose time is over; call until empty.
    std::optional<std::uint8_t> expired(model::Picoseconds now) const;
    /// Any open session, oldest first: a queue that stops closes all.
    std::optional<std::uint8_t> oldest() const;
    std::size_t open() const { return open_; }

  private:
    struct Flow {
        std::array<std::byte, 12> macs{};
        std::array<std::byte, 32> addresses{};
        std::uint32_t ports = 0;
        std::array<std::uint16_t, 5> tags{};  // stripped one there, its TCI, tags left, their TCIs
        L3 l3 = L3::none;
        friend bool operator==(const Flow&, const Flow&) = default;
    };
    struct Segment;
    struct Session {
        bool open = false;
        Flow flow;
        std::uint64_t opened = 0;  // order
        model::Picoseconds deadline;
        std::uint32_t next_sequence = 0;
        std::uint32_t header_bytes = 0;
        std::uint32_t tcp_header_bytes = 0;
        std::uint64_t timestamps = 0;
        std::uint32_t first_word = 0;  // traffic class, IPv6: flow label, too
        std::uint32_t payload_bytes = 0;
        std::uint32_t limit = 0;  // of payload_bytes
        std::uint32_t mss = 0;    // payload of the first segment
        std::uint16_t sum = 0;    // over the payload
        LroResult result;
    };

    Segment read(Packet& packet, const ReceiveReport& report) const;
    bool extends(const Session& session, const Segment& segment) const;
    /// Returns whether the session is full then.
    bool add(Session& session, const Segment& segment);

    LroConfig config_;
    std::array<Session, kSessions> sessions_;
    std::uint64_t order_ = 0;
    std::size_t open_ = 0;
};

}  // namespace cxsim::eth
