// SPDX-License-Identifier: Apache-2.0
// What a frame costs in the parser and in the stateless offloads, as JSON:
//   {"name": {"ns": median, "budget_ns": goal}, ...}
// Wall times are printed, not judged; status 1 when anything allocates while frames run through.
// --quick: few rounds, for that alone.
#include "eth/offloads/lro.h"
#include "eth/offloads/packet.h"
#include "eth/offloads/receive.h"
#include "eth/offloads/segmenter.h"
#include "eth/offloads/transmit.h"
#include "eth/wire/checksum.h"
#include "eth/wire/crc32.h"
#include "eth/wire/transport.h"
#include "tests/unit/offloads/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string_view>
#include <systemc>

namespace {

std::uint64_t g_allocations = 0;

void* counted(std::size_t size) {
    ++g_allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}

}  // namespace

// NOLINTBEGIN(misc-new-delete-overloads): the hooks see all allocations of the process.
void* operator new(std::size_t size) {
    return counted(size);
}
void* operator new[](std::size_t size) {
    return counted(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads)

namespace {

using namespace cxsim;
using namespace cxsim::eth;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 7;
bool g_first = true;
bool g_quick = false;
bool g_allocated = false;

/// Keeps the compiler from dropping work whose result nobody uses.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "r"(&value) : "memory");
}

/// Median over rounds of the time of one `work`; `budget` is the goal on a machine of today.
template <class Work>
void measure(const char* name, double budget, std::uint64_t count, Work&& work) {
    if (g_quick) count = 1'000;
    for (std::uint64_t i = 0; i < count / 4 + 1; ++i) work(i);  // warm-up
    std::array<double, kRounds> rounds{};
    const std::uint64_t before = g_allocations;
    for (double& round : rounds) {
        const auto start = Clock::now();
        for (std::uint64_t i = 0; i < count; ++i) work(i);
        const std::chrono::duration<double, std::nano> took = Clock::now() - start;
        round = took.count() / static_cast<double>(count);
    }
    const std::uint64_t allocations = g_allocations - before;
    g_allocated = g_allocated || allocations != 0;
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
    fmt::print("{}\n  \"{}\": {{\"ns\": {:.1f}, \"budget_ns\": {:.0f}, \"allocations\": {}}}",
               g_first ? "{" : ",", name, rounds[kRounds / 2], budget, allocations);
    g_first = false;
}

test::Bytes tcp_frame(std::size_t payload, std::uint32_t sequence = 1) {
    return test::ethernet(
        0x0800,
        test::ipv4({.protocol = 6, .fragment = 0},
                   test::tcp({.sequence = sequence, .options = test::tcp_option_timestamp(1, 2)},
                             test::Bytes(payload, std::byte{7}))));
}

int run() {
    model::FramePool pool;
    ParserConfig config;
    Packet packet(config);
    const test::Bytes small = tcp_frame(0);
    const test::Bytes full = tcp_frame(1448);
    const test::Bytes tunnel =
        test::ethernet(0x0800, test::ipv4({.fragment = 0, .checksum_upper = false},
                                          test::udp(1, 4789, test::vxlan(5, full))));

    Headers headers;
    measure("parse tcp/ipv4", 30, 2'000'000, [&](std::uint64_t) {
        parse_headers(small, static_cast<std::uint32_t>(small.size()), config, headers);
        keep(headers);
    });
    measure("parse vxlan", 50, 2'000'000, [&](std::uint64_t) {
        parse_headers(tunnel, static_cast<std::uint32_t>(tunnel.size()), config, headers);
        keep(headers);
    });
    packet.take(test::make_frame(pool, small));
    measure("parse and key, tcp/ipv4", 70, 2'000'000, [&](std::uint64_t) {
        packet.touched();
        keep(packet.key());
    });
    measure("set ttl and key", 100, 2'000'000, [&](std::uint64_t) {
        packet.add_field(0xa, 0xff);
        keep(packet.key());
    });
    measure("push and pop a tag", 60, 2'000'000, [&](std::uint64_t) {
        packet.push_vlan(0x8100, 5);
        packet.pop_vlan();
    });
    packet.drop();
    packet.take(test::make_frame(pool, tunnel));
    measure("parse and key, vxlan", 100, 2'000'000, [&](std::uint64_t) {
        packet.touched();
        keep(packet.key());
    });
    packet.drop();

    measure("sum of 1500 bytes", 150, 500'000, [&](std::uint64_t) { keep(internet_sum(full)); });
    measure("crc of 1500 bytes", 1500, 100'000, [&](std::uint64_t) { keep(crc32(full)); });

    packet.take(test::make_frame(pool, full));
    measure("receive checks, 1500 bytes", 180, 500'000, [&](std::uint64_t) {
        packet.touched();
        keep(examine(packet, {}));
    });
    SendOffloads offloads;
    offloads.l3_checksum = offloads.l4_checksum = true;
    measure("send checksums, 1500 bytes", 180, 500'000, [&](std::uint64_t) {
        packet.touched();
        apply_send_offloads(packet, offloads);
    });
    packet.drop();

    Segmenter segmenter;
    offloads.mss = 1448;
    const test::Bytes template_headers(full.begin(), full.begin() + 66);
    if (!segmenter.start(template_headers, 1448 * 44, offloads, config)) return 1;
    model::FramePtr frame = pool.make(66 + 1448);
    std::ranges::fill(frame->bytes(), std::byte{7});
    measure("segment of 1448 bytes: headers and checksums", 180, 500'000, [&](std::uint64_t i) {
        segmenter.write_headers(static_cast<std::uint32_t>(i % 43), frame->bytes());
        segmenter.finish(*frame);
    });

    Lro lro({.ipv4 = true, .max_bytes = 60'000, .timeout = model::microseconds(1)});
    packet.take(test::make_frame(pool, full));
    const ReceiveReport report = examine(packet, {});
    std::uint32_t sequence = 1;
    measure("merge a segment of 1448 bytes", 250, 500'000, [&](std::uint64_t) {
        // Past the packet: its checksum does not matter to the decision.
        Tcp(packet.frame().bytes().data() + 34).set_sequence(sequence);
        const auto decision = lro.offer(packet, report, 65'000, {});
        if (decision.closes) keep(lro.close(*decision.closes));
        if (decision.full) keep(lro.close(decision.session));
        sequence += 1448;
    });
    packet.drop();
    fmt::print("\n}}\n");
    return g_allocated ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    g_quick = argc > 1 && std::string_view(argv[1]) == "--quick";
    return run();
}

// libsystemc wants it; nothing here is elaborated.
int sc_main(int, char**) {
    return 1;
}
