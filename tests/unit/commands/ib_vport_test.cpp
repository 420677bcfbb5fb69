// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_port.h"
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

TEST_CASE("the vport's identity is the function's, its state the port's", "[ib_vport]") {
    using In = prm::query_hca_vport_context_in;
    using Out = prm::query_hca_vport_context_out;
    using Context = prm::hca_vport_context;
    FakePort port;
    FirmwareBench bench;
    bench.firmware.attach_port(port);
    const auto in = FirmwareBench::input<In>(Opcode::QUERY_HCA_VPORT_CONTEXT);
    const auto down = bench.run<Out>(in);
    REQUIRE(down.ok());
    CHECK(down.get<Out::hca_vport_context, Context::node_guid>() == bench.config.node_guid);
    CHECK(down.get<Out::hca_vport_context, Context::port_state>() == 1);
    CHECK(down.get<Out::hca_vport_context, Context::port_physical_state>() == 2);
    port.plug(true);
    CHECK(bench.run<Out>(in).get<Out::hca_vport_context, Context::port_state>() == 4);
    using View = prm::View<In>;
    check_refusals<Out>(
        bench, in,
        {{"other vport", [](View v) { v.set<In::other_vport>(1U); }, Status::BAD_PARAM},
         {"vport", [](View v) { v.set<In::vport_number>(1U); }, Status::BAD_PARAM},
         {"port", [](View v) { v.set<In::port_num>(2U); }, Status::BAD_PARAM}});
}

TEST_CASE("GIDs are those of the RoCE addresses", "[ib_vport]") {
    using In = prm::query_hca_vport_gid_in;
    using Out = prm::query_hca_vport_gid_out;
    FirmwareBench bench;
    const auto gid =
        bench.function().roce_addresses[2].view().bytes<prm::roce_addr_layout::source_l3_address>();
    gid[15] = std::byte{0x77};
    auto in = FirmwareBench::input<In>(Opcode::QUERY_HCA_VPORT_GID);
    in.view().set<In::gid_index>(2U);
    const auto one = bench.run<Out>(in, 16);
    REQUIRE(one.ok());
    CHECK(one.get<Out::gids_num>() == 1);
    CHECK(one.out.bytes()[31] == std::byte{0x77});
    CHECK(refused(bench.run<Out>(in), Status::BAD_OUTP_LEN));
    in.view().set<In::gid_index>(0xffffU);
    const auto all = bench.run<Out>(in, 255 * 16);
    REQUIRE(all.ok());
    CHECK(all.get<Out::gids_num>() == 255);
    CHECK(all.out.bytes()[16 + 2 * 16 + 15] == std::byte{0x77});
    in.view().set<In::gid_index>(255U);
    CHECK(refused(bench.run<Out>(in, 16), Status::BAD_PARAM));
    in.view().set<In::other_vport>(1U);
    CHECK(refused(bench.run<Out>(in, 16), Status::BAD_PARAM));
}

TEST_CASE("the partition table has the default partition only", "[ib_vport]") {
    using In = prm::query_hca_vport_pkey_in;
    using Out = prm::query_hca_vport_pkey_out;
    FirmwareBench bench;
    auto in = FirmwareBench::input<In>(Opcode::QUERY_HCA_VPORT_PKEY);
    const auto first = bench.run<Out>(in, 4);
    REQUIRE(first.ok());
    CHECK(first.out.view().at<Out::pkey>(0).get<prm::pkey::pkey_>() == 0xffff);
    in.view().set<In::pkey_index>(127U);
    const auto last = bench.run<Out>(in, 4);
    REQUIRE(last.ok());
    CHECK(last.out.view().at<Out::pkey>(0).get<prm::pkey::pkey_>() == 0);
    in.view().set<In::pkey_index>(0xffffU);
    const auto all = bench.run<Out>(in, 128 * 4);
    REQUIRE(all.ok());
    CHECK(all.out.view().at<Out::pkey>(0).get<prm::pkey::pkey_>() == 0xffff);
    CHECK(refused(bench.run<Out>(in, 127 * 4), Status::BAD_OUTP_LEN));
    in.view().set<In::pkey_index>(128U);
    CHECK(refused(bench.run<Out>(in, 4), Status::BAD_PARAM));
    in.view().set<In::port_num>(2U);
    CHECK(refused(bench.run<Out>(in, 4), Status::BAD_PARAM));
}
