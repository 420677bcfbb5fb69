// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/commands/flow_match.h"

#include "model/base/assert.h"
#include "model/prm/reflect.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

/// A member of fte_match_param and the member of flow_table_fields_supported that offers it.
struct MatchField {
    std::string_view path;
    std::string_view capability;
};

// Of outer and inner headers alike; the capability's name starts with "outer_" or "inner_".
constexpr std::array<MatchField, 20> kHeaderFields{{
    {"smac_47_16", "smac"},       {"smac_15_0", "smac"},        {"dmac_47_16", "dmac"},
    {"dmac_15_0", "dmac"},        {"ethertype", "ether_type"},  {"first_prio", "first_prio"},
    {"first_cfi", "first_cfi"},   {"first_vid", "first_vid"},   {"ip_protocol", "ip_protocol"},
    {"ip_dscp", "ip_dscp"},       {"ip_ecn", "ip_ecn"},         {"frag", "frag"},
    {"ip_version", "ip_version"}, {"tcp_flags", "tcp_flags"},   {"tcp_sport", "tcp_sport"},
    {"tcp_dport", "tcp_dport"},   {"udp_sport", "udp_sport"},   {"udp_dport", "udp_dport"},
    {"src_ipv4_src_ipv6", "sip"}, {"dst_ipv4_dst_ipv6", "dip"},
}};

constexpr std::array<MatchField, 16> kMiscFields{{
    {"misc_parameters.outer_second_prio", "outer_second_prio"},
    {"misc_parameters.outer_second_cfi", "outer_second_cfi"},
    {"misc_parameters.outer_second_vid", "outer_second_vid"},
    {"misc_parameters.inner_second_prio", "inner_second_prio"},
    {"misc_parameters.inner_second_cfi", "inner_second_cfi"},
    {"misc_parameters.inner_second_vid", "inner_second_vid"},
    {"misc_parameters.gre_protocol", "outer_gre_protocol"},
    {"misc_parameters.gre_key", "outer_gre_key"},
    {"misc_parameters.vxlan_vni", "outer_vxlan_vni"},
    {"misc_parameters.geneve_vni", "outer_geneve_vni"},
    {"misc_parameters.geneve_oam", "outer_geneve_oam"},
    {"misc_parameters.geneve_opt_len", "outer_geneve_opt_len"},
    {"misc_parameters.geneve_protocol_type", "outer_geneve_protocol_type"},
    {"misc_parameters.source_port", "source_eswitch_port"},
    {"misc_parameters.source_vhca_port", "source_vhca_port"},
    {"misc_parameters.bth_dst_qp", "bth_dst_qp"},
}};

struct Place {
    std::uint32_t offset = 0;
    std::uint32_t width = 0;
    std::uint32_t capability_offset = 0;
};

std::vector<Place> resolve() {
    const prm::LayoutInfo& mask = prm::layout_info<prm::fte_match_param>();
    const prm::LayoutInfo& fields = prm::layout_info<prm::flow_table_fields_supported>();
    std::vector<Place> places;
    const auto add = [&](const std::string& path, const std::string& capability) {
        const auto field = prm::find_path(mask, path);
        const auto offer = prm::find_path(fields, capability);
        CX_ASSERT(field && offer, "{} or {} is not in the header", path, capability);
        places.push_back({field->bit_offset, field->bit_width, offer->bit_offset});
    };
    for (const MatchField& field : kHeaderFields) {
        add("outer_headers." + std::string(field.path), "outer_" + std::string(field.capability));
        add("inner_headers." + std::string(field.path), "inner_" + std::string(field.capability));
    }
    for (const MatchField& field : kMiscFields) {
        add(std::string(field.path), std::string(field.capability));
    }
    return places;
}

enum class Use : std::uint8_t { none, partial, full };

Use use_of(const Place& place, std::span<const std::byte> mask) {
    bool any = false;
    bool all = true;
    for (std::uint32_t done = 0; done < place.width; done += 32) {
        const std::uint32_t width = std::min(32U, place.width - done);
        const std::uint64_t bits = prm::get_bits(mask, place.offset + done, width);
        any = any || bits != 0;
        all = all && bits == prm::field_mask(width);
    }
    if (!any) return Use::none;
    return all ? Use::full : Use::partial;
}

}  // namespace

bool match_supported(prm::ConstView<prm::flow_table_prop_layout> properties,
                     std::span<const std::byte> mask) {
    using Properties = prm::flow_table_prop_layout;
    static const std::vector<Place> places = resolve();
    const auto full = properties.bytes<Properties::ft_field_support>();
    const auto partial = properties.bytes<Properties::ft_field_bitmask_support>();
    return std::all_of(places.begin(), places.end(), [&](const Place& place) {
        const Use use = use_of(place, mask);
        if (use == Use::none) return true;
        return prm::get_bits(full, place.capability_offset, 1) != 0 &&
               (use == Use::full || prm::get_bits(partial, place.capability_offset, 1) != 0);
    });
}

}  // namespace cxsim::firmware_stub
