// SPDX-License-Identifier: Apache-2.0
// A small go-back-N peer, packets lost, doubled and out of order in both directions, all operations
// mixed: every message takes effect once and in order.
#include "model/prm/view.h"
#include "prm/layouts.h"
#include "tests/unit/roce/responder_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <optional>
#include <random>
#include <utility>

using namespace cxsim;
using cxsim::test::ResponderBench;
using prm::cqe64;
using Op = roce::Operation;

namespace {

constexpr std::uint32_t kMtu = 256;
constexpr std::uint32_t kReadArea = 0;  // nobody writes there
constexpr std::uint32_t kWriteArea = 0x4000;
constexpr std::uint32_t kAtomicArea = 0xc000;
constexpr std::uint32_t kBuffers = 16;
constexpr std::uint32_t kBufferBytes = 1024;
constexpr std::uint32_t kWindow = 24;

enum class Kind { send, write, write_immediate, read, add, swap };

struct Message {
    Kind kind{};
    std::uint32_t first = 0;  ///< PSN counted from the start, without wrap
    std::uint32_t packets = 1;
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
    std::span<const std::byte> data;

    bool answered() const { return kind == Kind::read || kind == Kind::add || kind == Kind::swap; }
};

class Peer {
  public:
    explicit Peer(unsigned seed) : random_(seed) {
        bench_.connection.attributes.responder_resources = 32;
        bench_.responder.start(bench_.connection);
        bench_.timing.acknowledge_coalesce = 1 + seed % 4;
        bench_.host.pattern(ResponderBench::kRegionHost, kWriteArea, seed);
        for (int i = 0; i < 600; ++i) add();
    }

    void run() {
        for (unsigned round = 0; una_ < end_ && round < 100'000; ++round) {
            const std::uint32_t before = una_;
            transmit();
            bench_.run_for(model::microseconds(20));
            check_receives();
            answers();
            if (una_ == before) next_ = una_;  // timeout
        }
        check();
    }

  private:
    std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    bool one_in(std::uint32_t n) { return pick(n) == 0; }

    void add() {
        Message m;
        m.kind = static_cast<Kind>(pick(6));
        m.first = end_;
        const bool atomic = m.kind == Kind::add || m.kind == Kind::swap;
        m.bytes = atomic ? 8 : pick(4) == 0 ? pick(8) : pick(900);
        m.packets = atomic ? 1 : std::max(1U, (m.bytes + kMtu - 1) / kMtu);
        m.operand = m.kind == Kind::add ? pick(100) : pick(4);
        m.compare = pick(4);
        if (m.kind == Kind::read) m.offset = kReadArea + pick(kWriteArea - 900);
        if (m.kind == Kind::write || m.kind == Kind::write_immediate) {
            m.offset = kWriteArea + pick(0x4000);
        }
        // Words that are added to and words that are exchanged.
        if (atomic) m.offset = kAtomicArea + (m.kind == Kind::add ? 0 : 64) + pick(4) * 8;
        m.data = bench_.data(m.bytes, pick(251));
        end_ += m.packets;
        messages_.push_back(m);
    }

    const Message& at(std::uint32_t psn) const {
        const auto after =
            std::ranges::upper_bound(messages_, psn, {}, [](const Message& m) { return m.first; });
        return *(after - 1);
    }
    std::uint32_t wire_psn(std::uint32_t psn) const { return roce::psn_add(kFirst, psn); }

    void transmit() {
        const std::uint32_t limit = std::min(end_, una_ + kWindow);
        while (next_ < limit) {
            const Message& m = at(next_);
            const std::uint32_t index = next_ - m.first;
            if (!one_in(12)) send(m, index);
            if (one_in(30)) send(m, index);
            next_ = m.kind == Kind::read ? m.first + m.packets : next_ + 1;
            if (one_in(10)) bench_.run_for(model::nanoseconds(pick(800)));
        }
        if (held_) deliver(*std::exchange(held_, std::nullopt));
    }

    struct Packet {
        roce::TransportHeaders headers;
        std::span<const std::byte> payload;
    };

    void send(const Message& m, std::uint32_t index) {
        Packet packet{headers_of(m, index), {}};
        if (!m.answered()) {
            packet.payload = m.data.subspan(index * kMtu, std::min(kMtu, m.bytes - index * kMtu));
        }
        packet.headers.psn = wire_psn(m.first + index);
        // Now and then a packet is overtaken by the next one.
        if (!held_ && one_in(40)) {
            held_ = packet;
            return;
        }
        deliver(packet);
        if (held_) deliver(*std::exchange(held_, std::nullopt));
    }
    void deliver(const Packet& packet) { bench_.arrive(packet.headers, packet.payload); }

    roce::TransportHeaders headers_of(const Message& m, std::uint32_t index) {
        const bool first = index == 0;
        const bool last = index + 1 == m.packets;
        const auto choose = [&](Op only, Op begin, Op middle, Op end) {
            return first ? (last ? only : begin) : (last ? end : middle);
        };
        switch (m.kind) {
            case Kind::send:
                return bench_.headers(
                    choose(Op::send_only, Op::send_first, Op::send_middle, Op::send_last), last);
            case Kind::write:
                return bench_.remote(
                    choose(Op::write_only, Op::write_first, Op::write_middle, Op::write_last),
                    m.offset, m.bytes, last);
            case Kind::write_immediate: {
                auto h = bench_.remote(choose(Op::write_only_immediate, Op::write_first,
                                              Op::write_middle, Op::write_last_immediate),
                                       m.offset, m.bytes, last);
                h.immediate = m.first;
                return h;
            }
            case Kind::read:
                return bench_.remote(Op::read_request, m.offset + index * kMtu,
                                     m.bytes - index * kMtu);
            default:
                return bench_.atomic(m.kind == Kind::add ? Op::fetch_add : Op::compare_swap,
                                     m.offset, m.operand, m.compare);
        }
    }

    // Everything before `psn` has been answered, unless a READ or atomic among it has not.
    bool acknowledged_before(std::uint32_t psn) {
        while (una_ < psn) {
            const Message& m = at(una_);
            if (m.answered()) {
                next_ = una_;  // implied NAK
                return false;
            }
            una_ = std::min(psn, m.first + m.packets);
        }
        return true;
    }

    void answers() {
        auto packets = std::move(bench_.output.packets);
        bench_.output.packets.clear();
        for (const auto& one : packets) {
            REQUIRE(one.parsed == roce::Parsed::packet);
            if (!one_in(15)) answer(one);
        }
    }

    void answer(const test::RecordingOutput::Record& one) {
        const roce::TransportHeaders& h = one.headers();
        const std::int32_t ahead = roce::psn_distance(h.psn, wire_psn(una_));
        if (h.operation() == Op::acknowledge) {
            if (roce::aeth_kind(h.syndrome) == roce::AethKind::ack) {
                if (ahead >= 0) acknowledged_before(una_ + static_cast<std::uint32_t>(ahead) + 1);
                return;
            }
            REQUIRE(h.syndrome != roce::aeth_syndrome(roce::AethKind::nak, 1));
            if (roce::aeth_kind(h.syndrome) == roce::AethKind::rnr_nak) post();
            if (ahead < 0) return;
            if (acknowledged_before(una_ + static_cast<std::uint32_t>(ahead))) next_ = una_;
            return;
        }
        if (ahead < 0) return;
        const std::uint32_t psn = una_ + static_cast<std::uint32_t>(ahead);
        if (!acknowledged_before(psn)) return;
        const Message& m = at(psn);
        REQUIRE(m.answered());
        if (m.kind == Kind::read) {
            const std::uint32_t offset = (psn - m.first) * kMtu;
            REQUIRE(one.packet.payload_bytes == std::min(kMtu, m.bytes - offset));
            REQUIRE(bench_.host_holds(ResponderBench::kRegionHost + m.offset + offset,
                                      one.packet.payload));
        } else {
            REQUIRE(h.operation() == Op::atomic_acknowledge);
            originals_.push_back(h.original);
        }
        una_ = psn + 1;
    }

    void post() {
        while (posted_ < checked_ + kBuffers) {
            bench_.queues.post_receive(static_cast<std::uint16_t>(posted_), buffer(posted_),
                                       kBufferBytes);
            ++posted_;
            if (one_in(4)) return;
        }
    }
    static std::uint64_t buffer(std::uint32_t index) {
        return ResponderBench::kBuffer + index % kBuffers * kBufferBytes;
    }

    // Receives are completed in the order of the messages that take one.
    void check_receives() {
        for (const auto& one : bench_.queues.received) {
            while (messages_[receiving_].kind != Kind::send &&
                   messages_[receiving_].kind != Kind::write_immediate) {
                ++receiving_;
            }
            const Message& m = messages_[receiving_++];
            const prm::ConstView<cqe64> cqe(one.cqe);
            REQUIRE(one.wqe_index == checked_);
            REQUIRE(cqe.get<cqe64::byte_cnt>() == m.bytes);
            if (m.kind == Kind::send) {
                REQUIRE(cqe.get<cqe64::opcode>() == 2);
                REQUIRE(bench_.host_holds(buffer(checked_), m.data));
            } else {
                REQUIRE(cqe.get<cqe64::opcode>() == 1);
                REQUIRE(cqe.get<cqe64::immediate>() == m.first);
            }
            ++checked_;
        }
        bench_.queues.received.clear();
        if (one_in(3)) post();
    }

    void check() {
        CHECK(una_ == end_);
        CHECK(bench_.queues.events.empty());
        CHECK(bench_.queues.receive_failures.empty());
        CHECK(bench_.responder.expected_psn(bench_.connection) == wire_psn(end_));
        CHECK(bench_.responder.message_number(bench_.connection) == messages_.size());
        CHECK(bench_.queues.counter("duplicate_request") > 50);
        CHECK(bench_.queues.counter("out_of_sequence") > 20);
        std::vector<std::byte> memory(0x4000 + 1024);
        std::map<std::uint32_t, std::uint64_t> words;
        std::size_t atomics = 0;
        std::size_t receives = 0;
        for (const Message& m : messages_) {
            if (m.kind == Kind::write || m.kind == Kind::write_immediate) {
                std::ranges::copy(m.data, memory.begin() + (m.offset - kWriteArea));
            }
            receives += m.kind == Kind::send || m.kind == Kind::write_immediate ? 1 : 0;
            if (m.kind != Kind::add && m.kind != Kind::swap) continue;
            std::uint64_t& word = words[m.offset];
            REQUIRE(originals_.at(atomics++) == word);
            if (m.kind == Kind::add) word += m.operand;
            if (m.kind == Kind::swap && word == m.compare) word = m.operand;
        }
        CHECK(bench_.host_holds(ResponderBench::kRegionHost + kWriteArea, memory));
        CHECK(originals_.size() == atomics);
        CHECK(checked_ == receives);
        for (const auto& [offset, word] : words) {
            CHECK(model::load_le<std::uint64_t>(
                      bench_.host.bytes(ResponderBench::kRegionHost + offset, 8).data()) == word);
        }
    }

    static constexpr std::uint32_t kFirst = 0xff'ff00;

    std::mt19937 random_;
    ResponderBench bench_{roce::WireService::rc, kFirst};
    std::vector<Message> messages_;
    std::vector<std::uint64_t> originals_;
    std::optional<Packet> held_;
    std::uint32_t una_ = 0;
    std::uint32_t next_ = 0;
    std::uint32_t end_ = 0;
    std::uint32_t posted_ = 0;
    std::uint32_t checked_ = 0;
    std::size_t receiving_ = 0;
};

}  // namespace

TEST_CASE("through loss, doubling and reorder each message takes effect once and in order",
          "[responder]") {
    const unsigned seed = GENERATE(Catch::Generators::range(1U, 13U));
    Peer peer(seed);
    peer.run();
}
