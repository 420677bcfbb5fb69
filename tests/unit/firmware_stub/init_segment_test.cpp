// SPDX-License-Identifier: Apache-2.0
#include "tests/support/command_host.h"
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::Phase;
using model::microseconds;
using model::milliseconds;
using prm::Opcode;

namespace {

constexpr model::FunctionId kFunction{0};

struct SegmentBench : FirmwareBench {
    SegmentBench() {
        config.firmware_major = 16;
        config.firmware_minor = 35;
        config.firmware_subminor = 4030;
        config.hw_id = 0x20d;
        config.device_frequency_khz = 156250;
        config.initialisation_time = milliseconds(150);
        config.health_period = milliseconds(100);
        firmware.function_reset(kFunction, model::ResetKind::conventional);
    }
    void boot() { calendar.run_until(calendar.now() + config.initialisation_time); }

    std::uint32_t read(std::uint64_t offset) {
        std::array<std::byte, 4> data{};
        firmware.bar_read(kFunction, offset, data);
        return model::load_be<std::uint32_t>(data.data());
    }
    void write(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> data{};
        model::store_be<std::uint32_t>(data.data(), value);
        firmware.bar_write(kFunction, calendar.now(), offset, data);
    }
    void write_bytes(std::uint64_t offset, std::vector<std::byte> data) {
        firmware.bar_write(kFunction, calendar.now(), offset, data);
    }
    void configure_queue() {
        write(0x10, 0);
        write(0x14, static_cast<std::uint32_t>(driver.queue()));
    }
    void post_nop(std::uint32_t slot) {
        std::vector<std::byte> in(16);
        model::store_be<std::uint16_t>(in.data(), static_cast<std::uint16_t>(Opcode::QUERY_ISSI));
        driver.post(slot, in, 112);
        write(0x18, 1U << slot);
    }

    CommandHost<FakeHostBus> driver{host};
};

}  // namespace

TEST_CASE("revisions stand where the driver looks for them", "[segment]") {
    SegmentBench bench;
    CHECK(bench.read(0x0) == ((35U << 16) | 16));
    CHECK(bench.read(0x4) == ((5U << 16) | 4030));
    CHECK(bench.read(0x230) == ((16U << 24) | (35U << 16) | 4030));
    CHECK(bench.read(0x234) == 0x20d);
    for (const std::uint64_t reserved : {0x8U, 0xcU, 0x18U, 0x1cU, 0x100U, 0x1f8U, 0x240U, 0xffcU,
                                         0x1008U, 0x100cU, 0x1014U, 0x1ffcU}) {
        CAPTURE(reserved);
        CHECK(bench.read(reserved) == 0);
    }
}

TEST_CASE("the initializing bit falls when the boot is over", "[segment]") {
    SegmentBench bench;
    const auto initializing = [&] { return bench.read(0x1fc) >> 31 == 1; };
    CHECK(initializing());
    bench.calendar.run_until(bench.calendar.now() + milliseconds(150) - microseconds(1));
    CHECK(initializing());
    bench.calendar.run_until(bench.calendar.now() + microseconds(1));
    CHECK_FALSE(initializing());
    bench.firmware.function_reset(kFunction, model::ResetKind::function_level);
    CHECK(initializing());
}

TEST_CASE("size and stride stay readable whatever the driver writes there", "[segment]") {
    SegmentBench bench;
    CHECK(bench.read(0x14) == 0x56);
    bench.write(0x10, 0x12345678);
    bench.write(0x14, 0x9abcd0ff);
    CHECK(bench.read(0x10) == 0x12345678);
    CHECK(bench.read(0x14) == 0x9abcd056);
    bench.write(0x14, 0);
    CHECK(bench.read(0x14) == 0x56);
    bench.write(0x14, 0xfffffaff);
    CHECK(bench.read(0x14) == 0xfffff256);
    bench.firmware.function_reset(kFunction, model::ResetKind::function_level);
    CHECK(bench.read(0x10) == 0);
    CHECK(bench.read(0x14) == 0x56);
}

TEST_CASE("reads of any size and alignment give the bytes of the registers", "[segment]") {
    SegmentBench bench;
    bench.boot();
    bench.write(0x10, 0x12345678);
    std::vector<std::byte> whole(0x2000);
    bench.firmware.bar_read(kFunction, 0, whole);
    CHECK(model::load_be<std::uint32_t>(whole.data() + 0x10) == 0x12345678);
    CHECK(whole[0x17] == std::byte{0x56});
    for (std::size_t size = 1; size <= 9; ++size) {
        for (std::uint64_t offset = 0; offset < 0x20; ++offset) {
            std::vector<std::byte> part(size);
            bench.firmware.bar_read(kFunction, offset, part);
            CAPTURE(size, offset);
            CHECK(std::equal(part.begin(), part.end(),
                             whole.begin() + static_cast<std::ptrdiff_t>(offset)));
        }
    }
}

TEST_CASE("writes that are no whole dwords are dropped", "[segment]") {
    SegmentBench bench;
    std::vector<std::byte> ones(8, std::byte{0xff});
    ones[6] = std::byte{0xf2};  // an interface state that does nothing
    for (const std::size_t size : {1U, 2U, 3U, 5U, 6U, 7U}) {
        bench.write_bytes(0x10, {ones.begin(), ones.begin() + static_cast<std::ptrdiff_t>(size)});
    }
    for (const std::uint64_t offset : {0x11U, 0x12U, 0x13U}) bench.write_bytes(offset, {ones.begin(), ones.begin() + 4});
    bench.write_bytes(0x10, {});
    CHECK(bench.read(0x10) == 0);
    CHECK(bench.read(0x14) == 0x56);
    bench.write_bytes(0x10, ones);  // a 64-bit store covers both halves
    CHECK(bench.read(0x10) == 0xffffffff);
    CHECK(bench.read(0x14) == 0xfffff256);
}

TEST_CASE("read-only registers keep their values", "[segment]") {
    SegmentBench bench;
    bench.boot();
    for (const std::uint64_t offset : {0x0U, 0x4U, 0x1fcU, 0x200U, 0x230U, 0x23cU, 0x1010U}) {
        const std::uint32_t before = bench.read(offset);
        bench.write(offset, ~before);
        CAPTURE(offset);
        CHECK(bench.read(offset) == before);
    }
}

TEST_CASE("the health counter runs and stops when the firmware dies", "[segment]") {
    SegmentBench bench;
    CHECK(bench.read(0x1010) == 0);
    bench.boot();
    CHECK(bench.read(0x1010) == 1);
    bench.calendar.run_until(bench.calendar.now() + milliseconds(1000));
    CHECK(bench.read(0x1010) == 11);
    CHECK(bench.read(0x238) == 0);
    CHECK(bench.read(0x23c) == 0);
    bench.firmware.raise_internal_error(kFunction, 0x1, 0x8a02);
    bench.calendar.run_until(bench.calendar.now() + milliseconds(5000));
    CHECK(bench.read(0x1010) == 11);
    CHECK(bench.read(0x23c) == 0x00018a02);
    CHECK((bench.read(0x238) >> 24 & 0x7) == 3);  // severity: error
    CHECK(bench.read(0x22c) == 1);  // seconds
    SECTION("the first error counts") {
        bench.firmware.raise_internal_error(kFunction, 0x7, 1);
        CHECK(bench.read(0x23c) == 0x00018a02);
    }
    SECTION("a reset brings it back") {
        bench.firmware.function_reset(kFunction, model::ResetKind::function_level);
        CHECK(bench.read(0x23c) == 0);
        CHECK(bench.read(0x1010) == 0);
        bench.boot();
        bench.calendar.run_until(bench.calendar.now() + milliseconds(100));
        CHECK(bench.read(0x1010) == 2);
    }
}

TEST_CASE("the health counter is 24 bits wide", "[segment]") {
    SegmentBench bench;
    bench.config.health_period = model::nanoseconds(1);
    bench.config.initialisation_time = {};
    bench.firmware.function_reset(kFunction, model::ResetKind::conventional);
    bench.calendar.run_until(bench.calendar.now() + model::nanoseconds(0x1000005));
    CHECK(bench.read(0x1010) == 5);
}

TEST_CASE("the timer counts cycles of the device's clock and survives resets", "[segment]") {
    SegmentBench bench;
    const auto timer = [&] { return (std::uint64_t{bench.read(0x1000)} << 32) | bench.read(0x1004); };
    const std::uint64_t first = timer();
    bench.calendar.run_until(bench.calendar.now() + model::seconds(100));
    CHECK(timer() - first == 15'625'000'000);  // 156.25 MHz, beyond 32 bits
    CHECK(bench.read(0x1000) == 3);
    bench.firmware.function_reset(kFunction, model::ResetKind::conventional);
    CHECK(timer() == first + 15'625'000'000);
}

TEST_CASE("commands are taken neither while booting nor after a death", "[segment]") {
    SegmentBench bench;
    bench.configure_queue();
    bench.post_nop(0);
    bench.calendar.run_until(bench.calendar.now() + milliseconds(10));
    CHECK(bench.driver.owned_by_hardware(0));
    bench.boot();
    CHECK(bench.driver.owned_by_hardware(0));  // the doorbell was lost, as a driver knows
    bench.post_nop(0);
    bench.calendar.run_until(bench.calendar.now() + milliseconds(10));
    CHECK_FALSE(bench.driver.owned_by_hardware(0));
    bench.firmware.raise_internal_error(kFunction, 1, 0);
    bench.post_nop(1);
    bench.calendar.run_until(bench.calendar.now() + milliseconds(10));
    CHECK(bench.driver.owned_by_hardware(1));
}

TEST_CASE("disabling the NIC interface tears the function down", "[segment]") {
    SegmentBench bench;
    bench.boot();
    bench.configure_queue();
    bench.function().set_phase(Phase::initialised);
    (void)bench.function().pages().give(std::array<std::uint64_t, 1>{0x1000});
    bench.alloc_pd();
    bench.write(0x14, static_cast<std::uint32_t>(bench.driver.queue()) | (1U << 8));
    CHECK(bench.read(0x14) == ((bench.driver.queue() & 0xfffff000) | 0x156));
    CHECK(bench.resources().total() == 0);
    CHECK(bench.function().phase() == Phase::enabled);
    SECTION("again does nothing") {
        bench.write(0x14, static_cast<std::uint32_t>(bench.driver.queue()) | (1U << 8));
        CHECK(bench.function().phase() == Phase::enabled);
    }
    SECTION("the next driver takes it in use") {
        bench.configure_queue();
        CHECK(bench.read(0x14) == ((bench.driver.queue() & 0xfffff000) | 0x56));
        bench.post_nop(0);
        bench.calendar.run_until(bench.calendar.now() + milliseconds(1));
        CHECK_FALSE(bench.driver.owned_by_hardware(0));
    }
}

TEST_CASE("disabling the interface of a function that is not enabled leaves it so", "[segment]") {
    SegmentBench bench;
    bench.boot();
    REQUIRE(bench.function().phase() == Phase::reset);
    bench.write(0x14, 1U << 8);
    CHECK(bench.function().phase() == Phase::reset);
}

TEST_CASE("a disabled interface takes no commands", "[segment]") {
    SegmentBench bench;
    bench.boot();
    bench.configure_queue();
    bench.write(0x14, static_cast<std::uint32_t>(bench.driver.queue()) | (1U << 8));
    bench.post_nop(0);
    bench.calendar.run_until(bench.calendar.now() + milliseconds(10));
    CHECK(bench.driver.owned_by_hardware(0));
}

TEST_CASE("what lies behind the segment reads as zero and is counted", "[segment]") {
    SegmentBench bench;
    std::vector<std::byte> data(8, std::byte{0xff});
    bench.firmware.bar_read(kFunction, 0x2000, data);
    CHECK(data == std::vector<std::byte>(8, std::byte{0}));
    bench.firmware.bar_read(kFunction, 0x1ffc, data);  // half inside
    CHECK(bench.firmware.counters().bar_accesses_ignored == 2);
    bench.write_bytes(0x1ffc, std::vector<std::byte>(8));
    CHECK(bench.firmware.counters().bar_accesses_ignored == 3);
}
