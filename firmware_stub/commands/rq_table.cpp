// SPDX-License-Identifier: Apache-2.0
// Receive queue tables (RQT): what a TIR's hash chooses from. Each entry holds its queue.
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::rqtc;
using prm::Status;
using prm::View;

constexpr std::uint32_t kListOfReceiveQueues = 0;

Reply check_list(FunctionState& function, ConstView<rqtc> context, std::uint32_t max_size,
                 std::vector<std::uint32_t>& numbers) {
    if (context.get<rqtc::list_q_type>() != kListOfReceiveQueues) {
        return refuse(Status::BAD_PARAM, "list_q_type not supported");
    }
    if (context.get<rqtc::rq_vhca_id_format>() != 0) {
        return refuse(Status::BAD_PARAM, "queues of other functions not supported");
    }
    const auto size = context.get<rqtc::rqt_actual_size>();
    if (size > max_size) {
        return refuse(Status::BAD_PARAM, syndrome::kRqtActualSize,
                      "rqt_actual_size above rqt_max_size");
    }
    if (size == 0) return refuse(Status::BAD_PARAM, "rqt_actual_size is zero");
    if (context.size<rqtc::rq_num>() < size) {
        return refuse(Status::BAD_INP_LEN, "list shorter than rqt_actual_size");
    }
    numbers.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) {
        numbers[i] = context.at<rqtc::rq_num>(i).get<prm::rq_num::rq_num_>();
        if (function.resources().rqs.find(numbers[i]) == nullptr) {
            return bad_reference("an entry names no receive queue");
        }
    }
    return accept();
}

Reply create_rqt(CommandContext& context, ConstView<prm::create_rqt_in> in,
                 View<prm::create_rqt_out> out) {
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    const auto wanted = in.nested<prm::create_rqt_in::rqt_context>();
    const auto max_size = wanted.get<rqtc::rqt_max_size>();
    if (max_size == 0 || max_size > 1U << function.general<prm::cmd_hca_cap::log_max_rqt_size>()) {
        return refuse(Status::BAD_PARAM, "rqt_max_size beyond log_max_rqt_size");
    }
    std::vector<std::uint32_t> numbers;
    const Reply check = check_list(function, wanted, max_size, numbers);
    if (!check.ok()) return check;
    model::Rqt* rqt = resources.rqts.create();
    if (rqt == nullptr) return table_full();
    std::copy_n(wanted.bytes().begin(), rqt->context.size(), rqt->context.begin());
    for (const std::uint32_t rqn : numbers) resources.hold(*rqt, {ObjectKind::rq, rqn});
    rqt->entries = std::move(numbers);
    rqt->entries.resize(max_size);
    out.set<prm::create_rqt_out::rqtn>(rqt->id.number);
    return accept();
}

Reply modify_rqt(CommandContext& context, ConstView<prm::modify_rqt_in> in,
                 View<prm::modify_rqt_out>) {
    using In = prm::modify_rqt_in;
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    model::Rqt* rqt = resources.rqts.find(in.get<In::rqtn>());
    if (rqt == nullptr) return no_such_object();
    if (in.get<In::bitmask, prm::rqt_bitmask::rqn_list>() == 0) return accept();
    const auto wanted = in.nested<In::ctx>();
    std::vector<std::uint32_t> numbers;
    const auto max_size = static_cast<std::uint32_t>(rqt->entries.size());
    const Reply check = check_list(function, wanted, max_size, numbers);
    if (!check.ok()) return check;
    for (const std::uint32_t rqn : numbers) resources.hold(*rqt, {ObjectKind::rq, rqn});
    // Oldest hold first, as release() looks for it.
    const auto old_size = rqt->view().get<rqtc::rqt_actual_size>();
    for (std::uint32_t i = 0; i < old_size; ++i) {
        resources.release(*rqt, {ObjectKind::rq, rqt->entries[i]});
    }
    rqt->view().set<rqtc::rqt_actual_size>(numbers.size());
    rqt->entries = std::move(numbers);
    rqt->entries.resize(max_size);
    return accept();
}

Reply query_rqt(CommandContext& context, ConstView<prm::query_rqt_in> in,
                View<prm::query_rqt_out> out) {
    const model::Rqt* rqt =
        context.function.resources().rqts.find(in.get<prm::query_rqt_in::rqtn>());
    if (rqt == nullptr) return no_such_object();
    const auto answer = out.nested<prm::query_rqt_out::rqt_context>();
    const auto size = rqt->view().get<rqtc::rqt_actual_size>();
    if (answer.size<rqtc::rq_num>() < size) {
        return refuse(Status::BAD_OUTP_LEN, "no room for the list");
    }
    std::copy(rqt->context.begin(), rqt->context.end(), answer.bytes().begin());
    for (std::uint32_t i = 0; i < size; ++i) {
        answer.at<rqtc::rq_num>(i).set<prm::rq_num::rq_num_>(rqt->entries[i]);
    }
    return accept();
}

Reply destroy_rqt(CommandContext& context, ConstView<prm::destroy_rqt_in> in,
                  View<prm::destroy_rqt_out>) {
    return destroy_object(context.function, context.function.resources().rqts,
                          in.get<prm::destroy_rqt_in::rqtn>());
}

}  // namespace

std::vector<CommandRow> rq_table_commands() {
    using prm::Opcode;
    return {
        command_row<&create_rqt>(Opcode::CREATE_RQT, Cost::create_object),
        command_row<&modify_rqt>(Opcode::MODIFY_RQT, Cost::modify_object),
        command_row<&query_rqt>(Opcode::QUERY_RQT, Cost::query),
        command_row<&destroy_rqt>(Opcode::DESTROY_RQT, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
