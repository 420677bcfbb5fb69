// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/roce_addresses.h"

#include <algorithm>

namespace cxsim::scenarios {
namespace {

using prm::roce_addr_layout;

constexpr std::uint32_t kVersion2 = 2;  // roce_version; 0: version 1
constexpr std::uint32_t kIpv6 = 1;      // roce_l3_type; 0: IPv4

template <class Bytes>
roce::Gid gid_of(const Bytes& bytes) {
    roce::Gid gid{};
    std::ranges::copy(bytes, gid.begin());
    return gid;
}

}  // namespace

std::optional<roce::LocalAddress> RoceAddresses::address(std::uint32_t index) const {
    const auto entry = function_.roce_addresses.find(index);
    if (entry == function_.roce_addresses.end()) return std::nullopt;
    const auto layout = entry->second.view();
    roce::LocalAddress address;
    if (layout.get<roce_addr_layout::roce_version>() == kVersion2) {
        address.kind = layout.get<roce_addr_layout::roce_l3_type>() == kIpv6
                           ? roce::NetworkKind::roce_v2_ipv6
                           : roce::NetworkKind::roce_v2_ipv4;
    }
    address.gid = gid_of(layout.bytes<roce_addr_layout::source_l3_address>());
    address.mac.value =
        static_cast<std::uint64_t>(layout.get<roce_addr_layout::source_mac_47_32>()) << 32 |
        layout.get<roce_addr_layout::source_mac_31_0>();
    address.has_vlan = layout.get<roce_addr_layout::vlan_valid>() != 0;
    address.vlan = static_cast<std::uint16_t>(layout.get<roce_addr_layout::vlan_id>());
    return address;
}

bool RoceAddresses::enabled() const {
    return function_.vport().context.view().get<prm::nic_vport_context::roce_en>() != 0;
}

bool RoceAddresses::big_endian_originals() const {
    const auto group = static_cast<std::uint16_t>(prm::HcaCapType::ATOMIC);
    const std::span<const std::byte> image = function_.current_capability(group);
    if (image.empty()) return false;
    return prm::ConstView<prm::atomic_caps>(image)
               .get<prm::atomic_caps::atomic_req_8B_endianness_mode>() == 0;
}

std::optional<std::uint8_t> RoceAddresses::queue_of_dscp(std::uint8_t dscp) const {
    const model::PortSettings& settings = port_.settings();
    if (!settings.trust_dscp) return std::nullopt;
    return settings.priority_of_dscp[dscp & (model::PortSettings::kDscps - 1)];
}

std::span<const std::uint32_t> RoceAddresses::members(const roce::Gid& group) const {
    firmware_stub::Gid key{};
    std::ranges::transform(group, key.begin(),
                           [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    const auto place = function_.multicast_groups.find(key);
    if (place == function_.multicast_groups.end()) return {};
    return place->second;
}

}  // namespace cxsim::scenarios
