// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::roce_addr_layout;
using prm::Status;

namespace {

using Set = prm::set_roce_address_in;
using Query = prm::query_roce_address_in;

// RoCE v2 over IPv4, 10.0.0.1.
prm::Buffer<Set> set_input(std::uint32_t index) {
    auto in = FirmwareBench::input<Set>(Opcode::SET_ROCE_ADDRESS);
    in.view().set<Set::roce_address_index>(index);
    const auto address = in.view().nested<Set::roce_address>();
    const auto gid = address.bytes<roce_addr_layout::source_l3_address>();
    model::store_be<std::uint64_t>(gid.data() + 8, 0x0000ffff0a000001U);
    address.set<roce_addr_layout::source_mac_47_32>(0x0c42U);
    address.set<roce_addr_layout::source_mac_31_0>(0xa1123456U);
    address.set<roce_addr_layout::roce_version>(2U);
    return in;
}

prm::Buffer<Query> query_input(std::uint32_t index) {
    auto in = FirmwareBench::input<Query>(Opcode::QUERY_ROCE_ADDRESS);
    in.view().set<Query::roce_address_index>(index);
    return in;
}

}  // namespace

TEST_CASE("a RoCE address is set, shown and deleted by a zero entry", "[roce]") {
    FirmwareBench bench;
    using Out = prm::query_roce_address_out;
    REQUIRE(bench.run<prm::set_roce_address_out>(set_input(3)).ok());
    const auto shown = bench.run<Out>(query_input(3));
    REQUIRE(shown.ok());
    CHECK(shown.get<Out::roce_address, roce_addr_layout::source_mac_31_0>() == 0xa1123456);
    CHECK(shown.get<Out::roce_address, roce_addr_layout::roce_version>() == 2);
    CHECK(bench.function().roce_addresses.size() == 1);
    auto zero = FirmwareBench::input<Set>(Opcode::SET_ROCE_ADDRESS);
    zero.view().set<Set::roce_address_index>(3U);
    REQUIRE(bench.run<prm::set_roce_address_out>(zero).ok());
    CHECK(bench.function().roce_addresses.empty());
    const auto gone = bench.run<Out>(query_input(3));
    REQUIRE(gone.ok());
    CHECK(gone.get<Out::roce_address, roce_addr_layout::source_mac_31_0>() == 0);
}

TEST_CASE("setting a RoCE address is refused for each thing that is wrong", "[roce]") {
    FirmwareBench bench;
    using View = prm::View<Set>;
    using Address = Set::roce_address;
    check_refusals<prm::set_roce_address_out>(
        bench, set_input(0),
        {{"multicast", [](View v) { v.set<Address, roce_addr_layout::source_mac_47_32>(0x0100U); },
          Status::BAD_PARAM, 0x63c66},
         {"version", [](View v) { v.set<Address, roce_addr_layout::roce_version>(1U); },
          Status::BAD_PARAM, 0x12822d},
         {"version unknown", [](View v) { v.set<Address, roce_addr_layout::roce_version>(3U); },
          Status::BAD_PARAM, 0x12822d},
         {"layer", [](View v) { v.set<Address, roce_addr_layout::roce_l3_type>(2U); },
          Status::BAD_PARAM},
         {"index", [](View v) { v.set<Set::roce_address_index>(255U); }, Status::BAD_PARAM},
         {"port", [](View v) { v.set<Set::vhca_port_num>(2U); }, Status::BAD_PARAM}});
    CHECK(bench.function().roce_addresses.empty());
    CHECK(refused(bench.run<prm::query_roce_address_out>(query_input(255)), Status::BAD_PARAM));

    FirmwareBench no_v1("connectx5",
                        capability({{"roce_cap.roce_version", "4"}, {"roce_cap.l3_type", "5"}}));
    auto zero = FirmwareBench::input<Set>(Opcode::SET_ROCE_ADDRESS);
    CHECK(refused(no_v1.run<prm::set_roce_address_out>(zero), Status::BAD_PARAM, 0x12822d));
    CHECK(refused(no_v1.run<prm::set_roce_address_out>(set_input(0)), Status::BAD_PARAM));
    FirmwareBench no_roce("connectx5", capability({{"cmd_hca_cap.roce", "0"}}));
    CHECK(refused(no_roce.run<prm::set_roce_address_out>(set_input(0)), Status::BAD_PARAM));
    CHECK(refused(no_roce.run<prm::query_roce_address_out>(query_input(0)), Status::BAD_PARAM));
}
