// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/commands/queue_pair_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

template <class In>
prm::Buffer<In> group_input(Opcode opcode, std::uint32_t qpn, std::uint8_t group = 1) {
    auto in = FirmwareBench::input<In>(opcode);
    in.view().template set<typename In::qpn>(qpn);
    const auto gid = in.view().template bytes<typename In::multicast_gid>();
    gid[0] = std::byte{0xff};
    gid[15] = std::byte{group};
    return in;
}
auto attach_input(std::uint32_t qpn, std::uint8_t group = 1) {
    return group_input<prm::attach_to_mcg_in>(Opcode::ATTACH_TO_MCG, qpn, group);
}
auto detach_input(std::uint32_t qpn, std::uint8_t group = 1) {
    return group_input<prm::detach_from_mcg_in>(Opcode::DETACH_FROM_MCG, qpn, group);
}

}  // namespace

TEST_CASE("a datagram QP is attached to a group and detached again", "[multicast]") {
    QpBench bench;
    const std::uint32_t qpn = bench.create(ServiceType::ud);
    REQUIRE(bench.run<prm::attach_to_mcg_out>(attach_input(qpn)).ok());
    CHECK(bench.function().multicast_groups.size() == 1);
    CHECK(refused(bench.destroy(qpn), Status::BAD_RES_STATE));
    REQUIRE(bench.run<prm::detach_from_mcg_out>(detach_input(qpn)).ok());
    CHECK(bench.function().multicast_groups.empty());
    CHECK(bench.destroy(qpn).ok());
}

TEST_CASE("an IPv4 group is one as RoCE v2 maps it, other mapped addresses are none",
          "[multicast]") {
    QpBench bench;
    const std::uint32_t qpn = bench.create(ServiceType::ud);
    auto in = attach_input(qpn);
    const auto gid = in.view().bytes<prm::attach_to_mcg_in::multicast_gid>();
    gid[0] = std::byte{0};
    gid[10] = gid[11] = std::byte{0xff};
    for (const unsigned first : {223U, 240U}) {
        gid[12] = static_cast<std::byte>(first);
        CHECK(refused(bench.run<prm::attach_to_mcg_out>(in), Status::BAD_PARAM));
    }
    gid[12] = std::byte{239};
    CHECK(bench.run<prm::attach_to_mcg_out>(in).ok());
    gid[9] = std::byte{1};
    CHECK(refused(bench.run<prm::attach_to_mcg_out>(in), Status::BAD_PARAM));
}

TEST_CASE("attaching and detaching are refused for each thing that is wrong", "[multicast]") {
    QpBench bench(capability({{"cmd_hca_cap.log_max_mcg", "1"}, {"cmd_hca_cap.max_qp_mcg", "2"}}));
    const std::uint32_t qpn = bench.create(ServiceType::ud);
    CHECK(refused(bench.run<prm::attach_to_mcg_out>(attach_input(0x1234)), Status::BAD_RES_STATE,
                  0x7ea02d));
    CHECK(refused(bench.run<prm::attach_to_mcg_out>(attach_input(bench.create(ServiceType::rc))),
                  Status::BAD_PARAM));
    auto unicast = attach_input(qpn);
    unicast.view().bytes<prm::attach_to_mcg_in::multicast_gid>()[0] = std::byte{0xfe};
    CHECK(refused(bench.run<prm::attach_to_mcg_out>(unicast), Status::BAD_PARAM));
    CHECK(refused(bench.run<prm::detach_from_mcg_out>(detach_input(qpn)), Status::BAD_RES_STATE));

    REQUIRE(bench.run<prm::attach_to_mcg_out>(attach_input(qpn)).ok());
    CHECK(refused(bench.run<prm::attach_to_mcg_out>(attach_input(qpn)), Status::BAD_PARAM));
    const std::uint32_t second = bench.create(ServiceType::ud);
    CHECK(
        refused(bench.run<prm::detach_from_mcg_out>(detach_input(second)), Status::BAD_RES_STATE));
    REQUIRE(bench.run<prm::attach_to_mcg_out>(attach_input(second)).ok());
    CHECK(refused(bench.run<prm::attach_to_mcg_out>(attach_input(bench.create(ServiceType::ud))),
                  Status::LIM_ERR));
    REQUIRE(bench.run<prm::attach_to_mcg_out>(attach_input(qpn, 2)).ok());
    CHECK(refused(bench.run<prm::attach_to_mcg_out>(attach_input(qpn, 3)), Status::LIM_ERR));
}
