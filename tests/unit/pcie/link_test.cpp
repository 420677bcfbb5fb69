// SPDX-License-Identifier: Apache-2.0
#include "pcie/link/link.h"

#include "model/base/random.h"
#include "pcie/link/credit_window.h"
#include "pcie/link/gap_timeline.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace cxsim;
using namespace cxsim::pcie;
using model::Picoseconds;
using model::picoseconds;

namespace {
bool near(double value, double expected) {
    return std::abs(value - expected) < 0.005;
}
}  // namespace

TEST_CASE("encoding leaves 80 % up to Gen2 and 128/130 from Gen3", "[link]") {
    CHECK(near(encoded_rate(LinkGeneration::gen1, 1).value / 1e9, 2.0));
    CHECK(near(encoded_rate(LinkGeneration::gen2, 8).value / 1e9, 32.0));
    CHECK(near(encoded_rate(LinkGeneration::gen3, 8).value / 1e9, 63.02));
    CHECK(near(encoded_rate(LinkGeneration::gen4, 16).value / 1e9, 252.06));
    CHECK(near(encoded_rate(LinkGeneration::gen5, 16).value / 1e9, 504.12));
}

TEST_CASE("a TLP costs header, framing, sequence number and LCRC", "[link]") {
    const TlpOverhead wide = tlp_overhead(true, false);
    CHECK(wide.memory_write.value == 24);
    CHECK(wide.memory_read.value == 24);
    CHECK(wide.completion.value == 20);
    const TlpOverhead narrow = tlp_overhead(false, true);
    CHECK(narrow.memory_write.value == 24);  // 20 and ECRC
    CHECK(narrow.completion.value == 24);
}

TEST_CASE("DLLP distances are those of the specification", "[link]") {
    CHECK(dllp_distance(LinkGeneration::gen1, 1, 128) == 237);
    CHECK(dllp_distance(LinkGeneration::gen2, 4, 4096) == 1101);
    CHECK(dllp_distance(LinkGeneration::gen3, 8, 256) == 203);
    CHECK(dllp_distance(LinkGeneration::gen4, 16, 128) == 144);
    CHECK(dllp_distance(LinkGeneration::gen5, 16, 512) == 182);
}

TEST_CASE("a request for now uses the gap before one reserved for later", "[link]") {
    GapTimeline lane;
    CHECK(lane.reserve(picoseconds(1000), picoseconds(100)).end == picoseconds(1100));
    CHECK(lane.reserve(picoseconds(0), picoseconds(50)).end == picoseconds(50));
    // 900 do not fit between 50 and 1000 any more.
    const auto late = lane.reserve(picoseconds(200), picoseconds(900));
    CHECK(late.start == picoseconds(1100));
    CHECK(lane.reserve(picoseconds(0), picoseconds(950)).end == picoseconds(1000));
    CHECK(lane.intervals() == 1);
    CHECK(lane.busy_time() == picoseconds(2000));
}

TEST_CASE("gaps too short for anybody are closed", "[link]") {
    GapTimeline lane(picoseconds(10));
    lane.reserve(picoseconds(0), picoseconds(100));
    lane.reserve(picoseconds(105), picoseconds(100));
    CHECK(lane.intervals() == 1);
    CHECK(lane.reserve(picoseconds(0), picoseconds(5)).start == picoseconds(205));
}

TEST_CASE("reservations never overlap, whatever their order", "[link]") {
    GapTimeline lane;
    std::vector<GapTimeline::Slot> slots;
    std::uint64_t state = 12345;
    const auto draw = [&](std::uint64_t limit) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::int64_t>((state >> 33) % limit);
    };
    for (int i = 0; i < 3000; ++i) {
        const Picoseconds ready = picoseconds(i * 20 + draw(20000));
        const auto slot = lane.reserve(ready, picoseconds(1 + draw(60)));
        CHECK(slot.start >= ready);
        slots.push_back(slot);
    }
    std::sort(slots.begin(), slots.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < slots.size(); ++i) {
        REQUIRE(slots[i - 1].end <= slots[i].start);
    }
}

// The rules as they are told, without a thought for time: all intervals are looked at, in order.
struct PlainTimeline {
    Picoseconds min_gap;
    Picoseconds floor;
    std::vector<GapTimeline::Slot> busy;

    GapTimeline::Slot reserve(Picoseconds ready, Picoseconds work) {
        Picoseconds start = std::max(ready, floor);
        for (const GapTimeline::Slot& each : busy) {
            if (each.end > start && each.start < start + work) start = each.end;
        }
        const GapTimeline::Slot slot{start, start + work};
        const auto place = std::find_if(busy.begin(), busy.end(), [&](const auto& each) {
            return each.start >= slot.end;
        });
        busy.insert(place, slot);
        for (std::size_t i = 1; i < busy.size();) {
            if (busy[i].start - busy[i - 1].end > min_gap) {
                ++i;
                continue;
            }
            busy[i - 1].end = busy[i].end;
            busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (busy.size() > 64) {
            floor = busy.front().end;
            busy.erase(busy.begin());
        }
        return slot;
    }
};

TEST_CASE("a timeline agrees with a plain list of intervals under random load", "[link]") {
    for (const int spread : {100, 3'000, 100'000}) {
        for (const int gap : {0, 7}) {
            model::RandomStream random(static_cast<std::uint64_t>(spread + gap), "timeline");
            GapTimeline lane(picoseconds(gap));
            PlainTimeline plain{picoseconds(gap), {}, {}};
            Picoseconds now;
            for (int i = 0; i < 5'000; ++i) {
                now += picoseconds(static_cast<std::int64_t>(random.below(40)));
                const Picoseconds ready =
                    now + picoseconds(static_cast<std::int64_t>(
                              random.below(static_cast<std::uint64_t>(spread))));
                const Picoseconds work =
                    picoseconds(1 + static_cast<std::int64_t>(random.below(30)));
                const GapTimeline::Slot expected = plain.reserve(ready, work);
                const GapTimeline::Slot slot = lane.reserve(ready, work);
                REQUIRE(slot.start == expected.start);
                REQUIRE(slot.end == expected.end);
                REQUIRE(lane.intervals() == plain.busy.size());
            }
        }
    }
}

TEST_CASE("credits make a request wait for the returns it needs", "[link]") {
    CreditWindow window(4);
    CHECK(window.acquire(picoseconds(0), 3) == picoseconds(0));
    window.give_back(picoseconds(100), 3);
    CHECK(window.acquire(picoseconds(10), 1) == picoseconds(10));
    window.give_back(picoseconds(50), 1);  // taken later, back earlier
    CHECK(window.acquire(picoseconds(20), 1) == picoseconds(50));
    window.give_back(picoseconds(300), 1);
    CHECK(window.acquire(picoseconds(20), 2) == picoseconds(100));
    window.give_back(picoseconds(200), 2);
    CHECK(window.acquire(picoseconds(20), 4) == picoseconds(300));
    window.give_back(picoseconds(400), 4);
    window.reset();
    CHECK(window.acquire(picoseconds(20), 4) == picoseconds(20));
}

TEST_CASE("a TLP takes its wire bytes at the TLP rate, padded to dwords", "[link]") {
    LinkRegisters registers;  // Gen3 x8
    Link link(registers, {.one_way = model::nanoseconds(50)}, 256);
    // 24 + 8 bytes (5 padded) at 57.88 Gb/s: 4.42 ns.
    const Link::Passage passage = link.upstream(picoseconds(0), Link::Tlp::memory_write, 5);
    CHECK(std::abs(passage.sent.nanoseconds() - 32 * 8 / 57.88) < 0.01);
    CHECK(passage.arrived - passage.sent == model::nanoseconds(50));
    CHECK(link.upstream_statistics().wire_bytes == 32);
    // The other direction is free meanwhile.
    CHECK(link.downstream(picoseconds(0), Link::Tlp::memory_read, 0).sent < model::nanoseconds(4));
}
