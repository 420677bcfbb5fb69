// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint32_t kHash = 0;
constexpr std::uint32_t kChecksum = 1;
constexpr std::uint32_t kChecksumStrideIndex = 3;

// A compressing CQ and a driver that takes its completions apart.
struct CompressionBench : QueueBench {
    explicit CompressionBench(std::uint32_t format, std::uint32_t log_size = 5)
        : completions(create_eq(4, 2)), cq(create_cq(log_size, completions.eq->id.number)) {
        cq.cq->view().set<prm::cqc::cqe_comp_en>(1U);
        cq.cq->view().set<prm::cqc::mini_cqe_res_format>(format);
        update_eq(completions, true);
    }

    struct Seen {
        std::uint32_t bytes = 0, checksum = 0, wqe = 0, flow_tag = 0, hash = 0;
        bool operator==(const Seen&) const = default;
    };

    bool push(const Seen& what, bool solicited = false) {
        std::array<std::byte, 64> cqe{};
        const prm::View<prm::cqe64> view(cqe);
        view.set<prm::cqe64::opcode>(2U);
        view.set<prm::cqe64::byte_cnt>(what.bytes);
        view.set<prm::cqe64::check_sum>(what.checksum);
        view.set<prm::cqe64::wqe_counter>(what.wqe);
        view.set<prm::cqe64::rss_hash_result>(what.hash);
        view.set<prm::cqe64::flow, prm::cqe64_flow::flow_tag>(what.flow_tag);
        return engines.complete(*cq.cq, calendar.now(), cqe, solicited);
    }

    std::array<std::byte, 64> slot(std::uint32_t index) const {
        std::array<std::byte, 64> bytes{};
        host.peek(cq.ring + std::uint64_t{index & (cq.cq->entries() - 1)} * 64, bytes);
        return bytes;
    }

    /// As the driver does: the title names n, arrays of eight follow, the index goes on by n.
    std::vector<Seen> poll(std::uint32_t format) {
        std::vector<Seen> all;
        for (;;) {
            const auto bytes = slot(cq.consumer);
            const prm::ConstView<prm::cqe64> title(bytes);
            const std::uint32_t lap = cq.consumer >> cq.cq->log_size;
            if (title.get<prm::cqe64::opcode>() == 0xf ||
                ((title.get<prm::cqe64::owner>() ^ lap) & 1) != 0) {
                break;
            }
            Seen seen{title.get<prm::cqe64::byte_cnt>(), title.get<prm::cqe64::check_sum>(),
                      title.get<prm::cqe64::wqe_counter>(),
                      title.get<prm::cqe64::flow, prm::cqe64_flow::flow_tag>(),
                      title.get<prm::cqe64::rss_hash_result>()};
            if (title.get<prm::cqe64::cqe_format>() != 3) {
                all.push_back(seen);
                ++cq.consumer;
                continue;
            }
            const std::uint32_t count = title.get<prm::cqe64::mini_cqe_num>();
            std::array<std::byte, 64> array{};
            for (std::uint32_t i = 0; i < count; ++i) {
                if (i % 8 == 0) array = slot(cq.consumer + (i == 0 ? 1 : i));
                const prm::ConstView<prm::mini_cqe8> mini(
                    std::span<const std::byte>(array).subspan(i % 8 * 8));
                Seen one = seen;
                one.bytes = mini.get<prm::mini_cqe8::byte_cnt>();
                one.wqe = seen.wqe + i;
                if (format == kHash) {
                    one.hash = mini.get<prm::mini_cqe8::rx_hash_result>();
                } else {
                    one.checksum = mini.get<prm::mini_cqe8::checksum>();
                    if (format == kChecksumStrideIndex) {
                        one.wqe = mini.get<prm::mini_cqe8::stridx>();
                    }
                }
                all.push_back(one);
            }
            for (std::uint32_t i = 0; i < count; ++i) {  // ownership of the whole block
                const std::uint32_t at = cq.consumer + i;
                host.fill(cq.ring + std::uint64_t{at & (cq.cq->entries() - 1)} * 64 + 63, 1,
                          static_cast<std::uint8_t>((at >> cq.cq->log_size) & 1));
            }
            cq.consumer += count;
        }
        update_cq(cq);
        return all;
    }

    EqDriver completions;
    CqDriver cq;
};

TEST_CASE("completions of one kind are written as a block and read back whole, lap after lap",
          "[compression]") {
    for (const std::uint32_t format : {kHash, kChecksum, kChecksumStrideIndex}) {
        CompressionBench bench(format);
        std::uint32_t wqe = 0;
        for (const std::uint32_t count : {2U, 8U, 9U, 20U, 1U, 17U, 31U, 5U}) {
            std::vector<CompressionBench::Seen> sent;
            for (std::uint32_t i = 0; i < count; ++i) {
                CompressionBench::Seen one{100 + i, 0, wqe++, 0, 0};
                if (format == kHash) {
                    one.hash = 0x1000 + i;
                } else {
                    one.checksum = 0x2000 + i;
                }
                sent.push_back(one);
                REQUIRE(bench.push(one));
            }
            CHECK(bench.poll(format).empty());  // the window is open
            bench.run();
            CHECK(bench.poll(format) == sent);
        }
        CHECK(bench.counters().cqes == 93);
        CHECK(bench.counters().compressed_cqes == 92);
        CHECK(bench.counters().stale_events == 0);
    }
}

TEST_CASE("a completion of another kind ends the block", "[compression]") {
    CompressionBench bench(kChecksum);
    using Seen = CompressionBench::Seen;
    const std::vector<Seen> sent{{60, 1, 0, 0, 0}, {60, 2, 1, 0, 0}, {60, 3, 2, 7, 0},
                                 {60, 4, 3, 7, 0}, {60, 5, 9, 7, 0}};  // tag, then a gap
    for (const Seen& one : sent) bench.push(one);
    bench.run();
    CHECK(bench.poll(kChecksum) == sent);
    CHECK(bench.counters().compressed_cqes == 4);
}

TEST_CASE("errors and solicited completions do not wait", "[compression]") {
    CompressionBench bench(kChecksum);
    bench.push({60, 1, 0, 0, 0});
    bench.push({60, 2, 1, 0, 0});
    bench.push({60, 3, 2, 0, 0}, true);
    CHECK(bench.poll(kChecksum).size() == 3);
}

TEST_CASE("completions that carry data are written as they are", "[compression]") {
    CompressionBench bench(kHash);
    for (std::uint32_t i = 0; i < 3; ++i) {
        std::array<std::byte, 64> cqe{};
        const prm::View<prm::cqe64> view(cqe);
        view.set<prm::cqe64::opcode>(2U);
        view.set<prm::cqe64::cqe_format>(1U);
        view.set<prm::cqe64::wqe_counter>(i);
        CHECK(bench.engines.complete(*bench.cq.cq, bench.calendar.now(), cqe, false));
    }
    CHECK(bench.counters().compressed_cqes == 0);
    CHECK(bench.cq.cq->producer == 3);
    CHECK(prm::ConstView<prm::cqe64>(bench.slot(2)).get<prm::cqe64::cqe_format>() == 1);
}

TEST_CASE("a block fills 64 entries at most and does not wait for the window then",
          "[compression]") {
    CompressionBench bench(kChecksum, 7);
    for (std::uint32_t i = 0; i < 64; ++i) bench.push({60, 1, i, 0, 0});
    CHECK(bench.poll(kChecksum).size() == 64);
}

TEST_CASE("an armed queue reports when the block is written", "[compression]") {
    CompressionBench bench(kChecksum);
    bench.arm_cq(bench.cq);
    bench.push({60, 1, 0, 0, 0});
    bench.push({60, 1, 1, 0, 0});
    CHECK_FALSE(bench.poll_eq(bench.completions));
    bench.run();
    CHECK(bench.poll_eq(bench.completions));
    CHECK_FALSE(bench.poll_eq(bench.completions));
}

TEST_CASE("completions that wait count against the queue's room", "[compression]") {
    CompressionBench bench(kChecksum, 2);
    for (std::uint32_t i = 0; i < 4; ++i) REQUIRE(bench.push({60, 1, i, 0, 0}));
    CHECK_FALSE(bench.push({60, 1, 4, 0, 0}));
    CHECK(bench.cq.cq->error);
    CHECK(bench.counters().cq_overruns == 1);
    bench.run();
    CHECK(bench.counters().stale_events == 0);
}

TEST_CASE("a queue that is destroyed takes what waits with it", "[compression]") {
    CompressionBench bench(kChecksum);
    bench.push({60, 1, 0, 0, 0});
    bench.engines.destroyed(bench.cq.cq->id);
    bench.run();
    CHECK(bench.poll(kChecksum).empty());
    CHECK(bench.counters().cqes_dropped == 1);
}

}  // namespace
}  // namespace cxsim::test
