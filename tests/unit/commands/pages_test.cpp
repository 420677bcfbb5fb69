// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

using In = prm::manage_pages_in;
using Out = prm::manage_pages_out;

prm::Buffer<In> give_input(std::uint32_t count, std::uint64_t first_page = 1) {
    auto in = FirmwareBench::input<In>(Opcode::MANAGE_PAGES, 1, count * 8);
    in.view().set<In::input_num_entries>(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        in.view().set_at<In::pas>(i, (first_page + i) * 4096);
    }
    return in;
}

prm::Buffer<In> take_input(std::uint32_t count) {
    auto in = FirmwareBench::input<In>(Opcode::MANAGE_PAGES, 2);
    in.view().set<In::input_num_entries>(count);
    return in;
}

}  // namespace

TEST_CASE("boot, init and regular pages are asked for in turn", "[pages]") {
    FirmwareBench bench;
    const auto asked = [&](std::uint32_t op_mod) {
        const auto answer = bench.run<prm::query_pages_out>(
            bench.input<prm::query_pages_in>(Opcode::QUERY_PAGES, op_mod));
        REQUIRE(answer.ok());
        return static_cast<std::int32_t>(answer.get<prm::query_pages_out::num_pages>());
    };
    REQUIRE(bench.run<prm::enable_hca_out>(bench.input<prm::enable_hca_in>(Opcode::ENABLE_HCA))
                .ok());
    CHECK(asked(1) == 4);
    CHECK(asked(2) == 8);
    REQUIRE(bench.run<Out>(give_input(4)).ok());
    CHECK(asked(1) == 0);
    CHECK(asked(2) == 4);
    REQUIRE(bench.run<Out>(give_input(5, 100)).ok());
    CHECK(asked(1) == 0);  // never a negative number before INIT_HCA
    CHECK(asked(2) == 0);
    CHECK(asked(3) == 0);
}

TEST_CASE("queries of pages name the own function", "[pages]") {
    FirmwareBench bench;
    check_refusals<prm::query_pages_out, prm::query_pages_in>(
        bench, bench.input<prm::query_pages_in>(Opcode::QUERY_PAGES, 1),
        {{"another function",
          [](auto in) { in.template set<prm::query_pages_in::function_id>(1U); },
          Status::BAD_PARAM},
         {"embedded CPU",
          [](auto in) { in.template set<prm::query_pages_in::embedded_cpu_function>(1U); },
          Status::BAD_PARAM, 0x263211},
         {"op_mod 0", [](auto in) { in.template set<prm::query_pages_in::op_mod>(0U); },
          Status::BAD_PARAM},
         {"op_mod 4", [](auto in) { in.template set<prm::query_pages_in::op_mod>(4U); },
          Status::BAD_PARAM}});
}

TEST_CASE("pages that cannot be taken over are refused, all of them", "[pages]") {
    FirmwareBench bench;
    const std::uint32_t held = bench.function().pages().held();
    check_refusals<Out, In>(
        bench, give_input(3, 0x1000),
        {{"misaligned", [](auto in) { in.template set_at<In::pas>(1, 0x2000800ULL); },
          Status::BAD_PARAM},
         {"twice in the list", [](auto in) { in.template set_at<In::pas>(2, 0x1000000ULL); },
          Status::BAD_PARAM},
         {"given before", [](auto in) { in.template set_at<In::pas>(2, 4096ULL); },
          Status::BAD_PARAM},
         {"fewer than said", [](auto in) { in.template set<In::input_num_entries>(4U); },
          Status::BAD_INP_LEN},
         {"far fewer than said",
          [](auto in) { in.template set<In::input_num_entries>(0xffffffffU); },
          Status::BAD_INP_LEN},
         {"another function", [](auto in) { in.template set<In::function_id>(1U); },
          Status::BAD_PARAM},
         {"embedded CPU", [](auto in) { in.template set<In::embedded_cpu_function>(1U); },
          Status::BAD_PARAM, 0x263211},
         {"op_mod 3", [](auto in) { in.template set<In::op_mod>(3U); }, Status::BAD_PARAM}});
    CHECK(bench.function().pages().held() == held);
    REQUIRE(bench.run<Out>(give_input(3, 0x1000)).ok());
    CHECK(bench.function().pages().held() == held + 3);
}

TEST_CASE("addresses above 4 GiB and more entries than said are fine", "[pages]") {
    FirmwareBench bench;
    auto in = give_input(2, 0x123456789);
    in.view().set<In::input_num_entries>(1U);
    REQUIRE(bench.run<Out>(in).ok());
    CHECK(bench.function().pages().held() == 9);
    const auto back = bench.run<Out>(take_input(1), 8);
    CHECK(back.get<Out::output_num_entries>() == 1);
    CHECK(back.out.view().at<Out::pas>(0) == 0x123456789000);
}

TEST_CASE("only free pages are handed back", "[pages]") {
    FirmwareBench bench;
    bench.function().account_pages();
    // Eight pages; the firmware works in four.
    const auto back = bench.run<Out>(take_input(8), 64);
    REQUIRE(back.ok());
    CHECK(back.get<Out::output_num_entries>() == 4);
    CHECK(back.out.view().at<Out::pas>(0) == 5 * 4096);
    CHECK(back.out.view().at<Out::pas>(4) == 0);
    CHECK(bench.function().pages().held() == 4);
    const auto none = bench.run<Out>(take_input(8), 64);
    REQUIRE(none.ok());
    CHECK(none.get<Out::output_num_entries>() == 0);
}

TEST_CASE("contexts of objects that live keep their pages", "[pages]") {
    FirmwareBench bench;
    const auto uar = bench.alloc_uar();
    bench.create_eq(uar);
    bench.function().account_pages();
    CHECK(bench.run<Out>(take_input(8), 64).get<Out::output_num_entries>() == 3);
    // After the driver's teardown the firmware's own pages are free, too; a leaked object's is not.
    REQUIRE(bench
                .run<prm::teardown_hca_out>(
                    bench.input<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA))
                .ok());
    bench.function().account_pages();
    CHECK(bench.run<Out>(take_input(8), 64).get<Out::output_num_entries>() == 4);
    CHECK(bench.function().pages().held() == 1);
}

TEST_CASE("taking wants room for the addresses", "[pages]") {
    FirmwareBench bench;
    bench.function().account_pages();
    CHECK(refused(bench.run<Out>(take_input(3), 16), Status::BAD_OUTP_LEN));
    CHECK(refused(bench.run<Out>(take_input(0xffffffff), 16), Status::BAD_OUTP_LEN));
    CHECK(bench.function().pages().held() == 8);
    CHECK(bench.run<Out>(take_input(2), 16).get<Out::output_num_entries>() == 2);
}

TEST_CASE("a driver that cannot give pages closes the request", "[pages]") {
    FirmwareBench bench;
    bench.function().pages().asked();
    const auto held = bench.function().pages().held();
    REQUIRE(bench.run<Out>(bench.input<In>(Opcode::MANAGE_PAGES, 0)).ok());
    CHECK(bench.function().pages().held() == held);
}
