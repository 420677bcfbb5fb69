// SPDX-License-Identifier: Apache-2.0
// Integrity of the transports over a bad wire, in short; `scripts/soak` runs it at length.
#include "tests/integration/soak/soak.h"
#include "tests/support/child_digest.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace cxsim;
using namespace cxsim::test;

namespace {

void check_agrees(Soak& soak) {
    for (const std::string& wrong : soak.check_books()) FAIL_CHECK(wrong);
}

/// Everything that a bad wire makes happen has happened.
void check_suffered(Soak& soak) {
    for (const auto& [name, count] : soak.summary()) {
        INFO(name);
        CHECK(count > 0);
    }
}

void check_death(Death death) {
    SoakOptions options;
    options.payload = 64 << 20;
    options.pairs = 32;
    Soak soak(options);
    soak.run_until(4 << 20);
    CHECK_NOTHROW(soak.kill(death));
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Of a run in a process of its own: what its wires saw as a number, with times to the picosecond;
/// 0 if it failed.
std::uint64_t digest_of(std::uint64_t seed, const std::string& capture) {
    return digest_in_child([&]() -> std::uint64_t {
        try {
            SoakOptions options;
            options.pairs = 8;
            options.seed = seed;
            options.payload = 1 << 20;
            options.capture = capture;
            options.follow = true;
            Soak soak(options);
            soak.run();
            if (!soak.check_books().empty()) return 0;
            return mix(soak.bench().books[0]->digest() ^ 1) ^ soak.bench().books[1]->digest();
        } catch (const std::exception& error) {
            fmt::print(stderr, "{}\n", error.what());
            return 0;
        }
    });
}

}  // namespace

TEST_CASE("all operations over a wire that loses, doubles, reorders and changes lose nothing",
          "[soak]") {
    SoakOptions options;
    options.payload = 24 << 20;
    Soak soak(options);
    soak.run();
    check_agrees(soak);
    check_suffered(soak);
}

TEST_CASE("on a wire that keeps the order both sides count the same refusals", "[soak]") {
    SoakOptions options;
    options.card = "connectx6dx";
    options.seed = 2;
    options.pairs = 16;
    options.payload = 8 << 20;
    options.harm = {.loss = 2e-3, .corrupt = 1e-3};
    Soak soak(options);
    soak.run();
    check_agrees(soak);
}

TEST_CASE("on a good wire nothing is refused but for want of receives", "[soak]") {
    SoakOptions options;
    options.card = "connectx7";
    options.pairs = 16;
    options.payload = 8 << 20;
    options.harm = {};
    Soak soak(options);
    soak.run();
    check_agrees(soak);
    const std::set<std::string> none{"timeouts",          "bad ICRC",
                                     "out_of_sequence",   "packet_seq_err",
                                     "duplicate_request", "local_ack_timeout_err"};
    for (const auto& [name, count] : soak.summary()) {
        INFO(name);
        if (none.contains(name)) CHECK(count == 0);
    }
}

TEST_CASE("what comes by unreliable services is whole, and every request ends", "[soak]") {
    SoakOptions options;
    options.seed = 3;
    options.pairs = 4;
    options.unreliable_pairs = 8;
    options.payload = 4 << 20;
    options.harm = {.loss = 5e-3, .duplicate = 5e-3, .reorder = 5e-3, .corrupt = 5e-3};
    Soak soak(options);
    soak.run();
    check_agrees(soak);
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::uint64_t copies = 0;
    for (const auto& end : soak.loose_ends()) {
        sent += end->messages();
        arrived += end->arrived();
        copies += end->copies();
    }
    CHECK(sent > 1000);
    CHECK(arrived < sent);
    CHECK(arrived > sent * 9 / 10);
    CHECK(copies > 0);
    CHECK(copies < sent / 50);
}

TEST_CASE("when the peer's function is reset all requests fail, each once", "[soak]") {
    check_death(Death::function_reset);
}

TEST_CASE("when the peer's driver tears its function down all requests fail, each once",
          "[soak]") {
    check_death(Death::teardown);
}

TEST_CASE("the same seed gives the same packets at the same times, another seed others",
          "[soak]") {
    const std::string base =
        (std::filesystem::temp_directory_path() / fmt::format("soak-{}", ::getpid())).string();
    const std::uint64_t seeds[] = {5, 5, 6};
    std::uint64_t digests[3];
    std::string captures[3];
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string prefix = fmt::format("{}-{}", base, i);
        digests[i] = digest_of(seeds[i], prefix);
        for (const char* card : {"card0", "card1"}) {
            const std::string path = fmt::format("{}.{}.pcap", prefix, card);
            captures[i] += content_of(path);
            std::filesystem::remove(path);
        }
        CHECK(digests[i] != 0);
        CHECK(captures[i].size() > 1 << 20);
    }
    CHECK(digests[0] == digests[1]);
    CHECK((captures[0] == captures[1]));
    CHECK(digests[0] != digests[2]);
    CHECK((captures[0] != captures[2]));
}
