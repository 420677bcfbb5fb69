// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/config.h"

#include <algorithm>

namespace cxsim::firmware_stub {

using model::ObjectKind;

// Queue counts come from the capabilities that the driver reads; numbers are 24 bits wide, and
// some of the highest and lowest are the firmware's own.
model::ResourceLimits limits_from(const model::Capabilities& capabilities,
                                  std::uint64_t bar_bytes) {
    const auto general = [&](std::string_view path) {
        return capabilities.max_value("cmd_hca_cap", path);
    };
    const auto two_to = [&](std::string_view path) {
        return static_cast<std::uint32_t>(std::uint64_t{1}
                                          << std::min<std::uint64_t>(general(path), 24));
    };
    // Measured on real cards: usable QPs are 2^log_max_qp minus a couple of hundred.
    constexpr std::uint32_t kReservedQps = 209;
    constexpr std::uint32_t kUarPageBytes = 4096;
    constexpr std::uint32_t kFirstUar = 16;

    model::ResourceLimits limits;
    limits[ObjectKind::uar] = static_cast<std::uint32_t>(bar_bytes / kUarPageBytes) - kFirstUar;
    limits[ObjectKind::pd] = two_to("log_max_pd") - 1;
    limits[ObjectKind::transport_domain] = two_to("log_max_transport_domain");
    limits[ObjectKind::xrcd] = two_to("log_max_xrcd");
    limits[ObjectKind::mkey] = two_to("log_max_mkey") - 16;
    // EQ numbers are 8 bits wide in the contexts; the first four are the firmware's.
    const std::uint64_t eqs = general("max_num_eqs") != 0
                                  ? general("max_num_eqs")
                                  : std::uint64_t{1} << general("log_max_eq");
    limits[ObjectKind::eq] = static_cast<std::uint32_t>(std::min<std::uint64_t>(eqs, 252));
    limits[ObjectKind::cq] = two_to("log_max_cq") - 64;
    limits[ObjectKind::qp] = std::max(two_to("log_max_qp"), kReservedQps + 1) - kReservedQps;
    // Shared receive queues of all kinds have one space of numbers, in three ranges.
    constexpr std::uint32_t kSharedQueueRange = 0x400000;
    limits[ObjectKind::srq] = std::min(two_to("log_max_srq"), kSharedQueueRange - 1);
    limits[ObjectKind::xrc_srq] = std::min(two_to("log_max_srq"), kSharedQueueRange);
    limits[ObjectKind::rmp] = std::min(two_to("log_max_rmp"), kSharedQueueRange);
    limits[ObjectKind::rq] = std::min(two_to("log_max_rq"), 0x100000U);
    limits[ObjectKind::sq] = std::min(two_to("log_max_sq"), 0x100000U);
    limits[ObjectKind::tis] = two_to("log_max_tis");
    limits[ObjectKind::tir] = two_to("log_max_tir");
    limits[ObjectKind::rqt] = two_to("log_max_rqt");
    limits[ObjectKind::q_counter] = static_cast<std::uint32_t>(general("max_qp_cnt"));
    limits[ObjectKind::flow_table] = static_cast<std::uint32_t>(
        1ULL << capabilities.max_value("flow_table_nic_cap",
                                       "flow_table_properties_nic_receive.log_max_ft_num"));
    limits[ObjectKind::flow_group] = 1U << 20;
    limits[ObjectKind::flow_counter] = static_cast<std::uint32_t>(
        general("max_flow_counter_31_16") << 16 | general("max_flow_counter_15_0"));
    limits[ObjectKind::modify_header] = 1U << 16;
    limits[ObjectKind::packet_reformat] = 1U << 16;
    limits[ObjectKind::scheduling_element] = 1U << 10;
    limits[ObjectKind::vxlan_udp_dport] = static_cast<std::uint32_t>(std::max<std::uint64_t>(
        capabilities.max_value("per_protocol_networking_offload_caps", "max_vxlan_udp_ports"), 4));
    return limits;
}

}  // namespace cxsim::firmware_stub
