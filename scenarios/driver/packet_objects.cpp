// SPDX-License-Identifier: Apache-2.0
// What the packet driver asks of the card before packets flow: domains, queues, hashing, rules.
#include "scenarios/driver/packet_driver.h"

#include "model/base/copy_bytes.h"
#include "model/base/endian.h"
#include "model/prm/register_id.h"
#include "model/queues/wqe.h"
#include "pcie/config_space/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

namespace cxsim::scenarios {

using model::HostAddress;
using prm::Opcode;
using prm::View;

namespace {

constexpr std::uint64_t kBlock = 64;
constexpr std::uint64_t kReceiveBufferBytes = 2048;
constexpr std::uint32_t kReady = 1;  // state of SQ and RQ
constexpr std::uint32_t kRecordBytes = 64;
constexpr std::uint32_t kInlineHeaderBytes = 18;  // what mlx5e inlines where it must
constexpr std::uint32_t kHeaderBytes = 14 + 20 + 8;
constexpr std::uint8_t kPciExpressCapability = 0x10;
constexpr std::uint32_t kPageLog = 12;
constexpr unsigned kFlows = 61;  // of a queue; no divisor of anything else
constexpr unsigned kFirstPort = 1024;
constexpr std::uint32_t kLargestWqe = 63 * 16;  // wqe_ctrl_seg.ds has 6 bits
constexpr std::uint32_t kEthernetMask = 4;  // ptys_reg.proto_mask
constexpr auto kNothing = [](auto) {};

// rx_hash_field_select: addresses and ports.
constexpr std::uint32_t kHashAll = 0xf;
constexpr std::uint32_t kToeplitz = 2;
constexpr std::uint32_t kIndirect = 1;

unsigned log2_of(std::uint64_t value) {
    return static_cast<unsigned>(std::bit_width(value)) - 1;
}

}  // namespace

PacketDriver::PacketDriver(Driver& driver, const PacketOptions& options)
    : driver_(driver), options_(options) {
    if (!std::has_single_bit(options.queues) || options.queues > 64 ||
        options.frame_bytes < kHeaderBytes || options.frame_bytes > kReceiveBufferBytes ||
        options.frames_per_wqe == 0 || wqe_bytes() > kLargestWqe || options.signal_every == 0 ||
        !std::has_single_bit(blocks_per_wqe())) {
        throw DriverError("options of the packet driver that no queue can have");
    }
}

std::uint32_t PacketDriver::wqe_bytes() const {
    constexpr std::uint32_t kHead = prm::wqe_ctrl_seg::kBytes + prm::wqe_eth_seg::kBytes;
    if (options_.frames_per_wqe == 1) {
        const std::uint32_t rest = options_.frame_bytes - kInlineHeaderBytes;
        return kHead + 16 +
               (options_.inline_frames ? (prm::wqe_inline_seg::kBytes + rest + 15) / 16 * 16
                                       : prm::wqe_data_seg::kBytes);
    }
    const std::uint32_t one =
        options_.inline_frames
            ? (prm::wqe_inline_seg::kBytes + options_.frame_bytes + 15) / 16 * 16
            : prm::wqe_data_seg::kBytes;
    return kHead + options_.frames_per_wqe * one;
}

// The constructor wants a power of two, so that no WQE wraps.
unsigned PacketDriver::blocks_per_wqe() const {
    return static_cast<unsigned>((wqe_bytes() + kBlock - 1) / kBlock);
}

void PacketDriver::open() {
    driver_.host().enable();
    set_max_payload();
    driver_.start();
    driver_.open_events();
    domains();
    for (unsigned i = 0; i < options_.queues; ++i) {
        receive_.push_back(receive_queue());
        send_.push_back(send_queue(i));
    }
    indirection();
    forward_all_to(driver_, undo_, tirn_);
}

void PacketDriver::close() {
    undo_.run(driver_);
    send_.clear();
    receive_.clear();
    driver_.close_events();
    driver_.stop();
}

// Memory for the driver's and the card's use, in one piece.
std::pair<HostAddress, std::span<std::byte>> PacketDriver::memory(std::uint64_t bytes) {
    const std::uint64_t whole = std::bit_ceil(std::max<std::uint64_t>(bytes, 1U << kPageLog));
    const HostAddress address = driver_.pages().allocate_buffer(whole, whole);
    return {address, driver_.host().memory().window(address, whole)};
}

// What a kernel's PCI core does where the root port allows it.
void PacketDriver::set_max_payload() {
    Host& host = driver_.host();
    const std::uint16_t express = host.find_capability(kPciExpressCapability);
    const auto at = static_cast<std::uint16_t>(express + pcie::reg::kDevCtl);
    const std::uint32_t code = log2_of(options_.max_payload) - 7;
    host.config_write(at, (host.config_read(at, 2) & ~0xe0U) | code << 5, 2);
}

void PacketDriver::access_register(prm::RegisterId id, bool read, std::span<std::byte> data) {
    using In = prm::access_register_in;
    using Out = prm::access_register_out;
    const auto out = driver_.run<In, Out>(
        Opcode::ACCESS_REG,
        [&](View<In> in) {
            in.set<In::register_id>(id);
            std::ranges::copy(data, in.bytes().subspan(In::kBytes).begin());
        },
        {data.size(), data.size()}, read ? 1 : 0);
    std::ranges::copy(out.bytes().subspan(Out::kBytes, data.size()), data.begin());
}

std::uint32_t PacketDriver::speeds() {
    prm::Buffer<prm::ptys_reg> speed;
    speed.view().set<prm::ptys_reg::local_port>(1U);
    speed.view().set<prm::ptys_reg::proto_mask>(kEthernetMask);
    access_register(prm::RegisterId::PTYS, true, speed.bytes());
    return speed.view().get<prm::ptys_reg::ext_eth_proto_capability>();
}

bool PacketDriver::extended_speeds() {
    return speeds() != 0;
}

void PacketDriver::set_speed(model::LinkMode mode) {
    prm::Buffer<prm::paos_reg> port;
    const auto switch_port = [&](std::uint32_t state) {
        std::ranges::fill(port.bytes(), std::byte{0});
        port.view().set<prm::paos_reg::local_port>(1U);
        port.view().set<prm::paos_reg::admin_status>(state);
        port.view().set<prm::paos_reg::ase>(1U);
        access_register(prm::RegisterId::PAOS, false, port.bytes());
    };
    if ((speeds() & model::mask_of(mode)) == 0) {
        throw DriverError(fmt::format("the port does not have speed {}",
                                      static_cast<unsigned>(mode)));
    }
    prm::Buffer<prm::ptys_reg> speed;
    const auto view = speed.view();
    view.set<prm::ptys_reg::local_port>(1U);
    view.set<prm::ptys_reg::proto_mask>(kEthernetMask);
    view.set<prm::ptys_reg::ext_eth_proto_admin>(model::mask_of(mode));
    switch_port(2);
    access_register(prm::RegisterId::PTYS, false, speed.bytes());
    switch_port(1);
}

bool PacketDriver::wait_for_link(model::Picoseconds limit) {
    const model::Picoseconds end = driver_.host().now() + limit;
    using Out = prm::query_vport_state_out;
    while (true) {
        const auto out =
            driver_.run<prm::query_vport_state_in, Out>(Opcode::QUERY_VPORT_STATE, kNothing);
        if (out.view().get<Out::state>() == 1) return true;
        if (driver_.host().now() >= end) return false;
        driver_.host().wait_for(model::milliseconds(10));
    }
}

void PacketDriver::domains() {
    using Vport = prm::query_nic_vport_context_out;
    const auto vport = driver_.run<prm::query_nic_vport_context_in, Vport>(
        Opcode::QUERY_NIC_VPORT_CONTEXT, kNothing);
    min_inline_ = vport.view()
                      .get<Vport::nic_vport_context, prm::nic_vport_context::min_wqe_inline_mode>();
    using Pd = prm::alloc_pd_out;
    pd_ = driver_.run<prm::alloc_pd_in, Pd>(Opcode::ALLOC_PD, kNothing).view().get<Pd::pd>();
    undo_.add<prm::dealloc_pd_in, prm::dealloc_pd_out, prm::dealloc_pd_in::pd>(Opcode::DEALLOC_PD, pd_);
    using Domain = prm::alloc_transport_domain_out;
    domain_ =
        driver_
            .run<prm::alloc_transport_domain_in, Domain>(Opcode::ALLOC_TRANSPORT_DOMAIN, kNothing)
            .view()
            .get<Domain::transport_domain>();
    undo_.add<prm::dealloc_transport_domain_in, prm::dealloc_transport_domain_out,
         prm::dealloc_transport_domain_in::transport_domain>(Opcode::DEALLOC_TRANSPORT_DOMAIN,
                                                             domain_);
    using Key = prm::create_mkey_in;
    constexpr std::uint32_t kVariant = 0x42;
    const auto mkey =
        driver_.run<Key, prm::create_mkey_out>(Opcode::CREATE_MKEY, [&](View<Key> in) {
            const auto mkc = in.nested<Key::memory_key_mkey_entry>();
            mkc.set<prm::mkc::lw>(1U);
            mkc.set<prm::mkc::lr>(1U);
            mkc.set<prm::mkc::pd>(pd_);
            mkc.set<prm::mkc::length64>(1U);
            mkc.set<prm::mkc::qpn>(0xffffffU);
            mkc.set<prm::mkc::mkey_7_0>(kVariant);
        });
    const auto index = mkey.view().get<prm::create_mkey_out::mkey_index>();
    lkey_ = index << 8 | kVariant;
    undo_.add<prm::destroy_mkey_in, prm::destroy_mkey_out, prm::destroy_mkey_in::mkey_index>(
        Opcode::DESTROY_MKEY, index);
    using TisIn = prm::create_tis_in;
    tisn_ =
        driver_
            .run<TisIn, prm::create_tis_out>(
                Opcode::CREATE_TIS,
                [&](View<TisIn> in) { in.set<TisIn::ctx, prm::tisc::transport_domain>(domain_); })
            .view()
            .get<prm::create_tis_out::tisn>();
    undo_.add<prm::destroy_tis_in, prm::destroy_tis_out, prm::destroy_tis_in::tisn>(Opcode::DESTROY_TIS,
                                                                               tisn_);
    // One doorbell record in a cache line each: CQs and work queues of both kinds.
    std::tie(records_, record_bytes_) = memory(std::uint64_t{4} * options_.queues * kRecordBytes);
    records_used_ = 0;
}

PacketDriver::CompletionQueue PacketDriver::completion_queue(unsigned log_size) {
    CompletionQueue cq;
    cq.log_size = log_size;
    const auto [address, ring] = memory(kBlock << log_size);
    const std::uint64_t base = address.value;
    cq.ring = ring;
    for (std::size_t i = kBlock - 1; i < ring.size(); i += kBlock) ring[i] = std::byte{0xf1};
    const std::uint64_t record = records_.value + records_used_;
    cq.record = record_bytes_.subspan(records_used_, kRecordBytes);
    records_used_ += kRecordBytes;
    using In = prm::create_cq_in;
    const auto out = driver_.run<In, prm::create_cq_out>(
        Opcode::CREATE_CQ,
        [&](View<In> in) {
            const auto cqc = in.nested<In::cq_context>();
            cqc.set<prm::cqc::log_cq_size>(log_size);
            cqc.set<prm::cqc::log_page_size>(log2_of(cq.ring.size()) - kPageLog);
            cqc.set<prm::cqc::uar_page>(driver_.uar());
            cqc.set<prm::cqc::c_eqn_or_apu_element>(driver_.completion_queue_events().number());
            cqc.set<prm::cqc::dbr_addr>(record);
            in.set_at<In::pas>(0, base);
        },
        {8, 0});
    cq.number = out.view().get<prm::create_cq_out::cqn>();
    undo_.add<prm::destroy_cq_in, prm::destroy_cq_out, prm::destroy_cq_in::cqn>(Opcode::DESTROY_CQ,
                                                                           cq.number);
    return cq;
}

PacketDriver::SendQueue PacketDriver::send_queue(unsigned index) {
    SendQueue queue;
    // Each WQE may have a completion.
    queue.cq = completion_queue(options_.log_send_blocks);
    const auto [address, ring] = memory(kBlock << options_.log_send_blocks);
    const std::uint64_t base = address.value;
    queue.ring = ring;
    const std::uint64_t record = records_.value + records_used_;
    queue.record = record_bytes_.subspan(records_used_ + 4, 4);  // send counter: second half
    records_used_ += kRecordBytes;
    using In = prm::create_sq_in;
    const auto out = driver_.run<In, prm::create_sq_out>(
        Opcode::CREATE_SQ,
        [&](View<In> in) {
            const auto sqc = in.nested<In::ctx>();
            sqc.set<prm::sqc::cqn>(queue.cq.number);
            sqc.set<prm::sqc::tis_lst_sz>(1U);
            sqc.set<prm::sqc::tis_num_0>(tisn_);
            sqc.set<prm::sqc::flush_in_error_en>(1U);
            sqc.set<prm::sqc::allow_multi_pkt_send_wqe>(options_.frames_per_wqe > 1 ? 1U : 0U);
            sqc.set<prm::sqc::min_wqe_inline_mode>(min_inline_);
            const auto wq = sqc.nested<prm::sqc::wq>();
            wq.set<prm::wq::wq_type>(1U);  // cyclic
            wq.set<prm::wq::pd>(pd_);
            wq.set<prm::wq::uar_page>(driver_.uar());
            wq.set<prm::wq::dbr_addr>(record);
            wq.set<prm::wq::log_wq_stride>(6U);
            wq.set<prm::wq::log_wq_pg_sz>(log2_of(queue.ring.size()) - kPageLog);
            wq.set<prm::wq::log_wq_sz>(options_.log_send_blocks);
            model::store_be<std::uint64_t>(in.bytes().data() + In::kBytes, base);
        },
        {8, 0});
    queue.number = out.view().get<prm::create_sq_out::sqn>();
    undo_.add<prm::destroy_sq_in, prm::destroy_sq_out, prm::destroy_sq_in::sqn>(Opcode::DESTROY_SQ,
                                                                           queue.number);
    using Modify = prm::modify_sq_in;
    driver_.run<Modify, prm::modify_sq_out>(Opcode::MODIFY_SQ, [&](View<Modify> in) {
        in.set<Modify::sqn>(queue.number);
        in.set<Modify::sq_state>(0U);
        in.set<Modify::ctx, prm::sqc::state>(kReady);
    });
    fill_send_ring(queue, index);
    return queue;
}

// Ethernet, IPv4, UDP; the source port tells the flows apart.
void PacketDriver::fill_frame(std::span<std::byte> into, unsigned flow) const {
    const auto put = [&](std::size_t at, std::initializer_list<unsigned> bytes) {
        for (const unsigned byte : bytes) into[at++] = static_cast<std::byte>(byte);
    };
    const auto put16 = [&](std::size_t at, std::size_t value) {
        model::store_be<std::uint16_t>(into.data() + at, static_cast<std::uint16_t>(value));
    };
    for (std::size_t i = kHeaderBytes; i < into.size(); ++i) into[i] = static_cast<std::byte>(i);
    for (std::size_t i = 0; i < 6; ++i) into[i] = static_cast<std::byte>(options_.destination[i]);
    put(6, {0x02, 0, 0, 0, 0, 1, 0x08, 0x00});
    put(14, {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2});
    put16(16, into.size() - 14);
    put16(34, kFirstPort + flow);
    put16(36, 9);
    put16(38, into.size() - 34);
    put16(40, 0);  // UDP without a checksum
}

// Each queue sends kFlows flows in turn, so that hashing fills the receive queues evenly.
void PacketDriver::fill_send_ring(SendQueue& queue, unsigned index) {
    const std::uint64_t frame_room = std::bit_ceil(options_.frame_bytes);
    std::array<HostAddress, kFlows> frames{};
    std::array<std::span<std::byte>, kFlows> contents;
    HostAddress page{};
    std::span<std::byte> room;
    for (unsigned flow = 0; flow < kFlows; ++flow) {
        if (room.size() < frame_room) std::tie(page, room) = memory(1U << kPageLog);
        frames[flow] = page;
        contents[flow] = room.first(options_.frame_bytes);
        fill_frame(contents[flow], index * kFlows + flow);
        page = page + frame_room;
        room = room.subspan(frame_room);
    }
    const bool multi = options_.frames_per_wqe > 1;
    const std::size_t wqe_room = blocks_per_wqe() * kBlock;
    unsigned flow = 0;
    for (std::size_t slot = 0; slot < queue.ring.size(); slot += wqe_room) {
        const auto wqe = queue.ring.subspan(slot, wqe_room);
        const View<prm::wqe_ctrl_seg> control(wqe);
        control.set<prm::wqe_ctrl_seg::opcode>(
            multi ? model::WqeOpcode::enhanced_multi_packet_send : model::WqeOpcode::send);
        control.set<prm::wqe_ctrl_seg::qp_or_sq>(queue.number);
        control.set<prm::wqe_ctrl_seg::ds>(wqe_bytes() / 16);
        const auto segment = wqe.subspan(prm::wqe_ctrl_seg::kBytes);
        const View<prm::wqe_eth_seg> ethernet(segment);
        ethernet.set<prm::wqe_eth_seg::l3_csum>(1U);
        std::size_t at = prm::wqe_ctrl_seg::kBytes + prm::wqe_eth_seg::kBytes;
        const std::uint32_t skip = multi ? 0 : kInlineHeaderBytes;
        if (!multi) {
            ethernet.set<prm::wqe_eth_seg::inline_hdr, prm::wqe_eth_seg_inline_hdr::sz>(skip);
            std::copy_n(contents[flow].begin(), skip,
                        segment.begin() + prm::wqe_eth_seg::kBytes - 2);
            at += 16;
        }
        for (unsigned i = 0; i < options_.frames_per_wqe; ++i) {
            if (options_.inline_frames) {
                const View<prm::wqe_inline_seg> head(wqe.subspan(at));
                head.set<prm::wqe_inline_seg::is_inline>(1U);
                head.set<prm::wqe_inline_seg::byte_count>(options_.frame_bytes - skip);
                at += prm::wqe_inline_seg::kBytes;
                model::copy_bytes(contents[flow].subspan(skip), wqe.subspan(at).data());
                at = (at + options_.frame_bytes - skip + 15) / 16 * 16;
            } else {
                const View<prm::wqe_data_seg> data(wqe.subspan(at));
                data.set<prm::wqe_data_seg::byte_count>(options_.frame_bytes - skip);
                data.set<prm::wqe_data_seg::lkey>(lkey_);
                data.set<prm::wqe_data_seg::addr>(frames[flow].value + skip);
                at += prm::wqe_data_seg::kBytes;
            }
            flow = (flow + 1) % kFlows;
        }
    }
}

PacketDriver::ReceiveQueue PacketDriver::receive_queue() {
    constexpr std::uint64_t kStride = prm::wqe_data_seg::kBytes;
    ReceiveQueue queue;
    queue.cq = completion_queue(options_.log_receive_entries);
    const std::uint64_t entries = std::uint64_t{1} << options_.log_receive_entries;
    const auto [address, ring] = memory(kStride * entries);
    const std::uint64_t base = address.value;
    const std::uint64_t ring_bytes = ring.size();
    queue.first_buffer = driver_.pages().allocate_buffer(entries * kReceiveBufferBytes);
    for (std::uint64_t i = 0; i < entries; ++i) {
        const HostAddress buffer = queue.first_buffer + i * kReceiveBufferBytes;
        const View<prm::wqe_data_seg> data(ring.subspan(i * kStride));
        data.set<prm::wqe_data_seg::byte_count>(kReceiveBufferBytes);
        data.set<prm::wqe_data_seg::lkey>(lkey_);
        data.set<prm::wqe_data_seg::addr>(buffer.value);
        driver_.host().memory().window(buffer, kReceiveBufferBytes)[0] = std::byte{0};
    }
    const std::uint64_t record = records_.value + records_used_;
    queue.record = record_bytes_.subspan(records_used_, 4);
    records_used_ += kRecordBytes;
    model::store_be<std::uint32_t>(queue.record.data(), static_cast<std::uint32_t>(entries));
    using In = prm::create_rq_in;
    const auto out = driver_.run<In, prm::create_rq_out>(
        Opcode::CREATE_RQ,
        [&](View<In> in) {
            const auto rqc = in.nested<In::ctx>();
            rqc.set<prm::rqc::cqn>(queue.cq.number);
            const auto wq = rqc.nested<prm::rqc::wq>();
            wq.set<prm::wq::wq_type>(1U);
            wq.set<prm::wq::pd>(pd_);
            wq.set<prm::wq::dbr_addr>(record);
            wq.set<prm::wq::log_wq_stride>(log2_of(kStride));
            wq.set<prm::wq::log_wq_pg_sz>(log2_of(ring_bytes) - kPageLog);
            wq.set<prm::wq::log_wq_sz>(options_.log_receive_entries);
            model::store_be<std::uint64_t>(in.bytes().data() + In::kBytes, base);
        },
        {8, 0});
    queue.number = out.view().get<prm::create_rq_out::rqn>();
    undo_.add<prm::destroy_rq_in, prm::destroy_rq_out, prm::destroy_rq_in::rqn>(Opcode::DESTROY_RQ,
                                                                           queue.number);
    using Modify = prm::modify_rq_in;
    driver_.run<Modify, prm::modify_rq_out>(Opcode::MODIFY_RQ, [&](View<Modify> in) {
        in.set<Modify::rqn>(queue.number);
        in.set<Modify::rq_state>(0U);
        in.set<Modify::ctx, prm::rqc::state>(kReady);
    });
    return queue;
}

// All receive queues behind one TIR, chosen by Toeplitz hash of addresses and ports.
void PacketDriver::indirection() {
    using RqtIn = prm::create_rqt_in;
    const auto rqt = driver_.run<RqtIn, prm::create_rqt_out>(
        Opcode::CREATE_RQT,
        [&](View<RqtIn> in) {
            const auto rqtc = in.nested<RqtIn::rqt_context>();
            rqtc.set<prm::rqtc::rqt_max_size>(options_.queues);
            rqtc.set<prm::rqtc::rqt_actual_size>(options_.queues);
            for (unsigned i = 0; i < options_.queues; ++i) {
                rqtc.at<prm::rqtc::rq_num>(i).set<prm::rq_num::rq_num_>(receive_[i].number);
            }
        },
        {std::size_t{4} * options_.queues, 0});
    const auto rqtn = rqt.view().get<prm::create_rqt_out::rqtn>();
    undo_.add<prm::destroy_rqt_in, prm::destroy_rqt_out, prm::destroy_rqt_in::rqtn>(Opcode::DESTROY_RQT,
                                                                               rqtn);
    using TirIn = prm::create_tir_in;
    const auto tir =
        driver_.run<TirIn, prm::create_tir_out>(Opcode::CREATE_TIR, [&](View<TirIn> in) {
            const auto tirc = in.nested<TirIn::ctx>();
            tirc.set<prm::tirc::disp_type>(kIndirect);
            tirc.set<prm::tirc::indirect_table>(rqtn);
            tirc.set<prm::tirc::transport_domain>(domain_);
            tirc.set<prm::tirc::rx_hash_fn>(kToeplitz);
            for (std::uint32_t i = 0; i < 10; ++i) {
                tirc.set_at<prm::tirc::rx_hash_toeplitz_key>(i, 0x6d5a56daU * (2 * i + 1));
            }
            const auto hash = tirc.nested<prm::tirc::rx_hash_field_selector_outer>();
            hash.set<prm::rx_hash_field_select::l4_prot_type>(1U);  // UDP over IPv4
            hash.set<prm::rx_hash_field_select::selected_fields>(kHashAll);
        });
    tirn_ = tir.view().get<prm::create_tir_out::tirn>();
    undo_.add<prm::destroy_tir_in, prm::destroy_tir_out, prm::destroy_tir_in::tirn>(Opcode::DESTROY_TIR,
                                                                               tirn_);
}

}  // namespace cxsim::scenarios
