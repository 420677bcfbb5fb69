// SPDX-License-Identifier: Apache-2.0
// The function as a whole: enabling, initialising and tearing down, interface revision (ISSI),
// capabilities, adapter and driver identification.
#include <algorithm>
#include <array>
#include <vector>

#include "firmware_stub/boot/text.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "model/prm/reflect.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

// A function without objects, with power-on capabilities, in `phase`. Its pages are not the
// firmware's any more: a driver that goes takes them back before, one that died is gone with them.
template <class In>
Reply start_over(FunctionState& function, ConstView<In> in, Phase phase) {
    const Reply check = check_own_function(in.template get<typename In::embedded_cpu_function>(),
                                           in.template get<typename In::function_id>());
    if (!check.ok()) return check;
    function.tear_down();
    function.pages().reset();
    function.restore_capabilities();
    function.issi = 0;
    function.set_phase(phase);
    return accept();
}

// Accepted in any phase: the next driver after one that died starts from a clean function.
Reply enable_hca(CommandContext& context, ConstView<prm::enable_hca_in> in,
                 View<prm::enable_hca_out>) {
    return start_over(context.function, in, Phase::enabled);
}

Reply disable_hca(CommandContext& context, ConstView<prm::disable_hca_in> in,
                  View<prm::disable_hca_out>) {
    return start_over(context.function, in, Phase::reset);
}

Reply init_hca(CommandContext& context, ConstView<prm::init_hca_in> in, View<prm::init_hca_out>) {
    (void)in;  // sw_owner_id: matters for multi-host steering only
    FunctionState& function = context.function;
    if (function.phase() == Phase::initialised) {
        return refuse(Status::BAD_SYS_STATE, "already initialised");
    }
    const PageParameters& pages = function.pages().parameters();
    if (function.pages().held() < pages.boot + pages.init) {
        return refuse(Status::BAD_RES, "boot and init pages were not all given");
    }
    function.set_phase(Phase::initialised);
    return accept();
}

Reply teardown_hca(CommandContext& context, ConstView<prm::teardown_hca_in> in,
                   View<prm::teardown_hca_out> out) {
    enum Profile : std::uint32_t { kGraceful = 0, kForce = 1, kPrepareFast = 2 };
    FunctionState& function = context.function;
    const auto profile = in.get<prm::teardown_hca_in::profile>();
    if (profile > kPrepareFast) return refuse(Status::BAD_PARAM, "profile not defined");
    if (profile == kForce && function.general<prm::cmd_hca_cap::force_teardown>() == 0) {
        return refuse(Status::BAD_PARAM, "force_teardown not supported");
    }
    if (profile == kPrepareFast && function.general<prm::cmd_hca_cap::fast_teardown>() == 0) {
        return refuse(Status::BAD_PARAM, "fast_teardown not supported");
    }
    out.set<prm::teardown_hca_out::state>(0);
    if (profile == kPrepareFast) return accept();  // nic_interface follows in the init segment
    if (profile == kForce) {
        function.tear_down();
        return accept();
    }
    // Objects that the driver forgot keep their pages until DISABLE_HCA.
    function.queues().reset();
    function.set_phase(Phase::enabled);
    return accept();
}

Reply query_issi(CommandContext& context, ConstView<prm::query_issi_in>,
                 View<prm::query_issi_out> out) {
    out.set<prm::query_issi_out::current_issi>(context.function.issi);
    out.set<prm::query_issi_out::supported_issi_dw0>(0x3);  // 0 and 1
    return accept();
}

Reply set_issi(CommandContext& context, ConstView<prm::set_issi_in> in, View<prm::set_issi_out>) {
    const auto issi = in.get<prm::set_issi_in::current_issi>();
    if (issi > 1) return refuse(Status::BAD_PARAM, "interface step sequence id not supported");
    context.function.issi = static_cast<std::uint8_t>(issi);
    return accept();
}

const prm::HcaCapTypeInfo* capability_group(const model::Capabilities& capabilities,
                                            std::uint16_t op_mod) {
    const prm::HcaCapTypeInfo* group = prm::find_hca_cap_type(prm::hca_cap_type_of(op_mod));
    return group != nullptr && capabilities.max(group->layout) != nullptr ? group : nullptr;
}

Reply query_hca_cap(CommandContext& context, ConstView<prm::query_hca_cap_in> in,
                    View<prm::query_hca_cap_out> out) {
    using In = prm::query_hca_cap_in;
    const auto op_mod = static_cast<std::uint16_t>(in.get<In::op_mod>());
    const model::Capabilities& capabilities = *context.firmware.config().capabilities;
    const prm::HcaCapTypeInfo* group = capability_group(capabilities, op_mod);
    if (group == nullptr) {
        return refuse(Status::BAD_PARAM, syndrome::kNoSuchCapabilityGroup,
                      "capability group not supported");
    }
    if (in.get<In::other_function>() != 0) {
        return refuse(Status::BAD_PARAM, "no other functions");
    }
    std::span<const std::byte> image = capabilities.max(group->layout)->bytes();
    if (prm::hca_cap_mode_of(op_mod) == prm::HcaCapMode::CUR) {
        image = context.function.current_capability(static_cast<std::uint16_t>(group->type));
    }
    const std::span<std::byte> place = out.bytes().subspan(16);
    std::copy_n(image.begin(), std::min(image.size(), place.size()), place.begin());
    return accept();
}

// Members that describe what the card is, not how much of it is to be used.
constexpr std::array<std::string_view, 2> kNotSettable{"port_type", "num_ports"};

// Every member at most its maximum. Nested members are compared as their own leaves.
Reply check_capabilities(const prm::LayoutInfo& layout, std::span<const std::byte> wanted,
                         std::span<const std::byte> maximum, std::span<const std::byte> current,
                         std::uint32_t base = 0) {
    for (const prm::FieldInfo& field : layout.fields) {
        if (field.reserved) continue;
        for (std::uint32_t i = 0; i < std::max(field.count, 1U); ++i) {
            const std::uint32_t offset = base + field.bit_offset + i * field.bit_width;
            if (field.nested != nullptr) {
                const Reply inner =
                    check_capabilities(*field.nested, wanted, maximum, current, offset);
                if (!inner.ok()) return inner;
                continue;
            }
            if (field.bit_width > 64) continue;
            const std::uint64_t value = prm::get_bits(wanted, offset, field.bit_width);
            const std::uint64_t limit = prm::get_bits(maximum, offset, field.bit_width);
            if (value > limit) {
                return refuse(Status::BAD_PARAM,
                              field.name == "log_max_current_uc_list" && limit == 0
                                  ? syndrome::kUcListNotSupported
                                  : 0,
                              "capability above its maximum");
            }
            const bool fixed = std::find(kNotSettable.begin(), kNotSettable.end(), field.name) !=
                               kNotSettable.end();
            if (fixed && value != prm::get_bits(current, offset, field.bit_width)) {
                return refuse(Status::BAD_PARAM, "capability is not settable");
            }
        }
    }
    return accept();
}

Reply set_hca_cap(CommandContext& context, ConstView<prm::set_hca_cap_in> in,
                  View<prm::set_hca_cap_out>) {
    using In = prm::set_hca_cap_in;
    FunctionState& function = context.function;
    if (function.phase() == Phase::initialised) {
        return refuse(Status::BAD_SYS_STATE, "after INIT_HCA");
    }
    if (in.get<In::other_function>() != 0) return refuse(Status::BAD_PARAM, "no other functions");
    const auto op_mod = static_cast<std::uint16_t>(in.get<In::op_mod>());
    const model::Capabilities& capabilities = *context.firmware.config().capabilities;
    const prm::HcaCapTypeInfo* group = capability_group(capabilities, op_mod);
    if (group == nullptr) {
        return refuse(Status::BAD_PARAM, syndrome::kNoSuchCapabilityGroup,
                      "capability group not supported");
    }
    const model::CapabilityImage& maximum = *capabilities.max(group->layout);
    const std::span<std::byte> current =
        function.current_capability(static_cast<std::uint16_t>(group->type));
    const std::span<const std::byte> wanted = in.bytes().subspan(16);
    if (wanted.size() < current.size()) {
        return refuse(Status::BAD_INP_LEN, "capability image shorter than its layout");
    }
    const Reply check = check_capabilities(maximum.layout(), wanted, maximum.bytes(), current);
    if (!check.ok()) return check;
    if (group->type == prm::HcaCapType::ATOMIC) {
        // The rest is what the card is; drivers send zeros there.
        using Atomic = prm::atomic_caps;
        View<Atomic>(current).set<Atomic::atomic_req_8B_endianness_mode>(
            ConstView<Atomic>(wanted).get<Atomic::atomic_req_8B_endianness_mode>());
    } else {
        std::copy_n(wanted.begin(), current.size(), current.begin());
    }
    if (group->type == prm::HcaCapType::GENERAL) function.capabilities_changed();
    return accept();
}

Reply query_adapter(CommandContext& context, ConstView<prm::query_adapter_in>,
                    View<prm::query_adapter_out> out) {
    using Block = prm::query_adapter_param_block;
    const auto block = out.nested<prm::query_adapter_out::query_adapter_struct>();
    const FirmwareConfig& config = context.firmware.config();
    block.set<Block::ieee_vendor_id>(0x0002c9);
    block.set<Block::vsd_vendor_id>(config.vsd_vendor_id);
    copy_text(config.psid, block.bytes<Block::vsd_contd_psid>());
    return accept();
}

Reply set_driver_version(CommandContext& context, ConstView<prm::set_driver_version_in> in,
                         View<prm::set_driver_version_out>) {
    const auto text = in.bytes<prm::set_driver_version_in::driver_version>();
    std::string& version = context.function.driver_version;
    version.clear();
    for (const std::byte b : text) {
        if (b == std::byte{0}) break;
        version.push_back(static_cast<char>(b));
    }
    return accept();
}

Reply nop(CommandContext&, ConstView<prm::nop_in>, View<prm::nop_out>) {
    return accept();
}

}  // namespace

std::vector<CommandRow> hca_commands() {
    using prm::Opcode;
    return {
        command_row<&enable_hca>(Opcode::ENABLE_HCA, Cost::enable_hca, Phase::reset),
        command_row<&disable_hca>(Opcode::DISABLE_HCA, Cost::teardown_hca, Phase::reset),
        command_row<&init_hca>(Opcode::INIT_HCA, Cost::init_hca, Phase::enabled),
        command_row<&teardown_hca>(Opcode::TEARDOWN_HCA, Cost::teardown_hca, Phase::enabled),
        command_row<&query_issi>(Opcode::QUERY_ISSI, Cost::query, Phase::reset),
        command_row<&set_issi>(Opcode::SET_ISSI, Cost::set, Phase::enabled),
        command_row<&query_hca_cap>(Opcode::QUERY_HCA_CAP, Cost::query, Phase::enabled)
            .with_any_op_mod(),
        command_row<&set_hca_cap>(Opcode::SET_HCA_CAP, Cost::set, Phase::enabled)
            .with_any_op_mod()
            .without_reserved_check(),  // the union's other members would be checked as well
        command_row<&query_adapter>(Opcode::QUERY_ADAPTER, Cost::query, Phase::enabled),
        command_row<&set_driver_version>(Opcode::SET_DRIVER_VERSION, Cost::set),
        command_row<&nop>(Opcode::NOP, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
