// SPDX-License-Identifier: Apache-2.0
// Budgets of the core as counts: events per command, allocations per event. And the one promise
// that is a ratio: the calendar against the ordered map that it replaces.
#include "tests/perf/event_load.h"
#include "tests/support/command_host.h"
#include "tests/support/firmware_bench.h"

#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdlib>
#include <new>

namespace {

std::uint64_t g_allocations = 0;

void* counted(std::size_t size) {
    ++g_allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}

}  // namespace

// NOLINTBEGIN(misc-new-delete-overloads): the hooks see all allocations of the process.
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND(misc-new-delete-overloads)

using namespace cxsim;
using namespace cxsim::test;

namespace {

struct CommandLoad : FirmwareBench {
    CommandLoad() {
        write(0x14, static_cast<std::uint32_t>(driver.queue()));
        config.health_period = model::milliseconds(1);
    }
    void write(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> data{};
        model::store_be<std::uint32_t>(data.data(), value);
        firmware.bar_write({0}, calendar.now(), offset, data);
    }
    template <class In>
    void send(const prm::Buffer<In>& in, std::size_t output) {
        driver.post(0, in.bytes(), output);
        write(0x18, 1);
        while (driver.owned_by_hardware(0)) REQUIRE(calendar.run_one());
    }
    CommandHost<FakeHostBus> driver{host};
};

double seconds_of(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("the hook sees allocations", "[perf]") {
    const std::uint64_t before = g_allocations;
    const auto block = std::make_unique<int>(1);
    CHECK(g_allocations == before + 1);
}

TEST_CASE("a number of pending events that swings allocates nothing either", "[perf]") {
    struct Nothing {
        void happen(const model::EventArguments&) {}
    } nothing;
    model::Calendar calendar;
    const auto swing = [&] {
        for (std::int64_t i = 1; i <= 1000; ++i) {
            calendar.schedule<&Nothing::happen>(calendar.now() + model::nanoseconds(i), &nothing);
        }
        while (calendar.run_one()) {
        }
    };
    for (int i = 0; i < 3; ++i) swing();
    const std::uint64_t before = g_allocations;
    for (int i = 0; i < 10; ++i) swing();
    CHECK(g_allocations == before);
}

TEST_CASE("an event allocates nothing once the pool is warm", "[perf]") {
    for (const std::size_t pending : {1U, 100U, 1000U, 10000U}) {
        perf::CalendarLoad load(pending);
        load.run(200'000);
        const std::uint64_t before = g_allocations;
        load.run(200'000);
        const std::uint64_t allocations = g_allocations - before;
        CAPTURE(pending);  // allocates, too
        CHECK(allocations == 0);
        CHECK(load.calendar().pending() == pending);
    }
}

TEST_CASE("a command takes three events", "[perf]") {
    CommandLoad load;
    const auto small = FirmwareBench::input<prm::query_issi_in>(prm::Opcode::QUERY_ISSI);
    load.send(small, 112);
    const std::uint64_t before = load.calendar.executed();
    for (int i = 0; i < 100; ++i) load.send(small, 112);
    CHECK(load.calendar.executed() - before == 300);  // start, execute, complete
    // Mailboxes add none: their time is computed ahead.
    const auto large = FirmwareBench::input<prm::query_hca_cap_in>(prm::Opcode::QUERY_HCA_CAP);
    const std::uint64_t again = load.calendar.executed();
    for (int i = 0; i < 100; ++i) load.send(large, 4112);
    CHECK(load.calendar.executed() - again == 300);
}

TEST_CASE("with many pending events the calendar beats the ordered map", "[perf]") {
    const std::size_t pending = GENERATE(1000, 10000);
    perf::CalendarLoad calendar(pending);
    perf::MultimapLoad multimap(pending);
    calendar.run(200'000);
    multimap.run(200'000);
    // The best of several turns each: others use the machine, too.
    double ours = 1e9;
    double theirs = 1e9;
    for (int turn = 0; turn < 9; ++turn) {
        ours = std::min(ours, seconds_of([&] { calendar.run(100'000); }));
        theirs = std::min(theirs, seconds_of([&] { multimap.run(100'000); }));
    }
    CAPTURE(pending, ours, theirs);
    CHECK(ours < 0.8 * theirs);
}
