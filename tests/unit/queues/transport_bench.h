// SPDX-License-Identifier: Apache-2.0
// QPs over a transport that a test plays: what is posted is on record, the test reports its end.
#pragma once

#include "model/queues/transport_port.h"
#include "tests/unit/queues/queue_bench.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cxsim::test {

inline constexpr std::uint32_t kRc = 0;
inline constexpr std::uint32_t kUc = 1;
inline constexpr std::uint32_t kUd = 2;
inline constexpr std::uint32_t kXrc = 3;
inline constexpr std::uint32_t kQp1 = 8;

class FakeTransport : public Transport {
  public:
    struct Post {
        Picoseconds at;
        std::uint32_t qpn = 0;
        WqeControl control;
        FenceMode fence = FenceMode::none;
        bool local = false;
        Picoseconds local_finish;
        std::uint64_t remote_address = 0;
        std::uint32_t remote_key = 0;
        std::uint64_t swap_add = 0;
        std::uint64_t compare = 0;
        std::uint64_t swap_add_mask = 0;
        std::uint64_t compare_mask = 0;
        std::uint32_t atomic_bytes = 0;
        std::vector<std::byte> address_vector;
        std::vector<std::byte> wqe;
        std::vector<PayloadPiece> payload;
        std::uint64_t payload_bytes = 0;
    };
    struct Change {
        std::uint32_t qpn = 0;
        QpState from = QpState::reset;
        QpState to = QpState::reset;
    };

    Picoseconds post(Picoseconds at, const QpSend& send) override {
        Post seen{at,
                  send.qp.id.number,
                  send.control,
                  send.fence,
                  send.local,
                  send.local_finish,
                  send.remote_address,
                  send.remote_key,
                  send.swap_add,
                  send.compare,
                  send.swap_add_mask,
                  send.compare_mask,
                  send.atomic_bytes,
                  {send.address_vector.begin(), send.address_vector.end()},
                  {send.wqe.begin(), send.wqe.end()},
                  {send.payload.begin(), send.payload.end()},
                  send.payload_bytes};
        posts.push_back(std::move(seen));
        return on_post ? on_post(at, send) : at;
    }
    void state_changed(Qp& qp, QpState old) override {
        changes.push_back({qp.id.number, old, qp.state});
        if (on_change) on_change(qp);
    }
    void destroyed(Qp& qp) override { gone.push_back(qp.id.number); }
    void refresh(Qp& qp) override { qp.view().set<prm::qpc::next_send_psn>(0x123456U); }

    std::vector<Post> posts;
    std::vector<Change> changes;
    std::vector<std::uint32_t> gone;
    std::function<Picoseconds(Picoseconds, const QpSend&)> on_post;
    std::function<void(Qp&)> on_change;
};

struct TransportBench : QueueBench {
    FakeTransport transport;
    EqDriver async = create_eq(6, 0, {0x02, 0x03, 0x04, 0x05, 0x10, 0x11, 0x13, 0x14});
    EqDriver completions = create_eq(6, 1);
    CqDriver send_cq = create_cq(8, completions.eq->id.number);
    CqDriver receive_cq = create_cq(8, completions.eq->id.number);
    QCounter& counter = *resources.q_counters.create();
    QpQueues& queues = engines.qp_queues();

    TransportBench() { engines.set_transport(&transport); }
    ~TransportBench() { engines.set_transport(nullptr); }

    Qp& make_qp(std::uint32_t type = kRc, QpState state = QpState::rts) {
        Qp& qp = create_qp(type, send_cq.cq->id.number, receive_cq.cq->id.number, 4, state);
        qp.view().set<prm::qpc::counter_set_id>(counter.id.number);
        return qp;
    }
    SqDriver driver(const Qp& qp) { return driver_of(qp.id.number, qp.sq); }
    /// Posts a WQE and rings; runs until it was handed over.
    void send(SqDriver& to, std::uint8_t opcode, const std::vector<std::byte>& segments,
              std::uint32_t ce = 2, std::uint32_t immediate = 0) {
        ring(to, post(to, opcode, immediate, segments, ce));
        run(microseconds(2));
    }
    std::vector<std::byte> data(std::uint32_t bytes = 64) {
        return data_segment(bytes, pa_key, 0x5000);
    }
    void report(Qp& qp, const FakeTransport::Post& post, std::uint32_t bytes = 0) {
        queues.send_done(qp, calendar.now(),
                         {post.control.index, post.control.opcode, post.control.signaled,
                          post.control.solicited, bytes});
    }
    std::uint64_t counted(std::string_view name) const {
        const auto place = counter.values.find(name);
        return place == counter.values.end() ? 0 : place->second;
    }
    std::optional<SeenEqe> event() { return poll_eq(async); }
};

inline std::vector<std::byte> remote_segment(std::uint64_t address, std::uint32_t rkey) {
    std::vector<std::byte> segment(16);
    model::store_be<std::uint64_t>(segment.data(), address);
    model::store_be<std::uint32_t>(segment.data() + 8, rkey);
    return segment;
}

inline std::vector<std::byte> words64(std::initializer_list<std::uint64_t> values) {
    std::vector<std::byte> segment(values.size() * 8);
    std::size_t at = 0;
    for (const std::uint64_t value : values) {
        model::store_be<std::uint64_t>(segment.data() + at, value);
        at += 8;
    }
    return segment;
}

inline std::vector<std::byte> words32(std::initializer_list<std::uint32_t> values) {
    std::vector<std::byte> segment(values.size() * 4);
    std::size_t at = 0;
    for (const std::uint32_t value : values) {
        model::store_be<std::uint32_t>(segment.data() + at, value);
        at += 4;
    }
    return segment;
}

}  // namespace cxsim::test
