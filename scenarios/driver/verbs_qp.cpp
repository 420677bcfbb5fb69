// SPDX-License-Identifier: Apache-2.0
// Creation and states of queue pairs; verbs_requests.cpp posts and completes.
#include "scenarios/driver/verbs_qp.h"

#include "model/base/endian.h"
#include "model/queues/wqe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace cxsim::scenarios {

using prm::ads;
using prm::Opcode;
using prm::qpc;
using prm::View;

namespace {

constexpr std::uint64_t kBlock = model::kBasicBlockBytes;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kVersion0 = 0xffffff;  // user_index: CQEs hold no index
constexpr std::uint32_t kMigrated = 3;
constexpr std::uint32_t kPort = 1;
constexpr std::uint32_t kLargestMessageLog = 30;
constexpr std::uint32_t kIbAtomics = 1;  // qpc.atomic_mode
constexpr std::uint32_t kNoReceiveQueue = 3;  // qpc.rq_type: receives of no bytes only
constexpr std::uint32_t kReceivedDataInCqe = 0x1;  // qpc.cs_res, up to 32 bytes
constexpr std::uint32_t kAnswersInCqe = 0x11;      // qpc.cs_req
constexpr std::uint32_t kSharedReceiveQueue = 1;
// Bits of opt_param_mask.
constexpr std::uint32_t kOptRemoteRead = 1U << 1;
constexpr std::uint32_t kOptRemoteAtomic = 1U << 2;
constexpr std::uint32_t kOptRemoteWrite = 1U << 3;
constexpr std::uint32_t kOptQueueKey = 1U << 5;

unsigned log2_of(std::uint64_t value) {
    return static_cast<unsigned>(std::bit_width(value)) - 1;
}

std::uint32_t mtu_code(std::uint32_t bytes) {
    if (!std::has_single_bit(bytes) || bytes < 256 || bytes > 4096) {
        throw DriverError("the path MTU is 256, 512, 1024, 2048 or 4096 bytes");
    }
    return log2_of(bytes) - 7;
}

void fill_rights(View<qpc> context, const AccessRights& access) {
    context.set<qpc::rre>(access.remote_read);
    context.set<qpc::rwe>(access.remote_write);
    context.set<qpc::rae>(access.remote_atomic);
    context.set<qpc::atomic_mode>(access.remote_atomic ? kIbAtomics : 0U);
}

void fill_path(View<ads> path, const AddressHandle& to) {
    path.set<ads::grh>(1U);
    path.set<ads::src_addr_index>(to.source_index);
    path.set<ads::hop_limit>(to.hop_limit);
    path.set<ads::tclass>(to.traffic_class);
    path.set<ads::dscp>(to.traffic_class >> 2);
    path.set<ads::flow_label>(to.flow_label);
    path.set<ads::eth_prio>(to.priority & 7U);
    path.set<ads::udp_sport>(to.udp_source_port);
    std::ranges::transform(to.gid, path.bytes<ads::rgid_rip>().begin(),
                           [](std::uint8_t byte) { return std::byte{byte}; });
    path.set<ads::rmac_47_32>(static_cast<std::uint32_t>(to.mac[0] << 8 | to.mac[1]));
    std::uint32_t low = 0;
    for (std::size_t i = 2; i < 6; ++i) low = low << 8 | to.mac[i];
    path.set<ads::rmac_31_0>(low);
}

}  // namespace

VerbsQp::VerbsQp(VerbsContext& context, const VerbsPd& pd, VerbsCq& send_cq, VerbsCq& receive_cq,
                 const QpOptions& options)
    : VerbsObject(context), options_(options), send_cq_(send_cq), receive_cq_(receive_cq) {
    if (options.max_send_sges == 0 || options.max_send_sges > 32 || options.max_inline > 900 ||
        options.max_receive_sges == 0 || options.max_receive_sges > 32 ||
        options.send_requests == 0) {
        throw DriverError("options of a queue pair that none can have");
    }
    // Control, address vector or remote address and operands, then pieces or bytes.
    const std::uint64_t payload = std::max<std::uint64_t>(
        std::uint64_t{prm::wqe_data_seg::kBytes} * options.max_send_sges,
        options.max_inline == 0 ? 0 : (prm::wqe_inline_seg::kBytes + options.max_inline + 15) / 16 * 16);
    const std::uint64_t largest = prm::wqe_ctrl_seg::kBytes + prm::wqe_datagram_seg::kBytes + payload;
    send_blocks_ = static_cast<std::uint32_t>(
        std::bit_ceil(options.send_requests * ((largest + kBlock - 1) / kBlock)));
    std::uint64_t receive_bytes = 0;
    const bool receives = options.srq == nullptr && options.receive_requests != 0;
    std::uint32_t receive_entries = 0;
    if (receives) {
        receive_entries = std::bit_ceil(options.receive_requests);
        receive_stride_ = std::bit_ceil(std::uint64_t{prm::wqe_data_seg::kBytes} * options.max_receive_sges);
        receive_bytes = receive_stride_ * receive_entries;
    }
    // Of a power of two, so that one page of that size describes it.
    ring_ = own(std::bit_ceil(std::max(receive_bytes + send_blocks_ * kBlock, kPage)));
    receive_ring_ = ring_.bytes.first(receive_bytes);
    send_ring_ = ring_.bytes.subspan(receive_bytes, send_blocks_ * kBlock);
    record_ = own(prm::qp_dbr::kBytes);
    sent_.resize(send_blocks_);
    receive_ids_.resize(receive_entries);

    using In = prm::create_qp_in;
    const auto out = context.driver.run<In, prm::create_qp_out>(
        Opcode::CREATE_QP,
        [&](View<In> in) {
            const auto qp = in.nested<In::qpc>();
            qp.set<qpc::st>(options.service);
            qp.set<qpc::pm_state>(kMigrated);
            qp.set<qpc::pd>(pd.number());
            qp.set<qpc::log_sq_size>(log2_of(send_blocks_));
            if (receives) {
                qp.set<qpc::log_rq_size>(log2_of(receive_entries));
                qp.set<qpc::log_rq_stride>(log2_of(receive_stride_) - 4);
            } else {
                qp.set<qpc::rq_type>(options.srq != nullptr ? kSharedReceiveQueue : kNoReceiveQueue);
                if (options.srq != nullptr) qp.set<qpc::srqn_rmpn_xrqn>(options.srq->number());
            }
            qp.set<qpc::uar_page>(context.driver.uar());
            qp.set<qpc::log_page_size>(log2_of(ring_.bytes.size()) - 12);
            qp.set<qpc::user_index>(kVersion0);
            if (options.data_in_completions) {
                qp.set<qpc::cs_res>(kReceivedDataInCqe);
                qp.set<qpc::cs_req>(kAnswersInCqe);
            }
            qp.set<qpc::cqn_snd>(send_cq.number());
            qp.set<qpc::cqn_rcv>(receive_cq.number());
            qp.set<qpc::dbr_addr>(record_.address.value);
            model::store_be<std::uint64_t>(in.bytes().data() + In::kBytes, ring_.address.value);
        },
        {8, 0});
    made(out.view().get<prm::create_qp_out::qpn>());
    undo_.add<prm::destroy_qp_in, prm::destroy_qp_out, prm::destroy_qp_in::qpn>(Opcode::DESTROY_QP,
                                                                                number());
    context.qps[number()] = this;
}

void VerbsQp::destroy() {
    if (!alive()) return;
    VerbsObject::destroy();
    if (send_cq_.alive()) send_cq_.clean(number(), options_.srq);
    if (receive_cq_.alive()) receive_cq_.clean(number(), options_.srq);
    context_.qps.erase(number());
}

template <class In, class Out, class Fill>
void VerbsQp::transition(Opcode opcode, std::uint32_t optional, Fill&& fill) {
    context_.driver.run<In, Out>(opcode, [&](View<In> in) {
        in.template set<typename In::qpn>(number());
        in.template set<typename In::opt_param_mask>(optional);
        const auto context = in.template nested<typename In::qpc>();
        context.template set<qpc::st>(options_.service);
        context.template set<qpc::pm_state>(kMigrated);
        fill(context);
    });
}

void VerbsQp::to_init(const ConnectionOptions& connection) {
    transition<prm::rst2init_qp_in, prm::rst2init_qp_out>(
        Opcode::RST2INIT_QP, 0, [&](View<qpc> context) {
            context.set<qpc::counter_set_id>(options_.counter_set);
            const auto path = context.nested<qpc::primary_address_path>();
            path.set<ads::pkey_index>(connection.pkey_index);
            path.set<ads::vhca_port_num>(kPort);
            fill_rights(context, connection.access);
            context.set<qpc::q_key>(connection.queue_key);
        });
}

void VerbsQp::to_rtr(const ConnectionOptions& connection) {
    transition<prm::init2rtr_qp_in, prm::init2rtr_qp_out>(
        Opcode::INIT2RTR_QP, 0, [&](View<qpc> context) {
            if (options_.service == QpService::ud) {  // the port's MTU decides
                context.set<qpc::mtu>(mtu_code(4096));
                context.set<qpc::log_msg_max>(12U);
                return;
            }
            context.set<qpc::log_msg_max>(kLargestMessageLog);
            context.set<qpc::mtu>(mtu_code(connection.mtu));
            context.set<qpc::remote_qpn>(connection.remote_qpn);
            remote_qpn_ = connection.remote_qpn;
            context.set<qpc::next_rcv_psn>(connection.receive_psn);
            context.set<qpc::log_rra_max>(connection.log_responder_resources);
            context.set<qpc::min_rnr_nak>(connection.min_rnr_timer);
            fill_path(context.nested<qpc::primary_address_path>(), connection.path);
        });
}

void VerbsQp::to_rts(const ConnectionOptions& connection) {
    transition<prm::rtr2rts_qp_in, prm::rtr2rts_qp_out>(
        Opcode::RTR2RTS_QP, 0, [&](View<qpc> context) {
            context.set<qpc::next_send_psn>(connection.send_psn);
            context.set<qpc::log_sra_max>(connection.log_initiator_depth);
            context.set<qpc::retry_count>(connection.retry_count);
            context.set<qpc::rnr_retry>(connection.rnr_retry);
            context.set<qpc::log_ack_req_freq>(connection.log_ack_frequency);
            context.set<qpc::primary_address_path, ads::ack_timeout>(connection.ack_timeout);
        });
}

void VerbsQp::modify(const ConnectionOptions& connection) {
    std::uint32_t optional = kOptRemoteRead | kOptRemoteAtomic | kOptRemoteWrite;
    if (options_.service == QpService::uc) optional = kOptRemoteWrite;
    if (options_.service == QpService::ud) optional = kOptQueueKey;
    transition<prm::rts2rts_qp_in, prm::rts2rts_qp_out>(
        Opcode::RTS2RTS_QP, optional, [&](View<qpc> context) {
            fill_rights(context, connection.access);
            context.set<qpc::q_key>(connection.queue_key);
        });
}

void VerbsQp::recover_send(const ConnectionOptions& connection) {
    transition<prm::sqerr2rts_qp_in, prm::sqerr2rts_qp_out>(
        Opcode::SQERR2RTS_QP, 0,
        [&](View<qpc> context) { context.set<qpc::q_key>(connection.queue_key); });
}

void VerbsQp::to_error() {
    using In = prm::qp_2err_in;
    context_.driver.run<In, prm::qp_2err_out>(Opcode::_2ERR_QP,
                                              [&](View<In> in) { in.set<In::qpn>(number()); });
}

void VerbsQp::to_reset() {
    using In = prm::qp_2rst_in;
    context_.driver.run<In, prm::qp_2rst_out>(Opcode::_2RST_QP,
                                              [&](View<In> in) { in.set<In::qpn>(number()); });
    send_cq_.clean(number(), options_.srq);
    receive_cq_.clean(number(), options_.srq);
    send_producer_ = send_consumer_ = announced_ = last_wqe_ = 0;
    receive_producer_ = receive_consumer_ = 0;
    sends_posted_ = sends_done_ = 0;
    std::ranges::fill(record_.bytes, std::byte{0});
}

prm::Buffer<prm::query_qp_out> VerbsQp::query() {
    using In = prm::query_qp_in;
    return context_.driver.run<In, prm::query_qp_out>(
        Opcode::QUERY_QP, [&](View<In> in) { in.set<In::qpn>(number()); }, {0, 8});
}

VerbsState VerbsQp::state() {
    using Out = prm::query_qp_out;
    return static_cast<VerbsState>(query().view().get<Out::qpc, qpc::state>());
}

}  // namespace cxsim::scenarios
