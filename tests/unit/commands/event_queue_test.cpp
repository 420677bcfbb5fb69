// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

using In = prm::create_eq_in;
using Out = prm::create_eq_out;
using Context = In::eq_context_entry;

struct EqBench : FirmwareBench {
    EqBench() : uar(alloc_uar()) {}
    /// 128 entries: two pages of 4 KiB.
    prm::Buffer<In> good() const {
        auto in = input<In>(Opcode::CREATE_EQ, 0, 16);
        in.view().set<Context, prm::eqc::log_eq_size>(7U);
        in.view().set<Context, prm::eqc::uar_page>(uar);
        in.view().set<Context, prm::eqc::intr>(3U);
        in.view().set_at<In::event_bitmask>(0, 0x1f02beULL);
        in.view().set_at<In::event_bitmask>(1, 0x1ULL);
        in.view().set_at<In::pas>(0, kQueueMemory);
        in.view().set_at<In::pas>(1, kQueueMemory + 0x5000);
        return in;
    }
    Answer<prm::query_eq_out> query(std::uint32_t eqn) {
        auto in = input<prm::query_eq_in>(Opcode::QUERY_EQ);
        in.view().set<prm::query_eq_in::eq_number>(eqn);
        return run<prm::query_eq_out>(in);
    }
    Answer<prm::destroy_eq_out> destroy(std::uint32_t eqn) {
        auto in = input<prm::destroy_eq_in>(Opcode::DESTROY_EQ);
        in.view().set<prm::destroy_eq_in::eq_number>(eqn);
        return run<prm::destroy_eq_out>(in);
    }
    std::uint32_t uar;
};

}  // namespace

TEST_CASE("an event queue is what its context said", "[eq]") {
    EqBench bench;
    const auto answer = bench.run<Out>(bench.good());
    REQUIRE(answer.ok());
    const std::uint32_t eqn = answer.get<Out::eq_number>();
    const model::Eq* eq = bench.resources().eqs.find(eqn);
    REQUIRE(eq != nullptr);
    CHECK(eq->log_size == 7);
    CHECK(eq->vector == 3);
    CHECK(eq->takes(0x1));
    CHECK_FALSE(eq->takes(0x0));
    CHECK(eq->takes(64));
    CHECK(eq->ring.pages() ==
          std::vector<std::uint64_t>{bench.kQueueMemory, bench.kQueueMemory + 0x5000});
    CHECK(bench.resources().uars.find(bench.uar)->users == 1);
    const auto shown = bench.query(eqn);
    REQUIRE(shown.ok());
    using Q = prm::query_eq_out::eq_context_entry;
    CHECK(shown.get<Q, prm::eqc::log_eq_size>() == 7);
    CHECK(shown.get<Q, prm::eqc::uar_page>() == bench.uar);
    CHECK(shown.get<Q, prm::eqc::intr>() == 3);
    CHECK(bench.destroy(eqn).ok());
    CHECK(bench.resources().uars.find(bench.uar)->users == 0);
}

TEST_CASE("an event queue that cannot be is refused", "[eq]") {
    EqBench bench;
    check_refusals<Out, In>(
        bench, bench.good(),
        {{"too large", [](auto in) { in.template set<Context, prm::eqc::log_eq_size>(31U); },
          Status::BAD_PARAM},
         {"UAR page not allocated",
          [](auto in) { in.template set<Context, prm::eqc::uar_page>(0xffffU); },
          Status::BAD_PARAM},
         {"UAR page 0", [](auto in) { in.template set<Context, prm::eqc::uar_page>(0U); },
          Status::BAD_PARAM},
         {"vector beyond the table",
          [](auto in) { in.template set<Context, prm::eqc::intr>(64U); }, Status::BAD_PARAM},
         {"page_offset beyond the page",
          [](auto in) { in.template set<Context, prm::eqc::page_offset>(63U); },
          Status::BAD_INP_LEN},
         {"page list too short",
          [](auto in) { in.template set<Context, prm::eqc::log_eq_size>(8U); },
          Status::BAD_INP_LEN}});
    CHECK(bench.resources().uars.find(bench.uar)->users == 0);
}

TEST_CASE("large pages need fewer addresses", "[eq]") {
    EqBench bench;
    auto in = bench.good();
    in.view().set<Context, prm::eqc::log_page_size>(1U);
    in.view().set<Context, prm::eqc::log_eq_size>(8U);
    const auto answer = bench.run<Out>(in);
    REQUIRE(answer.ok());
    CHECK(bench.resources().eqs.find(answer.get<Out::eq_number>())->ring.pages().size() == 2);
}

TEST_CASE("event queues run out at the card's number of them", "[eq]") {
    FirmwareBench bench("connectx5", capability({{"cmd_hca_cap.max_num_eqs", "3"},
                                                 {"cmd_hca_cap.log_max_eq", "2"}}));
    const auto uar = bench.alloc_uar();
    for (int i = 0; i < 3; ++i) bench.create_eq(uar);
    auto in = bench.input<In>(Opcode::CREATE_EQ, 0, 8);
    in.view().set<Context, prm::eqc::uar_page>(uar);
    CHECK(refused(bench.run<Out>(in), Status::LIM_ERR));
    CHECK(bench.resources().uars.find(uar)->users == 3);
}

TEST_CASE("an event queue in use cannot be destroyed, one that is gone neither", "[eq]") {
    EqBench bench;
    const std::uint32_t eqn = bench.create_eq(bench.uar);
    const std::uint32_t cqn = bench.create_cq(bench.uar, eqn);
    const auto before = bench.digest();
    CHECK(refused(bench.destroy(eqn), Status::BAD_RES_STATE));
    CHECK(bench.digest() == before);
    auto in = bench.input<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    in.view().set<prm::destroy_cq_in::cqn>(cqn);
    REQUIRE(bench.run<prm::destroy_cq_out>(in).ok());
    CHECK(bench.destroy(eqn).ok());
    CHECK(refused(bench.destroy(eqn), Status::BAD_RES_STATE));
    CHECK(refused(bench.query(eqn), Status::BAD_RES_STATE));
    CHECK(refused(bench.query(0), Status::BAD_RES_STATE));
}
