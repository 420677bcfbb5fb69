// SPDX-License-Identifier: Apache-2.0
// Classes of traffic, marks of congestion and lossless classes of a switch.
#include "eth/link/traffic_class.h"
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "eth/wire/mac_control.h"
#include "tests/unit/link/switch_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <stdexcept>

using namespace cxsim;
using eth::EcnThresholds;
using eth::SwitchConfig;
using eth::SwitchSettings;
using model::Bytes;
using model::microseconds;
using model::Picoseconds;
using test::station;

namespace {

constexpr std::uint8_t kEct0 = 2;
constexpr std::uint8_t kEct1 = 1;
constexpr std::uint8_t kCe = 3;
constexpr unsigned kLossless = 3;
constexpr std::uint8_t kLosslessMask = 1U << kLossless;

struct IpFrame {
    unsigned version = 4;
    std::uint8_t dscp = 24;
    std::uint8_t ecn = kEct0;
    int vlan_priority = -1;  ///< below 0: untagged
    std::uint32_t size = 1514;
};

struct Bench : test::SwitchBench {
    using SwitchBench::SwitchBench;

    model::FramePtr ip(unsigned from, unsigned to, const IpFrame& what) {
        model::FramePtr frame = pool.make(what.size);
        std::byte* const bytes = frame->bytes().data();
        std::fill_n(bytes, what.size, std::byte{0});
        const eth::Ethernet header(bytes);
        header.set_destination({station(to)});
        header.set_source({station(from)});
        const std::uint16_t type = what.version == 4 ? eth::kEtherIpv4 : eth::kEtherIpv6;
        std::size_t at = eth::kEthernetBytes;
        if (what.vlan_priority >= 0) {
            const eth::VlanTag tag(bytes + at - 2);
            tag.set_tpid(eth::kEtherCustomerTag);
            tag.set_tci(static_cast<std::uint16_t>(what.vlan_priority << 13 | 5));
            at += 4;
        }
        model::store_be<std::uint16_t>(bytes + at - 2, type);
        const auto traffic_class = static_cast<std::uint8_t>(what.dscp << 2 | what.ecn);
        if (what.version == 4) {
            const eth::Ipv4 header4(bytes + at);
            header4.set_version_and_bytes(20);
            header4.set_traffic_class(traffic_class);
            header4.set_total_bytes(static_cast<std::uint16_t>(what.size - at));
            header4.set_source(0x0a00'0001 + from);
            header4.set_destination(0x0a00'0001 + to);
            header4.set_checksum(eth::internet_checksum({bytes + at, 20}));
        } else {
            eth::Ipv6(bytes + at).set_first_word(traffic_class, 0xabcde);
        }
        return frame;
    }
    void send_ip(unsigned from, unsigned to, const IpFrame& what, unsigned priority = 0) {
        model::FramePtr frame = ip(from, to, what);
        frame->priority = static_cast<std::uint8_t>(priority);
        macs[from]->transmit(calendar.now(), std::move(frame));
    }
    /// A control frame from a station to the switch, which has taken it when this returns.
    void control(unsigned from, const eth::MacControl& what) {
        model::FramePtr frame = pool.make(60);
        eth::encode_mac_control(what, {station(from)}, frame->bytes());
        frame->priority = 7;
        macs[from]->transmit(calendar.now(), std::move(frame));
        calendar.run_until(calendar.now() + microseconds(2));
    }
    void pause(unsigned from, std::uint16_t quanta) {
        eth::MacControl what;
        what.quanta[0] = quanta;
        control(from, what);
    }
    void pause_lossless(unsigned from, std::uint16_t quanta) {
        eth::MacControl what;
        what.kind = eth::MacControl::Kind::priority;
        what.enabled = kLosslessMask;
        what.quanta[kLossless] = quanta;
        control(from, what);
    }
    void introduce(unsigned who) {
        send(who, test::kBroadcast);
        received();
    }
    void obey_flow_control(unsigned who) {
        model::PortSettings settings = macs[who]->settings();
        settings.pfc_rx = kLosslessMask;
        macs[who]->configure(settings);
    }
    void run_for(Picoseconds time) { calendar.run_until(calendar.now() + time); }
    std::uint64_t sent_by_port(unsigned port, unsigned priority) {
        return network.port(port).port_counters().tx_prio_frames[priority].value();
    }
};

std::uint8_t ecn_of(const model::Frame& frame, std::size_t at = eth::kEthernetBytes) {
    const std::byte* header = frame.bytes().data() + at;
    const bool four = eth::ConstIpv4(header).version() == 4;
    return (four ? eth::ConstIpv4(header).traffic_class()
                 : eth::ConstIpv6(header).traffic_class()) &
           3;
}

// A queue of `frames` at port 3, all of which wait before the first one leaves.
std::vector<model::FramePtr> through_a_long_queue(Bench& bench, int frames, const IpFrame& what) {
    bench.introduce(3);
    bench.pause(3, 0xffff);
    for (int i = 0; i < frames; ++i) bench.send_ip(0, 3, what);
    bench.run_for(microseconds(1200));
    REQUIRE(bench.network.queued(3, 0).value ==
            static_cast<std::uint64_t>(frames) * eth::wire_bytes_of(what.size));
    bench.receivers[3]->keeps = true;
    bench.pause(3, 0);
    bench.received();
    return std::move(bench.receivers[3]->kept);
}

SwitchConfig marking(const EcnThresholds& thresholds, std::uint64_t seed = 1) {
    SwitchConfig config;
    config.settings.mark_all(thresholds);
    config.settings.seed = seed;
    config.settings.obey_pause = true;
    config.queue_limit = Bytes{64 * 1024 * 1024};
    return config;
}

SwitchConfig lossless(unsigned ports, std::uint64_t headroom) {
    SwitchConfig config;
    config.ports = ports;
    config.settings.trust_dscp = true;
    config.settings.lossless = kLosslessMask;
    config.settings.xoff = Bytes{20'000};
    config.settings.xon = Bytes{15'000};
    config.settings.shared_buffer = Bytes{(ports - 1) * (20'000 + headroom)};
    return config;
}

}  // namespace

TEST_CASE("by default a switch marks nothing, pauses nobody and keeps untagged frames in one class",
          "[switch]") {
    Bench bench;
    CHECK(SwitchSettings{}.problem() == nullptr);
    CHECK(bench.network.port(0).settings().pfc_rx == 0);
    CHECK(bench.network.port(0).settings().pfc_tx == 0);
    CHECK_FALSE(bench.network.port(0).settings().pause_rx);
    bench.introduce(3);
    bench.receivers[3]->keeps = true;
    for (int i = 0; i < 50; ++i) {
        for (unsigned from = 0; from < 3; ++from) bench.send_ip(from, 3, {});
    }
    bench.received();
    for (const auto& frame : bench.receivers[3]->kept) CHECK(ecn_of(*frame) == kEct0);
    CHECK(bench.sent_by_port(3, 0) == bench.receivers[3]->kept.size());
    CHECK(bench.network.counters().marked.value() == 0);
    CHECK(bench.network.counters().pauses_sent.value() == 0);
}

TEST_CASE("the tag says the priority, else the DSCP where it is trusted", "[switch]") {
    SwitchConfig config;
    config.settings.trust_dscp = true;
    config.settings.priority_of_dscp[46] = 6;
    Bench bench(config);
    bench.introduce(3);
    bench.send_ip(0, 3, {.dscp = 46, .vlan_priority = 2});
    bench.send_ip(0, 3, {.dscp = 46, .vlan_priority = 0});
    bench.send_ip(0, 3, {.dscp = 46});
    bench.send_ip(0, 3, {.dscp = 40});
    bench.send_ip(0, 3, {.version = 6, .dscp = 39});
    bench.send(0, station(3));  // no IP
    bench.received();
    const std::vector<std::uint64_t> expected{2, 0, 1, 0, 1, 1, 1, 0};
    for (unsigned i = 0; i < 8; ++i) {
        CAPTURE(i);
        // The station's introduction went to other ports only.
        CHECK(bench.sent_by_port(3, i) == expected[i]);
    }
}

TEST_CASE("an egress queue is marked by its length: never, by chance, always", "[switch]") {
    constexpr int kFrames = 1600;
    const IpFrame what;
    const std::uint64_t wire = eth::wire_bytes_of(what.size);
    const EcnThresholds thresholds{Bytes{200 * wire}, Bytes{1200 * wire}, 0.2};
    std::vector<std::uint64_t> totals;
    for (const std::uint64_t seed : {1, 1, 2, 3}) {
        Bench bench(marking(thresholds, seed));
        const auto kept = through_a_long_queue(bench, kFrames, what);
        REQUIRE(kept.size() == kFrames);
        double mean = 0;
        double variance = 0;
        std::uint64_t by_chance = 0;
        std::uint64_t marked = 0;
        for (std::size_t i = 0; i < kept.size(); ++i) {
            const bool is_marked = ecn_of(*kept[i]) == kCe;
            marked += is_marked ? 1 : 0;
            const std::size_t behind = kFrames - 1 - i;
            if (behind < 200) REQUIRE_FALSE(is_marked);
            if (behind >= 1200) REQUIRE(is_marked);
            if (behind < 200 || behind >= 1200) continue;
            const double p = 0.2 * (static_cast<double>(behind) - 200) / 1000;
            mean += p;
            variance += p * (1 - p);
            by_chance += is_marked ? 1 : 0;
        }
        CAPTURE(seed, mean, variance);
        CHECK(std::abs(static_cast<double>(by_chance) - mean) < 4 * std::sqrt(variance));
        CHECK(bench.network.counters().marked.value() == marked);
        totals.push_back(marked);
        // The checksum counts the mark.
        for (const auto& frame : kept) {
            REQUIRE(eth::internet_checksum(frame->bytes().subspan(eth::kEthernetBytes, 20)) == 0);
        }
    }
    CHECK(totals[0] == totals[1]);
    CHECK((totals[2] != totals[1] || totals[3] != totals[1]));
}

TEST_CASE("only packets of transports that understand marks get one", "[switch]") {
    struct Row {
        IpFrame what;
        std::uint8_t after;
        std::uint64_t marked, not_markable;
    };
    for (const Row& row :
         {Row{{.version = 4, .ecn = kEct0}, kCe, 10, 0},
          Row{{.version = 4, .ecn = kEct1}, kCe, 10, 0}, Row{{.version = 4, .ecn = kCe}, kCe, 0, 0},
          Row{{.version = 4, .ecn = 0}, 0, 0, 10}, Row{{.version = 6, .ecn = kEct0}, kCe, 10, 0},
          Row{{.version = 6, .ecn = 0}, 0, 0, 10},
          Row{{.version = 6, .ecn = kEct1, .vlan_priority = 0}, kCe, 10, 0},
          Row{{.version = 4, .ecn = kEct0, .vlan_priority = 0}, kCe, 10, 0}}) {
        CAPTURE(row.what.version, row.what.ecn, row.what.vlan_priority);
        Bench bench(marking({Bytes{0}, Bytes{1}, 1}));
        const auto kept = through_a_long_queue(bench, 11, row.what);
        REQUIRE(kept.size() == 11);
        const std::size_t at = eth::kEthernetBytes + (row.what.vlan_priority < 0 ? 0 : 4);
        for (std::size_t i = 0; i < 10; ++i) CHECK(ecn_of(*kept[i], at) == row.after);
        CHECK(ecn_of(*kept[10], at) == row.what.ecn);  // it left nothing behind
        CHECK(bench.network.counters().marked.value() == row.marked);
        CHECK(bench.network.counters().not_markable.value() == row.not_markable);
        if (row.what.version == 6) {
            const eth::ConstIpv6 header(kept[0]->bytes().data() + at);
            CHECK(header.flow_label() == 0xabcde);
            CHECK(header.traffic_class() >> 2 == 24);
        }
    }
}

TEST_CASE("frames that are cut off inside their headers are not touched", "[switch]") {
    model::FramePool pool;
    for (std::uint32_t size = 0; size < 64; ++size) {
        for (const std::uint16_t type :
             {eth::kEtherIpv4, eth::kEtherIpv6, eth::kEtherCustomerTag}) {
            model::FramePtr frame = pool.make(size);
            std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0x62});
            if (size >= 14) model::store_be<std::uint16_t>(frame->bytes().data() + 12, type);
            const bool whole = type == eth::kEtherIpv6 && size >= 54;
            CHECK((eth::mark_congestion(*frame) == eth::Marking::marked) == whole);
            CHECK(eth::dscp_of_untagged(*frame).has_value() == whole);
        }
    }
}

TEST_CASE("eight senders to one receiver lose nothing with flow control, and much without",
          "[switch]") {
    constexpr unsigned kSenders = 8;
    constexpr int kFrames = 300;
    for (const bool flow_control : {true, false}) {
        CAPTURE(flow_control);
        SwitchConfig config = lossless(kSenders + 1, 8'000);
        if (!flow_control) config.settings.lossless = 0;
        Bench bench(config);
        bench.introduce(kSenders);
        for (unsigned i = 0; i < kSenders; ++i) bench.obey_flow_control(i);
        for (int i = 0; i < kFrames; ++i) {
            for (unsigned from = 0; from < kSenders; ++from) {
                bench.send_ip(from, kSenders, {}, kLossless);
            }
        }
        std::uint64_t most = 0;
        for (int i = 0; i < 1500; ++i) {
            bench.run_for(microseconds(1));
            std::uint64_t sum = 0;
            for (unsigned p = 0; p < kSenders; ++p)
                sum += bench.network.held_of(p, kLossless).value;
            REQUIRE(sum == bench.network.held().value);
            REQUIRE(sum <= config.settings.shared_buffer.value);
            most = std::max(most, sum);
        }
        const auto counts = bench.received();
        const eth::SwitchCounters& counters = bench.network.counters();
        CHECK(counts[kSenders] + counters.dropped_buffer_full.value() +
                  counters.dropped_queue_full.value() ==
              kSenders * kFrames);
        CHECK(bench.network.held().value == 0);
        CHECK(bench.pool.in_use() == 0);
        if (flow_control) {
            CHECK(counters.dropped_buffer_full.value() == 0);
            CHECK(counters.dropped_queue_full.value() == 0);
            CHECK(counters.pauses_sent.value() >= kSenders);
            CHECK(counters.pauses_sent.value() == counters.resumes_sent.value());
            CHECK(bench.macs[0]->port_counters().rx_prio_pause_transition[kLossless].value() > 0);
            CHECK(most > 8 * 15'000);
        } else {
            CHECK(counters.dropped_buffer_full.value() > kFrames);
            CHECK(counters.pauses_sent.value() == 0);
        }
    }
}

TEST_CASE("dynamic thresholds lose nothing, let a lone port have more, and tell ports apart",
          "[switch]") {
    constexpr unsigned kPorts = 9;
    SwitchConfig config;
    config.ports = kPorts;
    config.settings.trust_dscp = true;
    config.settings.lossless = kLosslessMask;
    config.settings.alpha = 0.125;
    config.settings.reserve = Bytes{4'096};
    config.settings.headroom = Bytes{8'000};
    config.settings.resume_offset = Bytes{3'072};
    config.settings.shared_buffer = Bytes{400'000};
    const std::uint64_t pool = 400'000 - kPorts * (4'096 + 8'000);
    std::array<std::uint64_t, 2> held_at_pause{};
    for (const unsigned senders : {1U, 8U}) {
        CAPTURE(senders);
        Bench bench(config);
        REQUIRE(bench.network.buffer().pool() == pool);
        bench.introduce(8);
        for (unsigned i = 0; i < senders; ++i) bench.obey_flow_control(i);
        bench.pause_lossless(8, 0xffff);
        for (int i = 0; i < 200; ++i) {
            for (unsigned from = 0; from < senders; ++from) bench.send_ip(from, 8, {}, kLossless);
        }
        bench.run_for(microseconds(300));
        CHECK(bench.network.counters().pauses_sent.value() == senders);
        for (unsigned i = 0; i < kPorts - 1; ++i) {
            CHECK(bench.network.paused_priorities(i) == (i < senders ? kLosslessMask : 0));
        }
        held_at_pause[senders == 8] = bench.network.held_of(0, kLossless).value;
        CHECK(bench.network.peak_queued(8, kLossless) == bench.network.queued(8, kLossless));
        bench.pause_lossless(8, 0);
        const auto counts = bench.received();
        CHECK(counts[8] == 200 * senders);
        CHECK(bench.network.counters().dropped_buffer_full.value() == 0);
        CHECK(bench.network.counters().dropped_queue_full.value() == 0);
        CHECK(bench.network.counters().resumes_sent.value() ==
              bench.network.counters().pauses_sent.value());
        CHECK(bench.network.held().value == 0);
        CHECK(bench.network.peak_queued(8, kLossless).value > 8'000);
        bench.network.reset_peaks();
        CHECK(bench.network.peak_queued(8, kLossless).value == 0);
        CHECK(bench.pool.in_use() == 0);
    }
    // A lone port: 1/9 of the pool; of eight, each 1/16; reserve and what was under way on top.
    CHECK(held_at_pause[0] >= pool / 9 + 4'096);
    CHECK(held_at_pause[0] <= pool / 9 + 4'096 + 8'000);
    CHECK(held_at_pause[1] >= pool / 16 + 4'096 - 1'600);
    CHECK(held_at_pause[1] <= pool / 16 + 4'096 + 8'000);
}

TEST_CASE("ports offer the speeds that the settings name", "[switch]") {
    SwitchConfig config;
    config.settings.modes = model::mask_of(model::LinkMode::speed_10g);
    Bench bench(config);
    CHECK_FALSE(bench.network.port(0).link_up());
    CHECK(bench.network.port(0).status().reason == model::LinkDownReason::no_common_mode);
}

TEST_CASE("other priorities of a paused sender go on", "[switch]") {
    Bench bench(lossless(4, 8'000));
    bench.introduce(3);
    bench.introduce(2);
    bench.obey_flow_control(0);
    bench.pause_lossless(3, 0xffff);  // the receiver takes nothing of this class
    for (int i = 0; i < 100; ++i) bench.send_ip(0, 3, {}, kLossless);
    bench.run_for(microseconds(100));
    CHECK(bench.network.counters().pauses_sent.value() == 1);
    CHECK(bench.receivers[3]->frames == 0);
    CHECK(bench.network.held_of(0, kLossless).value > 20'000);
    CHECK(bench.network.held_of(0, kLossless).value < 28'000);
    bench.send_ip(0, 3, {.dscp = 0}, 0);
    bench.send_ip(0, 2, {.dscp = 0}, 0);
    bench.run_for(microseconds(10));
    CHECK(bench.receivers[3]->frames == 1);
    CHECK(bench.receivers[2]->frames == 1);
    bench.pause_lossless(3, 0);
    bench.received();
    CHECK(bench.network.counters().resumes_sent.value() == 1);
    CHECK(bench.network.port(3).port_counters().tx_prio_frames[kLossless].value() == 100);
    CHECK(bench.network.held().value == 0);
}

TEST_CASE("a pause is repeated as long as it is needed", "[switch]") {
    Bench bench(lossless(4, 8'000));
    bench.introduce(3);
    bench.obey_flow_control(0);
    for (int i = 0; i < 4000; ++i) bench.send_ip(0, 3, {}, kLossless);
    // 1.34 ms each; the switch's own pause would run out several times.
    for (int i = 0; i < 6; ++i) {
        bench.pause_lossless(3, 0xffff);
        bench.run_for(microseconds(1000));
        CHECK(bench.network.held_of(0, kLossless).value < 28'000);
    }
    CHECK(bench.network.counters().pauses_sent.value() == 1);
    const eth::PortCounters& port = bench.network.port(0).port_counters();
    CHECK(port.tx_prio_pause[kLossless].value() >= 8);
    CHECK(port.tx_control.value() == port.tx_pause.value());
    bench.network.port(0).counters();
    CHECK(port.tx_prio_pause_duration[kLossless].value() > 5'900'000'000);
    bench.pause_lossless(3, 0);
    bench.received();
    CHECK(bench.network.counters().dropped_buffer_full.value() == 0);
    CHECK(bench.sent_by_port(3, kLossless) == 4000);
    CHECK(bench.calendar.empty());
}

TEST_CASE("a port whose link goes down gives its buffer back and lets senders go", "[switch]") {
    Bench bench(lossless(4, 8'000));
    bench.introduce(3);
    bench.introduce(2);
    bench.obey_flow_control(0);
    bench.pause_lossless(3, 0xffff);
    for (int i = 0; i < 100; ++i) bench.send_ip(0, 3, {}, kLossless);
    bench.run_for(microseconds(100));
    REQUIRE(bench.network.held().value > 20'000);
    bench.links[3]->set_plugged(false);
    CHECK(bench.network.held().value == 0);
    CHECK(bench.network.counters().resumes_sent.value() == 1);
    bench.send_ip(0, 2, {}, kLossless);
    bench.received();
    CHECK(bench.sent_by_port(2, kLossless) == 1);
    CHECK(bench.network.counters().dropped_no_link.value() > 0);
    CHECK(bench.pool.in_use() == 0);
}

TEST_CASE("a port that forgot its pause with its link tells again", "[switch]") {
    Bench bench(lossless(4, 8'000));
    bench.introduce(3);
    bench.obey_flow_control(0);
    bench.pause_lossless(3, 0xffff);
    for (int i = 0; i < 30; ++i) bench.send_ip(0, 3, {}, kLossless);
    bench.run_for(microseconds(100));
    bench.links[0]->set_plugged(false);
    bench.links[0]->set_plugged(true);
    bench.run_for(microseconds(10));
    CHECK(bench.network.port(0).held_priorities() == 0);
    for (int i = 0; i < 30; ++i) bench.send_ip(0, 3, {}, kLossless);
    bench.run_for(microseconds(100));
    CHECK(bench.network.port(0).held_priorities() == kLosslessMask);
    CHECK(bench.network.held_of(0, kLossless).value < 32'000);
    CHECK(bench.network.counters().dropped_buffer_full.value() == 0);
}

TEST_CASE("a shared buffer drops at its limit, whichever port fills it", "[switch]") {
    SwitchConfig config;
    config.settings.shared_buffer = Bytes{40'000};
    config.settings.obey_pause = true;
    Bench bench(config);
    bench.introduce(3);
    bench.introduce(2);
    bench.pause(3, 0xffff);
    bench.pause(2, 0xffff);
    for (int i = 0; i < 20; ++i) {
        bench.send_ip(0, 3, {});
        bench.send_ip(1, 2, {});
    }
    bench.run_for(microseconds(50));
    CHECK(bench.network.held().value == 26 * 1538);
    CHECK(bench.network.counters().dropped_buffer_full.value() == 14);
    CHECK(bench.network.queued(3, 0).value + bench.network.queued(2, 0).value == 26 * 1538);
    bench.pause(3, 0);
    bench.pause(2, 0);
    bench.received();
    CHECK(bench.network.held().value == 0);
}

TEST_CASE("settings that contradict themselves are refused", "[switch]") {
    const auto refused = [](auto edit) {
        SwitchConfig config;
        edit(config.settings);
        model::Calendar calendar;
        model::FramePool pool;
        model::stats::Group statistics{"bench"};
        CHECK_THROWS_AS(eth::Switch(calendar, config, pool, statistics), std::invalid_argument);
    };
    refused([](SwitchSettings& s) { s.ecn[2] = {Bytes{10}, Bytes{5}, 0.1}; });
    refused([](SwitchSettings& s) { s.ecn[2] = {Bytes{1}, Bytes{5}, 1.5}; });
    refused([](SwitchSettings& s) { s.ecn[2] = {Bytes{1}, Bytes{5}, std::nan("")}; });
    refused([](SwitchSettings& s) { s.priority_of_dscp[3] = 8; });
    refused([](SwitchSettings& s) { s.lossless = 8; });
    refused([](SwitchSettings& s) {
        s.lossless = 8;
        s.xoff = Bytes{10};
        s.xon = Bytes{11};
    });
    refused([](SwitchSettings& s) {
        s.lossless = 8;
        s.xoff = s.shared_buffer = Bytes{10};
    });
}
