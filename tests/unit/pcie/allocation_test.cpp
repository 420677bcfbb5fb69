// SPDX-License-Identifier: Apache-2.0
// The path of DMA, MMIO and interrupts allocates nothing after warm-up.
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <new>

namespace {
std::size_t allocations = 0;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    ++allocations;
    if (void* memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

/// A device that keeps nothing, so that only the endpoint could allocate.
class SilentDevice : public FakeDevice {
  public:
    void bar_read(model::FunctionId, std::uint64_t, std::span<std::byte> into) override {
        std::fill(into.begin(), into.end(), std::byte{0});
    }
    void bar_write(model::FunctionId, model::Picoseconds, std::uint64_t,
                   std::span<const std::byte>) override {}
};

struct SilentSink : InterruptSink {
    void interrupt(model::FunctionId, unsigned, const MsixMessage&) override { ++count; }
    int count = 0;
};

}  // namespace

TEST_CASE("reads, writes, doorbells and interrupts allocate nothing", "[allocation]") {
    Bench bench;
    SilentDevice device;
    SilentSink sink;
    bench.endpoint.attach(device);
    bench.endpoint.attach(sink);
    bench.enable();
    bench.endpoint.program_vector({0}, 0, {0xfee00000, 1}, false);
    bench.write(kMsix + 2, 2, 0x8000);
    std::vector<std::byte> data(4096);
    const auto round = [&] {
        for (std::uint64_t i = 0; i < 50; ++i) {
            const model::Picoseconds now = bench.calendar.now();
            bench.endpoint.read({0}, now, {i * 4096}, data);
            bench.endpoint.write({0}, now, {i * 4096}, data);
            bench.endpoint.raise_interrupt({0}, now, 0);
            std::uint32_t value = 1;
            bench.bar_write(0x800, value);
            bench.bar_read(0x800, value);
            bench.run();  // few events pending: the calendar keeps its size
        }
    };
    round();  // pages of the memory, pool of the calendar
    const std::size_t before = allocations;
    round();
    const std::size_t after = allocations;  // the checks themselves allocate
    ::operator delete(::operator new(4));   // the hook counts
    const std::size_t hooked = allocations;
    CHECK(after - before == 0);
    CHECK(hooked - after == 1);
    CHECK(sink.count == 100);
}
