// SPDX-License-Identifier: Apache-2.0
// Host pages for the firmware: how many it wants at boot, at initialisation and later, giving and
// taking back.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

Reply query_pages(CommandContext& context, ConstView<prm::query_pages_in> in,
                  View<prm::query_pages_out> out) {
    enum OpMod : std::uint32_t { kBoot = 1, kInit = 2, kRegular = 3 };
    using In = prm::query_pages_in;
    const Reply check =
        check_own_function(in.get<In::embedded_cpu_function>(), in.get<In::function_id>());
    if (!check.ok()) return check;
    const PageSupply& supply = context.function.pages();
    const PageParameters& wanted = supply.parameters();
    std::int64_t pages = 0;
    switch (in.get<In::op_mod>()) {
        case kBoot: pages = std::int64_t{wanted.boot} - supply.held(); break;
        case kInit: pages = std::int64_t{wanted.boot} + wanted.init - supply.held(); break;
        default: pages = supply.wanted(); break;
    }
    if (in.get<In::op_mod>() != kRegular) pages = std::max<std::int64_t>(pages, 0);
    out.set<prm::query_pages_out::num_pages>(static_cast<std::uint32_t>(pages));
    return accept();
}

Reply give_pages(PageSupply& supply, ConstView<prm::manage_pages_in> in) {
    using In = prm::manage_pages_in;
    const auto count = in.get<In::input_num_entries>();
    if (in.size<In::pas>() < count) {
        return refuse(Status::BAD_INP_LEN, "fewer addresses than input_num_entries");
    }
    std::vector<std::uint64_t> addresses(count);
    for (std::uint32_t i = 0; i < count; ++i) addresses[i] = in.at<In::pas>(i);
    switch (supply.give(addresses)) {
        case PageSupply::GiveError::none: return accept();
        case PageSupply::GiveError::not_aligned:
            return refuse(Status::BAD_PARAM, "page address not aligned to 4 KiB");
        case PageSupply::GiveError::given_twice:
            return refuse(Status::BAD_PARAM, "page was given before");
    }
    return accept();
}

Reply take_pages(PageSupply& supply, std::uint32_t count, View<prm::manage_pages_out> out) {
    using Out = prm::manage_pages_out;
    if (out.size<Out::pas>() < count) {
        return refuse(Status::BAD_OUTP_LEN, "no room for the addresses");
    }
    const std::vector<std::uint64_t> back = supply.take(count);
    for (std::size_t i = 0; i < back.size(); ++i) out.set_at<Out::pas>(i, back[i]);
    out.set<Out::output_num_entries>(back.size());
    return accept();
}

Reply manage_pages(CommandContext& context, ConstView<prm::manage_pages_in> in,
                   View<prm::manage_pages_out> out) {
    enum OpMod : std::uint32_t { kCannotGive = 0, kGive = 1, kTake = 2 };
    using In = prm::manage_pages_in;
    const Reply check =
        check_own_function(in.get<In::embedded_cpu_function>(), in.get<In::function_id>());
    if (!check.ok()) return check;
    PageSupply& supply = context.function.pages();
    switch (in.get<In::op_mod>()) {
        case kGive: return give_pages(supply, in);
        case kTake: return take_pages(supply, in.get<In::input_num_entries>(), out);
        default: supply.answered(); return accept();
    }
}

}  // namespace

std::vector<CommandRow> page_commands() {
    using prm::Opcode;
    return {
        command_row<&query_pages>(Opcode::QUERY_PAGES, Cost::query, Phase::enabled)
            .with_op_mods(0b1110),
        command_row<&manage_pages>(Opcode::MANAGE_PAGES, Cost::pages, Phase::enabled)
            .with_op_mods(0b0111),
    };
}

}  // namespace cxsim::firmware_stub
