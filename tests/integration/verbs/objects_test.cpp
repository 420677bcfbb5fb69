// SPDX-License-Identifier: Apache-2.0
// What the RDMA driver makes on a card, through commands alone: life and states of the objects.
#include "tests/integration/verbs/verbs_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;
using Catch::Matchers::ContainsSubstring;

namespace {

void check_two_rounds(const std::string& card) {
    VerbsBench bench(1, card);
    VerbsStation& station = bench.station(0);
    VerbsDriver& verbs = station.verbs;
    std::uint64_t digests[2] = {};
    for (std::uint64_t& digest : digests) {
        if (!verbs.is_open()) verbs.open();
        VerbsPd& pd = verbs.create_pd();
        VerbsCq& cq = verbs.create_cq(100);
        CHECK(cq.entries() == 128);
        VerbsSrq& srq = verbs.create_srq(pd, 60);
        verbs.create_mr(pd, 1);
        verbs.create_mr(pd, 3 << 20, {.access = {}});
        for (const QpService service : {QpService::rc, QpService::uc, QpService::ud}) {
            QpOptions options;
            options.service = service;
            verbs.create_qp(pd, cq, cq, options);
            options.srq = &srq;
            if (service != QpService::uc) verbs.create_qp(pd, cq, cq, options);
        }
        digest = station.function().resources().digest();
        verbs.close();
        CHECK(station.function().resources().total() == 0);
        CHECK(station.function().roce_addresses.empty());
        CHECK(station.function().pages().held() == 0);
        CHECK(station.driver.pages().held() == 0);
        CHECK(station.driver.pages().buffers() == 0);
    }
    CHECK(digests[0] == digests[1]);
    CHECK(station.host.wild_interrupts() == 0);
}

ConnectionOptions to_itself(const VerbsDriver& verbs, std::uint32_t qpn) {
    ConnectionOptions connection;
    connection.remote_qpn = qpn;
    connection.path = verbs.path_to(VerbsDriver::kIpv4V2);
    return connection;
}

}  // namespace

TEST_CASE("a ConnectX-4 Lx makes and loses every RDMA object twice alike", "[verbs]") {
    check_two_rounds("connectx4lx");
}

TEST_CASE("a ConnectX-5 makes and loses every RDMA object twice alike", "[verbs]") {
    check_two_rounds("connectx5");
}

TEST_CASE("a ConnectX-6 Dx makes and loses every RDMA object twice alike", "[verbs]") {
    check_two_rounds("connectx6dx");
}

TEST_CASE("a ConnectX-7 makes and loses every RDMA object twice alike", "[verbs]") {
    check_two_rounds("connectx7");
}

TEST_CASE("addresses of both RoCE versions stand in the card's table", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    const auto query = [&](unsigned index) {
        return verbs.driver().command("QUERY_ROCE_ADDRESS",
                                      {{"roce_address_index", index}})["roce_address"];
    };
    const Gid v4 = gid_of_ipv4(0x0a000001);
    CHECK(is_ipv4(v4));
    CHECK_FALSE(is_ipv4(link_local_gid(verbs.mac())));
    CHECK(query(VerbsDriver::kIpv6V1).value("roce_version", 0) == 0);
    CHECK(query(VerbsDriver::kIpv6V1).contains("source_l3_address"));
    CHECK(query(VerbsDriver::kIpv6V2).value("roce_version", 0) == 2);
    CHECK(query(VerbsDriver::kIpv6V2).value("roce_l3_type", 0) == 1);
    CHECK(query(VerbsDriver::kIpv4V1).value("roce_version", 0) == 0);
    CHECK(query(VerbsDriver::kIpv4V2).value("roce_version", 0) == 2);
    CHECK(query(VerbsDriver::kIpv4V2).value("roce_l3_type", 0) == 0);
    CHECK(verbs.mac() == bench.station(0).card.board().mac);

    verbs.set_address(7, {v4, verbs.mac(), RoceVersion::v2, true, 42});
    CHECK(query(7).value("vlan_id", 0) == 42);
    verbs.delete_address(7);
    CHECK_FALSE(query(7).contains("roce_version"));
    CHECK_THROWS_WITH(verbs.address(7), ContainsSubstring("no address at index 7"));
    RoceAddress group{v4, verbs.mac()};
    group.mac[0] |= 1;
    CHECK_THROWS_AS(verbs.set_address(8, group), CommandFailed);
}

TEST_CASE("a region's key has the rights, the range and the pages that were asked for", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsMr& mr = verbs.create_mr(verbs.pd(), 200'000,
                                  {.access = {false, true, false, false}, .log_page_size = 16});
    const auto key = verbs.driver().command("QUERY_MKEY", {{"mkey_index", mr.number()}}, 64)
        ["memory_key_mkey_entry"];
    CHECK(key.value("lr", 0) == 1);
    CHECK(key.value("lw", 0) == 0);
    CHECK(key.value("rr", 0) == 1);
    CHECK(key.value("rw", 0) == 0);
    CHECK(key.value("a", 0) == 0);
    CHECK(key.value("start_addr", std::uint64_t{0}) == mr.address());
    CHECK(key.value("len", std::uint64_t{0}) == 200'000);
    CHECK(key.value("log_page_size", 0) == 16);
    CHECK(key.value("translations_octword_size", 0) == 2);
    CHECK(key.value("mkey_7_0", 0u) == (mr.lkey() & 0xff));
    CHECK(mr.lkey() >> 8 == mr.number());
    CHECK_THROWS_AS(verbs.create_mr(verbs.pd(), 0), DriverError);
    CHECK_THROWS_AS(verbs.create_mr(verbs.pd(), 4096, {.log_page_size = 11}), DriverError);

    // The window of a large region is the same memory that the card reaches, in one piece.
    VerbsMr& large = verbs.create_mr(verbs.pd(), 1 << 20);
    fill_pattern(large.bytes(), 1);
    std::vector<std::byte> seen(large.bytes().size());
    verbs.host().memory().load({large.address()}, seen);
    CHECK(std::ranges::equal(seen, large.bytes()));
}

TEST_CASE("an RC queue pair goes from reset to RTS and keeps what it was told", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsCq& cq = verbs.create_cq(64);
    VerbsQp& qp = verbs.create_qp(verbs.pd(), cq, cq, {});
    CHECK(qp.state() == VerbsState::reset);
    ConnectionOptions connection = to_itself(verbs, qp.number());
    connection.mtu = 2048;
    connection.send_psn = 0x123456;
    connection.receive_psn = 0x654321;
    connection.access = {true, true, false, true};
    connection.ack_timeout = 18;
    connection.retry_count = 3;
    connection.rnr_retry = 2;
    connection.log_responder_resources = 3;
    connection.log_initiator_depth = 2;
    connection.path.traffic_class = 104;
    connection.path.priority = 3;
    connection.path.udp_source_port = 0xc123;
    qp.to_init(connection);
    CHECK(qp.state() == VerbsState::init);
    qp.to_rtr(connection);
    CHECK(qp.state() == VerbsState::rtr);
    qp.to_rts(connection);
    CHECK(qp.state() == VerbsState::rts);

    using prm::ads;
    using prm::qpc;
    const auto answer = qp.query();
    const auto context = answer.view().nested<prm::query_qp_out::qpc>();
    CHECK(context.get<qpc::mtu>() == 4);
    CHECK(context.get<qpc::remote_qpn>() == qp.number());
    CHECK(context.get<qpc::next_send_psn>() == 0x123456);
    CHECK(context.get<qpc::next_rcv_psn>() == 0x654321);
    CHECK(context.get<qpc::rre>() == 1);
    CHECK(context.get<qpc::rwe>() == 0);
    CHECK(context.get<qpc::rae>() == 1);
    CHECK(context.get<qpc::retry_count>() == 3);
    CHECK(context.get<qpc::rnr_retry>() == 2);
    CHECK(context.get<qpc::log_rra_max>() == 3);
    CHECK(context.get<qpc::log_sra_max>() == 2);
    CHECK(context.get<qpc::counter_set_id>() == verbs.counter_set());
    const auto path = context.nested<qpc::primary_address_path>();
    CHECK(path.get<ads::ack_timeout>() == 18);
    CHECK(path.get<ads::dscp>() == 26);
    CHECK(path.get<ads::eth_prio>() == 3);
    CHECK(path.get<ads::udp_sport>() == 0xc123);
    CHECK(path.get<ads::src_addr_index>() == VerbsDriver::kIpv4V2);

    connection.access = AccessRights::all();
    qp.modify(connection);
    CHECK(qp.query().view().get<prm::query_qp_out::qpc, qpc::rwe>() == 1);
    qp.to_error();
    CHECK(qp.state() == VerbsState::error);
    qp.to_reset();
    CHECK(qp.state() == VerbsState::reset);
    qp.connect(connection);
    CHECK(qp.state() == VerbsState::rts);
}

TEST_CASE("UC and UD queue pairs reach RTS, and transitions out of turn are refused", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsCq& cq = verbs.create_cq(64);
    for (const QpService service : {QpService::uc, QpService::ud}) {
        QpOptions options;
        options.service = service;
        VerbsQp& qp = verbs.create_qp(verbs.pd(), cq, cq, options);
        const ConnectionOptions connection = to_itself(verbs, qp.number());
        CHECK_THROWS_AS(qp.to_rtr(connection), CommandFailed);
        qp.to_init(connection);
        CHECK_THROWS_AS(qp.to_rts(connection), CommandFailed);
        qp.to_rtr(connection);
        qp.to_rts(connection);
        CHECK(qp.state() == VerbsState::rts);
        CHECK_THROWS_AS(qp.recover_send(connection), CommandFailed);
        qp.modify(connection);
        verbs.destroy(qp);
    }
    VerbsQp& qp = verbs.create_qp(verbs.pd(), cq, cq, {});
    ConnectionOptions connection = to_itself(verbs, qp.number());
    connection.mtu = 1500;
    qp.to_init(connection);
    CHECK_THROWS_WITH(qp.to_rtr(connection), ContainsSubstring("MTU"));
}

TEST_CASE("an object that others use stays until they are gone", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsPd& pd = verbs.create_pd();
    VerbsCq& cq = verbs.create_cq(64);
    VerbsSrq& srq = verbs.create_srq(pd, 16);
    QpOptions options;
    options.srq = &srq;
    VerbsQp& qp = verbs.create_qp(pd, cq, cq, options);
    const std::size_t count = verbs.objects();
    CHECK_THROWS_AS(verbs.destroy(cq), CommandFailed);
    CHECK_THROWS_AS(verbs.destroy(srq), CommandFailed);
    CHECK_THROWS_AS(verbs.destroy(pd), CommandFailed);
    CHECK(verbs.objects() == count);
    CHECK(cq.alive());
    verbs.destroy(qp);
    verbs.destroy(srq);
    verbs.destroy(cq);
    verbs.destroy(pd);
    CHECK(verbs.objects() == count - 4);
    verbs.close();
    CHECK(bench.station(0).function().resources().total() == 0);
}

TEST_CASE("a request that a queue was not made for is refused by the driver", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsCq& cq = verbs.create_cq(64);
    VerbsMr& mr = verbs.create_mr(verbs.pd(), 4096);
    QpOptions options;
    options.service = QpService::uc;
    options.send_requests = 2;
    options.max_send_sges = 2;
    options.receive_requests = 4;
    options.max_inline = 32;
    VerbsQp& qp = verbs.create_qp(verbs.pd(), cq, cq, options);
    const Sge pieces[] = {mr.sge(0, 16), mr.sge(16, 16), mr.sge(32, 16)};
    CHECK_THROWS_AS(qp.post_send({.sges = pieces}), DriverError);
    CHECK_THROWS_AS(qp.post_send({.sges = pieces, .inlined = true}), DriverError);
    CHECK_THROWS_AS(qp.post_send({.op = SendOp::read, .sges = std::span(pieces).first(1)}),
                    DriverError);
    for (std::uint64_t i = 0; i < 4; ++i) CHECK(qp.post_receive(i, std::span(pieces).first(1)));
    CHECK_FALSE(qp.post_receive(4, std::span(pieces).first(1)));
    CHECK(qp.receives_outstanding() == 4);
    options.service = QpService::ud;
    options.receive_requests = 0;
    VerbsQp& datagrams = verbs.create_qp(verbs.pd(), cq, cq, options);
    CHECK_THROWS_WITH(datagrams.post_send({}), ContainsSubstring("address"));
    CHECK_THROWS_AS(datagrams.post_receive(0, {}), DriverError);
}

TEST_CASE("receives posted to a queue pair that goes into error come back flushed", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsCq& cq = verbs.create_cq(64);
    VerbsMr& mr = verbs.create_mr(verbs.pd(), 4096);
    VerbsQp& qp = verbs.create_qp(verbs.pd(), cq, cq, {});
    qp.to_init(to_itself(verbs, qp.number()));
    qp.to_rtr(to_itself(verbs, qp.number()));
    const Sge piece = mr.sge(0, 64);
    for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(qp.post_receive(100 + i, {&piece, 1}));
    qp.to_error();
    for (std::uint64_t i = 0; i < 3; ++i) {
        Completion done;
        REQUIRE(cq.wait(done, model::milliseconds(1)));
        CHECK(done.id == 100 + i);
        CHECK(done.receive);
        CHECK(done.status == CompletionStatus::flushed);
        CHECK(done.qpn == qp.number());
    }
    Completion none;
    CHECK_FALSE(cq.wait(none, model::milliseconds(1)));
    CHECK(verbs.counter("resp_cqe_flush_error") == 3);
    CHECK_THROWS_WITH(verbs.counter("no_such"), ContainsSubstring("no_such"));
}

TEST_CASE("completions of a queue pair that is reset are dropped, those of others stay", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsCq& cq = verbs.create_cq(64);
    VerbsMr& mr = verbs.create_mr(verbs.pd(), 4096);
    const Sge piece = mr.sge(0, 64);
    VerbsQp* qps[2];
    for (VerbsQp*& qp : qps) {
        qp = &verbs.create_qp(verbs.pd(), cq, cq, {});
        qp->to_init(to_itself(verbs, qp->number()));
        for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(qp->post_receive(i, {&piece, 1}));
    }
    for (VerbsQp* qp : qps) qp->to_error();
    bench.kernel.run_for(model::milliseconds(1));
    qps[0]->to_reset();
    CHECK(qps[0]->receives_outstanding() == 0);
    for (std::uint64_t i = 0; i < 3; ++i) {
        Completion done;
        REQUIRE(cq.poll(done));
        CHECK(done.qpn == qps[1]->number());
        CHECK(done.id == i);
    }
    Completion none;
    CHECK_FALSE(cq.poll(none));
    CHECK(cq.orphans() == 0);
}

TEST_CASE("a driver that died leaves a card that starts again", "[verbs]") {
    VerbsBench bench(1);
    VerbsDriver& verbs = bench.verbs(0);
    VerbsCq& cq = verbs.create_cq(64);
    verbs.create_qp(verbs.pd(), cq, cq, {});
    verbs.abandon();
    CHECK_FALSE(verbs.is_open());
    bench.station(0).host.function_level_reset();
    verbs.open();
    CHECK(verbs.objects() == 1);
    verbs.close();
    CHECK(bench.station(0).function().resources().total() == 0);
}
