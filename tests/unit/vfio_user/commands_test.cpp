// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vfio_user/client.h"

#include <linux/vfio.h>

using namespace cxsim::vfio_user;
using namespace cxsim::vfio_user::test;

TEST_CASE("the structures and numbers are those of the kernel's VFIO", "[commands]") {
    STATIC_REQUIRE(kRegionFlagMmap == VFIO_REGION_INFO_FLAG_MMAP);
    STATIC_REQUIRE(kRegionFlagCaps == VFIO_REGION_INFO_FLAG_CAPS);
    STATIC_REQUIRE(sizeof(RegionInfoPayload) == sizeof(vfio_region_info));
    STATIC_REQUIRE(offsetof(RegionInfoPayload, size) == offsetof(vfio_region_info, size));
    STATIC_REQUIRE(kRegionCapSparseMmap == VFIO_REGION_INFO_CAP_SPARSE_MMAP);
    STATIC_REQUIRE(sizeof(SparseMmapCapability) == sizeof(vfio_region_info_cap_sparse_mmap));
    STATIC_REQUIRE(sizeof(IrqSetPayload) == sizeof(vfio_irq_set));
    STATIC_REQUIRE(kIrqSetDataMask == VFIO_IRQ_SET_DATA_TYPE_MASK);
    STATIC_REQUIRE(kIrqSetActionBits == VFIO_IRQ_SET_ACTION_TYPE_MASK);
    STATIC_REQUIRE(kIrqFlagAutomasked == VFIO_IRQ_INFO_AUTOMASKED);
    STATIC_REQUIRE(kPciConfigRegion == VFIO_PCI_CONFIG_REGION_INDEX);
    STATIC_REQUIRE(kPciMsixIrq == VFIO_PCI_MSIX_IRQ_INDEX);
    STATIC_REQUIRE(kDeviceFlagPci == VFIO_DEVICE_FLAGS_PCI);
}

TEST_CASE("DEVICE_GET_INFO tells a resettable PCI device", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const Reply reply =
        bench.client->call(Command::kDeviceGetInfo, bytes_of(DeviceInfoPayload{16, 0, 0, 0}));
    REQUIRE(reply.error() == 0);
    const auto info = reply.as<DeviceInfoPayload>();
    CHECK(info.argsz == 16);
    CHECK(info.flags == 3);
    CHECK(info.num_regions == 9);
    CHECK(info.num_irqs == 5);

    CHECK(bench.client->call(Command::kDeviceGetInfo, bytes_of(DeviceInfoPayload{15, 0, 0, 0}))
              .error() == EINVAL);
    CHECK(bench.client->call(Command::kDeviceGetInfo, Bytes(12)).error() == EINVAL);
}

TEST_CASE("GET_REGION_INFO gives sizes, rights and the mappable areas with a descriptor",
          "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const auto ask = [&](std::uint32_t index, std::uint32_t argsz) {
        return bench.client->call(Command::kDeviceGetRegionInfo,
                                  bytes_of(RegionInfoPayload{argsz, 0, index, 0, 0, 0}));
    };
    SECTION("too small a buffer learns the size it needs, and gets no descriptor") {
        const Reply reply = ask(0, 32);
        REQUIRE(reply.body.size() == 32);
        const auto info = reply.as<RegionInfoPayload>();
        CHECK(info.argsz == 32 + 16 + 2 * 16);
        CHECK(info.flags == (kRegionFlagRead | kRegionFlagWrite | kRegionFlagMmap));
        CHECK(info.cap_offset == 0);
        CHECK(reply.fds.empty());
    }
    SECTION("a sufficient buffer gets the capability chain") {
        const Reply reply = ask(0, 80);
        REQUIRE(reply.body.size() == 80);
        const auto info = reply.as<RegionInfoPayload>();
        CHECK(info.argsz == 80);
        CHECK((info.flags & kRegionFlagCaps) != 0);
        CHECK(info.size == TestDevice::kBarSize);
        REQUIRE(info.cap_offset == 32);
        const auto sparse = reply.as<SparseMmapCapability>(32);
        CHECK(sparse.id == 1);
        CHECK(sparse.version == 1);
        CHECK(sparse.next == 0);
        REQUIRE(sparse.area_count == 2);
        CHECK(reply.as<SparseMmapArea>(48).offset == 0x4000);
        CHECK(reply.as<SparseMmapArea>(64).size == 0x1000);
        REQUIRE(reply.fds.size() == 1);
        // The descriptor is the device's file: what is written through it arrives.
        void* mine =
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reply.fds[0].get(), 0x4000);
        REQUIRE(mine != MAP_FAILED);
        std::memcpy(mine, "door", 4);
        std::array<char, 4> seen{};
        CHECK(::pread(bench.device.bar_file.get(), seen.data(), 4, 0x4000) == 4);
        CHECK(std::string(seen.data(), 4) == "door");
        ::munmap(mine, 4096);
    }
    SECTION("an absent region has size and flags zero") {
        const auto info = ask(1, 32).as<RegionInfoPayload>();
        CHECK(info.size == 0);
        CHECK(info.flags == 0);
    }
    SECTION("a read-only region says so") {
        CHECK(ask(2, 32).as<RegionInfoPayload>().flags == kRegionFlagRead);
    }
    SECTION("bad requests are refused") {
        CHECK(ask(9, 32).error() == EINVAL);
        CHECK(ask(0, 31).error() == EINVAL);
        CHECK(bench.client->call(Command::kDeviceGetRegionInfo, Bytes(31)).error() == EINVAL);
    }
}

TEST_CASE("a client that takes no descriptors is offered no mapping", "[commands]") {
    Bench bench;
    bench.client->negotiate(R"({"capabilities": {"max_msg_fds": 0}})");
    const Reply reply = bench.client->call(Command::kDeviceGetRegionInfo,
                                           bytes_of(RegionInfoPayload{80, 0, 0, 0, 0, 0}));
    CHECK((reply.as<RegionInfoPayload>().flags & kRegionFlagMmap) == 0);
    CHECK(reply.fds.empty());
}

TEST_CASE("GET_REGION_IO_FDS is not supported, and a bad one is invalid", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const auto ask = [&](RegionIoFdsPayload payload) {
        return bench.client->call(Command::kDeviceGetRegionIoFds, bytes_of(payload)).error();
    };
    CHECK(ask({16, 0, 0, 0}) == ENOTSUP);
    CHECK(ask({16, 0, 99, 0}) == EINVAL);
    CHECK(ask({16, 1, 0, 0}) == EINVAL);
    CHECK(ask({8, 0, 0, 0}) == EINVAL);
}

TEST_CASE("GET_IRQ_INFO gives counts and flags", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const auto ask = [&](std::uint32_t index, std::uint32_t argsz = 16) {
        return bench.client->call(Command::kDeviceGetIrqInfo,
                                  bytes_of(IrqInfoPayload{argsz, 0, index, 0}));
    };
    CHECK(ask(0).as<IrqInfoPayload>().flags == 7);
    CHECK(ask(0).as<IrqInfoPayload>().count == 1);
    CHECK(ask(1).as<IrqInfoPayload>().count == 0);
    CHECK(ask(2).as<IrqInfoPayload>().flags == 1);
    CHECK(ask(2).as<IrqInfoPayload>().count == 64);
    CHECK(ask(5).error() == EINVAL);
    CHECK(ask(2, 12).error() == EINVAL);
}

TEST_CASE("region reads and writes reach the device", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const Bytes data = pattern(8);
    const Reply written = bench.client->write(0, 0x100, data);
    REQUIRE(written.body.size() == sizeof(RegionAccessPayload));
    CHECK(written.as<RegionAccessPayload>().count == 8);
    const Reply reply = bench.client->read(0, 0x100, 8);
    REQUIRE(reply.body.size() == 24);
    CHECK(reply.as<RegionAccessPayload>().offset == 0x100);
    CHECK(std::memcmp(reply.body.data() + 16, data.data(), 8) == 0);
    // QEMU takes the configuration space in one piece.
    CHECK(bench.client->read(kPciConfigRegion, 0, 4096).body.size() == 16 + 4096);
}

TEST_CASE("a transfer of the largest size passes and one more byte does not", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const Reply largest = bench.client->read(3, 0, 1 << 20);
    CHECK(largest.body.size() == 16 + (1 << 20));
    CHECK(bench.client->read(3, 0, (1 << 20) + 1).error() == EINVAL);
}

TEST_CASE("accesses outside a region or against its rights are refused", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    CHECK(bench.client->read(9, 0, 4).error() == EINVAL);
    CHECK(bench.client->read(1, 0, 4).error() == EINVAL);
    CHECK(bench.client->read(0, TestDevice::kBarSize - 2, 4).error() == EINVAL);
    CHECK(bench.client->read(0, ~std::uint64_t{0} - 1, 4).error() == EINVAL);
    CHECK(bench.client->read(0, 0, 0).error() == EINVAL);
    CHECK(bench.client->write(2, 0, pattern(4)).error() == EACCES);
    // The count must be that of the data.
    Bytes lying = Client::write_body(0, 0, pattern(8));
    lying.resize(lying.size() - 4);
    CHECK(bench.client->call(Command::kRegionWrite, lying).error() == EINVAL);
    CHECK(bench.client->call(Command::kRegionRead, Bytes(15)).error() == EINVAL);
    CHECK(bench.device.reads + bench.device.writes == 0);
    CHECK(bench.endpoint->stats().error_replies == 8);
}

TEST_CASE("the device's errno becomes the error reply", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    bench.device.on_read = [](auto, auto, auto) { return Status(EIO); };
    CHECK(bench.client->read(0, 0, 4).error() == EIO);
    bench.device.reset_status = Status(EAGAIN);
    CHECK(bench.client->call(Command::kDeviceReset, {}).error() == EAGAIN);
}

TEST_CASE("a posted write gets no reply, not even for an error", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    bench.client->send(Command::kRegionWrite, Client::write_body(0, 8, pattern(4)), kFlagNoReply);
    bench.client->send(Command::kRegionWrite, Client::write_body(2, 8, pattern(4)), kFlagNoReply);
    // The next reply is the read's: call() checks its id.
    CHECK(bench.client->read(0, 8, 4).error() == 0);
    CHECK(bench.device.writes == 1);
    CHECK(bench.endpoint->stats().silent_errors == 1);
}

TEST_CASE("REGION_WRITE_MULTI does 200 writes in order", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    Bytes body = bytes_of(std::uint64_t{200});
    for (std::uint32_t i = 0; i < 200; ++i) {
        WriteMultiEntry entry{(199 - i) * 8ull, 0, 8, {}};
        entry.data[0] = static_cast<std::uint8_t>(i);
        body = body + bytes_of(entry);
    }
    SECTION("with a reply") {
        const Reply reply = bench.client->call(Command::kRegionWriteMulti, body);
        CHECK(reply.as<std::uint64_t>() == 200);
    }
    SECTION("posted") {
        bench.client->send(Command::kRegionWriteMulti, body, kFlagNoReply);
        bench.drain();
    }
    REQUIRE(bench.device.write_order.size() == 200);
    CHECK(bench.device.write_order.front() == 199 * 8);
    CHECK(bench.device.write_order.back() == 0);
    CHECK(bench.device.memory[0][0] == std::byte{199});
    CHECK(bench.endpoint->stats().multi_writes == 200);
}

TEST_CASE("REGION_WRITE_MULTI skips and counts what is refused, and checks its frame",
          "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const Bytes good = bytes_of(WriteMultiEntry{0, 0, 4, {1, 2, 3, 4, 0, 0, 0, 0}});
    const Bytes too_long = bytes_of(WriteMultiEntry{0, 0, 9, {}});
    const Bytes read_only = bytes_of(WriteMultiEntry{0, 2, 4, {}});
    const Reply reply =
        bench.client->call(Command::kRegionWriteMulti,
                           bytes_of(std::uint64_t{4}) + good + too_long + read_only + good);
    CHECK(reply.as<std::uint64_t>() == 2);
    CHECK(bench.device.writes == 2);
    CHECK(bench.endpoint->stats().failed_multi_writes == 2);

    const auto error = [&](const Bytes& body) {
        return bench.client->call(Command::kRegionWriteMulti, body).error();
    };
    CHECK(error(bytes_of(std::uint64_t{2}) + good) == EINVAL);
    CHECK(error(bytes_of(std::uint64_t{0x0aaaaaaaaaaaaaab}) + good) == EINVAL);
    CHECK(error(bytes_of(std::uint64_t{1}) + good + Bytes(1)) == EINVAL);
    CHECK(error(Bytes(7)) == EINVAL);
    CHECK(bench.device.writes == 2);
}

TEST_CASE("REGION_WRITE_MULTI needs to be negotiated", "[commands]") {
    Bench bench;
    bench.client->negotiate("{}");
    CHECK(bench.client->call(Command::kRegionWriteMulti, bytes_of(std::uint64_t{0})).error() ==
          ENOTSUP);
}

TEST_CASE("DEVICE_RESET resets and takes no payload", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    CHECK(bench.client->call(Command::kDeviceReset, {}).error() == 0);
    CHECK(bench.device.resets == 1);
    CHECK(bench.client->call(Command::kDeviceReset, Bytes(4)).error() == EINVAL);
    CHECK(bench.device.resets == 1);
}

TEST_CASE("migration, unknown commands and the server's own are refused", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    for (const auto command : {Command::kDirtyPages, Command::kDeviceFeature, Command::kMigDataRead,
                               Command::kMigDataWrite}) {
        CHECK(bench.client->call(command, Bytes(16)).error() == ENOTSUP);
    }
    for (const auto command :
         {Command::kDmaRead, Command::kDmaWrite, Command{0}, Command{19}, Command{0xffff}}) {
        CHECK(bench.client->call(command, Bytes(16)).error() == EINVAL);
    }
    CHECK(bench.endpoint->stats().commands[0] == 3);
    CHECK(bench.endpoint->connected());
}

TEST_CASE("descriptors where none belong are refused and closed", "[commands]") {
    Bench bench;
    bench.client->negotiate();
    const std::size_t before = open_fds();
    const UniqueFd stray = make_eventfd();
    CHECK(bench.client
              ->call(Command::kRegionRead, bytes_of(RegionAccessPayload{0, 0, 4}), {stray.get()})
              .error() == EINVAL);
    const std::vector<int> many(17, stray.get());
    CHECK(
        bench.client
            ->call(Command::kDeviceSetIrqs,
                   bytes_of(IrqSetPayload{20, kIrqSetDataEventfd | kIrqSetActionTrigger, 2, 0, 17}),
                   many)
            .error() == EINVAL);
    CHECK(open_fds() == before + 1);
}

TEST_CASE("every message is traced and complaints are limited", "[commands]") {
    std::vector<std::pair<bool, std::uint16_t>> seen;
    int lines = 0;
    ServerOptions options;
    options.trace = [&](const MessageTrace& m) {
        seen.push_back({m.from_client, m.header.command});
    };
    options.log = [&](LogLevel level, std::string_view) { lines += level == LogLevel::kWarning; };
    Bench bench(options);
    bench.client->negotiate();
    CHECK(seen == std::vector<std::pair<bool, std::uint16_t>>{{true, 1}, {false, 1}});
    for (int i = 0; i < 100; ++i) bench.client->read(99, 0, 4);
    CHECK(lines == 32);
    CHECK(bench.endpoint->stats().suppressed_log_lines == 68);
}
