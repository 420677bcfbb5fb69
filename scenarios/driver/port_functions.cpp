// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/port_functions.h"

#include "model/prm/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cxsim::scenarios {
namespace {

using prm::Opcode;
using prm::RegisterId;
using prm::View;
using Rp = prm::cong_control_r_roce_ecn_rp;
using Np = prm::cong_control_r_roce_ecn_np;

constexpr std::uint32_t kOnlyPort = 1;
constexpr std::uint32_t kReactionPoint = 1;  // cong_protocol
constexpr std::uint32_t kNotificationPoint = 2;
constexpr std::uint32_t kTrustPcp = 1;  // qpts_reg.trust_state
constexpr std::uint32_t kTrustDscp = 2;
constexpr unsigned kDscps = 64;
constexpr unsigned kPriorities = 8;

/// A parameter and its bit in field_select; names and bits as mlx5_ib's debugfs has them.
template <class Layout>
struct Parameter {
    std::string_view name;
    std::uint32_t bit;
    std::uint64_t maximum;  ///< that its field holds
    std::uint32_t (*get)(prm::ConstView<Layout>);
    void (*set)(View<Layout>, std::uint32_t);
};
template <class Layout, class Field>
constexpr Parameter<Layout> parameter(std::string_view name, std::uint32_t bit) {
    return {name, bit, (std::uint64_t{1} << Field::kWidth) - 1,
            [](prm::ConstView<Layout> from) { return from.template get<Field>(); },
            [](View<Layout> to, std::uint32_t value) { to.template set<Field>(value); }};
}

constexpr std::array<Parameter<Rp>, 16> kSender{{
    parameter<Rp, Rp::clamp_tgt_rate>("clamp_tgt_rate", 1),
    parameter<Rp, Rp::clamp_tgt_rate_after_time_inc>("clamp_tgt_rate_after_time_inc", 2),
    parameter<Rp, Rp::rpg_time_reset>("rpg_time_reset", 3),
    parameter<Rp, Rp::rpg_byte_reset>("rpg_byte_reset", 4),
    parameter<Rp, Rp::rpg_threshold>("rpg_threshold", 5),
    parameter<Rp, Rp::rpg_max_rate>("rpg_max_rate", 6),
    parameter<Rp, Rp::rpg_ai_rate>("rpg_ai_rate", 7),
    parameter<Rp, Rp::rpg_hai_rate>("rpg_hai_rate", 8),
    parameter<Rp, Rp::rpg_min_dec_fac>("rpg_min_dec_fac", 9),
    parameter<Rp, Rp::rpg_min_rate>("rpg_min_rate", 10),
    parameter<Rp, Rp::rate_to_set_on_first_cnp>("rate_to_set_on_first_cnp", 11),
    parameter<Rp, Rp::dce_tcp_g>("dce_tcp_g", 12),
    parameter<Rp, Rp::dce_tcp_rtt>("dce_tcp_rtt", 13),
    parameter<Rp, Rp::rate_reduce_monitor_period>("rate_reduce_monitor_period", 14),
    parameter<Rp, Rp::initial_alpha_value>("initial_alpha_value", 15),
    parameter<Rp, Rp::rpg_gd>("rpg_gd", 16),
}};

// One bit stands for the priority of notifications and its mode: both are written then.
constexpr std::array<Parameter<Np>, 4> kReceiver{{
    parameter<Np, Np::min_time_between_cnps>("min_time_between_cnps", 2),
    parameter<Np, Np::cnp_dscp>("cnp_dscp", 3),
    parameter<Np, Np::cnp_prio_mode>("cnp_prio_mode", 4),
    parameter<Np, Np::cnp_802p_prio>("cnp_802p_prio", 4),
}};

template <class Layout>
prm::Buffer<Layout> query_parameters(Driver& driver, std::uint32_t protocol) {
    using In = prm::query_cong_params_in;
    using Out = prm::query_cong_params_out;
    auto out = driver.run<In, Out>(Opcode::QUERY_CONG_PARAMS, [&](View<In> in) {
        in.set<In::cong_protocol>(protocol);
    });
    prm::Buffer<Layout> result;
    const auto from = out.view().template nested<Out::congestion_parameters>().bytes();
    std::copy_n(from.begin(), Layout::kBytes, result.bytes().begin());
    return result;
}

/// Takes what it knows of `wanted` out of it.
template <class Layout, std::size_t N>
void change_parameters(Driver& driver, std::uint32_t protocol,
                       const std::array<Parameter<Layout>, N>& known,
                       std::map<std::string, std::uint32_t>& wanted) {
    using In = prm::modify_cong_params_in;
    const bool any = std::ranges::any_of(known, [&](const Parameter<Layout>& one) {
        return wanted.contains(std::string(one.name));
    });
    if (!any) return;
    prm::Buffer<Layout> values = query_parameters<Layout>(driver, protocol);
    std::uint32_t select = 0;
    for (const Parameter<Layout>& one : known) {
        const auto place = wanted.find(std::string(one.name));
        if (place == wanted.end()) continue;
        if (place->second > one.maximum) {
            throw DriverError(fmt::format("{} {} does not fit its field", one.name, place->second));
        }
        one.set(values.view(), place->second);
        select |= 1U << one.bit;
        wanted.erase(place);
    }
    driver.run<In, prm::modify_cong_params_out>(Opcode::MODIFY_CONG_PARAMS, [&](View<In> in) {
        in.set<In::cong_protocol>(protocol);
        in.set<In::field_select, prm::field_select_802_1_r_roce_auto::field_select_r_roce_rp,
               prm::field_select_r_roce_rp::field_select_r_roce_rp_>(select);
        const auto to = in.nested<In::congestion_parameters>().bytes();
        std::copy_n(values.bytes().begin(), Layout::kBytes, to.begin());
    });
}

bool status_of(Driver& driver, std::uint32_t protocol, std::uint8_t priority) {
    using In = prm::query_cong_status_in;
    using Out = prm::query_cong_status_out;
    const auto out = driver.run<In, Out>(Opcode::QUERY_CONG_STATUS, [&](View<In> in) {
        in.set<In::cong_protocol>(protocol);
        in.set<In::priority>(priority);
    });
    return out.view().template get<Out::enable>() != 0;
}

void set_status(Driver& driver, std::uint32_t protocol, std::uint8_t priority, bool enable) {
    using In = prm::modify_cong_status_in;
    driver.run<In, prm::modify_cong_status_out>(Opcode::MODIFY_CONG_STATUS, [&](View<In> in) {
        in.set<In::cong_protocol>(protocol);
        in.set<In::priority>(priority);
        in.set<In::enable>(enable ? 1U : 0U);
        in.set<In::tag_enable>(1U);
    });
}

template <class Reg>
void write_register(Driver& driver, RegisterId id, prm::Buffer<Reg>& reg) {
    reg.view().template set<typename Reg::local_port>(kOnlyPort);
    access_register(driver, id, true, reg.bytes());
}

}  // namespace

void access_register(Driver& driver, RegisterId id, bool write, std::span<std::byte> data) {
    using In = prm::access_register_in;
    using Out = prm::access_register_out;
    const auto out = driver.run<In, Out>(
        Opcode::ACCESS_REG,
        [&](View<In> in) {
            in.set<In::register_id>(id);
            std::ranges::copy(data, in.bytes().subspan(In::kBytes).begin());
        },
        {data.size(), data.size()}, write ? 0 : 1);
    std::ranges::copy(out.bytes().subspan(Out::kBytes, data.size()), data.begin());
}

nlohmann::ordered_json access_register(Driver& driver, std::string_view name,
                                       const nlohmann::ordered_json& fields, bool write) {
    const prm::RegisterInfo* info = prm::find_register(name);
    const prm::LayoutInfo* layout =
        info == nullptr ? nullptr : prm::register_layout(static_cast<std::uint16_t>(info->id));
    if (layout == nullptr) {
        throw DriverError(fmt::format("no register \"{}\" with a known layout", name));
    }
    nlohmann::ordered_json members = fields.is_null() ? nlohmann::ordered_json::object() : fields;
    if (layout->find("local_port") != nullptr && !members.contains("local_port")) {
        members["local_port"] = kOnlyPort;
    }
    prm::Encoded encoded = prm::encode(*layout, members);
    if (!encoded) throw DriverError(fmt::format("{}: {}", name, encoded.error));
    encoded.data.resize(std::max<std::size_t>(encoded.data.size(), layout->bytes()));
    access_register(driver, info->id, write, encoded.data);
    return prm::to_json(*layout, encoded.data);
}

void set_priorities(Driver& driver, const PriorityOptions& options) {
    using Flow = prm::pfcc_reg;
    using Map = prm::qpdpm_reg;
    using Entry = prm::qpdpm_dscp_reg;
    prm::Buffer<Map> map;
    for (const auto& [dscp, priority] : options.priority_of_dscp) {
        if (dscp >= kDscps || priority >= kPriorities) {
            throw DriverError("DSCPs are 0 to 63, priorities 0 to 7");
        }
        const auto entry = map.view().template at<Map::dscp>(dscp);
        entry.template set<Entry::prio>(priority);
        entry.template set<Entry::e>(1U);
    }
    if (!options.priority_of_dscp.empty()) write_register(driver, RegisterId::QPDPM, map);
    prm::Buffer<prm::qpts_reg> trust;
    trust.view().set<prm::qpts_reg::trust_state>(options.trust_dscp ? kTrustDscp : kTrustPcp);
    write_register(driver, RegisterId::QPTS, trust);
    prm::Buffer<Flow> flow;
    const auto view = flow.view();
    view.set<Flow::pptx_mask_n>(1U);  // keeps pauses of the link, which priorities overrule
    view.set<Flow::pprx_mask_n>(1U);
    view.set<Flow::prio_mask_tx>(0xffU);
    view.set<Flow::prio_mask_rx>(0xffU);
    view.set<Flow::pfctx>(options.lossless);
    view.set<Flow::pfcrx>(options.lossless);
    write_register(driver, RegisterId::PFCC, flow);
}

std::map<std::string, std::uint32_t> congestion_parameters(Driver& driver) {
    std::map<std::string, std::uint32_t> result;
    prm::Buffer<Rp> rp = query_parameters<Rp>(driver, kReactionPoint);
    for (const auto& one : kSender) result[std::string(one.name)] = one.get(rp.view());
    prm::Buffer<Np> np = query_parameters<Np>(driver, kNotificationPoint);
    for (const auto& one : kReceiver) result[std::string(one.name)] = one.get(np.view());
    return result;
}

void set_congestion_parameters(Driver& driver, const std::map<std::string, std::uint32_t>& wanted) {
    for (const auto& parameter : wanted) {
        const std::string& name = parameter.first;
        const auto is = [&](const auto& one) { return one.name == name; };
        if (std::ranges::none_of(kSender, is) && std::ranges::none_of(kReceiver, is)) {
            throw DriverError(fmt::format("no parameter of congestion control '{}'", name));
        }
    }
    auto left = wanted;
    change_parameters(driver, kReactionPoint, kSender, left);
    change_parameters(driver, kNotificationPoint, kReceiver, left);
}

CongestionStatus congestion_status(Driver& driver, std::uint8_t priority) {
    return {status_of(driver, kReactionPoint, priority),
            status_of(driver, kNotificationPoint, priority)};
}

void set_congestion_status(Driver& driver, std::uint8_t priority, CongestionStatus status) {
    set_status(driver, kReactionPoint, priority, status.reaction_point);
    set_status(driver, kNotificationPoint, priority, status.notification_point);
}

}  // namespace cxsim::scenarios
