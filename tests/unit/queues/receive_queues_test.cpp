// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <numeric>

namespace cxsim::test {
namespace {

enum Type : std::uint32_t { kLinked = 0, kCyclic = 1, kLinkedStriding = 2, kCyclicStriding = 3 };

// One RQ of 8 WQEs, the driver's half of it, and packets.
struct RqBench : QueueBench {
    explicit RqBench(Type type, std::uint32_t log_stride = 5)
        : kind(type), cq(create_cq(6, 99)), rq(*resources.rqs.create()) {
        rq.cqn = cq.cq->id.number;
        const auto view = rq.view();
        view.set<prm::rqc::wq, prm::wq::wq_type>(type);
        view.set<prm::rqc::wq, prm::wq::pd>(kPd);
        view.set<prm::rqc::user_index>(0x123U);
        view.set<prm::rqc::flush_in_error_en>(1U);
        fill_wq(rq.wq, 3, log_stride);
        counter.values["out_of_buffer"] = 0;
        view.set<prm::rqc::counter_set_id>(counter.id.number);
        rq.state = QueueState::ready;
        engines.started(rq);
    }
    bool linked() const { return kind == kLinked || kind == kLinkedStriding; }

    void write_wqe(std::uint32_t slot, const std::vector<std::byte>& segments) {
        std::uint64_t at = rq.wq.ring.address(slot * rq.wq.stride()).value;
        if (linked()) {
            std::vector<std::byte> next(16);
            model::store_be<std::uint16_t>(next.data() + 2,
                                           static_cast<std::uint16_t>((slot + 1) & 7));
            host.poke(at, next);
            at += 16;
        }
        host.poke(at, segments);
    }
    /// Posts a WQE with one buffer of `bytes`; returns the buffer.
    std::uint64_t post_buffer(std::uint32_t bytes) {
        const std::uint64_t address = allocate(bytes);
        write_wqe(posted & 7, data_segment(bytes, pa_key, address) + data_segment(0, 0x100, 0));
        publish(1);
        return address;
    }
    void publish(std::uint16_t wqes) {
        posted = static_cast<std::uint16_t>(posted + wqes);
        host.store_be<std::uint32_t>(rq.wq.doorbell_record.value, posted);
    }
    ReceiveOutcome deliver(std::size_t bytes, std::uint32_t synthetic = 0) {
        packet.resize(bytes);
        std::iota(reinterpret_cast<std::uint8_t*>(packet.data()),
                  reinterpret_cast<std::uint8_t*>(packet.data()) + bytes, std::uint8_t{first++});
        const std::span<const std::byte> all(packet);
        const std::array<std::span<const std::byte>, 2> pieces{all.first(bytes / 3),
                                                               all.subspan(bytes / 3)};
        std::array<std::byte, 64> info{};
        prm::View<prm::cqe64>(info).set<prm::cqe64::rss_hash_result>(0xabcdU);
        return engines.receive(rq, calendar.now(), {pieces, synthetic, info, calendar.now()});
    }
    std::vector<std::byte> memory(std::uint64_t address, std::size_t bytes) const {
        std::vector<std::byte> seen(bytes);
        host.peek(address, seen);
        return seen;
    }
    std::optional<SeenCqe> completion() {
        run();
        return poll_cq(cq);
    }

    Type kind;
    CqDriver cq;
    Rq& rq;
    QCounter& counter = *resources.q_counters.create();
    std::uint16_t posted = 0;
    std::uint8_t first = 1;
    std::vector<std::byte> packet;
};

TEST_CASE("a packet lands in the buffer of the next WQE and is completed", "[rq]") {
    for (const Type type : {kCyclic, kLinked}) {
        RqBench bench(type, type == kLinked ? 6 : 5);
        for (std::uint32_t i = 0; i < 30; ++i) {  // several laps
            const std::uint64_t buffer = bench.post_buffer(2048);
            const ReceiveOutcome outcome = bench.deliver(100 + i);
            REQUIRE(outcome.verdict == ReceiveVerdict::delivered);
            CHECK(outcome.finish > bench.calendar.now());
            CHECK_FALSE(bench.poll_cq(bench.cq));  // the completion follows the data
            const auto cqe = bench.completion();
            REQUIRE(cqe);
            const prm::ConstView<prm::cqe64> view(cqe->bytes);
            CHECK(cqe->opcode == 2);
            CHECK(view.get<prm::cqe64::byte_cnt>() == 100 + i);
            CHECK(view.get<prm::cqe64::srqn>() == 0x123);
            CHECK(view.get<prm::cqe64::rss_hash_result>() == 0xabcd);
            CHECK(cqe->wqe_counter == (type == kLinked ? i & 7 : i));
            CHECK(bench.memory(buffer, 100 + i) == bench.packet);
            bench.update_cq(bench.cq);
        }
        CHECK(bench.counters().received == 30);
    }
}

TEST_CASE("a packet is scattered over the segments of a WQE", "[rq]") {
    RqBench bench(kCyclic, 6);
    const std::uint64_t a = bench.allocate(64);
    const std::uint64_t b = bench.allocate(4096);
    bench.write_wqe(0, data_segment(64, bench.pa_key, a) + data_segment(4096, bench.pa_key, b) +
                           data_segment(0, 0x100, 0));
    bench.publish(1);
    REQUIRE(bench.deliver(1000).verdict == ReceiveVerdict::delivered);
    auto seen = bench.memory(a, 64);
    const auto rest = bench.memory(b, 1000 - 64);
    seen.insert(seen.end(), rest.begin(), rest.end());
    CHECK(seen == bench.packet);
}

TEST_CASE("the doorbell record is read only when all known WQEs are fetched", "[rq]") {
    RqBench bench(kCyclic);
    for (int i = 0; i < 4; ++i) bench.post_buffer(256);
    const auto reads = [&] {
        return std::ranges::count_if(bench.host.accesses, [&](const FakeHostBus::Access& access) {
            return !access.write && access.address == bench.rq.wq.doorbell_record.value;
        });
    };
    for (int i = 0; i < 2; ++i) REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    CHECK(reads() == 1);
    for (int i = 0; i < 2; ++i) REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    CHECK(reads() == 2);  // once when half of them were used, to read on in time
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::no_buffer);
    CHECK(reads() == 3);
}

TEST_CASE("WQEs are read ahead when half of the fetched ones are used", "[rq]") {
    RqBench bench(kCyclic);
    for (int i = 0; i < 4; ++i) bench.post_buffer(256);
    const auto ring_reads = [&] {
        const std::uint64_t ring = bench.rq.wq.ring.address(0).value;
        return std::ranges::count_if(bench.host.accesses, [&](const FakeHostBus::Access& access) {
            return !access.write && access.address >= ring && access.address < ring + 256;
        });
    };
    for (int i = 0; i < 2; ++i) REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    CHECK(ring_reads() == 1);
    std::vector<std::uint64_t> buffers;
    for (int i = 0; i < 4; ++i) buffers.push_back(bench.post_buffer(256));
    REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    CHECK(ring_reads() == 2);
    REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    bench.run();
    // The fifth packet waits for nothing, and lands in the buffer that was posted fifth.
    const Picoseconds finish = bench.deliver(64).finish;
    CHECK(ring_reads() == 2);
    CHECK(bench.memory(buffers[0], 64) == bench.packet);
    RqBench other(kCyclic);
    other.post_buffer(256);
    CHECK(finish - bench.calendar.now() < other.deliver(64).finish - other.calendar.now());
}

TEST_CASE("WQEs that were read ahead are forgotten when the queue is reset", "[rq]") {
    RqBench bench(kCyclic);
    for (int i = 0; i < 8; ++i) bench.post_buffer(256);
    for (int i = 0; i < 5; ++i) REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    bench.run();
    bench.rq.state = QueueState::reset;
    bench.engines.stopped(bench.rq);
    bench.host.store_be<std::uint32_t>(bench.rq.wq.doorbell_record.value, 0);
    bench.posted = 0;
    bench.rq.state = QueueState::ready;
    bench.engines.started(bench.rq);
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::no_buffer);
    const std::uint64_t buffer = bench.post_buffer(256);
    REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    CHECK(bench.memory(buffer, 64) == bench.packet);
}

TEST_CASE("without a posted WQE the packet is lost and counted as out of buffer", "[rq]") {
    RqBench bench(kCyclic);
    const ReceiveOutcome outcome = bench.deliver(64);
    CHECK(outcome.verdict == ReceiveVerdict::no_buffer);
    CHECK(outcome.finish == bench.calendar.now());
    CHECK(bench.counter.values["out_of_buffer"] == 1);
    CHECK(bench.counters().receive_no_buffer == 1);
    CHECK_FALSE(bench.completion());
    bench.post_buffer(256);
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::delivered);
}

TEST_CASE("a record that claims more WQEs than the ring holds posts nothing", "[rq]") {
    RqBench bench(kCyclic);
    bench.host.store_be<std::uint32_t>(bench.rq.wq.doorbell_record.value, 9);
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::no_buffer);
}

TEST_CASE("a packet longer than the WQE is dropped, the WQE stays", "[rq]") {
    RqBench bench(kCyclic);
    bench.post_buffer(256);
    CHECK(bench.deliver(257).verdict == ReceiveVerdict::too_small);
    CHECK(bench.counters().receive_too_small == 1);
    REQUIRE(bench.deliver(256).verdict == ReceiveVerdict::delivered);
    const auto cqe = bench.completion();
    REQUIRE(cqe);
    CHECK(cqe->wqe_counter == 0);
}

TEST_CASE("a queue that is not ready takes nothing", "[rq]") {
    RqBench bench(kCyclic);
    bench.post_buffer(256);
    bench.rq.state = QueueState::reset;
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::not_ready);
    CHECK(bench.counters().receive_not_ready == 1);
}

TEST_CASE("strides of one WQE take packets until a filler ends it", "[rq]") {
    for (const Type type : {kLinkedStriding, kCyclicStriding}) {
        RqBench bench(type, type == kLinkedStriding ? 6 : 5);
        // 8 strides of 64 bytes
        bench.rq.view().set<prm::rqc::wq, prm::wq::log_wqe_num_of_strides>(0xaU);  // 9 - 6
        const std::uint64_t first = bench.post_buffer(512);
        const std::uint64_t second = bench.post_buffer(512);
        REQUIRE(bench.deliver(65).verdict == ReceiveVerdict::delivered);   // strides 0 and 1
        CHECK(bench.memory(first, 65) == bench.packet);
        REQUIRE(bench.deliver(200).verdict == ReceiveVerdict::delivered);  // 2 to 5
        CHECK(bench.memory(first + 128, 200) == bench.packet);
        REQUIRE(bench.deliver(129).verdict == ReceiveVerdict::delivered);  // 3 needed, 2 left
        CHECK(bench.memory(second, 129) == bench.packet);
        CHECK(bench.deliver(513).verdict == ReceiveVerdict::too_small);
        bench.run();
        struct Expected {
            std::uint32_t filler, strides, bytes, stride_index, wqe;
        };
        for (const Expected& expected : {Expected{0, 2, 65, 0, 0}, Expected{0, 4, 200, 2, 0},
                                         Expected{1, 2, 0, 6, 0}, Expected{0, 3, 129, 0, 1}}) {
            const auto cqe = bench.poll_cq(bench.cq);
            REQUIRE(cqe);
            using Mp = prm::cqe64_mpwrq;
            const prm::ConstView<prm::cqe64> view(cqe->bytes);
            CHECK((view.get<prm::cqe64::mpwrq, Mp::filler>()) == expected.filler);
            CHECK((view.get<prm::cqe64::mpwrq, Mp::consumed_strides>()) == expected.strides);
            CHECK((view.get<prm::cqe64::mpwrq, Mp::byte_cnt>()) == expected.bytes);
            CHECK(cqe->wqe_counter == expected.stride_index);
            CHECK(view.get<prm::cqe64::wqe_id>() == expected.wqe);
        }
        CHECK(bench.counters().receive_fillers == 1);
    }
}

TEST_CASE("a WQE whose strides are used up to the last ends without filler", "[rq]") {
    RqBench bench(kLinkedStriding, 6);
    bench.rq.view().set<prm::rqc::wq, prm::wq::log_wqe_num_of_strides>(0xaU);
    bench.post_buffer(512);
    REQUIRE(bench.deliver(512).verdict == ReceiveVerdict::delivered);
    CHECK(bench.rq.wq.consumer == 1);
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::no_buffer);
    CHECK(bench.counters().receive_fillers == 0);
}

TEST_CASE("a bad key in a WQE ends in an error completion, and the rest is flushed", "[rq]") {
    RqBench bench(kCyclic);
    bench.write_wqe(0, data_segment(256, 0x7700, 0) + data_segment(0, 0x100, 0));
    bench.publish(1);
    bench.post_buffer(256);
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::failed);
    CHECK(bench.rq.state == QueueState::error);
    bench.run(milliseconds(1));
    auto cqe = bench.poll_cq(bench.cq);
    REQUIRE(cqe);
    CHECK(cqe->opcode == 14);
    CHECK(cqe->syndrome == 4);  // local protection
    CHECK(cqe->wqe_counter == 0);
    cqe = bench.poll_cq(bench.cq);
    REQUIRE(cqe);
    CHECK(cqe->syndrome == 5);  // flushed
    CHECK(cqe->wqe_counter == 1);
    CHECK_FALSE(bench.poll_cq(bench.cq));
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::not_ready);
}

TEST_CASE("buffers of a pool feed every queue over it", "[rq]") {
    RqBench bench(kCyclic);
    Rmp& rmp = *bench.resources.rmps.create();
    rmp.wq = bench.rq.wq;
    rmp.view().set<prm::rmpc::wq, prm::wq::wq_type>(kCyclic);
    rmp.view().set<prm::rmpc::wq, prm::wq::pd>(kPd);
    bench.rq.view().set<prm::rqc::mem_rq_type>(1U);
    bench.rq.view().set<prm::rqc::rmpn>(rmp.id.number);
    const std::uint64_t buffer = bench.post_buffer(256);
    CHECK(bench.deliver(64).verdict == ReceiveVerdict::not_ready);  // the pool is in reset
    rmp.state = QueueState::ready;
    REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    CHECK(bench.memory(buffer, 64) == bench.packet);
    CHECK(bench.completion());
    CHECK(rmp.wq.consumer == 1);
}

TEST_CASE("completions of a queue that was reset meanwhile are not written", "[rq]") {
    RqBench bench(kCyclic);
    bench.post_buffer(256);
    REQUIRE(bench.deliver(64).verdict == ReceiveVerdict::delivered);
    bench.rq.state = QueueState::reset;
    bench.engines.stopped(bench.rq);
    CHECK_FALSE(bench.completion());
    CHECK(bench.counters().stale_events == 1);
}

TEST_CASE("synthetic bytes take room and are counted, not written", "[rq]") {
    RqBench bench(kCyclic);
    const std::uint64_t buffer = bench.post_buffer(2048);
    REQUIRE(bench.deliver(60, 1000).verdict == ReceiveVerdict::delivered);
    const auto cqe = bench.completion();
    REQUIRE(cqe);
    CHECK(prm::ConstView<prm::cqe64>(cqe->bytes).get<prm::cqe64::byte_cnt>() == 1060);
    CHECK(bench.memory(buffer + 60, 8) == std::vector<std::byte>(8));
}

}  // namespace
}  // namespace cxsim::test
