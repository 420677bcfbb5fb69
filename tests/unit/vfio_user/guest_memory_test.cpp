// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/guest_memory.h"

#include "tests/unit/vfio_user/client.h"

using namespace cxsim::vfio_user;
using namespace cxsim::vfio_user::test;

namespace {

struct MemoryBench : Bench {
    explicit MemoryBench(ServerOptions options = {}) : Bench(std::move(options)) {
        client->negotiate();
    }
    GuestMemory& memory() { return endpoint->memory(); }
};

}  // namespace

TEST_CASE("memory with a file is read and written in place", "[memory]") {
    MemoryBench bench;
    const UniqueFd ram = make_memfd(64 * 1024);
    const Bytes data = pattern(300);
    REQUIRE(::pwrite(ram.get(), data.data(), data.size(), 0x2100) == 300);
    // At another address than in the file.
    REQUIRE(bench.client->map(0x100000, 0x8000, 3, ram.get(), 0x2000).error() == 0);
    REQUIRE(bench.device.mapped.size() == 1);
    CHECK(bench.device.mapped[0].data != nullptr);
    Bytes seen(300);
    REQUIRE(bench.memory().read(0x100100, seen).ok());
    CHECK(seen == data);
    const Bytes other = pattern(64, 77);
    REQUIRE(bench.memory().write(0x107fc0, other).ok());
    Bytes in_file(64);
    REQUIRE(::pread(ram.get(), in_file.data(), 64, 0x2000 + 0x7fc0) == 64);
    CHECK(in_file == other);
}

TEST_CASE("an access may cross adjacent maps but no gap", "[memory]") {
    MemoryBench bench;
    const UniqueFd low = make_memfd(4096);
    const UniqueFd high = make_memfd(8192);
    REQUIRE(bench.client->map(0x2000, 4096, 3, high.get(), 4096).error() == 0);
    REQUIRE(bench.client->map(0x1000, 4096, 3, low.get()).error() == 0);
    REQUIRE(bench.client->map(0x4000, 4096, 3, low.get()).error() == 0);
    const Bytes data = pattern(8192);
    REQUIRE(bench.memory().write(0x1000, data).ok());
    Bytes seen(8192);
    REQUIRE(bench.memory().read(0x1000, seen).ok());
    CHECK(seen == data);
    CHECK(bench.memory().readable(0x1ff0, 64).size() == 16);

    Bytes before(4096), after(4096);
    REQUIRE(bench.memory().read(0x2000, before).ok());
    CHECK(bench.memory().write(0x2800, Bytes(0x1000)).error() == EFAULT);  // into the gap
    REQUIRE(bench.memory().read(0x2000, after).ok());
    CHECK(before == after);  // all or nothing
    CHECK(bench.memory().read(0xffe, std::span(seen).subspan(0, 4)).error() == EFAULT);
    CHECK(bench.memory().read(0x5000, std::span(seen).subspan(0, 1)).error() == EFAULT);
    CHECK(bench.memory().read(~std::uint64_t{0}, std::span(seen).subspan(0, 2)).error() == EFAULT);
    CHECK(bench.memory().read(0, {}).ok());
}

TEST_CASE("the last page of the address space can be mapped, and not passed", "[memory]") {
    MemoryBench bench;
    const UniqueFd ram = make_memfd(4096);
    const std::uint64_t top = ~std::uint64_t{0} - 4095;
    REQUIRE(bench.client->map(top, 4096, 3, ram.get()).error() == 0);
    REQUIRE(bench.client->map(0, 4096, 3, ram.get()).error() == 0);
    Bytes seen(16);
    CHECK(bench.memory().read(~std::uint64_t{0} - 15, seen).ok());
    CHECK(bench.memory().read(~std::uint64_t{0} - 14, seen).error() == EFAULT);
    CHECK(bench.client->unmap(top, 4096).error() == 0);
}

TEST_CASE("the rights of a map are kept", "[memory]") {
    MemoryBench bench;
    const UniqueFd ram = make_memfd(8192);
    REQUIRE(bench.client->map(0, 4096, kDmaMapRead, ram.get()).error() == 0);
    REQUIRE(bench.client->map(4096, 4096, kDmaMapWrite, ram.get(), 4096).error() == 0);
    Bytes buffer(16);
    CHECK(bench.memory().read(0, buffer).ok());
    CHECK(bench.memory().write(0, buffer).error() == EACCES);
    CHECK(bench.memory().write(4096, buffer).ok());
    CHECK(bench.memory().read(4096, buffer).error() == EACCES);
    CHECK(bench.memory().read(4090, buffer).error() == EACCES);
    CHECK(bench.memory().writable(0, 16).empty());
    CHECK(bench.memory().readable(4096, 16).empty());
    CHECK(bench.memory().writable(4096, 16).size() == 16);
}

TEST_CASE("impossible maps are refused", "[memory]") {
    MemoryBench bench;
    const UniqueFd ram = make_memfd(64 * 1024);
    auto& client = *bench.client;
    REQUIRE(client.map(0x10000, 0x4000, 3, ram.get()).error() == 0);
    CHECK(client.map(0x10000, 0x4000, 3, ram.get()).error() == EEXIST);
    CHECK(client.map(0xf000, 0x2000, 3, ram.get()).error() == EEXIST);
    CHECK(client.map(0x13000, 0x1000, 3, ram.get()).error() == EEXIST);
    CHECK(client.map(0, 0x100000, 3).error() == EEXIST);
    CHECK(client.map(0x20000, 0, 3, ram.get()).error() == EINVAL);
    CHECK(client.map(0x20000, 0x1000, 0, ram.get()).error() == EINVAL);
    CHECK(client.map(0x20000, 0x1000, 4 | 3, ram.get()).error() == EINVAL);
    CHECK(client.map(0x20800, 0x1000, 3, ram.get()).error() == EINVAL);
    CHECK(client.map(0x20000, 0x1800, 3, ram.get()).error() == EINVAL);
    CHECK(client.map(~std::uint64_t{0} - 4095, 0x2000, 3).error() == EINVAL);
    // Beyond the file's end, where a touch would raise SIGBUS.
    CHECK(client.map(0x20000, 0x11000, 3, ram.get()).error() == EINVAL);
    CHECK(client.map(0x20000, 0x1000, 3, ram.get(), 0x10000).error() == EINVAL);
    CHECK(client.map(0x20000, 0x1000, 3, ram.get(), ~std::uint64_t{0} - 4095).error() == EINVAL);
    const UniqueFd event = make_eventfd();
    CHECK(client.map(0x20000, 0x1000, 3, event.get()).error() == EINVAL);
    const UniqueFd read_only(
        ::open(("/proc/self/fd/" + std::to_string(ram.get())).c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(client.map(0x20000, 0x1000, 3, read_only.get()).error() == EACCES);
    CHECK(client.map(0x20000, 0x1000, 1, read_only.get()).error() == 0);
    CHECK(client.call(Command::kDmaMap, bytes_of(DmaMapPayload{31, 3, 0, 0x30000, 4096})).error() ==
          EINVAL);
    CHECK(client.call(Command::kDmaMap, Bytes(31)).error() == EINVAL);
    CHECK(client
              .call(Command::kDmaMap, bytes_of(DmaMapPayload{32, 3, 0, 0x30000, 4096}),
                    {ram.get(), ram.get()})
              .error() == EINVAL);
    CHECK(bench.memory().region_count() == 2);
}

TEST_CASE("the number of maps is limited", "[memory]") {
    ServerOptions options;
    options.max_dma_maps = 3;
    MemoryBench bench(options);
    for (std::uint64_t i = 0; i < 3; ++i) CHECK(bench.client->map(i << 12, 4096, 3).error() == 0);
    CHECK(bench.client->map(3 << 12, 4096, 3).error() == ENOSPC);
    CHECK(bench.client->unmap(0, 4096).error() == 0);
    CHECK(bench.client->map(3 << 12, 4096, 3).error() == 0);
}

TEST_CASE("an unmap names exactly one map and is answered with its request", "[memory]") {
    MemoryBench bench;
    const UniqueFd ram = make_memfd(0x4000);
    REQUIRE(bench.client->map(0x1000, 0x2000, 3, ram.get()).error() == 0);
    REQUIRE(bench.client->map(0x3000, 0x1000, 3, ram.get()).error() == 0);
    CHECK(bench.client->unmap(0x1000, 0x1000).error() == ENOENT);
    CHECK(bench.client->unmap(0x2000, 0x1000).error() == ENOENT);
    CHECK(bench.client->unmap(0x1000, 0x3000).error() == ENOENT);
    CHECK(bench.client->unmap(0x1000, 0x2000, kDmaUnmapGetDirtyBitmap).error() == ENOTSUP);
    CHECK(bench.client->unmap(0x1000, 0x2000, 4).error() == EINVAL);
    CHECK(bench.client->call(Command::kDmaUnmap, Bytes(23)).error() == EINVAL);
    CHECK(bench.client->call(Command::kDmaUnmap, bytes_of(DmaUnmapPayload{8, 0, 0x1000, 0x2000}))
              .error() == EINVAL);
    const Reply reply = bench.client->unmap(0x1000, 0x2000);
    REQUIRE(reply.body.size() == sizeof(DmaUnmapPayload));
    CHECK(reply.as<DmaUnmapPayload>().address == 0x1000);
    CHECK(reply.as<DmaUnmapPayload>().size == 0x2000);
    CHECK(bench.client->unmap(0x1000, 0x2000).error() == ENOENT);
    Bytes buffer(4);
    CHECK(bench.memory().read(0x1000, buffer).error() == EFAULT);
    CHECK(bench.memory().read(0x3000, buffer).ok());
}

TEST_CASE("one unmap can take all", "[memory]") {
    MemoryBench bench;
    for (std::uint64_t i = 0; i < 20; ++i) {
        REQUIRE(bench.client->map(i << 13, 4096, 3).error() == 0);
    }
    CHECK(bench.client->unmap(0, 4096, kDmaUnmapAll).error() == EINVAL);
    CHECK(bench.client->unmap(0, 0, kDmaUnmapAll).error() == 0);
    CHECK(bench.memory().region_count() == 0);
    CHECK(bench.device.unmapped.size() == 20);
    CHECK(bench.client->unmap(0, 0, kDmaUnmapAll).error() == 0);
}

TEST_CASE("the generation changes with each map and unmap, and pointers live until told",
          "[memory]") {
    MemoryBench bench;
    const UniqueFd ram = make_memfd(4096);
    const std::uint64_t start = bench.memory().generation();
    REQUIRE(bench.client->map(0, 4096, 3, ram.get()).error() == 0);
    const std::uint64_t mapped = bench.memory().generation();
    CHECK(mapped != start);
    CHECK(bench.client->map(0, 4096, 3, ram.get()).error() == EEXIST);
    CHECK(bench.memory().generation() == mapped);

    const std::span<std::byte> cached = bench.memory().writable(0, 4096);
    bool written = false;
    bench.device.on_unmap = [&](const DmaRegion& region) {
        CHECK(region.data == cached.data());
        cached[17] = std::byte{42};  // the last use of a cached pointer
        Bytes byte(1);
        CHECK(bench.memory().read(17, byte).ok());
        written = byte[0] == std::byte{42};
    };
    REQUIRE(bench.client->unmap(0, 4096).error() == 0);
    CHECK(written);
    CHECK(bench.memory().generation() != mapped);
    CHECK(bench.memory().writable(0, 1).empty());
}

TEST_CASE("lookups stay right among many maps", "[memory]") {
    GuestMemory memory;
    const UniqueFd ram = make_memfd(4096);
    DmaRegion region{.address = 0, .size = 4096, .readable = true, .writable = true};
    // Mapped in a scattered order: 613 is coprime to 1000.
    for (std::uint64_t i = 0; i < 1000; ++i) {
        region.address = (i * 613 % 1000) * 8192;
        REQUIRE(memory.map(region, ram.get(), 0, true).ok());
    }
    for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t address = (i * 379 % 1000) * 8192;
        CHECK(memory.readable(address + 4095, 10).size() == 1);
        CHECK(memory.readable(address + 4096, 1).empty());
    }
    const auto regions = memory.regions();
    CHECK(std::is_sorted(regions.begin(), regions.end(),
                         [](const auto& a, const auto& b) { return a.address < b.address; }));
}

TEST_CASE("a client that truncates its memory is dropped and the server lives", "[memory]") {
    MemoryBench bench;
    const UniqueFd ram = make_memfd(64 * 1024);
    REQUIRE(bench.client->map(0, 64 * 1024, 3, ram.get()).error() == 0);
    const std::span<const std::byte> pointer = bench.memory().readable(0x8000, 16);
    Bytes buffer(16);
    REQUIRE(bench.memory().read(0x8000, buffer).ok());
    REQUIRE(::ftruncate(ram.get(), 4096) == 0);
    SECTION("seen by a read") {
        CHECK(bench.memory().read(0x8000, buffer).error() == EFAULT);
    }
    SECTION("seen by a write") {
        CHECK(bench.memory().write(0xf000, buffer).error() == EFAULT);
    }
    SECTION("seen through a pointer") {
        CHECK(pointer[0] == std::byte{0});
    }
    bench.drain();
    CHECK_FALSE(bench.endpoint->connected());
    CHECK(bench.endpoint->stats().memory_faults == 1);
    CHECK(bench.device.last_reason == "client took away memory under a DMA map");
}
