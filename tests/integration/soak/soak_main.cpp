// SPDX-License-Identifier: Apache-2.0
// The soak at length, for `scripts/soak`: one run with what the command line says; the last lines
// are its numbers. Status 1 when anything was not as it must be.
#include "tests/integration/soak/soak.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <systemc>

namespace {

using namespace cxsim;
using test::Death;
using test::Soak;
using test::SoakOptions;

constexpr const char* kUsage =
    "usage: soak_run [--card NAME] [--seed N] [--gigabytes N | --megabytes N] [--longest BYTES]\n"
    "                [--slots N] [--pairs N] [--unreliable PAIRS] [--kill reset|teardown]\n"
    "                [--capture PREFIX]\n"
    "loss, duplication, reorder and corruption: --harm PER_MILLION (1000)\n";

struct Arguments {
    SoakOptions options;
    bool kill = false;
    Death death{};
};

bool number(std::string_view text, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

bool parse(int argc, char** argv, Arguments& arguments) {
    SoakOptions& options = arguments.options;
    options.longest = 64 * 1024;
    options.slots = 8;
    options.payload = 10'000'000'000;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string_view text = argv[i + 1];
        std::uint64_t value = 0;
        if (name == "--card") {
            options.card = text;
        } else if (name == "--capture") {
            options.capture = text;
        } else if (name == "--kill" && (text == "reset" || text == "teardown")) {
            arguments.kill = true;
            arguments.death = text == "reset" ? Death::function_reset : Death::teardown;
        } else if (!number(text, value)) {
            return false;
        } else if (name == "--seed") {
            options.seed = value;
        } else if (name == "--gigabytes") {
            options.payload = value * 1'000'000'000;
        } else if (name == "--megabytes") {
            options.payload = value * 1'000'000;
        } else if (name == "--longest" && value >= 8192) {
            options.longest = value;
        } else if (name == "--slots" && value >= 4 && value <= 64) {
            options.slots = static_cast<unsigned>(value);
        } else if (name == "--pairs" && value >= 1 && value <= 512) {
            options.pairs = static_cast<unsigned>(value);
        } else if (name == "--unreliable" && value <= 64) {
            options.unreliable_pairs = static_cast<unsigned>(value);
        } else if (name == "--harm" && value <= 100'000) {
            const double each = static_cast<double>(value) / 1e6;
            options.harm.loss = options.harm.duplicate = each;
            options.harm.reorder = options.harm.corrupt = each;
        } else {
            return false;
        }
    }
    return argc % 2 == 1;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
    return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
    Arguments arguments;
    if (!parse(argc, argv, arguments)) {
        fmt::print(stderr, "{}", kUsage);
        return 2;
    }
    try {
        Soak soak(arguments.options);
        const std::uint64_t payload = arguments.options.payload;
        const auto start = std::chrono::steady_clock::now();
        const model::Picoseconds begin = soak.bench().kernel.now();
        double told = 0;
        const auto report = [&] {
            const double elapsed = seconds_since(start);
            if (elapsed < told + 1) return;
            told = elapsed;
            const auto done = static_cast<double>(soak.totals().payload);
            const double left = elapsed * (static_cast<double>(payload) / done - 1);
            fmt::print("progress {:.2f} of {:.2f} GB, {:.1f} MB/s, {:.0f} s left, {:.3f} s simulated\n",
                       done / 1e9, static_cast<double>(payload) / 1e9, done / 1e6 / elapsed, left,
                       (soak.bench().kernel.now() - begin).seconds());
            std::fflush(stdout);
        };
        if (arguments.kill) {
            soak.run_until(payload / 2, report);
            soak.kill(arguments.death);
        } else {
            soak.run(report);
        }
        const double wall = seconds_since(start);
        const double simulated = (soak.bench().kernel.now() - begin).seconds();
        std::vector<std::string> wrong;
        if (!arguments.kill) wrong = soak.check_books();
        for (const auto& [name, count] : soak.summary()) fmt::print("{}: {}\n", name, count);
        fmt::print("payload: {}\nwall seconds: {:.1f}\nsimulated seconds: {:.4f}\n",
                   soak.totals().payload, wall, simulated);
        for (const std::string& each : wrong) fmt::print("WRONG {}\n", each);
        return wrong.empty() ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print("FAILED {}\n", error.what());
        return 1;
    }
}
