// SPDX-License-Identifier: Apache-2.0
// Wall time of the core's operations, as JSON for `scripts/bench core`:
//   {"name": {"ns": median, ...}, ...}
// Each number is the median of several rounds; the yardstick runs in between, on the same machine
// in the same minute.
#include "firmware_stub/commands/common.h"
#include "model/sim/calendar.h"
#include "pcie/endpoint/endpoint.h"
#include "pcie/host/builtin_profiles.h"
#include "pcie/host/sparse_memory.h"
#include "scenarios/testbed/card.h"
#include "tests/perf/event_load.h"
#include "tests/support/command_host.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <systemc>

#include <fmt/format.h>

namespace {

using namespace cxsim;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 7;

/// Nanoseconds of one operation: the median over rounds of `operations` each.
double median_ns(std::uint64_t operations, const std::function<void(std::uint64_t)>& work) {
    work(operations / 4 + 1);  // warm-up
    std::vector<double> rounds;
    for (int i = 0; i < kRounds; ++i) {
        const auto start = Clock::now();
        work(operations);
        const std::chrono::duration<double, std::nano> took = Clock::now() - start;
        rounds.push_back(took.count() / static_cast<double>(operations));
    }
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
    return rounds[kRounds / 2];
}

/// SparseMemory in the shape that CommandHost wants.
struct HostView {
    pcie::SparseMemory& memory;
    void peek(std::uint64_t address, std::span<std::byte> into) const {
        memory.load({address}, into);
    }
    void poke(std::uint64_t address, std::span<const std::byte> from) {
        memory.store({address}, from);
    }
};

struct CardBench {
    CardBench()
        : data(model::load_shared_card("connectx5")),
          board(model::make_board(*data, 1, 0)),
          firmware_config(scenarios::firmware_config(*data, board)),
          endpoint("card", calendar, scenarios::endpoint_config(*data, board),
                   pcie::builtin_host_profile("broadwell_e5_2630v4")),
          firmware(firmware_config, endpoint, calendar) {
        endpoint.attach(firmware);
        endpoint.attach(memory);
        const std::array<std::byte, 2> enable{std::byte{6}, std::byte{0}};
        endpoint.config_write({0}, 0x04, enable);
        calendar.run_until(firmware_config.initialisation_time);
        bar_word(0x14, static_cast<std::uint32_t>(driver.queue()));
        calendar.run_until(calendar.now() + model::microseconds(10));
    }
    void bar_word(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> data_bytes{};
        model::store_be<std::uint32_t>(data_bytes.data(), value);
        endpoint.bar_write({0}, calendar.now(), offset, data_bytes);
    }
    void config_reads(std::uint64_t count) {
        std::array<std::byte, 4> into{};
        for (std::uint64_t i = 0; i < count; ++i) endpoint.config_read({0}, 0x10, into);
    }
    void bar_reads(std::uint64_t count) {
        std::array<std::byte, 4> into{};
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto result = endpoint.bar_read({0}, calendar.now(), 0x1010, into);
            calendar.run_until(result.finish);
        }
    }
    void bar_writes(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            bar_word(16 * 4096 + 0x40, 0);
            calendar.run_until(calendar.now() + model::microseconds(1));
        }
    }
    /// QUERY_ISSI as a driver sends it: entry, doorbell, mailboxes, hand-back.
    void commands(std::uint64_t count) {
        std::vector<std::byte> input(16);
        model::store_be<std::uint16_t>(input.data(),
                                       static_cast<std::uint16_t>(prm::Opcode::QUERY_ISSI));
        for (std::uint64_t i = 0; i < count; ++i) {
            driver.post(0, input, 112);
            bar_word(0x18, 1);
            while (driver.owned_by_hardware(0)) {
                if (!calendar.run_one()) std::abort();  // the command never ends
            }
        }
    }
    void handlers(std::uint64_t count) {
        std::vector<std::byte> input(16);
        std::vector<std::byte> output(112);
        model::store_be<std::uint16_t>(input.data(),
                                       static_cast<std::uint16_t>(prm::Opcode::QUERY_ISSI));
        firmware_stub::CommandContext context{firmware, firmware.function({0}), calendar.now()};
        for (std::uint64_t i = 0; i < count; ++i) {
            firmware_stub::run_command(context, input, output);
        }
    }

    model::Calendar calendar;
    pcie::SparseMemory memory{{0}, {1ULL << 30}};
    HostView host{memory};
    test::CommandHost<HostView> driver{host};
    std::shared_ptr<const model::CardData> data;
    model::BoardIdentity board;
    firmware_stub::FirmwareConfig firmware_config;
    pcie::Endpoint endpoint;
    firmware_stub::Firmware firmware;
};

}  // namespace

int main(int argc, char** argv) {
    return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int, char**) {
    fmt::print("{{\n");
    for (const std::size_t pending : {1U, 100U, 1000U, 10000U}) {
        perf::CalendarLoad calendar(pending);
        perf::MultimapLoad multimap(pending);
        const double ours = median_ns(500'000, [&](auto n) { calendar.run(n); });
        const double theirs = median_ns(500'000, [&](auto n) { multimap.run(n); });
        fmt::print("  \"calendar_{}\": {:.2f},\n  \"multimap_{}\": {:.2f},\n", pending, ours,
                   pending, theirs);
    }
    CardBench card;
    const auto print = [&](const char* name, std::uint64_t operations, auto method,
                           const char* end = ",") {
        fmt::print("  \"{}\": {:.1f}{}\n", name,
                   median_ns(operations, [&](std::uint64_t n) { (card.*method)(n); }), end);
    };
    print("config_read", 200'000, &CardBench::config_reads);
    print("mmio_read", 100'000, &CardBench::bar_reads);
    print("mmio_write", 100'000, &CardBench::bar_writes);
    print("command_handler", 100'000, &CardBench::handlers);
    print("command", 20'000, &CardBench::commands, "");
    fmt::print("}}\n");
    return 0;
}
