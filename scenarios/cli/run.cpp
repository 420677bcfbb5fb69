// SPDX-License-Identifier: Apache-2.0
// cxsim run: a Python script with the module `cxsim` within reach.
#include "scenarios/cli/options.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <unistd.h>

namespace cxsim::scenarios {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHelp =
    "cxsim run FILE.py [ARGUMENTS]\n"
    "Runs a script with Python, where `import cxsim` finds the module built beside this program.";

// In front of what is there already.
void prepend(const char* variable, const std::string& value, char separator) {
    const char* old = std::getenv(variable);
    const bool empty = old == nullptr || *old == '\0';
    setenv(variable, empty ? value.c_str() : fmt::format("{}{}{}", value, separator, old).c_str(),
           1);
}

}  // namespace

int run_python(const Arguments& arguments) {
    if (arguments.empty()) throw UsageError("which script?");
    if (arguments[0] == "--help" || arguments[0] == "-h") {
        std::cout << kHelp << "\n";
        return 0;
    }
    const fs::path module = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "python";
    if (!fs::is_directory(module)) {
        throw UsageError(fmt::format("no module in {}: build the target cxsim_python",
                                     module.string()));
    }
    prepend("PYTHONPATH", module.string(), ':');
    // Sanitizers want to be the first library of a process; Python does not bring them.
    if (const std::string preload = CXSIM_PRELOAD; !preload.empty()) {
        prepend("LD_PRELOAD", preload, ':');
        prepend("ASAN_OPTIONS", "detect_leaks=0", ':');
    }
    std::vector<char*> words{const_cast<char*>(CXSIM_PYTHON)};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(CXSIM_PYTHON, words.data());
    fmt::print(stderr, "cxsim run: {}: {}\n", CXSIM_PYTHON, std::strerror(errno));
    return 1;
}

}  // namespace cxsim::scenarios
