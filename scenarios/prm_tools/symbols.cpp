// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/symbols.h"

#include "model/prm/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cxsim::scenarios {
namespace {

using prm::Opcode;

constexpr std::uint64_t kPageBytes = 4096;
// A block of flow counters is one object with numbers of its own behind the first.
constexpr std::uint64_t kLargestBlock = 32768;

struct HandleMember {
    std::string_view leaf;
    std::array<std::string_view, 3> kinds;
};

constexpr HandleMember kHandleMembers[] = {
    {"uar", {"uar"}},
    {"uar_page", {"uar"}},
    {"pd", {"pd"}},
    {"transport_domain", {"td"}},
    {"xrcd", {"xrcd"}},
    {"mkey_index", {"mkey"}},
    {"eq_number", {"eq"}},
    {"eqn", {"eq"}},
    {"c_eqn_or_apu_element", {"eq"}},
    {"cqn", {"cq"}},
    {"cqn_snd", {"cq"}},
    {"cqn_rcv", {"cq"}},
    {"cq_number", {"cq"}},
    {"qpn", {"qp"}},
    {"underlay_qpn", {"qp"}},
    {"srqn", {"srq"}},
    {"xrc_srqn", {"xrcsrq"}},
    {"srqn_rmpn_xrqn", {"srq", "xrcsrq", "rmp"}},
    {"srq_number", {"srq", "rmp"}},
    {"rmpn", {"rmp"}},
    {"rqn", {"rq"}},
    {"rq_num_", {"rq"}},
    {"inline_rqn", {"rq"}},
    {"sqn", {"sq"}},
    {"qpn_rqn_sqn", {"qp", "sq", "rq"}},
    {"tirn", {"tir"}},
    {"tisn", {"tis"}},
    {"tis_num_0", {"tis"}},
    {"rqtn", {"rqt"}},
    {"indirect_table", {"rqt"}},
    {"counter_set_id", {"qcounter"}},
    {"table_id", {"ft"}},
    {"table_miss_id", {"ft"}},
    {"lag_master_next_table_id", {"ft"}},
    {"group_id", {"fg"}},
    {"flow_counter_id", {"counter"}},
    {"modify_header_id", {"mh"}},
    {"packet_reformat_id", {"reformat"}},
    {"scheduling_element_id", {"sched"}},
    {"parent_element_id", {"sched"}},
    {"qos_queue_group_id", {"sched"}},
};

constexpr std::string_view kFlowTable[] = {"ft"};
constexpr std::string_view kTir[] = {"tir"};

// Leaves of outputs that move on their own, for any command that shows them.
constexpr std::string_view kVolatileLeaves[] = {
    "producer_counter",
    "consumer_counter",
    "last_notified_index",
    "last_solicit_index",
    "hw_counter",
    "sw_counter",
    "hw_sq_wqebb_counter",
    "sw_sq_wqebb_counter",
    "hw_rq_counter",
    "sw_rq_counter",
    "next_send_psn",
    "last_acked_psn",
    "next_rcv_psn",
    "wqe_cnt",
    "last_db",
    "arm_request",
};
constexpr Opcode kVolatileOutputs[] = {
    Opcode::QUERY_VPORT_COUNTER, Opcode::QUERY_Q_COUNTER,       Opcode::QUERY_FLOW_COUNTER,
    Opcode::QUERY_VNIC_ENV,      Opcode::QUERY_CONG_STATISTICS,
};
constexpr std::string_view kVolatileRegisters[] = {
    "ppcnt_reg.counter_set",
    "mpcnt_reg.counter_set",
    "mtmp_reg.",
    "mtutc_reg.",
    "mtpps_reg.",
    "mtctr_reg.",
};
// Armed and fired of event queues, empty and full of completion queues.
constexpr std::string_view kQueueStates[] = {"eq_context_entry.st", "cq_context.st"};

}  // namespace

std::span<const std::string_view> handle_kinds(std::uint16_t opcode, const NamedValue& value,
                                               std::span<const std::byte> data) {
    const auto command = static_cast<Opcode>(opcode);
    if (value.place.form != ValueForm::number || value.leaf.empty() ||
        command == Opcode::QUERY_HCA_CAP || command == Opcode::SET_HCA_CAP ||
        command == Opcode::ACCESS_REG) {
        return {};
    }
    if (value.leaf == "destination_id") {
        enum Type : unsigned { kTable = 1, kReceiver = 2 };
        const std::size_t type_byte = value.place.bit / 8 - 1;
        if (type_byte >= data.size()) return {};
        switch (std::to_integer<unsigned>(data[type_byte])) {
            case kTable:
                return kFlowTable;
            case kReceiver:
                return kTir;
            default:
                return {};
        }
    }
    for (const HandleMember& member : kHandleMembers) {
        if (member.leaf != value.leaf) continue;
        const auto used = std::find(member.kinds.begin(), member.kinds.end(), std::string_view{});
        return {member.kinds.begin(), used};
    }
    return {};
}

bool makes_objects(std::uint16_t opcode) {
    const std::string_view name = prm::opcode_name(opcode);
    return name.starts_with("CREATE_") || name.starts_with("ALLOC_");
}

bool is_address(std::string_view leaf) {
    return leaf == "dbr_addr" || leaf == "db_record_addr" || leaf == "start_addr";
}

bool is_random_key(std::string_view leaf) {
    return leaf == "rx_hash_toeplitz_key";
}

bool is_volatile(std::uint16_t opcode, std::string_view path, std::string_view leaf) {
    const auto command = static_cast<Opcode>(opcode);
    if (leaf == "status" || leaf == "syndrome") return false;
    if (std::ranges::find(kVolatileOutputs, command) != std::end(kVolatileOutputs)) return true;
    if (command == Opcode::ACCESS_REG) {
        return std::ranges::any_of(kVolatileRegisters,
                                   [&](std::string_view name) { return path.starts_with(name); });
    }
    if (!prm::opcode_name(opcode).starts_with("QUERY_")) return false;
    if (command == Opcode::QUERY_HCA_CAP) return false;
    return std::ranges::find(kVolatileLeaves, leaf) != std::end(kVolatileLeaves) ||
           std::ranges::find(kQueueStates, path) != std::end(kQueueStates);
}

std::string SymbolTable::find(std::uint16_t function, std::string_view kind,
                              std::uint64_t number) const {
    const auto place = objects_.find({function, kind, number});
    if (place != objects_.end()) return fmt::format("${}{}", kind, place->second);
    if (kind != "counter") return {};
    const auto above = objects_.upper_bound({function, kind, number});
    if (above == objects_.begin()) return {};
    const auto& [key, index] = *std::prev(above);
    const auto& [f, k, first] = key;
    if (f != function || k != kind || number - first >= kLargestBlock) return {};
    return fmt::format("${}{}+{:#x}", kind, index, number - first);
}

std::string SymbolTable::define(std::uint16_t function, std::string_view kind,
                                std::uint64_t number) {
    const unsigned index = ++next_[kind];
    objects_[{function, kind, number}] = index;
    return fmt::format("${}{}", kind, index);
}

std::string SymbolTable::address(std::uint16_t function, std::uint64_t address) {
    const auto [place, fresh] = pages_.try_emplace({function, address / kPageBytes}, next_page_);
    if (fresh) ++next_page_;
    const std::uint64_t offset = address % kPageBytes;
    return offset == 0 ? fmt::format("$page{}", place->second)
                       : fmt::format("$page{}+{:#x}", place->second, offset);
}

std::string SymbolTable::buffer(std::span<const std::uint64_t> addresses) {
    const std::uint64_t low = addresses.front() % kPageBytes;
    const bool same = std::ranges::all_of(
        addresses, [&](std::uint64_t address) { return address % kPageBytes == low; });
    std::string text = fmt::format("$buf{}[{}]", next_buffer_++, addresses.size());
    if (same && low != 0) text += fmt::format("+{:#x}", low);
    return text;
}

std::string SymbolTable::key(std::span<const std::byte> bytes) {
    const auto number = static_cast<unsigned>(keys_.size() + 1);
    const auto [place, fresh] = keys_.try_emplace({bytes.begin(), bytes.end()}, number);
    return fmt::format("$key{}[{}]", place->second, bytes.size());
}

void SymbolTable::forget_addresses(std::uint16_t function) {
    std::erase_if(pages_, [&](const auto& page) { return page.first.first == function; });
}

}  // namespace cxsim::scenarios
