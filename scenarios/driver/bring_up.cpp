// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/bring_up.h"

#include "model/base/endian.h"
#include "model/prm/register_id.h"

#include <fmt/format.h>

#include <array>

namespace cxsim::scenarios {

using model::HostAddress;
using prm::Opcode;
using prm::View;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kLogQueueSize = 6;      // entries of CQ, SQ and RQ
constexpr std::uint32_t kEntryBytes = 64;       // of CQ and SQ
constexpr std::uint32_t kReady = 1;             // state of SQ and RQ
constexpr std::uint32_t kCompletionRecord = 0;  // places in the page of doorbell records
constexpr std::uint32_t kSendRecord = 64;
constexpr std::uint32_t kReceiveRecord = 128;
constexpr std::uint32_t kPairRecord = 192;
constexpr model::Picoseconds kCompletionLimit = model::milliseconds(100);
constexpr auto kNothing = [](auto) {};

}  // namespace

void BringUp::up() {
    driver_.start();
    driver_.open_events();
    registers();
    vport();
    domains();
    completion_queue();
    send_queue();
    post_nops(3);
    receive_queue();
    forward_all_to(driver_, undo_, tirn_);
    queue_pair();
}

void BringUp::down() {
    undo_.run(driver_);
    driver_.close_events();
    driver_.stop();
    cq_consumer_ = 0;
    sq_producer_ = 0;
}

void BringUp::abandon() {
    undo_.clear();
    driver_.abandon();
    cq_consumer_ = 0;
    sq_producer_ = 0;
}

// What a kernel reads of the port and of the board, and the port switched on.
void BringUp::registers() {
    const auto access = [&](prm::RegisterId id, bool read, auto fill) {
        using In = prm::access_register_in;
        const prm::LayoutInfo* layout = prm::register_layout(id);
        driver_.run<In, prm::access_register_out>(
            Opcode::ACCESS_REG,
            [&](View<In> in) {
                in.set<In::register_id>(id);
                fill(in.bytes().subspan(In::kBytes));
            },
            {layout->bytes(), layout->bytes()}, read ? 1 : 0);
    };
    const auto local_port = [](std::span<std::byte> reg) { reg[1] = std::byte{1}; };
    const auto nothing = [](std::span<std::byte>) {};
    access(prm::RegisterId::HOST_ENDIANNESS, false, nothing);
    access(prm::RegisterId::MCAM, true, nothing);
    access(prm::RegisterId::PCAM, true, nothing);
    access(prm::RegisterId::PTYS, true, [](std::span<std::byte> reg) {
        const View<prm::ptys_reg> ptys(reg);
        ptys.set<prm::ptys_reg::local_port>(1U);
        ptys.set<prm::ptys_reg::proto_mask>(4U);  // Ethernet
    });
    access(prm::RegisterId::PMTU, true, local_port);
    access(prm::RegisterId::PPCNT, true, local_port);
    access(prm::RegisterId::PAOS, false, [](std::span<std::byte> reg) {
        const View<prm::paos_reg> paos(reg);
        paos.set<prm::paos_reg::local_port>(1U);
        paos.set<prm::paos_reg::admin_status>(1U);
        paos.set<prm::paos_reg::ase>(1U);
    });
    driver_.run<prm::query_adapter_in, prm::query_adapter_out>(Opcode::QUERY_ADAPTER, kNothing);
}

void BringUp::vport() {
    driver_.run<prm::query_nic_vport_context_in, prm::query_nic_vport_context_out>(
        Opcode::QUERY_NIC_VPORT_CONTEXT, kNothing);
    driver_.run<prm::query_vport_state_in, prm::query_vport_state_out>(Opcode::QUERY_VPORT_STATE,
                                                                       kNothing);
    using In = prm::modify_nic_vport_context_in;
    driver_.run<In, prm::modify_nic_vport_context_out>(
        Opcode::MODIFY_NIC_VPORT_CONTEXT, [](View<In> in) {
            in.set<In::field_select, prm::modify_nic_vport_field_select::roce_en>(1U);
            in.set<In::nic_vport_context, prm::nic_vport_context::roce_en>(1U);
        });
}

void BringUp::domains() {
    driver_.run<prm::query_special_contexts_in, prm::query_special_contexts_out>(
        Opcode::QUERY_SPECIAL_CONTEXTS, kNothing);
    pd_ = driver_.run<prm::alloc_pd_in, prm::alloc_pd_out>(Opcode::ALLOC_PD, kNothing)
              .view()
              .get<prm::alloc_pd_out::pd>();
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
    const auto mkey =
        driver_.run<Key, prm::create_mkey_out>(Opcode::CREATE_MKEY, [&](View<Key> in) {
            const auto mkc = in.nested<Key::memory_key_mkey_entry>();
            mkc.set<prm::mkc::lw>(1U);
            mkc.set<prm::mkc::lr>(1U);
            mkc.set<prm::mkc::pd>(pd_);
            mkc.set<prm::mkc::length64>(1U);
            mkc.set<prm::mkc::qpn>(0xffffffU);
            mkc.set<prm::mkc::mkey_7_0>(0x42U);
        });
    undo_.add<prm::destroy_mkey_in, prm::destroy_mkey_out, prm::destroy_mkey_in::mkey_index>(
        Opcode::DESTROY_MKEY, mkey.view().get<prm::create_mkey_out::mkey_index>());
    using Counter = prm::alloc_q_counter_out;
    const auto counter =
        driver_.run<prm::alloc_q_counter_in, Counter>(Opcode::ALLOC_Q_COUNTER, kNothing);
    undo_.add<prm::dealloc_q_counter_in, prm::dealloc_q_counter_out,
         prm::dealloc_q_counter_in::counter_set_id>(Opcode::DEALLOC_Q_COUNTER,
                                                    counter.view().get<Counter::counter_set_id>());
    records_ = driver_.allocate(kPage);
}

void BringUp::completion_queue() {
    cq_ring_ = driver_.allocate(std::uint64_t{kEntryBytes} << kLogQueueSize);
    const std::array<std::byte, 1> invalid{std::byte{0xf1}};  // opcode 0xf: not written yet
    for (std::uint64_t i = 0; i < (1U << kLogQueueSize); ++i) {
        driver_.host().memory().store(cq_ring_ + (i * kEntryBytes + kEntryBytes - 1), invalid);
    }
    using In = prm::create_cq_in;
    const auto out = driver_.run<In, prm::create_cq_out>(
        Opcode::CREATE_CQ,
        [&](View<In> in) {
            const auto cqc = in.nested<In::cq_context>();
            cqc.set<prm::cqc::log_cq_size>(kLogQueueSize);
            cqc.set<prm::cqc::uar_page>(driver_.uar());
            cqc.set<prm::cqc::c_eqn_or_apu_element>(driver_.completion_queue_events().number());
            cqc.set<prm::cqc::dbr_addr>(records_.value + kCompletionRecord);
            in.set_at<In::pas>(0, cq_ring_.value);
        },
        {8, 0});
    cqn_ = out.view().get<prm::create_cq_out::cqn>();
    undo_.add<prm::destroy_cq_in, prm::destroy_cq_out, prm::destroy_cq_in::cqn>(Opcode::DESTROY_CQ,
                                                                           cqn_);
}

void BringUp::send_queue() {
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
    sq_ring_ = driver_.allocate(std::uint64_t{kEntryBytes} << kLogQueueSize);
    using In = prm::create_sq_in;
    const auto out = driver_.run<In, prm::create_sq_out>(
        Opcode::CREATE_SQ,
        [&](View<In> in) {
            const auto sqc = in.nested<In::ctx>();
            sqc.set<prm::sqc::cqn>(cqn_);
            sqc.set<prm::sqc::tis_lst_sz>(1U);
            sqc.set<prm::sqc::tis_num_0>(tisn_);
            sqc.set<prm::sqc::flush_in_error_en>(1U);
            const auto wq = sqc.nested<prm::sqc::wq>();
            wq.set<prm::wq::wq_type>(1U);  // cyclic
            wq.set<prm::wq::pd>(pd_);
            wq.set<prm::wq::uar_page>(driver_.uar());
            wq.set<prm::wq::dbr_addr>(records_.value + kSendRecord);
            wq.set<prm::wq::log_wq_stride>(6U);
            wq.set<prm::wq::log_wq_sz>(kLogQueueSize);
            model::store_be<std::uint64_t>(in.bytes().data() + In::kBytes, sq_ring_.value);
        },
        {8, 0});
    sqn_ = out.view().get<prm::create_sq_out::sqn>();
    undo_.add<prm::destroy_sq_in, prm::destroy_sq_out, prm::destroy_sq_in::sqn>(Opcode::DESTROY_SQ,
                                                                           sqn_);
    using Modify = prm::modify_sq_in;
    driver_.run<Modify, prm::modify_sq_out>(Opcode::MODIFY_SQ, [&](View<Modify> in) {
        in.set<Modify::sqn>(sqn_);
        in.set<Modify::sq_state>(0U);
        in.set<Modify::ctx, prm::sqc::state>(kReady);
    });
}

void BringUp::post_nops(unsigned count) {
    Host& host = driver_.host();
    constexpr std::uint64_t kUarBytes = 4096;
    const std::uint64_t uar = driver_.uar() * kUarBytes;
    // Armed first, so that the completion comes with an event.
    std::array<std::byte, prm::cq_doorbell::kBytes> arm{};
    const View<prm::cq_doorbell> arm_view(arm);
    arm_view.set<prm::cq_doorbell::ci>(cq_consumer_ & 0xffffff);
    arm_view.set<prm::cq_doorbell::cqn>(cqn_);
    host.mmio_write(uar + prm::uar_page::cq_arm::kOffset / 8, arm);

    std::array<std::byte, prm::wqe_ctrl_seg::kBytes> wqe{};
    for (unsigned i = 0; i < count; ++i) {
        wqe.fill(std::byte{0});
        const View<prm::wqe_ctrl_seg> control(wqe);
        control.set<prm::wqe_ctrl_seg::wqe_index>(sq_producer_);
        control.set<prm::wqe_ctrl_seg::qp_or_sq>(sqn_);
        control.set<prm::wqe_ctrl_seg::ds>(1U);
        control.set<prm::wqe_ctrl_seg::ce>(i + 1 == count ? 2U : 0U);
        const std::uint64_t slot = sq_producer_ & ((1U << kLogQueueSize) - 1);
        host.memory().store(sq_ring_ + slot * kEntryBytes, wqe);
        ++sq_producer_;
    }
    std::array<std::byte, 4> record;
    model::store_be<std::uint32_t>(record.data(), sq_producer_);
    host.memory().store(records_ + (kSendRecord + 4), record);
    host.mmio_write(uar + prm::uar_page::blueflame::kOffset / 8, std::span(wqe).first(8));

    const std::uint64_t slot = cq_consumer_ & ((1U << kLogQueueSize) - 1);
    const std::uint32_t lap = (cq_consumer_ >> kLogQueueSize) & 1;
    std::array<std::byte, kEntryBytes> cqe;
    const auto arrived = [&] {
        host.memory().load(cq_ring_ + slot * kEntryBytes, cqe);
        const prm::ConstView<prm::err_cqe> entry(cqe);
        return entry.get<prm::err_cqe::opcode>() != 0xf && entry.get<prm::err_cqe::owner>() == lap;
    };
    EventQueue& events = driver_.completion_queue_events();
    const std::uint64_t before = host.interrupts(events.vector());
    if (!host.wait_until([&] { return arrived() && host.interrupts(events.vector()) > before; },
                         kCompletionLimit)) {
        throw DriverTimeout(fmt::format(
            "the driver waits for the completion of {} NOPs on SQ {:#x}: {} and {} interrupt after "
            "{} s of simulated time",
            count, sqn_, arrived() ? "a CQE" : "no CQE",
            host.interrupts(events.vector()) > before ? "an" : "no", kCompletionLimit.seconds()));
    }
    if (const auto opcode = prm::ConstView<prm::err_cqe>(cqe).get<prm::err_cqe::opcode>();
        opcode != 0) {
        throw DriverError(
            fmt::format("a NOP on SQ {:#x} ended with CQE opcode {:#x}", sqn_, opcode));
    }
    ++cq_consumer_;
    ++completions_;
    model::store_be<std::uint32_t>(record.data(), cq_consumer_ & 0xffffff);
    host.memory().store(records_ + kCompletionRecord, record);
    driver_.service();
    for (const Event& event : driver_.take_events()) {
        if (event.type == prm::EventType::CQ_ERROR) {
            throw DriverError(fmt::format("CQ {:#x} went into error", cqn_));
        }
    }
}

void BringUp::receive_queue() {
    const HostAddress ring = driver_.allocate(std::uint64_t{16} << kLogQueueSize);
    using In = prm::create_rq_in;
    const auto out = driver_.run<In, prm::create_rq_out>(
        Opcode::CREATE_RQ,
        [&](View<In> in) {
            const auto rqc = in.nested<In::ctx>();
            rqc.set<prm::rqc::cqn>(cqn_);
            const auto wq = rqc.nested<prm::rqc::wq>();
            wq.set<prm::wq::wq_type>(1U);
            wq.set<prm::wq::pd>(pd_);
            wq.set<prm::wq::dbr_addr>(records_.value + kReceiveRecord);
            wq.set<prm::wq::log_wq_stride>(4U);
            wq.set<prm::wq::log_wq_sz>(kLogQueueSize);
            model::store_be<std::uint64_t>(in.bytes().data() + In::kBytes, ring.value);
        },
        {8, 0});
    rqn_ = out.view().get<prm::create_rq_out::rqn>();
    undo_.add<prm::destroy_rq_in, prm::destroy_rq_out, prm::destroy_rq_in::rqn>(Opcode::DESTROY_RQ,
                                                                           rqn_);
    using Modify = prm::modify_rq_in;
    driver_.run<Modify, prm::modify_rq_out>(Opcode::MODIFY_RQ, [&](View<Modify> in) {
        in.set<Modify::rqn>(rqn_);
        in.set<Modify::rq_state>(0U);
        in.set<Modify::ctx, prm::rqc::state>(kReady);
    });
    using RqtIn = prm::create_rqt_in;
    const auto rqt = driver_.run<RqtIn, prm::create_rqt_out>(
        Opcode::CREATE_RQT,
        [&](View<RqtIn> in) {
            const auto rqtc = in.nested<RqtIn::rqt_context>();
            rqtc.set<prm::rqtc::rqt_max_size>(1U);
            rqtc.set<prm::rqtc::rqt_actual_size>(1U);
            rqtc.at<prm::rqtc::rq_num>(0).set<prm::rq_num::rq_num_>(rqn_);
        },
        {4, 0});
    rqtn_ = rqt.view().get<prm::create_rqt_out::rqtn>();
    undo_.add<prm::destroy_rqt_in, prm::destroy_rqt_out, prm::destroy_rqt_in::rqtn>(Opcode::DESTROY_RQT,
                                                                               rqtn_);
    using TirIn = prm::create_tir_in;
    const auto tir =
        driver_.run<TirIn, prm::create_tir_out>(Opcode::CREATE_TIR, [&](View<TirIn> in) {
            in.set<TirIn::ctx, prm::tirc::inline_rqn>(rqn_);
            in.set<TirIn::ctx, prm::tirc::transport_domain>(domain_);
        });
    tirn_ = tir.view().get<prm::create_tir_out::tirn>();
    undo_.add<prm::destroy_tir_in, prm::destroy_tir_out, prm::destroy_tir_in::tirn>(Opcode::DESTROY_TIR,
                                                                               tirn_);
}

// A reliable connection to itself: RST, INIT, RTR, RTS.
void BringUp::queue_pair() {
    const HostAddress ring = driver_.allocate(2 * kPage);
    using In = prm::create_qp_in;
    using prm::qpc;
    const auto out = driver_.run<In, prm::create_qp_out>(
        Opcode::CREATE_QP,
        [&](View<In> in) {
            const auto context = in.nested<In::qpc>();
            context.set<qpc::pm_state>(3U);
            context.set<qpc::pd>(pd_);
            context.set<qpc::log_sq_size>(6U);
            context.set<qpc::log_rq_size>(4U);
            context.set<qpc::log_rq_stride>(2U);
            context.set<qpc::uar_page>(driver_.uar());
            context.set<qpc::cqn_snd>(cqn_);
            context.set<qpc::cqn_rcv>(cqn_);
            context.set<qpc::dbr_addr>(records_.value + kPairRecord);
            in.set_at<In::pas>(0, ring.value);
            in.set_at<In::pas>(1, ring.value + kPage);
        },
        {16, 0});
    qpn_ = out.view().get<prm::create_qp_out::qpn>();
    undo_.add<prm::destroy_qp_in, prm::destroy_qp_out, prm::destroy_qp_in::qpn>(Opcode::DESTROY_QP,
                                                                           qpn_);
    undo_.add<prm::qp_2rst_in, prm::qp_2rst_out, prm::qp_2rst_in::qpn>(Opcode::_2RST_QP, qpn_);
    const auto fill = [&](auto in) {
        using Layout = typename decltype(in)::Layout;
        in.template set<typename Layout::qpn>(qpn_);
        const auto context = in.template nested<typename Layout::qpc>();
        context.template set<qpc::pm_state>(3U);
        context.template set<qpc::pd>(pd_);
        context.template set<qpc::mtu>(3U);
        context.template set<qpc::log_msg_max>(30U);
        context.template set<qpc::remote_qpn>(qpn_);
        context.template set<qpc::retry_count>(7U);
        context.template set<qpc::rnr_retry>(6U);
        context.template set<qpc::min_rnr_nak>(12U);
        const auto path = context.template nested<qpc::primary_address_path>();
        path.template set<prm::ads::vhca_port_num>(1U);
        path.template set<prm::ads::ack_timeout>(14U);
        path.template set<prm::ads::hop_limit>(64U);
    };
    driver_.run<prm::rst2init_qp_in, prm::rst2init_qp_out>(Opcode::RST2INIT_QP, fill);
    driver_.run<prm::init2rtr_qp_in, prm::init2rtr_qp_out>(Opcode::INIT2RTR_QP, fill);
    driver_.run<prm::rtr2rts_qp_in, prm::rtr2rts_qp_out>(Opcode::RTR2RTS_QP, fill);
    driver_.run<prm::query_qp_in, prm::query_qp_out>(
        Opcode::QUERY_QP, [&](auto in) { in.template set<prm::query_qp_in::qpn>(qpn_); });
}

}  // namespace cxsim::scenarios
