// SPDX-License-Identifier: Apache-2.0
// Measurements of two simulated cards, for `scripts/bench calibration`: one configuration per
// process, its quantities as JSON. Without an argument the names of the configurations.
// Further arguments KEY=VALUE replace values of the cards' data ("timing.roce.atomic=25ns").
#include "tests/perf/calibration/cases.h"

#include <fmt/format.h>
#include <systemc>

#include <string_view>

int main(int argc, char** argv) {
    return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
    using namespace cxsim;
    const auto& cases = calibration::cases();
    if (argc < 2) {
        const char* comma = "";
        fmt::print("[");
        for (const auto& [name, measure] : cases) {
            fmt::print("{}\"{}\"", comma, name);
            comma = ", ";
        }
        fmt::print("]\n");
        return 0;
    }
    const auto found = cases.find(argv[1]);
    if (found == cases.end()) {
        fmt::print(stderr, "bench_calibration: no configuration '{}'\n", argv[1]);
        return 2;
    }
    std::vector<model::Override> overrides;
    for (int i = 2; i < argc; ++i) {
        const std::string_view word = argv[i];
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) {
            fmt::print(stderr, "bench_calibration: '{}' is not KEY=VALUE\n", word);
            return 2;
        }
        overrides.push_back({std::string(word.substr(0, equals)),
                             std::string(word.substr(equals + 1))});
    }
    const char* comma = "";
    fmt::print("{{");
    for (const auto& [name, value] : found->second(overrides)) {
        fmt::print("{}\"{}\": {:.6g}", comma, name, value);
        comma = ", ";
    }
    fmt::print("}}\n");
    return 0;
}
