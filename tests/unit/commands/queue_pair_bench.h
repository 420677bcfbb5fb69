// SPDX-License-Identifier: Apache-2.0
// A bench with what queue pairs refer to, and QPs as the driver creates and moves them.
#pragma once

#include "firmware_stub/commands/queue_pair.h"
#include "tests/support/firmware_bench.h"

namespace cxsim::test {

using firmware_stub::ServiceType;
using model::QpState;
using prm::ads;
using prm::qpc;

struct QpBench : FirmwareBench {
    explicit QpBench(std::vector<model::Override> overrides = {})
        : FirmwareBench("connectx5", std::move(overrides)) {
        set_roce_enabled(true);
    }

    std::uint32_t uar = alloc_uar();
    std::uint32_t pd = alloc_pd();
    std::uint32_t xrcd = alloc_xrcd();
    std::uint32_t eqn = create_eq(uar);
    std::uint32_t cqn = create_cq(uar, eqn);

    /// 16 receive WQEs of 64 bytes, then 64 blocks of the send queue, from byte 1024 of a page.
    prm::Buffer<prm::create_qp_in> create_input(ServiceType type) {
        using In = prm::create_qp_in;
        auto in = input<In>(prm::Opcode::CREATE_QP, 0, 16);
        const auto context = in.view().nested<In::qpc>();
        context.set<qpc::st>(type);
        context.set<qpc::pm_state>(3U);
        context.set<qpc::pd>(pd);
        context.set<qpc::log_sq_size>(6U);
        context.set<qpc::log_rq_size>(4U);
        context.set<qpc::log_rq_stride>(2U);
        context.set<qpc::uar_page>(uar);
        context.set<qpc::cqn_snd>(cqn);
        context.set<qpc::cqn_rcv>(cqn);
        context.set<qpc::dbr_addr>(kQueueMemory + 0x4000);
        context.set<qpc::page_offset>(16U);
        if (type == ServiceType::xrc) context.set<qpc::xrcd>(xrcd);
        in.view().set_at<In::pas>(0, kQueueMemory + 0x8000);
        in.view().set_at<In::pas>(1, kQueueMemory + 0xc000);
        return in;
    }
    std::uint32_t create(ServiceType type = ServiceType::rc) {
        const auto answer = run<prm::create_qp_out>(create_input(type));
        CAPTURE(answer.reply.reason);
        REQUIRE(answer.ok());
        return answer.get<prm::create_qp_out::qpn>();
    }
    model::Qp& qp(std::uint32_t qpn) { return *resources().qps.find(qpn); }

    Answer<prm::destroy_qp_out> destroy(std::uint32_t qpn) {
        auto in = input<prm::destroy_qp_in>(prm::Opcode::DESTROY_QP);
        in.view().set<prm::destroy_qp_in::qpn>(qpn);
        return run<prm::destroy_qp_out>(in);
    }
    Answer<prm::query_qp_out> query(std::uint32_t qpn, std::size_t tail = 0) {
        auto in = input<prm::query_qp_in>(prm::Opcode::QUERY_QP);
        in.view().set<prm::query_qp_in::qpn>(qpn);
        return run<prm::query_qp_out>(in, tail);
    }

    /// A transition's input with a context that suits every transition.
    template <class In>
    prm::Buffer<In> transition(prm::Opcode opcode, std::uint32_t qpn, std::uint32_t optional = 0) {
        auto in = input<In>(opcode);
        const auto view = in.view();
        view.template set<typename In::qpn>(qpn);
        view.template set<typename In::opt_param_mask>(optional);
        const auto context = view.template nested<typename In::qpc>();
        const model::Qp* qp = resources().qps.find(qpn);
        if (qp != nullptr) context.template set<qpc::st>(qp->view().template get<qpc::st>());
        context.template set<qpc::pm_state>(3U);
        context.template set<qpc::pd>(pd);
        context.template set<qpc::mtu>(3U);
        context.template set<qpc::log_msg_max>(30U);
        context.template set<qpc::remote_qpn>(0x123U);
        context.template set<qpc::next_rcv_psn>(0x456U);
        context.template set<qpc::next_send_psn>(0x789U);
        context.template set<qpc::log_rra_max>(4U);
        context.template set<qpc::log_sra_max>(4U);
        context.template set<qpc::retry_count>(7U);
        context.template set<qpc::rnr_retry>(6U);
        context.template set<qpc::min_rnr_nak>(12U);
        context.template set<qpc::q_key>(0x11111111U);
        context.template set<qpc::rre>(1U);
        context.template set<qpc::rwe>(1U);
        const auto path = context.template nested<qpc::primary_address_path>();
        path.template set<ads::vhca_port_num>(1U);
        path.template set<ads::ack_timeout>(14U);
        path.template set<ads::hop_limit>(64U);
        return in;
    }
    auto reset_to_init(std::uint32_t qpn, std::uint32_t optional = 0) {
        return transition<prm::rst2init_qp_in>(prm::Opcode::RST2INIT_QP, qpn, optional);
    }
    auto init_to_init(std::uint32_t qpn, std::uint32_t optional = 0) {
        return transition<prm::init2init_qp_in>(prm::Opcode::INIT2INIT_QP, qpn, optional);
    }
    auto init_to_rtr(std::uint32_t qpn, std::uint32_t optional = 0) {
        return transition<prm::init2rtr_qp_in>(prm::Opcode::INIT2RTR_QP, qpn, optional);
    }
    auto rtr_to_rts(std::uint32_t qpn, std::uint32_t optional = 0) {
        return transition<prm::rtr2rts_qp_in>(prm::Opcode::RTR2RTS_QP, qpn, optional);
    }
    auto rts_to_rts(std::uint32_t qpn, std::uint32_t optional = 0) {
        return transition<prm::rts2rts_qp_in>(prm::Opcode::RTS2RTS_QP, qpn, optional);
    }
    auto send_error_to_rts(std::uint32_t qpn, std::uint32_t optional = 0) {
        return transition<prm::sqerr2rts_qp_in>(prm::Opcode::SQERR2RTS_QP, qpn, optional);
    }
    auto drained_to_rts(std::uint32_t qpn, std::uint32_t optional = 0) {
        return transition<prm::sqd2rts_qp_in>(prm::Opcode::SQD_RTS_QP, qpn, optional);
    }
    Answer<prm::qp_2err_out> to_error(std::uint32_t qpn) {
        auto in = input<prm::qp_2err_in>(prm::Opcode::_2ERR_QP);
        in.view().set<prm::qp_2err_in::qpn>(qpn);
        return run<prm::qp_2err_out>(in);
    }
    Answer<prm::qp_2rst_out> to_reset(std::uint32_t qpn) {
        auto in = input<prm::qp_2rst_in>(prm::Opcode::_2RST_QP);
        in.view().set<prm::qp_2rst_in::qpn>(qpn);
        return run<prm::qp_2rst_out>(in);
    }
    /// By the commands that a driver sends, up to RTS.
    void bring_to(std::uint32_t qpn, QpState state) {
        if (state == QpState::reset) return;
        if (state == QpState::error) {
            REQUIRE(to_error(qpn).ok());
            return;
        }
        REQUIRE(run<prm::rst2init_qp_out>(reset_to_init(qpn)).ok());
        if (state == QpState::init) return;
        REQUIRE(run<prm::init2rtr_qp_out>(init_to_rtr(qpn)).ok());
        if (state == QpState::rtr) return;
        REQUIRE(run<prm::rtr2rts_qp_out>(rtr_to_rts(qpn)).ok());
        // The queue engines enter these two, no command does.
        if (state != QpState::rts) qp(qpn).state = state;
    }
    std::uint32_t alloc_counter() {
        const auto answer = run<prm::alloc_q_counter_out>(
            input<prm::alloc_q_counter_in>(prm::Opcode::ALLOC_Q_COUNTER));
        REQUIRE(answer.ok());
        return answer.get<prm::alloc_q_counter_out::counter_set_id>();
    }
};

}  // namespace cxsim::test
