// SPDX-License-Identifier: Apache-2.0
// Requester and responder against each other: eight flows between four pairs of QPs, all operations
// mixed, packets lost, doubled and out of order in both directions. Every byte lands where it
// should, every request completes once and in order, and no flow gets stuck.
#include "roce/responder/responder.h"
#include "tests/unit/roce/requester_fixture.h"

#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

using namespace cxsim;
using cxsim::test::Request;
using cxsim::test::RequesterBench;
using model::WqeOpcode;
using model::microseconds;

namespace {

constexpr std::uint32_t kFlows = 8;
constexpr std::uint32_t kMessages = 300;
constexpr std::uint32_t kFirstQp = 10;
// Places in host memory, which both ends share.
constexpr std::uint32_t kSourceBytes = 0x4'0000;
constexpr std::uint64_t kCounters = 0x5'0000;
constexpr std::uint64_t kOriginals = 0x5'1000;
constexpr std::uint64_t kWritten = 0x6'0000;
constexpr std::uint32_t kWrittenBytes = 0x4000;
constexpr std::uint64_t kRead = 0xa'0000;
constexpr std::uint32_t kReadBytes = 0x800;
constexpr std::uint32_t kSlots = 16;  // READs and atomics of one flow under way
constexpr std::uint64_t kBuffers = 0xe'8000;
constexpr std::uint32_t kBufferBytes = 0x800;
constexpr std::uint16_t kBufferCount = 32;

struct Posted {
    Request request;
    std::uint64_t source = 0;  ///< of READ: where the answer comes from
    std::uint64_t original = 0;
};

struct Flow {
    roce::Connection* connection = nullptr;
    std::deque<Posted> under_way;
    std::deque<Posted> to_receive;
    std::uint32_t posted = 0;
    std::uint32_t done = 0;
    std::uint64_t additions = 0;
    std::uint32_t answers = 0;
    std::vector<std::byte> expected = std::vector<std::byte>(kWrittenBytes);
    std::uint16_t next_index = 0;
};

class Pairs : public RequesterBench {
  public:
    explicit Pairs(unsigned seed) : random_(seed) {
        timing.request_window = 12;
        timing.psn_window = 32;
        timing.acknowledge_coalesce = 1 + seed % 4;
        timing.adaptive_timers = seed % 2 == 1;
        queues.regions[0x1234] = {.bytes = test::FlatHostBus::kBytes, .pd = 0};
        for (std::uint32_t i = 0; i < kSourceBytes; ++i) {
            host.memory[i] = static_cast<std::byte>((i * 7 + i / 251) & 0xff);
        }
        for (std::uint16_t i = 0; i < kBufferCount; ++i) post_buffer(i);
        output.keep = false;
        output.on_packet = [this](const test::RecordingOutput::Record& record) { carry(record); };
        for (std::uint32_t f = 0; f < kFlows; ++f) {
            flows_[f].connection = &open(
                kFirstQp + f, psn_of(f), roce::WireService::rc, [f](roce::QpAttributes& a) {
                    a.remote_qp = kFirstQp + (f ^ 1);
                    a.receive_psn = psn_of(f ^ 1);
                    a.mtu = 256;
                    a.ack_timeout = 8;
                    a.min_rnr_nak = 1;
                    a.shared_receive = true;
                });
            responder_.start(*flows_[f].connection);
        }
    }
    ~Pairs() {
        for (const auto& [number, connection] : connections.connections) {
            responder_.stop(*connection);
        }
    }
    void run() {
        for (unsigned round = 0; round < 200'000 && !finished(); ++round) {
            for (std::uint32_t f = 0; f < kFlows; ++f) fill(f);
            run_for(microseconds(5));
            check_received();
            check_done();
            REQUIRE(queues.send_failures.empty());
        }
        REQUIRE(finished());
        for (std::uint32_t f = 0; f < kFlows; ++f) {
            CHECK(std::ranges::equal(host.bytes(kWritten + f * kWrittenBytes, kWrittenBytes),
                                     flows_[f].expected));
            CHECK(flows_[f].to_receive.empty());
        }
    }
    std::uint64_t lost = 0;

  private:
    static std::uint32_t psn_of(std::uint32_t flow) { return (0xff'ff00 + 77 * flow) & 0xff'ffff; }
    std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

    void post_buffer(std::uint16_t index) {
        queues.post_receive(index, kBuffers + index * kBufferBytes, kBufferBytes, 1);
    }
    bool finished() const {
        return std::ranges::all_of(flows_, [](const Flow& f) { return f.done == kMessages; });
    }

    // ---- The wire ----

    void carry(const test::RecordingOutput::Record& record) {
        REQUIRE(record.parsed == roce::Parsed::packet);
        if (pick(50) == 0) {
            ++lost;
            return;
        }
        const unsigned copies = pick(60) == 0 ? 2 : 1;
        for (unsigned i = 0; i < copies; ++i) {
            const auto delay = pick(25) == 0 ? microseconds(1 + pick(6)) : microseconds(1);
            std::size_t place = 0;
            while (place < on_wire_.size() && on_wire_[place] != nullptr) ++place;
            if (place == on_wire_.size()) on_wire_.emplace_back();
            on_wire_[place] = frames.copy(*record.frame);
            calendar.schedule<&Pairs::arrive>(record.ready + delay, this, {place, 0, 0});
        }
    }
    void arrive(const model::EventArguments& arguments) {
        const model::FramePtr frame = std::move(on_wire_[arguments.a]);
        roce::ReceivedPacket packet;
        REQUIRE(roce::parse(*frame, packet) == roce::Parsed::packet);
        roce::Connection& to = *connections.connections.at(packet.headers.destination_qp);
        const model::Picoseconds at = calendar.now() + timing.receive;
        if (packet.headers.traits().request) {
            responder_.request(to, at, packet);
        } else {
            requester.response(to, at, packet);
        }
    }

    // ---- The programs ----

    void fill(std::uint32_t f) {
        Flow& flow = flows_[f];
        while (flow.posted < kMessages && !flow.connection->requester.full) {
            Posted next = make(f);
            next_index = flow.next_index++;
            post(*flow.connection, next.request);
            flow.under_way.push_back(next);
            ++flow.posted;
        }
    }
    Posted make(std::uint32_t f) {
        Flow& flow = flows_[f];
        Posted p;
        const std::uint32_t bytes = pick(5) == 0 ? pick(8) : pick(kReadBytes);
        p.request.bytes = bytes;
        p.request.host = pick(kSourceBytes - kReadBytes);
        p.request.fence = pick(8) == 0 ? model::FenceMode::fence : model::FenceMode::none;
        switch (pick(4)) {
            case 0:
                p.request.opcode = WqeOpcode::send;
                flow.to_receive.push_back(p);
                break;
            case 1: {
                p.request.opcode = WqeOpcode::rdma_write;
                const std::uint32_t at = pick(kWrittenBytes - kReadBytes);
                p.request.remote = kWritten + f * kWrittenBytes + at;
                std::ranges::copy(host.bytes(p.request.host, bytes), flow.expected.begin() + at);
                break;
            }
            case 2:
                p.request.opcode = WqeOpcode::rdma_read;
                p.source = p.request.remote = p.request.host;
                p.request.host = kRead + (f * kSlots + flow.answers++ % kSlots) * kReadBytes;
                break;
            default:
                p.request.opcode = WqeOpcode::atomic_fetch_add;
                p.request.bytes = 8;
                p.request.remote = kCounters + f * 8;
                p.request.host = kOriginals + (f * kSlots + flow.answers++ % kSlots) * 8;
                p.request.swap_add = 1;
                p.original = flow.additions++;
                break;
        }
        return p;
    }
    void check_received() {
        for (const auto& received : queues.received) {
            // A SEND of the other end of the pair.
            Flow& flow = flows_[(received.qp - kFirstQp) ^ 1];
            REQUIRE_FALSE(flow.to_receive.empty());
            const Request& sent = flow.to_receive.front().request;
            REQUIRE(std::ranges::equal(
                host.bytes(sent.host, sent.bytes),
                host.bytes(kBuffers + received.wqe_index * kBufferBytes, sent.bytes)));
            flow.to_receive.pop_front();
            post_buffer(received.wqe_index);
        }
        queues.received.clear();
    }
    void check_done() {
        for (const auto& sent : queues.sent) {
            Flow& flow = flows_[sent.qp - kFirstQp];
            REQUIRE(sent.done.wqe_index == static_cast<std::uint16_t>(flow.done));
            ++flow.done;
            const Posted& p = flow.under_way.front();
            if (p.request.opcode == WqeOpcode::rdma_read) {
                REQUIRE(std::ranges::equal(host.bytes(p.source, p.request.bytes),
                                           host.bytes(p.request.host, p.request.bytes)));
            }
            if (p.request.opcode == WqeOpcode::atomic_fetch_add) {
                std::uint64_t original = 0;
                std::memcpy(&original, host.bytes(p.request.host, 8).data(), 8);
                REQUIRE(original == p.original);
            }
            flow.under_way.pop_front();
        }
        queues.sent.clear();
    }

    std::mt19937 random_;
    roce::Responder responder_{environment, connections};
    std::array<Flow, kFlows> flows_;
    std::vector<model::FramePtr> on_wire_;
};

}  // namespace

TEST_CASE("pairs of QPs lose no byte and no completion on a bad wire", "[requester][soak]") {
    const unsigned seed = GENERATE(range(1U, 7U));
    CAPTURE(seed);
    Pairs pairs(seed);
    pairs.run();
    CHECK(pairs.lost > 50);
    CHECK(pairs.counters.retransmitted > 50);
    CHECK(pairs.queues.counter("packet_seq_err") > 5);
    CHECK(pairs.queues.counter("implied_nak_seq_err") > 5);
}
