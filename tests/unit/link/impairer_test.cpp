// SPDX-License-Identifier: Apache-2.0
#include "eth/link/impairer.h"
#include "model/base/endian.h"
#include "tests/support/port_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

using namespace cxsim;
using model::microseconds;
using model::nanoseconds;

namespace {

constexpr std::uint32_t kBytes = 200;
constexpr std::size_t kNumberAt = 20;

/// Two stations with the device between them.
struct ImpairerBench {
    explicit ImpairerBench(eth::ImpairerConfig config = {})
        : impairer(calendar, prepare(config), pool, statistics) {
        for (unsigned i = 0; i < 2; ++i) {
            eth::MacConfig mac = test::bench_mac_config("a");
            mac.name = "station" + std::to_string(i);
            eth::LinkConfig link;
            link.name = "link" + std::to_string(i);
            links.push_back(std::make_unique<eth::Link>(calendar, link, statistics));
            macs.push_back(std::make_unique<eth::Mac>(calendar, mac, pool, statistics));
            macs[i]->configure(test::bench_settings(mask_of(model::LinkMode::speed_25g)));
            macs[i]->set_receiver(&receivers[i]);
            receivers[i].keeps = true;
            macs[i]->connect(*links[i], 0);
            impairer.port(i).connect(*links[i], 1);
        }
        calendar.run_until(microseconds(5));
    }
    static eth::ImpairerConfig prepare(eth::ImpairerConfig config) {
        config.port = test::bench_mac_config("p");
        return config;
    }
    /// Numbered frames with known content, one behind the other.
    void send(unsigned from, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            model::FramePtr frame = pool.make(kBytes);
            std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0x5a});
            model::store_be<std::uint32_t>(frame->bytes().data() + kNumberAt, i);
            macs[from]->transmit(calendar.now(), std::move(frame));
        }
        while (calendar.run_one()) {
        }
    }
    std::vector<std::uint32_t> numbers(unsigned at) const {
        std::vector<std::uint32_t> all;
        for (const model::FramePtr& frame : receivers[at].kept) {
            all.push_back(model::load_be<std::uint32_t>(frame->bytes().data() + kNumberAt));
        }
        return all;
    }
    unsigned wrong_bits(const model::Frame& frame, std::uint32_t number) const {
        std::vector<std::byte> sent(kBytes, std::byte{0x5a});
        model::store_be<std::uint32_t>(sent.data() + kNumberAt, number);
        unsigned bits = 0;
        for (std::size_t i = 0; i < kBytes; ++i) {
            bits += static_cast<unsigned>(
                std::popcount(std::to_integer<unsigned>(sent[i] ^ frame.bytes()[i])));
        }
        return bits;
    }

    model::Calendar calendar;
    model::FramePool pool;
    model::stats::Group statistics{"bench"};
    std::vector<std::unique_ptr<eth::Link>> links;
    eth::Impairer impairer;
    test::CountingReceiver receivers[2];
    std::vector<std::unique_ptr<eth::Mac>> macs;
};

eth::ImpairerConfig towards_1(const eth::Impairments& impairments, std::uint64_t seed = 1) {
    eth::ImpairerConfig config;
    config.towards[1] = impairments;
    config.seed = seed;
    return config;
}

}  // namespace

TEST_CASE("without impairments all frames pass in their order", "[impairer]") {
    ImpairerBench bench;
    bench.send(0, 1000);
    bench.send(1, 10);
    const auto numbers = bench.numbers(1);
    REQUIRE(numbers.size() == 1000);
    CHECK(std::ranges::is_sorted(numbers));
    CHECK(bench.numbers(0).size() == 10);
    CHECK(bench.impairer.counters().forwarded[1].value() == 1000);
    CHECK(bench.impairer.counters().received[0].value() == 10);
}

TEST_CASE("frames are lost as often as asked for, in one direction", "[impairer]") {
    ImpairerBench bench(towards_1({.loss = 0.1}));
    bench.send(0, 10'000);
    bench.send(1, 1000);
    const std::uint64_t lost = bench.impairer.counters().lost[1].value();
    CHECK(lost > 850);  // five standard deviations
    CHECK(lost < 1150);
    CHECK(bench.numbers(1).size() == 10'000 - lost);
    CHECK(std::ranges::is_sorted(bench.numbers(1)));
    CHECK(bench.numbers(0).size() == 1000);
}

TEST_CASE("a frame that is sent twice comes twice, one copy behind the other", "[impairer]") {
    ImpairerBench bench(towards_1({.duplicate = 0.05}));
    bench.send(0, 4000);
    auto numbers = bench.numbers(1);
    const std::uint64_t twice = bench.impairer.counters().duplicated[1].value();
    CHECK(twice > 100);
    CHECK(numbers.size() == 4000 + twice);
    CHECK(std::ranges::is_sorted(numbers));
    const auto rest = std::ranges::unique(numbers);
    CHECK(rest.size() == twice);
}

TEST_CASE("a frame held back comes later than others that were sent after it", "[impairer]") {
    ImpairerBench bench(towards_1({.reorder = 0.02, .reorder_time = microseconds(2)}));
    bench.send(0, 4000);
    CHECK(bench.impairer.held() == 0);
    const auto numbers = bench.numbers(1);
    REQUIRE(numbers.size() == 4000);
    std::uint64_t back = 0;
    std::uint32_t farthest = 0;
    std::vector<bool> seen(4000);
    for (const std::uint32_t number : numbers) {
        back += number < farthest ? 1 : 0;
        farthest = std::max(farthest, number);
        CHECK_FALSE(seen[number]);
        seen[number] = true;
    }
    // Some are held back for less than the next frame takes.
    CHECK(back > bench.impairer.counters().reordered[1].value() / 2);
    CHECK(back <= bench.impairer.counters().reordered[1].value());
}

TEST_CASE("changed bits arrive in frames that look whole", "[impairer]") {
    ImpairerBench bench(towards_1({.corrupt = 0.2}));
    bench.send(0, 1000);
    const auto& kept = bench.receivers[1].kept;
    REQUIRE(kept.size() == 1000);
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        CHECK_FALSE(kept[i]->damaged);
        const unsigned bits = bench.wrong_bits(*kept[i], i);
        CHECK(bits <= 3);
        wrong += bits != 0 ? 1 : 0;
    }
    // The same bit may be hit twice.
    CHECK(wrong <= bench.impairer.counters().corrupted[1].value());
    CHECK(wrong + 5 >= bench.impairer.counters().corrupted[1].value());
    CHECK(wrong > 130);
}

TEST_CASE("counted bytes cannot be changed: their frame is dropped by its check", "[impairer]") {
    ImpairerBench bench(towards_1({.corrupt = 1}));
    model::FramePtr frame = bench.pool.make(14);
    std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0});
    frame->synthetic = 8000;
    bench.macs[0]->transmit(bench.calendar.now(), std::move(frame));
    while (bench.calendar.run_one()) {
    }
    CHECK(bench.impairer.counters().forwarded[1].value() == 1);
    CHECK(bench.receivers[1].frames == 0);
}

TEST_CASE("the same seed does the same, another seed something else", "[impairer]") {
    const eth::Impairments all{
        .loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.05};
    std::vector<std::vector<std::uint32_t>> runs;
    for (const std::uint64_t seed : {7, 7, 8}) {
        ImpairerBench bench(towards_1(all, seed));
        bench.send(0, 500);
        runs.push_back(bench.numbers(1));
    }
    CHECK(runs[0] == runs[1]);
    CHECK(runs[0] != runs[2]);
}

TEST_CASE("impairments can be changed while frames pass, and must be probabilities",
          "[impairer]") {
    ImpairerBench bench;
    bench.impairer.set(1, {.loss = 1});
    bench.send(0, 10);
    CHECK(bench.numbers(1).empty());
    bench.impairer.set(1, {});
    bench.send(0, 10);
    CHECK(bench.numbers(1).size() == 10);
    CHECK_THROWS_AS(bench.impairer.set(0, {.loss = 1.5}), std::invalid_argument);
    CHECK_THROWS_AS(bench.impairer.set(0, {.corrupt = -0.1}), std::invalid_argument);
    CHECK_THROWS_AS(
        bench.impairer.set(0, {.reorder = std::numeric_limits<double>::quiet_NaN()}),
        std::invalid_argument);
    CHECK_THROWS_AS(bench.impairer.set(0, {.reorder_time = nanoseconds(-1)}),
                    std::invalid_argument);
    CHECK(bench.impairer.impairments(0).loss == 0);
}

TEST_CASE("frames for a port without a link are dropped, held ones go with the device",
          "[impairer]") {
    ImpairerBench bench(towards_1({.reorder = 1}));
    model::FramePtr frame = bench.pool.make(100);
    std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0});
    bench.macs[0]->transmit(bench.calendar.now(), std::move(frame));
    bench.calendar.run_until(bench.calendar.now() + nanoseconds(500));
    CHECK(bench.impairer.held() == 1);
    bench.links[1]->set_plugged(false);
    bench.send(0, 3);
    CHECK(bench.impairer.counters().no_link[1].value() == 4);
    CHECK(bench.receivers[1].frames == 0);
    ImpairerBench other(towards_1({.reorder = 1}));
    other.macs[0]->transmit(other.calendar.now(), other.pool.make(100));
    other.calendar.run_until(other.calendar.now() + nanoseconds(500));
    CHECK(other.impairer.held() == 1);
}
