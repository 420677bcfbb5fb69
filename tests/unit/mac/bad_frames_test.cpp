// SPDX-License-Identifier: Apache-2.0
// What a port makes of frames that no port of ours would send.
#include "eth/mac/mac.h"
#include "tests/support/port_bench.h"

#include "eth/wire/ip.h"
#include "model/base/endian.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using model::LinkMode;
using model::mask_of;
using model::microseconds;
using model::nanoseconds;

namespace {

/// Puts anything on its end of a link.
class RawDevice : public eth::LinkDevice {
  public:
    explicit RawDevice(model::stats::Group& statistics) : counters_(statistics, "raw") {}
    eth::LinkOffer link_offer() const override {
        return {true, mask_of(LinkMode::speed_25g), {}, {}};
    }
    model::Picoseconds receive_latency(const eth::LinkState&) const override { return {}; }
    void link_state_changed(const eth::LinkState&) override {}
    void frame_arrived(model::FramePtr) override {}
    void link_removed() override {}
    eth::PhyCounters& phy_counters() override { return counters_; }

  private:
    eth::PhyCounters counters_;
};

struct RawBench {
    RawBench()
        : link(calendar, {}, statistics),
          raw(statistics),
          mac(calendar, test::bench_mac_config("a"), pool, statistics) {
        model::PortSettings settings = test::bench_settings(mask_of(LinkMode::speed_25g));
        settings.mtu = 1522;
        mac.configure(settings);
        mac.set_receiver(&receiver);
        mac.connect(link, 0);
        line = &link.attach(1, raw);
        calendar.run_until(microseconds(2));
    }
    ~RawBench() { link.detach(1); }
    void send(std::uint32_t size, bool damaged = false, std::uint16_t type = 0x88b5) {
        model::FramePtr frame = pool.make(size);
        std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0});
        if (size >= 14) eth::Ethernet(frame->bytes().data()).set_type(type);
        frame->damaged = damaged;
        const model::Picoseconds now = calendar.now();
        line->send(now, now + nanoseconds(1000), std::move(frame));
        calendar.run_until(now + microseconds(5));
    }

    model::Calendar calendar;
    model::FramePool pool;
    model::stats::Group statistics{"bench"};
    test::CountingReceiver receiver;
    eth::Link link;
    RawDevice raw;
    eth::Mac mac;
    eth::LinkPort* line = nullptr;
};

}  // namespace

TEST_CASE("frames too short or too long are dropped by kind", "[mac]") {
    RawBench bench;
    REQUIRE(bench.mac.link_up());
    eth::PortCounters& counters = bench.mac.port_counters();
    bench.send(59);
    CHECK(counters.rx_undersize.value() == 1);
    bench.send(0);
    CHECK(counters.rx_undersize.value() == 2);
    bench.send(13, true);
    CHECK(counters.rx_fragments.value() == 1);
    bench.send(1519);
    CHECK(counters.rx_oversize.value() == 1);
    bench.send(16'000, true);
    CHECK(counters.rx_jabbers.value() == 1);
    CHECK(counters.rx_fcs_errors.value() == 0);
    CHECK(counters.rx_errors.value() == 5);
    CHECK(counters.rx_events.value() == 5);
    CHECK(bench.receiver.frames == 0);
    bench.send(60);
    bench.send(1518);
    CHECK(bench.receiver.frames == 2);
}

TEST_CASE("damaged frames are dropped, or kept when the check is off", "[mac]") {
    RawBench bench;
    eth::PortCounters& counters = bench.mac.port_counters();
    bench.send(100, true);
    CHECK(counters.rx_fcs_errors.value() == 1);
    CHECK(counters.rx_symbol_errors.value() == 1);  // there was FEC
    CHECK(bench.receiver.frames == 0);
    model::PortSettings settings = bench.mac.settings();
    settings.check_fcs = false;
    bench.mac.configure(settings);
    bench.send(100, true);
    CHECK(counters.rx_fcs_errors.value() == 2);
    CHECK(counters.rx_damaged_kept.value() == 1);
    CHECK(counters.rx_errors.value() == 1);
    CHECK(counters.rx_frames.value() == 0);
    CHECK(bench.receiver.damaged == 1);
}

TEST_CASE("a length field that disagrees with the frame is counted", "[mac]") {
    RawBench bench;
    eth::PortCounters& counters = bench.mac.port_counters();
    bench.send(60, false, 46);
    bench.send(60, false, 3);  // padded
    bench.send(114, false, 100);
    CHECK(counters.rx_in_range_length.value() == 0);
    bench.send(114, false, 99);
    bench.send(60, false, 47);
    bench.send(61, false, 3);
    CHECK(counters.rx_in_range_length.value() == 3);
    CHECK(bench.receiver.frames == 6);
}

TEST_CASE("the sender's priority is not on the wire, the tag's is", "[mac]") {
    test::PortBench bench;
    bench.bring_up();
    bench.at_b.keeps = true;
    bench.send(100, 6);
    model::FramePtr tagged = bench.frame(100, 6);
    eth::Ethernet(tagged->bytes().data()).set_type(0x8100);
    eth::VlanTag(tagged->bytes().data() + 12).set_tci(3 << 13);
    bench.a.transmit(bench.calendar.now(), std::move(tagged));
    bench.drain();
    REQUIRE(bench.at_b.kept.size() == 2);
    CHECK(bench.at_b.kept[0]->priority == 0);
    CHECK(bench.at_b.kept[1]->priority == 3);
}

TEST_CASE("a port that trusts DSCPs takes an IP packet's priority from there, whatever its tag",
          "[mac]") {
    test::PortBench bench;
    bench.bring_up();
    model::PortSettings settings = bench.b.settings();
    settings.trust_dscp = true;
    settings.priority_of_dscp.fill(2);
    settings.priority_of_dscp[26] = 5;
    settings.buffer_of_priority[5] = 1;
    settings.buffers[0] = {model::Bytes{20'000}, {}, {}, true};
    settings.buffers[1] = {model::Bytes{20'000}, {}, {}, true};
    bench.b.configure(settings);
    bench.at_b.keeps = true;
    const auto send = [&](std::uint16_t type, std::uint8_t dscp, bool tagged) {
        model::FramePtr frame = bench.frame(100, 0);
        std::byte* const bytes = frame->bytes().data();
        std::size_t at = eth::kEthernetBytes;
        if (tagged) {
            eth::Ethernet(bytes).set_type(0x8100);
            eth::VlanTag(bytes + 12).set_tci(3 << 13);
            at += 4;
        }
        model::store_be<std::uint16_t>(bytes + at - 2, type);
        eth::Ipv4(bytes + at).set_version_and_bytes(20);
        eth::Ipv4(bytes + at).set_traffic_class(static_cast<std::uint8_t>(dscp << 2));
        bench.a.transmit(bench.calendar.now(), std::move(frame));
    };
    send(eth::kEtherIpv4, 26, false);
    send(eth::kEtherIpv4, 26, true);
    send(eth::kEtherIpv4, 0, true);
    send(0x88b5, 26, true);
    bench.drain();
    REQUIRE(bench.at_b.kept.size() == 4);
    CHECK(bench.at_b.kept[0]->priority == 5);
    CHECK(bench.at_b.kept[1]->priority == 5);
    CHECK(bench.at_b.kept[2]->priority == 2);
    CHECK(bench.at_b.kept[3]->priority == 0);
    CHECK(bench.b.port_counters().rx_prio_frames[5].value() == 2);
}
