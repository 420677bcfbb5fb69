// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/replayer.h"

#include <fmt/format.h>

#include <map>

namespace cxsim::scenarios {
namespace {

std::string escape(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            default:
                // XML has no way to write other control characters.
                safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return safe;
}

std::string case_of(const std::string& name, const std::string& title, const std::string& inside) {
    const std::string head =
        fmt::format("  <testcase classname=\"{}\" name=\"{}\"", escape(name), escape(title));
    return inside.empty() ? head + "/>\n" : head + ">\n" + inside + "  </testcase>\n";
}

}  // namespace

std::string junit(const Recording& recording, const std::string& name, const ReplayResult& result,
                  double wall_seconds) {
    std::multimap<std::size_t, const Difference*> differences;
    for (const Difference& difference : result.differences) {
        differences.emplace(difference.line, &difference);
    }
    std::map<std::size_t, const ReplayResult::Skipped*> skipped;
    for (const auto& skip : result.skipped) skipped.emplace(skip.line, &skip);

    std::string cases;
    std::size_t tests = 0;
    std::size_t failures = 0;
    std::size_t skips = 0;
    const auto failures_at = [&](std::size_t line) {
        std::string text;
        const auto [first, last] = differences.equal_range(line);
        for (auto it = first; it != last; ++it) {
            text += fmt::format("    <failure message=\"{}\"/>\n", escape(it->second->text()));
        }
        return text;
    };
    const auto add = [&](std::size_t line, const std::string& title) {
        std::string inside = failures_at(line);
        ++tests;
        if (!inside.empty()) {
            ++failures;
        } else if (const auto skip = skipped.find(line); skip != skipped.end()) {
            ++skips;
            inside = fmt::format("    <skipped message=\"{}\"/>\n", escape(skip->second->reason));
        }
        cases += case_of(name, title, inside);
    };
    for (const Block& block : recording.blocks) {
        switch (block.kind) {
            case BlockKind::command:
                add(block.line, fmt::format("{} {}", block.number, command_name(block.opcode)));
                break;
            case BlockKind::lost:
            case BlockKind::undelivered:
                add(block.line, fmt::format("{} command", block.number));
                break;
            case BlockKind::event:
                add(block.line, fmt::format("event of line {}", block.line));
                break;
            default:
                break;
        }
    }
    if (differences.contains(0)) add(0, "events that were not recorded");
    return fmt::format(
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
               "time=\"{:.3f}\">\n",
               escape(name), tests, failures, skips, wall_seconds) +
           cases + "</testsuite>\n";
}

}  // namespace cxsim::scenarios
