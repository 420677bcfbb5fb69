// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/soak/wire_books.h"

#include "eth/wire/mac_control.h"
#include "roce/wire/codec.h"
#include "tests/integration/soak/pattern.h"

#include <cstring>
#include <stdexcept>

namespace cxsim::test {

WireBooks::WireBooks(eth::Link& link, unsigned end, const std::string& capture)
    : link_(link), end_(end) {
    if (!capture.empty()) {
        capture_ = std::make_unique<eth::PcapWriter>(capture);
        if (capture_->failed()) throw std::runtime_error(capture + " cannot be written");
    }
    link_.observe(end_, this);
}

void WireBooks::frame_seen(model::Picoseconds at, Direction direction, const model::Frame& frame) {
    Count& count = direction == Direction::sent ? sent_ : received_;
    ++(eth::is_mac_control(frame.bytes()) ? count.control_frames : count.frames);
    count.bytes += frame.size();
    if (capture_ != nullptr) capture_->write(at, frame);
    if (follows_) {
        const auto bytes = std::span<const std::byte>(frame.bytes());
        std::uint64_t digest = mix(digest_ ^ static_cast<std::uint64_t>(at.value));
        digest = mix(digest + bytes.size() * 2 + static_cast<std::uint64_t>(direction));
        std::size_t i = 0;
        for (; i + 8 <= bytes.size(); i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + i, 8);
            digest = (digest ^ word) * 0x100000001b3 + (digest >> 47);
        }
        for (; i < bytes.size(); ++i) digest = digest * 31 + std::to_integer<unsigned>(bytes[i]);
        digest_ = mix(digest);
    }
    constexpr std::uint32_t kLongestAcknowledge = 100;  // no other frames are worth parsing
    if (frame.size() > kLongestAcknowledge || frame.damaged) return;
    roce::ReceivedPacket packet;
    if (roce::parse(frame, packet) != roce::Parsed::packet) return;
    constexpr std::uint8_t kAcknowledge =
        roce::opcode_of(roce::WireService::rc, roce::Operation::acknowledge);
    if (packet.headers.opcode != kAcknowledge) return;
    switch (roce::aeth_kind(packet.headers.syndrome)) {
        case roce::AethKind::ack:
            ++count.acknowledges;
            break;
        case roce::AethKind::rnr_nak:
            ++count.rnr_naks;
            break;
        default:
            if (roce::aeth_value(packet.headers.syndrome) ==
                static_cast<std::uint8_t>(roce::NakCode::psn_sequence_error)) {
                ++count.sequence_naks;
            } else {
                ++count.other_naks;
            }
            break;
    }
}

}  // namespace cxsim::test
