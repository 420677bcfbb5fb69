// SPDX-License-Identifier: Apache-2.0
#include "roce/transport/addressing.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>

using namespace cxsim;
using namespace cxsim::roce;

namespace {

Gid mapped(std::uint32_t ip) {
    Gid gid{};
    gid[10] = gid[11] = std::byte{0xff};
    for (std::size_t i = 0; i < 4; ++i) gid[12 + i] = static_cast<std::byte>(ip >> (24 - 8 * i));
    return gid;
}

class Table final : public AddressTable {
  public:
    std::optional<LocalAddress> address(std::uint32_t index) const override {
        if (index >= entries.size()) return std::nullopt;
        return entries[index];
    }
    bool enabled() const override { return true; }
    std::optional<std::uint8_t> queue_of_dscp(std::uint8_t dscp) const override {
        if (!trusts_dscp) return std::nullopt;
        return static_cast<std::uint8_t>(dscp == 48 ? 7 : dscp >> 3);
    }
    std::span<const std::uint32_t> members(const Gid&) const override { return {}; }

    bool trusts_dscp = false;
    std::array<LocalAddress, 2> entries{
        LocalAddress{NetworkKind::roce_v2_ipv4, mapped(0x0a00'0001), {0x02'0000'0000'01}, false, 0},
        LocalAddress{NetworkKind::roce_v1, mapped(0x0a00'0001), {0x02'0000'0000'01}, true, 100}};
};

constexpr std::uint64_t kRemoteMac = 0x02'0000'0000'02;

prm::Buffer<prm::ads> connected() {
    using prm::ads;
    prm::Buffer<ads> buffer;
    const auto path = buffer.view();
    path.set<ads::rmac_47_32>(static_cast<std::uint32_t>(kRemoteMac >> 32));
    path.set<ads::rmac_31_0>(static_cast<std::uint32_t>(kRemoteMac));
    std::ranges::copy(mapped(0x0a00'0002), path.bytes<ads::rgid_rip>().begin());
    path.set<ads::hop_limit>(64U);
    path.set<ads::dscp>(26U);
    path.set<ads::eth_prio>(3U);
    path.set<ads::udp_sport>(0xd123U);
    return buffer;
}

}  // namespace

TEST_CASE("a connected path has the table's source and the address's destination", "[addressing]") {
    const Table table;
    const auto address = connected();
    const auto path = path_of(address.view(), 0x40, 0x50, table);
    REQUIRE(path.has_value());
    const Path::Description& d = path->description();
    CHECK(d.kind == NetworkKind::roce_v2_ipv4);
    CHECK(d.source_mac == table.entries[0].mac);
    CHECK(d.destination_mac.value == kRemoteMac);
    CHECK(d.source == mapped(0x0a00'0001));
    CHECK(d.destination == mapped(0x0a00'0002));
    CHECK(d.traffic_class == (26 << 2 | 2));  // DSCP and ECT(0)
    CHECK(d.hop_limit == 64);
    CHECK(d.source_port == 0xd123);
    CHECK(d.priority == 3);
    CHECK_FALSE(d.has_vlan);
}

TEST_CASE("the driver's ECN bits count if it says so", "[addressing]") {
    const Table table;
    auto address = connected();
    address.view().set<prm::ads::f_ecn>(1U);
    const auto path = path_of(address.view(), 0x40, 0x50, table);
    REQUIRE(path.has_value());
    CHECK(path->description().traffic_class == 26 << 2);
}

TEST_CASE("an address of a VLAN tags with the path's priority", "[addressing]") {
    const Table table;
    auto address = connected();
    address.view().set<prm::ads::src_addr_index>(1U);
    address.view().set<prm::ads::tclass>(0x48U);
    const auto path = path_of(address.view(), 0x40, 0x50, table);
    REQUIRE(path.has_value());
    CHECK(path->description().kind == NetworkKind::roce_v1);
    CHECK(path->description().traffic_class == (0x48 | 2));  // ECT(0), as captures show
    CHECK(path->description().has_vlan);
    CHECK(path->description().vlan_tci == (3U << 13 | 100U));
}

TEST_CASE("without a source port both directions of a pair of queues use the same one",
          "[addressing]") {
    const Table table;
    auto address = connected();
    address.view().set<prm::ads::udp_sport>(0U);
    const auto there = path_of(address.view(), 0x40, 0x51, table);
    const auto back = path_of(address.view(), 0x51, 0x40, table);
    REQUIRE((there.has_value() && back.has_value()));
    CHECK(there->description().source_port == back->description().source_port);
    CHECK(there->description().source_port >= 0xc000);
}

TEST_CASE("there is no path from an empty entry, nor from a bare address vector", "[addressing]") {
    const Table table;
    auto address = connected();
    address.view().set<prm::ads::src_addr_index>(2U);
    CHECK_FALSE(path_of(address.view(), 0x40, 0x50, table).has_value());
    const std::array<std::byte, prm::base_av::kBytes> bare{};
    CHECK_FALSE(path_of(bare, 0x40, table).has_value());
}

TEST_CASE("a datagram's path comes from its address vector", "[addressing]") {
    using prm::av;
    const Table table;
    prm::Buffer<av> buffer;
    const auto vector = buffer.view();
    vector.bytes<av::rmac>()[5] = std::byte{9};
    std::ranges::copy(mapped(0x0a00'0002), vector.bytes<av::rgid>().begin());
    vector.set<av::hop_limit>(7U);
    vector.set<av::tclass>(0x6aU);
    vector.set<av::base, prm::base_av::sl>(5U << 1);  // as drivers write it on Ethernet
    vector.set<av::base, prm::base_av::udp_sport>(0xc0deU);
    const auto path = path_of(buffer.bytes(), 0x40, table);
    REQUIRE(path.has_value());
    const Path::Description& d = path->description();
    CHECK(d.destination_mac.value == 9);
    CHECK(d.destination == mapped(0x0a00'0002));
    CHECK(d.traffic_class == 0x6a);
    CHECK(d.hop_limit == 7);
    CHECK(d.priority == 5);
    CHECK(d.source_port == 0xc0de);
}

TEST_CASE("a port that trusts DSCPs has version 2 in their queues; tags keep what was asked for",
          "[addressing]") {
    Table table;
    table.trusts_dscp = true;
    table.entries[0].has_vlan = true;
    auto address = connected();
    address.view().set<prm::ads::eth_prio>(1U);
    const auto path = path_of(address.view(), 0x40, 0x50, table);
    REQUIRE(path.has_value());
    CHECK(path->description().priority == 3);  // DSCP 26
    CHECK(path->description().vlan_tci >> 13 == 1);
    address.view().set<prm::ads::src_addr_index>(1U);  // RoCE v1 has no DSCP
    const auto first = path_of(address.view(), 0x40, 0x50, table);
    REQUIRE(first.has_value());
    CHECK(first->description().priority == 1);
    ReceivedPacket packet;
    packet.kind = NetworkKind::roce_v2_ipv4;
    CHECK(reply_path(packet, 48 << 2, 6, table).description().priority == 7);
    packet.kind = NetworkKind::roce_v1;
    CHECK(reply_path(packet, 48 << 2, 6, table).description().priority == 6);
}

TEST_CASE("a reply goes back where the packet came from, in its VLAN with its own priority",
          "[addressing]") {
    const Table table;
    ReceivedPacket packet;
    packet.kind = NetworkKind::roce_v2_ipv4;
    packet.source_mac = {1};
    packet.destination_mac = {2};
    packet.source = mapped(0x0a00'0001);
    packet.destination = mapped(0x0a00'0002);
    packet.has_vlan = true;
    packet.vlan_tci = 3U << 13 | 100U;
    packet.source_port = 0xc123;
    const Path path = reply_path(packet, 48 << 2, 6, table);
    const Path::Description& d = path.description();
    CHECK(d.source_mac.value == 2);
    CHECK(d.destination_mac.value == 1);
    CHECK(d.source == packet.destination);
    CHECK(d.destination == packet.source);
    CHECK(d.vlan_tci == (6U << 13 | 100U));
    CHECK(d.traffic_class == 48 << 2);
    CHECK(d.source_port == 0xc123);
}
