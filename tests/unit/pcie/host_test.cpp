// SPDX-License-Identifier: Apache-2.0
// Host memory, host profiles, root complex.
#include "model/params/config_error.h"
#include "pcie/host/builtin_profiles.h"
#include "pcie/host/root_complex.h"
#include "pcie/host/sparse_memory.h"

#include <catch2/catch_test_macros.hpp>

#include <new>
#include <vector>

using namespace cxsim;
using namespace cxsim::pcie;
using model::DmaStatus;
using model::HostAddress;
using model::nanoseconds;
using model::Picoseconds;

namespace {

const char* const kProfile =
    "[host]\nname = \"bench\"  # guess: test\n"
    "[memory]\nllc_read = 200ns # guess: test\nmemory_extra = 60ns # guess: test\n"
    "remote_extra = 100ns # guess: test\nwrite_visible = 150ns # guess: test\n"
    "bandwidth = 512Gb/s # guess: test\n"
    "[iommu]\nenabled = false # guess: test\npage = 4KiB # guess: test\n"
    "iotlb_entries = 2 # guess: test\nmiss = 300ns # guess: test\nwalkers = 1 # guess: test\n"
    "read_line = 0ns # guess: test\n"
    "[completions]\nboundary = 64 # guess: test\nrcb_chunks = false # guess: test\n"
    "[credits]\nposted_headers = 8 # guess: test\nposted_data = 256 # guess: test\n"
    "non_posted_headers = 8 # guess: test\n"
    "[mmio]\ncore_to_port = 50ns # guess: test\nport_to_core = 50ns # guess: test\n"
    "[tail]\nread = none # guess: test\ncore = none # guess: test\n";

HostProfile profile(std::vector<model::Override> overrides = {}) {
    return load_host_profile(model::IniFile::parse("bench.ini", kProfile), overrides);
}

}  // namespace

TEST_CASE("sparse memory keeps what is written across page boundaries", "[host]") {
    SparseMemory memory({0x10000}, {1 << 20});
    std::vector<std::byte> data(300, std::byte{0x5a});
    const HostAddress at{2 * SparseMemory::kPageBytes - 100};
    REQUIRE(memory.write({}, at, data) == DmaStatus::ok);
    CHECK(memory.pages() == 2);
    std::vector<std::byte> back(302, std::byte{1});
    REQUIRE(memory.read({}, {at.value - 1}, back) == DmaStatus::ok);
    CHECK(back.front() == std::byte{0});
    CHECK(back[1] == std::byte{0x5a});
    CHECK(back[300] == std::byte{0x5a});
    CHECK(back.back() == std::byte{0});
}

TEST_CASE("reading untouched memory gives zeroes and makes no page", "[host]") {
    SparseMemory memory({0}, {1ull << 40});
    std::vector<std::byte> data(4096, std::byte{9});
    REQUIRE(memory.read({}, {1ull << 39}, data) == DmaStatus::ok);
    CHECK(data[17] == std::byte{0});
    CHECK(memory.pages() == 0);
}

TEST_CASE("a range over several blocks becomes one piece and stays the memory", "[host]") {
    constexpr std::size_t kBlock = SparseMemory::kPageBytes;
    SparseMemory memory({0x10000}, {16 * kBlock});
    const HostAddress at = memory.allocate(3 * kBlock, kBlock);
    const std::vector<std::byte> before(10, std::byte{0x11});
    memory.store(at + (2 * kBlock - 5), before);
    const auto piece = memory.contiguous(at, 2 * kBlock + 7);
    REQUIRE(piece.size() == 2 * kBlock + 7);
    CHECK(piece[2 * kBlock - 5] == std::byte{0x11});
    CHECK(piece[2 * kBlock + 4] == std::byte{0x11});
    CHECK(piece[2 * kBlock + 5] == std::byte{0});
    piece[kBlock] = std::byte{0x22};
    std::vector<std::byte> back(1);
    memory.load(at + kBlock, back);
    CHECK(back[0] == std::byte{0x22});
    CHECK(memory.contiguous(at, 2 * kBlock).data() == piece.data());

    // Who holds the block keeps the bytes when another range is brought together over it.
    const auto held = memory.block(at);
    memory.free(at);
    const HostAddress again = memory.allocate(4 * kBlock, kBlock);
    CHECK(again == at);
    CHECK(memory.contiguous(again, 4 * kBlock).data() != piece.data());
    piece[0] = std::byte{0x33};
    CHECK(*held == std::byte{0x33});
    memory.load(again, back);
    CHECK(back[0] == std::byte{0});
}

TEST_CASE("addresses outside of the memory are claimed by nobody", "[host]") {
    SparseMemory memory({0x1000}, {0x1000});
    std::array<std::byte, 16> data{};
    CHECK(memory.read({}, {0xff8}, data) == DmaStatus::unsupported_request);
    CHECK(memory.read({}, {0x1ff8}, data) == DmaStatus::unsupported_request);
    CHECK(memory.write({}, {~0ull - 7}, data) == DmaStatus::unsupported_request);
    CHECK(memory.write({}, {0x1ff0}, data) == DmaStatus::ok);
}

TEST_CASE("the allocator aligns, zeroes, reuses and runs out", "[host]") {
    SparseMemory memory({0x1000}, {0x4000});
    const HostAddress a = memory.allocate(100);
    const HostAddress b = memory.allocate(0x1000, 0x1000);
    CHECK(a.value == 0x1000);
    CHECK(b.value == 0x2000);
    CHECK_THROWS_AS(memory.allocate(0x3000), std::bad_alloc);
    const std::array<std::byte, 4> ones{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}};
    memory.store(b, ones);
    memory.free(b);
    memory.free(a);
    CHECK(memory.allocated_bytes() == 0);
    const HostAddress c = memory.allocate(0x4000, 0x1000);  // all of it in one piece again
    CHECK(c.value == 0x1000);
    std::array<std::byte, 4> back = ones;
    memory.load(b, back);
    CHECK(back == std::array<std::byte, 4>{});
}

TEST_CASE("a profile needs every key, a source and sensible values", "[host]") {
    CHECK(profile().llc_read == nanoseconds(200));
    const std::string text = kProfile;
    const auto without = [&](const std::string& line) {
        std::string cut = text;
        const std::size_t at = cut.find(line);
        REQUIRE(at != std::string::npos);
        cut.erase(at, cut.find('\n', at) + 1 - at);
        return load_host_profile(model::IniFile::parse("cut.ini", cut));
    };
    CHECK_THROWS_AS(without("llc_read"), model::ConfigError);
    CHECK_THROWS_AS(
        load_host_profile(model::IniFile::parse("x.ini", text + "speed = 1 # guess: t\n")),
        model::ConfigError);
    CHECK_THROWS_AS(load_host_profile(std::string("/nonexistent/profile.ini")), model::ConfigError);
    CHECK_THROWS_AS(profile({{"host.completions.boundary", "96"}}), model::ConfigError);
    CHECK_THROWS_AS(profile({{"host.credits.posted_headers", "0"}}), model::ConfigError);
    CHECK_THROWS_AS(profile({{"host.credits.posted_data", "255"}}), model::ConfigError);
    CHECK_THROWS_AS(profile({{"host.iommu.enabled", "true"}, {"host.iommu.walkers", "0"}}),
                    model::ConfigError);
    CHECK_THROWS_AS(profile({{"host.tail.read", "0.01:26"}}), model::ConfigError);
}

TEST_CASE("a built-in profile takes overrides of the host and leaves others alone", "[host]") {
    const std::vector<model::Override> overrides{{"timing.command.query", "5us"},
                                                 {"host.iommu.enabled", "true"}};
    CHECK(builtin_host_profile("broadwell_e5_2630v4", overrides).iommu);
    CHECK_FALSE(builtin_host_profile("broadwell_e5_2630v4").iommu);
    const std::vector<model::Override> unknown{{"host.iommu.nosuch", "true"}};
    CHECK_THROWS_AS(builtin_host_profile("broadwell_e5_2630v4", unknown), model::ConfigError);
    CHECK_THROWS_AS(builtin_host_profile("nosuch"), model::ConfigError);
}

TEST_CASE("read latency adds up by where the line lies", "[host]") {
    RootComplex host(profile());
    host.place({0x10000}, {0x1000}, {.in_llc = false, .remote_socket = false});
    host.place({0x20000}, {0x1000}, {.in_llc = false, .remote_socket = true});
    // Spaced so that the port is free each time.
    CHECK(host.read(nanoseconds(0), {0x1000}, 64) == nanoseconds(200));
    CHECK(host.read(nanoseconds(1000), {0x10000}, 64) == nanoseconds(1260));
    CHECK(host.read(nanoseconds(2000), {0x20fc0}, 64) == nanoseconds(2360));
    CHECK(host.read(nanoseconds(3000), {0x21000}, 64) == nanoseconds(3200));
}

TEST_CASE("a read of bytes just written waits until they are visible", "[host]") {
    RootComplex host(profile());
    const RootComplex::Written written = host.write(nanoseconds(0), {0x1000}, 64);
    CHECK(written.drained == nanoseconds(1));  // 64 B at 512 Gb/s
    CHECK(written.visible == nanoseconds(151));
    CHECK(host.read(nanoseconds(10), {0x103f}, 4) == nanoseconds(351));
    CHECK(host.read(nanoseconds(20), {0x1040}, 4) == nanoseconds(220));
    CHECK(host.statistics().reads_behind_writes == 1);
}

TEST_CASE("IO-TLB misses wait for a walker and replace the least recently used", "[host]") {
    RootComplex host(profile({{"host.iommu.enabled", "true"}}));
    CHECK(host.read(nanoseconds(0), {0x0000}, 64) == nanoseconds(500));      // miss
    CHECK(host.read(nanoseconds(1000), {0x0fc0}, 64) == nanoseconds(1200));  // hit
    // Two misses at once, one walker: the second waits 300 ns more.
    CHECK(host.read(nanoseconds(2000), {0x1000}, 64) == nanoseconds(2500));
    CHECK(host.read(nanoseconds(2000), {0x2000}, 64) == nanoseconds(2800));
    CHECK(host.statistics().iotlb_misses == 3);
    // Two entries hold pages 1 and 2 now.
    CHECK(host.read(nanoseconds(5000), {0x1000}, 64) == nanoseconds(5200));
    CHECK(host.read(nanoseconds(6000), {0x0000}, 64) == nanoseconds(6500));
    CHECK(host.read(nanoseconds(7000), {0x2000}, 64) == nanoseconds(7500));
}

TEST_CASE("a hit on a page whose walk is under way waits for the walk", "[host]") {
    RootComplex host(profile({{"host.iommu.enabled", "true"}}));
    CHECK(host.read(nanoseconds(0), {0x1000}, 64) == nanoseconds(500));
    CHECK(host.read(nanoseconds(100), {0x1800}, 64) == nanoseconds(501));  // the port: 1 ns
    CHECK(host.write(nanoseconds(200), {0x1c00}, 64).drained == nanoseconds(301));
    CHECK(host.statistics().iotlb_hits == 2);
    CHECK(host.statistics().iotlb_misses == 1);
}

TEST_CASE("a read keeps its walker for each line, a write does not", "[host]") {
    const auto second = [](bool write, std::uint64_t address, std::uint64_t bytes) {
        RootComplex host(
            profile({{"host.iommu.enabled", "true"}, {"host.iommu.read_line", "20ns"}}));
        if (write) {
            host.write(nanoseconds(0), {address}, bytes);
        } else {
            host.read(nanoseconds(0), {address}, bytes);
        }
        return host.read(nanoseconds(100), {0x9000}, 64);
    };
    CHECK(second(true, 0x1000, 256) == nanoseconds(800));
    CHECK(second(false, 0x1000, 64) == nanoseconds(820));
    CHECK(second(false, 0x1000, 256) == nanoseconds(880));
    CHECK(second(false, 0x1020, 64) == nanoseconds(840));  // touches two lines
}

TEST_CASE("a tail delays reads and a core's accesses, each by its own stream", "[host]") {
    RootComplex late(profile({{"host.tail.read", "1:500ns"}}));
    CHECK(late.read(nanoseconds(0), {0x1000}, 64) == nanoseconds(700));
    CHECK(late.from_core(nanoseconds(0)) == nanoseconds(50));
    RootComplex slow(profile({{"host.tail.core", "1:80ns"}}));
    CHECK(slow.read(nanoseconds(0), {0x1000}, 64) == nanoseconds(200));
    CHECK(slow.from_core(nanoseconds(1000)) == nanoseconds(1130));

    // The same seed and name: the same host. Another name: another one.
    const HostProfile noisy = profile(
        {{"host.tail.read", "1:0ns, 0.001:1us"}, {"host.tail.core", "1:0ns, 0.001:1us"}});
    const auto draws = [&](const char* name, bool core_too) {
        RootComplex host(noisy, 7, name);
        std::vector<Picoseconds> drawn;
        for (int i = 1; i <= 100; ++i) {
            if (core_too) host.from_core({});
            drawn.push_back(host.read(nanoseconds(10000 * i), {0x1000}, 64));
        }
        return drawn;
    };
    CHECK(draws("a", false) == draws("a", true));
    CHECK(draws("a", false) != draws("b", false));
}
