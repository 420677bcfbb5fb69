// SPDX-License-Identifier: Apache-2.0
// Misuse of views is our bug and aborts; each case runs in a child process.
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

using namespace cxsim::prm;

namespace {

/// True if `action` ends in abort().
template <class Action>
bool aborts(Action action) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);  // Catch2 would report the signal as a failed test
        if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(1);
        action();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace

TEST_CASE("a view over too short a buffer aborts, one byte more does not", "[prm]") {
    static std::array<std::byte, create_cq_in::kBytes> data{};
    CHECK(aborts([] { View<create_cq_in>{std::span(data).first(data.size() - 1)}; }));
    CHECK(aborts([] { ConstView<create_cq_in>{std::span<const std::byte>{}}; }));
    CHECK_FALSE(aborts([] { View<create_cq_in>{std::span<std::byte>(data)}; }));
}

TEST_CASE("a value that does not fit its field aborts", "[prm]") {
    static Buffer<cqc> context;
    CHECK(aborts([] { context.view().set<cqc::status>(16); }));
    CHECK(aborts([] { context.view().set<cqc::status>(-1); }));
    CHECK_FALSE(aborts([] { context.view().set<cqc::status>(15); }));
    CHECK_FALSE(aborts([] { context.view().set<cqc::dbr_addr>(~std::uint64_t{0}); }));
}

TEST_CASE("an index beyond an array or a variable tail aborts", "[prm]") {
    static Buffer<create_cq_in> in(15);
    static Buffer<rqtc> table;
    CHECK_FALSE(aborts([] { in.view().at<create_cq_in::pas>(0); }));
    CHECK(aborts([] { in.view().at<create_cq_in::pas>(1); }));
    CHECK(aborts([] { in.view().set_at<create_cq_in::pas>(1, 0u); }));
    CHECK(aborts([] { table.view().at<rqtc::rq_num>(0); }));
    static Buffer<uar_page> page;
    CHECK_FALSE(aborts([] { page.view().at<uar_page::blueflame>(7); }));
    CHECK(aborts([] { page.view().at<uar_page::blueflame>(8); }));
}

TEST_CASE("get_bits and set_bits outside of the data abort", "[prm]") {
    static std::array<std::byte, 4> data{};
    CHECK_FALSE(aborts([] { get_bits(data, 0, 32); }));
    CHECK(aborts([] { get_bits(data, 1, 32); }));
    CHECK(aborts([] { get_bits(data, 0, 0); }));
    CHECK(aborts([] { get_bits(data, 0, 65); }));
    CHECK(aborts([] { set_bits(data, 30, 3, 0); }));
    CHECK(aborts([] { set_bits(data, 0, 2, 4); }));
}
