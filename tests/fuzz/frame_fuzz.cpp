// SPDX-License-Identifier: Apache-2.0
//
// A hostile wire and a hostile sender: frames from random bytes or spoilt good ones go through
// parser, flow key, edits, send offloads, segmentation, receive checks and merging. Apart from "no
// crash": offsets lie inside the frame, the key is that of a fresh parse after every edit, a
// refused edit changes nothing, right checksums stay right, segments join to the payload, merged
// bytes are the bytes that came.
#include "eth/offloads/lro.h"
#include "eth/offloads/packet.h"
#include "eth/offloads/receive.h"
#include "eth/offloads/segmenter.h"
#include "eth/offloads/transmit.h"
#include "eth/wire/mac_control.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/unit/offloads/frames.h"

namespace {

using namespace cxsim;
using fuzz::broken;
using fuzz::Input;

constexpr std::size_t kMaxSteps = 24;

void check_layer(const eth::Layer& layer, std::size_t stored, std::uint32_t size) {
    if (layer.end > size) broken("an IP packet ends behind its frame");
    if (layer.has_l2() && layer.l2 + 14U + layer.tags * 4U > stored) broken("L2 beyond the frame");
    if (layer.has_l3() && layer.l3_payload > stored) broken("L3 beyond the frame");
    if (layer.has_l4() && layer.payload > stored) broken("L4 beyond the frame");
    if (layer.has_l4() && layer.payload > layer.end) broken("L4 behind the packet's end");
}

void check_headers(const eth::Headers& headers, std::size_t stored, std::uint32_t size) {
    check_layer(headers.outer, stored, size);
    check_layer(headers.inner, stored, size);
    if (headers.has_inner() && headers.tunnel == eth::Tunnel::none) {
        broken("inner headers without a tunnel");
    }
}

/// Both layers' checksums as the receiver sees them.
bool all_right(eth::Packet& packet) {
    const eth::ReceiveReport report = eth::examine(packet, {});
    return report.l3_ok && report.l4_ok;
}

class Bench {
  public:
    explicit Bench(Input& input) : input_(input) { config_.add_vxlan_port(8472); }

    void run() {
        test::Bytes bytes = start_frame();
        for (std::size_t spoilt = input_.byte() % 8; spoilt-- > 0 && !bytes.empty();) {
            bytes[input_.word() % bytes.size()] = static_cast<std::byte>(input_.byte());
        }
        const std::uint32_t synthetic = input_.byte() % 4 == 0 ? input_.word() % 9000U : 0;
        (void)eth::decode_mac_control(bytes);
        segment(bytes);
        merge(bytes);
        packet_.take(test::make_frame(pool_, bytes, synthetic));
        for (std::size_t step = 0; step < kMaxSteps && !input_.empty(); ++step) edit();
        packet_.drop();
    }

  private:
    test::Bytes start_frame() {
        static const auto known = test::frames_of_all_kinds();
        const std::uint8_t kind = input_.byte();
        if (kind < known.size()) return known[kind].bytes;
        const auto raw = input_.take(input_.byte() * 4U);
        return {raw.begin(), raw.end()};
    }

    void check_in_step() {
        const std::span<const std::byte> bytes = std::as_const(packet_).frame().bytes();
        check_headers(packet_.headers(), bytes.size(), packet_.bytes());
        eth::Headers headers;
        eth::parse_headers(bytes, packet_.bytes(), config_, headers);
        check_headers(headers, bytes.size(), packet_.bytes());
        model::FlowKey fresh;
        eth::KeyParts used;
        eth::fill_flow_key(bytes, headers, fresh, used);
        const model::FlowKey& key = packet_.key();
        // Without what comes from elsewhere: misc's first 8 bytes and misc_2 behind the labels.
        constexpr std::size_t kMisc = prm::fte_match_param::misc_parameters::kOffset / 8;
        constexpr std::size_t kMisc2 = prm::fte_match_param::misc_parameters_2::kOffset / 8;
        for (std::size_t i = 0; i < key.bytes.size(); ++i) {
            if ((i > kMisc && i < kMisc + 8) || (i >= kMisc2 + 16 && i < kMisc2 + 64)) continue;
            if (key.bytes[i] != fresh.bytes[i]) broken("the key is not that of the frame");
        }
    }

    void edit() {
        const test::Bytes before = test::content_of(packet_.frame());
        const std::uint32_t synthetic = packet_.frame().synthetic;
        const bool was_right = all_right(packet_);
        const std::uint8_t choice = input_.byte() % 10;
        const std::uint32_t field = input_.byte();
        bool done = false;
        bool keeps_sums = false;  // a change that must leave right checksums right
        switch (choice) {
            case 0:
            case 1: {
                // Another port or EtherType may be another protocol.
                keeps_sums = field != 0x3 && field != 0x33 && field != 0xc && field != 0x3c;
                const unsigned offset = input_.byte() % 40;
                const unsigned length = input_.byte() % 34;
                done = packet_.set_field(field, offset, length, input_.dword());
                break;
            }
            case 2:
                keeps_sums = field != 0x3 && field != 0x33 && field != 0xc && field != 0x3c;
                done = packet_.add_field(field, input_.dword());
                break;
            case 3: {
                const std::uint32_t to = input_.byte();
                keeps_sums = to != 0x3 && to != 0x33 && to != 0xc && to != 0x3c;
                const unsigned from_offset = input_.byte() % 34;
                const unsigned to_offset = input_.byte() % 34;
                done = packet_.copy_field(field, from_offset, to, to_offset, input_.byte() % 34);
                break;
            }
            case 4:
                keeps_sums = true;
                done = packet_.push_vlan(field % 2 == 0 ? 0x8100 : 0x88a8, input_.word());
                // More than two tags: nobody looks behind them.
                if (done && packet_.headers().outer.tags == 2) keeps_sums = false;
                break;
            case 5:
                done = packet_.pop_vlan();
                break;
            case 6:
                done = packet_.decapsulate();
                break;
            case 7: {
                const std::uint8_t anchor = input_.byte();
                const std::uint8_t offset = input_.byte();
                const auto data = input_.take(input_.byte());
                done =
                    packet_.reformat(static_cast<std::uint8_t>(field % 18), anchor, offset, data);
                break;
            }
            case 8:
                done = encapsulate();
                break;
            default:
                done = send();
                break;
        }
        if (!done && (test::content_of(packet_.frame()) != before ||
                      packet_.frame().synthetic != synthetic)) {
            broken("a refused edit changed the frame");
        }
        check_in_step();
        if (done && keeps_sums && was_right && !all_right(packet_)) {
            broken("an edit spoilt a checksum");
        }
    }

    bool encapsulate() {
        const test::Bytes outer =
            test::ethernet(0x0800, test::ipv4({.fragment = 0, .checksum_upper = false},
                                              test::udp(0, 4789, test::vxlan(5, {}))));
        const test::Bytes before = test::content_of(packet_.frame());
        if (!packet_.reformat(0, 0, 0, outer)) return false;
        const test::Bytes inside = test::content_of(packet_.frame());
        if (!std::equal(before.begin(), before.end(), inside.begin() + 50, inside.end())) {
            broken("encapsulation changed the frame inside");
        }
        return true;
    }

    eth::SendOffloads offloads() {
        eth::SendOffloads asked;
        const std::uint8_t flags = input_.byte();
        asked.l3_checksum = (flags & 1) != 0;
        asked.l4_checksum = (flags & 2) != 0;
        asked.l3_inner_checksum = (flags & 4) != 0;
        asked.l4_inner_checksum = (flags & 8) != 0;
        asked.insert_vlan = (flags & 0x30) == 0x30;
        asked.mss = input_.word() % 4096;
        if ((flags & 0xc0) == 0xc0) {
            asked.software_parser = {input_.byte(),    input_.byte(),    input_.byte(),
                                     input_.byte(),    (flags & 1) != 0, (flags & 2) != 0,
                                     (flags & 4) != 0, (flags & 8) != 0};
        }
        return asked;
    }

    bool send() {
        const eth::SendOffloads asked = offloads();
        const std::size_t size = packet_.bytes();
        if (!eth::apply_send_offloads(packet_, asked)) return false;
        if (packet_.bytes() != size + (asked.insert_vlan ? 4 : 0)) broken("a sent frame's length");
        return true;
    }

    void segment(const test::Bytes& headers) {
        const eth::SendOffloads asked = offloads();
        const std::uint64_t payload_bytes = input_.word() % 20'000U;
        if (!segmenter_.start(headers, payload_bytes, asked, config_)) return;
        std::uint64_t next = 0;
        const std::uint32_t count = std::min(segmenter_.count(), 64U);
        for (std::uint32_t i = 0; i < count; ++i) {
            const eth::Segmenter::Piece piece = segmenter_.piece(i);
            if (piece.offset != next || piece.bytes > asked.mss) broken("pieces do not follow");
            next += piece.bytes;
            model::FramePtr frame = pool_.make(segmenter_.header_bytes() + piece.bytes);
            std::ranges::fill(frame->bytes(), std::byte{0x5a});
            segmenter_.write_headers(i, frame->bytes());
            segmenter_.finish(*frame);
            const std::span<const std::byte> bytes = std::as_const(*frame).bytes();
            for (const std::byte byte : bytes.subspan(segmenter_.header_bytes())) {
                if (byte != std::byte{0x5a}) broken("segmentation wrote into the payload");
            }
        }
        if (count == segmenter_.count() && next != payload_bytes) broken("payload is missing");
    }

    /// The frame, and copies of it whose sequence numbers go on, through one receive queue.
    void merge(test::Bytes bytes) {
        eth::Lro lro(
            {.ipv4 = true, .ipv6 = true, .max_bytes = 20'000, .timeout = model::microseconds(1)});
        std::array<std::uint64_t, eth::Lro::kSessions> lengths{};
        std::uint64_t came = 0;
        std::uint64_t left = 0;
        const auto close = [&](std::uint8_t session) {
            const eth::LroResult result = lro.close(session);
            if (result.segments == 0) broken("a merged packet of nothing");
            if (result.byte_count != lengths[session]) broken("a merged packet's length");
            left += result.segments;
        };
        for (unsigned i = 0; i < 6; ++i) {
            packet_.take(test::make_frame(pool_, bytes));
            const eth::ReceiveReport report = eth::examine(packet_, {.strip_vlan = i % 2 == 0});
            const std::uint32_t room = input_.word();
            const auto decision = lro.offer(packet_, report, room, model::nanoseconds(i));
            ++came;
            if (decision.payload_offset + decision.payload_bytes > packet_.bytes()) {
                broken("payload beyond the packet");
            }
            if (decision.closes) close(*decision.closes);
            if (decision.action == eth::Lro::Action::ordinary) ++left;
            if (decision.action == eth::Lro::Action::opens) {
                lengths[decision.session] = decision.payload_offset + decision.payload_bytes;
                if (lengths[decision.session] > room) broken("more than the buffer holds");
            }
            if (decision.action == eth::Lro::Action::extends) {
                lengths[decision.session] += decision.payload_bytes;
            }
            if (decision.full) close(decision.session);
            const eth::Layer tcp = packet_.headers().outer;
            if (tcp.l4_kind == eth::L4::tcp) {
                // The next one follows this one: sequence number (0x59) plus payload.
                packet_.add_field(0x59, tcp.end - tcp.payload);
                bytes = test::content_of(packet_.frame());
            }
            packet_.drop();
        }
        while (const auto session = lro.oldest()) close(*session);
        if (came != left) broken("a packet was lost or came twice");
    }

    Input& input_;
    model::FramePool pool_;
    eth::ParserConfig config_;
    eth::Packet packet_{config_};
    eth::Segmenter segmenter_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Bench(input).run();
    return 0;
}
