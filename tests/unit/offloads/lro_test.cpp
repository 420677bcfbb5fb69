// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/lro.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;
using Action = Lro::Action;

constexpr std::size_t kMss = 1000;

LroConfig config() {
    return {.ipv4 = true, .ipv6 = true, .max_bytes = 60'000, .timeout = model::microseconds(32)};
}

/// A receive queue of the simplest kind: what it completes, in order.
struct Completed {
    Bytes bytes;
    std::optional<LroResult> merged;
    ReceiveReport report;
};

class LroBench {
  public:
    explicit LroBench(const LroConfig& lro_config = config()) : lro(lro_config) {}

    Lro::Decision offer(const Bytes& frame, std::uint32_t room = 65'000) {
        packet.drop();
        packet.take(make_frame(pool, frame));
        const ReceiveReport report = examine(packet, {.strip_vlan = strip});
        const Lro::Decision decision = lro.offer(packet, report, room, now);
        const Bytes bytes = content_of(packet.frame());
        if (decision.closes) complete(*decision.closes);
        Bytes& buffer = buffers[decision.session];
        const auto from = bytes.begin() + decision.payload_offset;
        switch (decision.action) {
            case Action::ordinary:
                completed.push_back({bytes, std::nullopt, report});
                break;
            case Action::opens:
                buffer.assign(bytes.begin(), from + decision.payload_bytes);
                break;
            case Action::extends:
                buffer.insert(buffer.end(), from, from + decision.payload_bytes);
        }
        if (decision.full) complete(decision.session);
        return decision;
    }
    void complete(std::uint8_t session) {
        const LroResult result = lro.close(session);
        completed.push_back({buffers[session], result, result.report});
    }
    void close_all() {
        while (const auto session = lro.oldest()) complete(*session);
    }

    model::FramePool pool;
    ParserConfig parser;
    Packet packet{parser};
    Lro lro;
    model::Picoseconds now;
    bool strip = false;
    std::array<Bytes, Lro::kSessions> buffers;
    std::vector<Completed> completed;
};

struct SegmentFields {
    std::uint32_t sequence = 0;
    std::size_t payload = kMss;
    std::uint16_t flags = 0x10;
    std::uint32_t ack = 2000;
    std::uint16_t window = 500;
    std::uint16_t port = 5000;
    unsigned ttl = 64;
    unsigned traffic_class = 0;
    Bytes options = {};
    bool v6 = false;
};
Bytes segment(const SegmentFields& f) {
    Bytes payload(f.payload);
    for (std::size_t i = 0; i < payload.size(); ++i) {
        payload[i] = static_cast<std::byte>((f.sequence + i) * 7 >> 3);
    }
    const Bytes upper = tcp({.source = f.port,
                             .sequence = f.sequence,
                             .ack = f.ack,
                             .flags = f.flags,
                             .window = f.window,
                             .options = f.options},
                            payload);
    if (f.v6) {
        return ethernet(
            0x86dd,
            ipv6({.protocol = 6, .traffic_class = f.traffic_class, .hop_limit = f.ttl}, upper));
    }
    return ethernet(0x0800,
                    ipv4({.protocol = 6, .traffic_class = f.traffic_class, .ttl = f.ttl}, upper));
}

/// The kernel driver's repair of a merged packet's headers (en_rx.c, releases 6.1 and 6.12).
Bytes as_the_driver_repairs(const Completed& done) {
    Bytes out = done.bytes;
    const LroResult& result = *done.merged;
    std::size_t depth = 14;
    std::uint64_t type = number(out, 12, 2);
    if (type == 0x8100) {
        depth = 18;
        type = number(out, 16, 2);
    }
    const bool v4 = type == 0x0800;
    const std::size_t l4 = depth + (v4 ? 20 : 40);
    if (v4) {
        put(out, depth + 8, result.min_ttl, 1);
        put(out, depth + 2, result.byte_count - depth, 2);
        put(out, depth + 10, 0, 2);
        put(out, depth + 10, ~naive_sum(View(out).subspan(depth, 20)) & 0xffff, 2);
    } else {
        put(out, depth + 7, result.min_ttl, 1);
        put(out, depth + 4, result.byte_count - l4, 2);
    }
    const std::uint64_t flags = number(out, l4 + 12, 2) & ~8U;
    put(out, l4 + 12, flags | (result.psh ? 8U : 0U), 2);
    put(out, l4 + 8, result.ack, 4);
    put(out, l4 + 14, result.window, 2);
    put(out, l4 + 16, 0, 2);
    const std::size_t header = (number(out, l4 + 12, 1) >> 4) * 4;
    std::uint32_t sum = naive_sum(View(out).subspan(l4, header), result.report.check_sum);
    sum = naive_sum(View(out).subspan(v4 ? depth + 12 : depth + 8, v4 ? 8 : 32), sum);
    sum += 6 + static_cast<std::uint32_t>(out.size() - l4);
    put(out, l4 + 16, ~naive_sum({}, (sum & 0xffff) + (sum >> 16)) & 0xffff, 2);
    return out;
}

TEST_CASE("segments in order become one packet that the driver can repair", "[lro]") {
    for (const bool v6 : {false, true}) {
        for (const bool timestamps : {false, true}) {
            for (const unsigned last : {1000U, 333U}) {
                INFO((v6 ? "IPv6 " : "IPv4 ") << timestamps << ' ' << last);
                LroBench bench;
                const Bytes options = timestamps ? tcp_option_timestamp(77, 78) : Bytes{};
                Bytes payload;
                for (std::uint32_t i = 0; i < 5; ++i) {
                    const bool end = i == 4;
                    const Bytes frame =
                        segment({.sequence = 0xffff'f800 + 1000 * i,
                                 .payload = end ? last : 1000U,
                                 .flags = static_cast<std::uint16_t>(end ? 0x18 : 0x10),
                                 .ack = 2000 + i,
                                 .window = static_cast<std::uint16_t>(500 + i),
                                 .ttl = 64 - i % 3,
                                 .options = options,
                                 .v6 = v6});
                    const Lro::Decision decision = bench.offer(frame);
                    CHECK(decision.action == (i == 0 ? Action::opens : Action::extends));
                    CHECK(decision.full == end);
                    payload.insert(payload.end(), frame.begin() + decision.payload_offset,
                                   frame.end());
                }
                REQUIRE(bench.completed.size() == 1);
                const Completed& done = bench.completed[0];
                REQUIRE(done.merged);
                CHECK(done.merged->segments == 5);
                CHECK(done.merged->byte_count == done.bytes.size());
                CHECK(done.merged->ack == 2004);
                CHECK(done.merged->window == 504);
                CHECK(done.merged->min_ttl == 62);
                CHECK(done.merged->psh);
                CHECK(done.report.l4_kind == CqeL4::tcp_ack_and_data);
                CHECK(done.report.l4_ok);
                const Bytes repaired = as_the_driver_repairs(done);
                CHECK(right_frame(repaired));
                CHECK(Bytes(repaired.end() - static_cast<std::ptrdiff_t>(payload.size()),
                            repaired.end()) == payload);
                CHECK(bench.lro.open() == 0);
            }
        }
    }
}

TEST_CASE("odd payloads keep the sum right", "[lro]") {
    LroConfig odd = config();
    odd.merge_psh = true;
    LroBench bench(odd);
    std::uint32_t sequence = 9;
    for (int i = 0; i < 7; ++i) {
        bench.offer(segment({.sequence = sequence, .payload = 777, .flags = 0x18}));
        sequence += 777;
    }
    bench.close_all();
    REQUIRE(bench.completed.size() == 1);
    CHECK(bench.completed[0].merged->segments == 7);
    CHECK(right_frame(as_the_driver_repairs(bench.completed[0])));
}

TEST_CASE("what cannot be merged ends the flow's session and goes by itself", "[lro]") {
    const Bytes in_order = segment({.sequence = 1000});
    Bytes bad_sum = in_order;
    bad_sum.back() ^= std::byte{1};
    Bytes with_options =
        ethernet(0x0800, ipv4({.protocol = 6, .options = bytes_of({1, 1, 1, 0})},
                              tcp({.source = 5000, .sequence = 1000}, Bytes(kMss))));
    struct Case {
        const char* name;
        Bytes frame;
        Action action;  // of the packet itself
    };
    const std::vector<Case> cases = {
        {"FIN", segment({.sequence = 1000, .flags = 0x11}), Action::ordinary},
        {"SYN", segment({.sequence = 1000, .flags = 0x12}), Action::ordinary},
        {"RST", segment({.sequence = 1000, .flags = 0x14}), Action::ordinary},
        {"URG", segment({.sequence = 1000, .flags = 0x30}), Action::ordinary},
        {"ECE", segment({.sequence = 1000, .flags = 0x50}), Action::ordinary},
        {"CWR", segment({.sequence = 1000, .flags = 0x90}), Action::ordinary},
        {"no ACK", segment({.sequence = 1000, .flags = 0x00}), Action::ordinary},
        {"no data", segment({.sequence = 1000, .payload = 0}), Action::ordinary},
        {"wrong checksum", bad_sum, Action::ordinary},
        {"IPv4 options", with_options, Action::ordinary},
        {"TCP options", segment({.sequence = 1000, .options = bytes_of({1, 1, 1, 1})}),
         Action::ordinary},
        {"other options of the timestamp's length",
         segment({.sequence = 1000, .options = bytes_of({8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1})}),
         Action::ordinary},
        {"gap", segment({.sequence = 1001}), Action::opens},
        {"again", segment({.sequence = 0}), Action::opens},
        {"old ACK", segment({.sequence = 1000, .ack = 1999}), Action::opens},
        {"congestion mark", segment({.sequence = 1000, .traffic_class = 3}), Action::opens},
        {"timestamp appears", segment({.sequence = 1000, .options = tcp_option_timestamp(1, 1)}),
         Action::opens},
        {"larger than the first", segment({.sequence = 1000, .payload = 1001}), Action::opens},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        LroBench bench;
        CHECK(bench.offer(segment({})).action == Action::opens);
        const Lro::Decision decision = bench.offer(c.frame);
        CHECK(decision.action == c.action);
        CHECK(decision.closes);
        REQUIRE_FALSE(bench.completed.empty());
        CHECK(bench.completed[0].merged);
        CHECK(bench.completed[0].bytes == segment({}));
        if (c.action == Action::ordinary) {
            REQUIRE(bench.completed.size() == 2);
            CHECK_FALSE(bench.completed[1].merged);
            CHECK(bench.completed[1].bytes == c.frame);
        }
    }
}

TEST_CASE("a changed timestamp begins a new packet", "[lro]") {
    LroBench bench;
    bench.offer(segment({.options = tcp_option_timestamp(1, 2)}));
    const auto same =
        bench.offer(segment({.sequence = 1000, .options = tcp_option_timestamp(1, 2)}));
    CHECK(same.action == Action::extends);
    const auto next =
        bench.offer(segment({.sequence = 2000, .options = tcp_option_timestamp(2, 2)}));
    CHECK(next.action == Action::opens);
    REQUIRE(bench.completed.size() == 1);
    CHECK(bench.completed[0].merged->segments == 2);
    CHECK(right_frame(as_the_driver_repairs(bench.completed[0])));
}

TEST_CASE("other flows and other protocols do not touch a session", "[lro]") {
    LroBench bench;
    bench.offer(segment({}));
    CHECK_FALSE(bench.offer(segment({.sequence = 1000, .port = 5001})).closes);
    CHECK_FALSE(bench.offer(segment({.sequence = 1000, .v6 = true})).closes);
    CHECK_FALSE(bench.offer(tagged(segment({.sequence = 1000}), 5)).closes);
    Bytes other_source = segment({.sequence = 1000});
    other_source[6] ^= std::byte{2};
    CHECK_FALSE(bench.offer(other_source).closes);
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        INFO(frame.name);
        CHECK_FALSE(bench.offer(frame.bytes).closes == 0);
    }
    CHECK(bench.offer(segment({.sequence = 1000})).action == Action::extends);
}

TEST_CASE("a packet that stayed alone is as it came", "[lro]") {
    LroBench bench;
    bench.offer(segment({}));
    bench.close_all();
    REQUIRE(bench.completed.size() == 1);
    const Completed& done = bench.completed[0];
    CHECK(done.merged->segments == 1);
    CHECK(done.bytes == segment({}));
    CHECK(done.report.check_sum == naive_sum(View(done.bytes).subspan(14)));
}

TEST_CASE("the sizes that the TIR and the buffer allow are kept", "[lro]") {
    struct Case {
        std::uint32_t max_bytes, room;
        bool with_headers;
        unsigned segments;
    };
    for (const Case& c : std::initializer_list<Case>{{5'020, 65'000, false, 5},
                                                     {5'019, 65'000, false, 4},
                                                     {5'020, 65'000, true, 4},
                                                     {5'054, 65'000, true, 5},
                                                     {60'000, 3'054, false, 3},
                                                     {60'000, 3'053, false, 2}}) {
        LroConfig limited = config();
        limited.max_bytes = c.max_bytes;
        limited.max_counts_headers = c.with_headers;
        LroBench bench(limited);
        for (std::uint32_t i = 0; bench.completed.empty(); ++i) {
            bench.offer(segment({.sequence = 1000 * i}), c.room);
        }
        CHECK(bench.completed[0].merged->segments == c.segments);
        CHECK(bench.completed[0].bytes.size() <= c.room);
        CHECK(bench.lro.open() == 0);
    }
    LroBench bench;
    CHECK(bench.offer(segment({}), 2'053).action == Action::ordinary);
    CHECK(bench.offer(segment({}), 20).action == Action::ordinary);
    LroConfig none = config();
    none.max_bytes = 0;
    LroBench small(none);
    CHECK(small.offer(segment({})).action == Action::ordinary);
}

TEST_CASE("no more than 255 segments are merged", "[lro]") {
    LroBench bench;
    for (std::uint32_t i = 0; i < 300; ++i) {
        bench.offer(segment({.sequence = 10 * i, .payload = 10}));
    }
    REQUIRE(bench.completed.size() == 1);
    CHECK(bench.completed[0].merged->segments == 255);
    CHECK(bench.completed[0].bytes.size() == 54 + 2550);
}

TEST_CASE("the card's and the TIR's switches count", "[lro]") {
    LroConfig switched = config();
    switched.ipv4 = false;
    CHECK(LroBench(switched).offer(segment({})).action == Action::ordinary);
    CHECK(LroBench(switched).offer(segment({.v6 = true})).action == Action::opens);
    switched = config();
    switched.timestamps = false;
    CHECK(LroBench(switched).offer(segment({.options = tcp_option_timestamp(1, 2)})).action ==
          Action::ordinary);
    switched = config();
    switched.min_mss = 1001;
    CHECK(LroBench(switched).offer(segment({})).action == Action::ordinary);
    CHECK(LroBench(switched).offer(segment({.payload = 1001})).action == Action::opens);
    // A pushed segment ends a session, unless the card merges on.
    CHECK(LroBench().offer(segment({.flags = 0x18})).action == Action::ordinary);
    switched = config();
    switched.merge_psh = true;
    LroBench bench(switched);
    CHECK(bench.offer(segment({.flags = 0x18})).action == Action::opens);
    CHECK_FALSE(bench.offer(segment({.sequence = 1000})).full);
    bench.close_all();
    CHECK(bench.completed[0].merged->psh);
}

TEST_CASE("sessions run out in the order of their opening", "[lro]") {
    LroBench bench;
    CHECK(bench.lro.next_deadline() == model::Picoseconds::max());
    bench.now = model::microseconds(1);
    bench.offer(segment({.port = 1}));
    bench.now = model::microseconds(5);
    bench.offer(segment({.port = 2}));
    bench.offer(segment({.sequence = 1000, .port = 1}));  // does not prolong
    CHECK(bench.lro.open() == 2);
    CHECK(bench.lro.next_deadline() == model::microseconds(33));
    CHECK_FALSE(bench.lro.expired(model::microseconds(33) - model::picoseconds(1)));
    const auto first = bench.lro.expired(model::microseconds(33));
    REQUIRE(first);
    bench.complete(*first);
    CHECK(bench.completed[0].merged->segments == 2);
    CHECK_FALSE(bench.lro.expired(model::microseconds(33)));
    CHECK(bench.lro.next_deadline() == model::microseconds(37));
}

TEST_CASE("with all sessions taken the oldest makes room", "[lro]") {
    LroBench bench;
    for (std::uint16_t port = 1; port < Lro::kSessions; ++port) {
        CHECK_FALSE(bench.offer(segment({.port = port})).closes);
    }
    CHECK(bench.lro.open() == Lro::kSessions - 1);
    const Lro::Decision decision = bench.offer(segment({.port = 100}));
    CHECK(decision.action == Action::opens);
    CHECK(decision.closes);
    CHECK(bench.lro.open() == Lro::kSessions - 1);
    REQUIRE(bench.completed.size() == 1);
    CHECK(number(bench.completed[0].bytes, 34, 2) == 1);
    // The others go on where they were.
    CHECK(bench.offer(segment({.sequence = 1000, .port = 2})).action == Action::extends);
    CHECK(bench.offer(segment({.sequence = 1000, .port = 100})).action == Action::extends);
}

TEST_CASE("a stripped tag belongs to the flow and to the completion", "[lro]") {
    LroBench bench;
    bench.strip = true;
    bench.offer(tagged(segment({}), 0x2005));
    CHECK_FALSE(bench.offer(segment({.sequence = 1000})).action == Action::extends);
    CHECK(bench.offer(tagged(segment({.sequence = 1000}), 0x2005)).action == Action::extends);
    bench.close_all();
    CHECK(bench.completed[0].report.has_vlan);
    CHECK(bench.completed[0].report.vlan_info == 0x2005);
    CHECK(right_frame(as_the_driver_repairs(bench.completed[0])));
}

TEST_CASE("synthetic payload is not merged", "[lro]") {
    LroBench bench;
    const Bytes whole = ethernet(0x0800, ipv4({.protocol = 6}, tcp({.source = 5000}, Bytes(kMss))));
    bench.packet.take(make_frame(bench.pool, View(whole).first(54), kMss));
    const ReceiveReport report = examine(bench.packet, {});
    CHECK(report.l4_ok);
    CHECK(bench.lro.offer(bench.packet, report, 65'000, {}).action == Action::ordinary);
}

TEST_CASE("padding is no payload", "[lro]") {
    LroBench bench;
    Bytes small = segment({.payload = 4});
    small.resize(60);
    bench.offer(small);
    bench.offer(segment({.sequence = 4, .payload = 4}));
    bench.close_all();
    CHECK(bench.completed[0].bytes.size() == 62);
    CHECK(right_frame(as_the_driver_repairs(bench.completed[0])));
}

TEST_CASE("the result becomes a completion's bytes", "[lro]") {
    LroResult result;
    result.report.check_sum = 0x1234;
    result.byte_count = 5054;
    result.segments = 5;
    result.psh = true;
    result.ack = 0x01020304;
    result.window = 0x0506;
    result.min_ttl = 62;
    std::array<std::byte, 64> cqe{};
    result.write(prm::View<prm::cqe64>(cqe));
    // Offsets and bits of the driver's struct mlx5_cqe64.
    CHECK(number(cqe, 4, 4) == 0x403e0506);
    CHECK(number(cqe, 8, 4) == 0x01020304);
    CHECK(number(cqe, 20, 2) == 0x1234);
    CHECK(number(cqe, 32, 1) == 5);
    CHECK(number(cqe, 44, 4) == 5054);
}

}  // namespace
}  // namespace cxsim::eth
