// SPDX-License-Identifier: Apache-2.0
// The packet pipelines of a function over the queues' bench, with a port that keeps what it gets.
#pragma once

#include "eth/nic/receiver.h"
#include "eth/nic/transmitter.h"
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
        FlowTable& table = *resources.flow_tables.create();
        table.table_type = 0;
        steering.table_created(table);
        FlowGroup& group = *resources.flow_groups.create();
        group.table = table.id.number;
        group.match_criteria.resize(prm::fte_match_param::kBytes);
        table.groups[0] = group.id.number;
        steering.group_created(group);
        std::vector<std::byte> context(prm::flow_context::kBytes + 8);
        const prm::View<prm::flow_context> view(context);
        view.set<prm::flow_context::action>(4U);  // forward
        view.set<prm::flow_context::flow_tag>(0x1234U);
        view.set<prm::flow_context::destination_list_size>(1U);
        const prm::View<prm::dest_format_struct> destination(
            std::span<std::byte>(context).subspan(prm::flow_context::kBytes));
        destination.set<prm::dest_format_struct::destination_type>(2U);  // TIR
        destination.set<prm::dest_format_struct::destination_id>(tir->id.number);
        group.entries[0] = {context, {}};
        steering.entry_set(group, 0);
        steering.set_root(FlowTableType::nic_rx, table.id.number);
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
