// SPDX-License-Identifier: Apache-2.0
// The packet pipelines of a function over the queues' bench, with a port that keeps what it gets.
#pragma once

#include "eth/nic/receiver.h"
#include "eth/nic/transmitter.h"
#include "tests/support/steering_bench.h"
#include "tests/unit/queues/queue_bench.h"

#include <utility>
#include <vector>

namespace cxsim::test {

class FakePort : public WirePort {
  public:
    struct Sent {
        Picoseconds ready;
        FramePtr frame;
    };
    void transmit(Picoseconds ready, FramePtr frame) override {
        sent.push_back({ready, std::move(frame)});
    }
    Picoseconds room_at(Picoseconds at, unsigned) override { return std::max(at, room); }
    bool link_up() const override { return true; }

    Picoseconds room;
    std::vector<Sent> sent;
};

struct NicBench : QueueBench {
    explicit NicBench(const eth::PipelineOptions& wanted = {.multi_packet = true})
        : options(wanted), completions(create_cq(8, 99)) {
        engines.set_packet_sink(&transmitter);
        tis = resources.tises.create();
        tis->view().set<prm::tisc::prio>(3U << 1);
        sq = &create_sq(completions.cq->id.number, 8);
        sq->view().set<prm::sqc::tis_num_0>(tis->id.number);
        driver = driver_of(sq->id.number, sq->wq);
    }
    ~NicBench() { engines.set_packet_sink(nullptr); }

    /// An Ethernet segment with `inlined` headers; `setup(view)` sets flags.
    template <class Setup>
    static std::vector<std::byte> ethernet_segment(std::span<const std::byte> inlined,
                                                   Setup&& setup) {
        const std::size_t rest = inlined.size() > 2 ? inlined.size() - 2 : 0;
        std::vector<std::byte> bytes(16 + (rest + 15) / 16 * 16);
        const prm::View<prm::wqe_eth_seg> view(bytes);
        if (!inlined.empty()) {
            view.set<prm::wqe_eth_seg::inline_hdr, prm::wqe_eth_seg_inline_hdr::sz>(
                static_cast<std::uint32_t>(inlined.size()));
            std::ranges::copy(inlined, bytes.begin() + 14);
        }
        setup(view);
        return bytes;
    }
    /// Puts `payload` into host memory; the WQE's pointer to it.
    std::vector<std::byte> buffer(std::span<const std::byte> payload) {
        const std::uint64_t address = allocate(payload.size());
        host.poke(address, payload);
        return data_segment(static_cast<std::uint32_t>(payload.size()), pa_key, address);
    }
    void send(std::uint8_t opcode, const std::vector<std::byte>& segments) {
        ring(driver, post(driver, opcode, 0, segments));
        run();
    }
    std::vector<std::byte> sent(std::size_t index) const {
        const auto bytes = std::as_const(*port.sent.at(index).frame).bytes();
        return {bytes.begin(), bytes.end()};
    }

    /// One RQ of `buffers` buffers behind a direct TIR that all received packets go to.
    void open_receive(unsigned buffers = 8) {
        rq = resources.rqs.create();
        rq->cqn = completions.cq->id.number;
        rq->view().set<prm::rqc::vsd>(1U);
        rq->view().set<prm::rqc::wq, prm::wq::wq_type>(1U);
        rq->view().set<prm::rqc::wq, prm::wq::pd>(kPd);
        fill_wq(rq->wq, 4, 5);
        for (unsigned i = 0; i < buffers; ++i) {
            buffers_.push_back(allocate(4096));
            host.poke(rq->wq.ring.address(i * 32).value,
                      data_segment(4096, pa_key, buffers_.back()) + data_segment(0, 0x100, 0));
        }
        host.store_be<std::uint32_t>(rq->wq.doorbell_record.value, buffers);
        rq->state = QueueState::ready;
        engines.started(*rq);
        tir = resources.tirs.create();
        tir->view().set<prm::tirc::inline_rqn>(rq->id.number);
        RuleSpec rule;
        rule.action = model::flow_action::kForward;
        rule.flow_tag = 0x1234;
        rule.destinations = {{model::DestinationType::tir, tir->id.number}};
        set_root(FlowTableType::nic_rx, table(FlowTableType::nic_rx, rule));
    }
    /// A table whose one rule takes every packet.
    std::uint32_t table(FlowTableType type, const RuleSpec& rule) {
        FlowTable& made = *resources.flow_tables.create();
        made.table_type = static_cast<std::uint8_t>(type);
        steering.table_created(made);
        FlowGroup& group = *resources.flow_groups.create();
        group.table = made.id.number;
        group.match_criteria.resize(prm::fte_match_param::kBytes);
        made.groups[0] = group.id.number;
        steering.group_created(group);
        group.entries[0] = {rule.context(), {}};
        steering.entry_set(group, 0);
        return made.id.number;
    }
    void set_root(FlowTableType type, std::uint32_t number) { steering.set_root(type, number); }
    /// A header rewrite of one action: set `field` to `data`.
    std::uint32_t rewrite_of(FlowTableType type, std::uint32_t field, std::uint32_t length,
                             std::uint32_t data) {
        ModifyHeader& made = *resources.modify_headers.create();
        made.table_type = static_cast<std::uint8_t>(type);
        made.actions.resize(prm::set_action_in::kBytes);
        const prm::View<prm::set_action_in> action(made.actions);
        action.set<prm::set_action_in::action_type>(1U);
        action.set<prm::set_action_in::field>(field);
        action.set<prm::set_action_in::length>(length);
        action.set<prm::set_action_in::data>(data);
        return made.id.number;
    }
    FramePtr frame_of(std::span<const std::byte> bytes) {
        FramePtr frame = frames.make(static_cast<std::uint32_t>(bytes.size()));
        std::ranges::copy(bytes, frame->bytes().begin());
        return frame;
    }
    std::vector<std::byte> received(std::size_t buffer, std::size_t bytes) const {
        std::vector<std::byte> seen(bytes);
        host.peek(buffers_.at(buffer), seen);
        return seen;
    }

    eth::PipelineOptions options;
    FramePool frames;
    FakePort port;
    VportTraffic traffic;
    VportGate gate;
    Steering steering{resources};
    eth::Receiver receiver{{FunctionId{0}, calendar, host, resources, engines, steering, traffic,
                            gate, frames, port, options}};
    eth::Transmitter transmitter{{FunctionId{0}, calendar, host, resources, engines, steering,
                                  traffic, gate, frames, port, options},
                                 receiver};
    CqDriver completions;
    Tis* tis = nullptr;
    Sq* sq = nullptr;
    SqDriver driver;
    Rq* rq = nullptr;
    Tir* tir = nullptr;

  private:
    std::vector<std::uint64_t> buffers_;
};

/// An IPv4 TCP or UDP packet without checksums.
inline std::vector<std::byte> ipv4_packet(std::uint8_t protocol, std::size_t payload,
                                          std::uint8_t destination = 0x02) {
    const std::size_t l4 = protocol == 6 ? 20 : 8;
    std::vector<std::byte> bytes(14 + 20 + l4 + payload);
    auto* at = reinterpret_cast<std::uint8_t*>(bytes.data());
    at[0] = destination;
    at[6] = 0x02;
    at[11] = 1;
    at[12] = 0x08;
    std::uint8_t* ip = at + 14;
    ip[0] = 0x45;
    const std::size_t total = bytes.size() - 14;
    ip[2] = static_cast<std::uint8_t>(total >> 8);
    ip[3] = static_cast<std::uint8_t>(total);
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = protocol;
    ip[12] = ip[16] = 10;
    ip[15] = 1;
    ip[19] = 2;
    std::uint8_t* up = ip + 20;
    up[1] = 7;
    up[3] = 9;
    if (protocol == 6) {
        up[12] = 0x50;
        up[13] = 0x10;
    } else {
        up[4] = static_cast<std::uint8_t>((8 + payload) >> 8);
        up[5] = static_cast<std::uint8_t>(8 + payload);
    }
    for (std::size_t i = 0; i < payload; ++i) up[l4 + i] = static_cast<std::uint8_t>(i * 7 + 1);
    return bytes;
}

}  // namespace cxsim::test
