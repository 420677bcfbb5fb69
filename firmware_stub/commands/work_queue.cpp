// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/commands/work_queue.h"

#include "firmware_stub/commands/common.h"

namespace cxsim::firmware_stub {
namespace {

using model::QueueState;
using prm::ConstView;
using prm::Status;
using prm::wq;

constexpr std::uint32_t kLogBasicBlock = 6;  // send queues count in WQE basic blocks
constexpr std::uint32_t kMinReceiveStride = 16;
constexpr std::uint64_t kDoorbellRecordAlignment = 8;

Reply check_striding(FunctionState& function, ConstView<wq> context) {
    using Cap = prm::cmd_hca_cap;
    if (function.general<Cap::striding_rq>() == 0) {
        return refuse(Status::BAD_PARAM, "striding receive queues not supported");
    }
    // Both exponents are relative: strides of 2^6 bytes and 2^9 of them are 0.
    const std::uint32_t stride = 6 + context.get<wq::log_wqe_stride_size>();
    if (stride < function.general<Cap::log_min_stride_sz_rq>() ||
        stride > function.general<Cap::log_max_stride_sz_rq>()) {
        return refuse(Status::BAD_PARAM, "stride size beyond log_max_stride_sz_rq");
    }
    const bool negative = (context.get<wq::log_wqe_num_of_strides>() & 8) != 0;  // 4 bits, signed
    if (negative && function.general<Cap::ext_stride_num_range>() == 0) {
        return refuse(Status::BAD_PARAM, "fewer than 512 strides not supported");
    }
    return accept();
}

Reply check_receive(FunctionState& function, ConstView<wq> context) {
    using Cap = prm::cmd_hca_cap;
    const auto type = static_cast<WqType>(context.get<wq::wq_type>());
    switch (type) {
        case WqType::linked_list:
            break;
        case WqType::cyclic:
            if (function.general<Cap::basic_cyclic_rcv_wqe>() == 0) {
                return refuse(Status::BAD_PARAM, "cyclic receive queues not supported");
            }
            break;
        case WqType::linked_list_striding:
        case WqType::cyclic_striding: {
            const Reply check = check_striding(function, context);
            if (!check.ok()) return check;
            break;
        }
        default:
            return refuse(Status::BAD_PARAM, "wq_type not defined");
    }
    const std::uint32_t stride = 1U << context.get<wq::log_wq_stride>();
    if (stride < kMinReceiveStride || stride > function.general<Cap::max_wqe_sz_rq>()) {
        return refuse(Status::BAD_PARAM, "receive WQE size beyond max_wqe_sz_rq");
    }
    if (context.get<wq::shampo_enable>() != 0) {
        return refuse(Status::BAD_PARAM, "header and data split with merging not supported");
    }
    return accept();
}

Reply check_send(ConstView<wq> context) {
    if (static_cast<WqType>(context.get<wq::wq_type>()) != WqType::cyclic) {
        return refuse(Status::BAD_PARAM, "send queues are cyclic");
    }
    if (context.get<wq::log_wq_stride>() != kLogBasicBlock) {
        return refuse(Status::BAD_PARAM, "stride of a send queue is 64 bytes");
    }
    return accept();
}

Reply check_common(FunctionState& function, ConstView<wq> context) {
    using Cap = prm::cmd_hca_cap;
    if (context.get<wq::dbr_umem_valid>() != 0 || context.get<wq::wq_umem_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "user memory objects not supported");
    }
    if (context.get<wq::wq_signature>() != 0 && function.general<Cap::wq_signature>() == 0) {
        return refuse(Status::BAD_PARAM, "wq_signature not supported");
    }
    if (context.get<wq::cd_slave>() != 0 && function.general<Cap::cd>() == 0) {
        return refuse(Status::BAD_PARAM, "cross-channel not supported");
    }
    const auto padding = context.get<wq::end_padding_mode>();
    if (padding > 1 || (padding == 1 && function.general<Cap::end_pad>() == 0)) {
        return refuse(Status::BAD_PARAM, "end_padding_mode not supported");
    }
    if (context.get<wq::log_wq_sz>() > function.general<Cap::log_max_wq_sz>()) {
        return refuse(Status::BAD_PARAM, "log_wq_sz above log_max_wq_sz");
    }
    if (context.get<wq::dbr_addr>() % kDoorbellRecordAlignment != 0) {
        return refuse(Status::BAD_PARAM, "doorbell record not aligned");
    }
    return accept();
}

}  // namespace

Reply make_work_queue(FunctionState& function, ConstView<wq> context, Direction direction,
                      model::WorkQueue& queue) {
    const Reply kind =
        direction == Direction::send ? check_send(context) : check_receive(function, context);
    if (!kind.ok()) return kind;
    const Reply common = check_common(function, context);
    if (!common.ok()) return common;
    queue.log_size = context.get<wq::log_wq_sz>();
    queue.log_stride = context.get<wq::log_wq_stride>();
    queue.doorbell_record = {context.get<wq::dbr_addr>()};
    queue.uar_page = context.get<wq::uar_page>();
    return make_ring({std::uint64_t{1} << (queue.log_size + queue.log_stride),
                      context.get<wq::log_wq_pg_sz>(), context.get<wq::page_offset>()},
                     context.tail<wq::pas>(), queue.ring);
}

namespace {
constexpr std::uint32_t kReset = 0;
constexpr std::uint32_t kReady = 1;
constexpr std::uint32_t kError = 3;
}  // namespace

std::optional<QueueState> queue_state(std::uint32_t prm_state) {
    switch (prm_state) {
        case kReset:
            return QueueState::reset;
        case kReady:
            return QueueState::ready;
        case kError:
            return QueueState::error;
        default:
            return std::nullopt;
    }
}

std::uint32_t prm_state(QueueState state) {
    switch (state) {
        case QueueState::reset:
            return kReset;
        case QueueState::ready:
            return kReady;
        case QueueState::error:
            break;
    }
    return kError;
}

bool transition_allowed(QueueState from, QueueState to) {
    return !(from == QueueState::error && to == QueueState::ready);
}

bool timestamp_format_allowed(std::uint32_t format, std::uint32_t capability) {
    constexpr std::uint32_t kFreeRunningOnly = 0;
    constexpr std::uint32_t kRealTimeOnly = 1;
    switch (format) {
        case 0:
            return capability != kRealTimeOnly;
        case 1:
            return true;
        case 2:
            return capability != kFreeRunningOnly;
        default:
            return false;
    }
}

}  // namespace cxsim::firmware_stub
