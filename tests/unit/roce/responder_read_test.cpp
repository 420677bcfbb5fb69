// SPDX-License-Identifier: Apache-2.0
// READ and atomics: answers, duplicates, responder resources.
#include "tests/unit/roce/responder_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace cxsim;
using cxsim::test::ResponderBench;
using model::nanoseconds;
using prm::EventType;
using roce::NakCode;
using Op = roce::Operation;

namespace {

void store(ResponderBench& bench, std::uint64_t offset, std::uint64_t value) {
    model::store_le<std::uint64_t>(bench.host.bytes(ResponderBench::kRegionHost + offset, 8).data(),
                                   value);
}
std::uint64_t stored(ResponderBench& bench, std::uint64_t offset) {
    return model::load_le<std::uint64_t>(
        bench.host.bytes(ResponderBench::kRegionHost + offset, 8).data());
}

/// Another queue pair that answers, beside the bench's own.
roce::Connection& start_other(ResponderBench& bench, std::uint32_t number) {
    auto& other = bench.connect(number, roce::WireService::rc, [](roce::QpAttributes& a) {
        a.receive_psn = 100;
        a.pd = ResponderBench::kPd;
        a.mtu = 256;
    });
    bench.responder.start(other);
    return other;
}

}  // namespace

TEST_CASE("a READ is answered by first, middle and last with consecutive PSNs", "[responder]") {
    ResponderBench bench(roce::WireService::rc, 0xff'ffff);
    bench.host.pattern(ResponderBench::kRegionHost, 4096, 11);
    bench.request(bench.remote(Op::read_request, 100, 700), {}, 3);
    CHECK(bench.responder.expected_psn(bench.connection) == 2);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 3);
    const Op operations[] = {Op::read_response_first, Op::read_response_middle,
                             Op::read_response_last};
    const std::uint32_t psns[] = {0xff'ffff, 0, 1};
    const std::size_t sizes[] = {256, 256, 188};
    std::uint64_t offset = 100;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& sent = bench.output.packets[i];
        CHECK(sent.parsed == roce::Parsed::packet);
        CHECK(sent.operation() == operations[i]);
        CHECK(sent.headers().psn == psns[i]);
        REQUIRE(sent.packet.payload.size() == sizes[i]);
        CHECK(bench.host_holds(ResponderBench::kRegionHost + offset, sent.packet.payload));
        offset += sizes[i];
    }
    for (const std::size_t i : {0U, 2U}) {
        CHECK(bench.output.packets[i].headers().syndrome == 0x1f);
        CHECK(bench.output.packets[i].headers().msn == 1);
    }
    // Decided on, packetized, read, brought to the port.
    CHECK(bench.output.packets[0].ready == nanoseconds(100 + 5 + 500 + 100));
    CHECK(bench.output.packets[2].ready == nanoseconds(100 + 15 + 500 + 100));
    CHECK(bench.queues.counter("rx_read_requests") == 1);
    CHECK(bench.counters.messages_received == 1);
    CHECK(bench.counters.acknowledges_sent == 0);
}

TEST_CASE("a READ of up to one packet, or of nothing, has one response", "[responder]") {
    const std::uint32_t bytes = GENERATE(0U, 1U, 256U);
    ResponderBench bench;
    auto read = bench.remote(Op::read_request, 0, bytes);
    if (bytes == 0) read.key = 0;  // nobody looks at it
    bench.request(read);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(bench.last().operation() == Op::read_response_only);
    CHECK(bench.output.packets[0].packet.payload_bytes == bytes);
    CHECK(bench.responder.expected_psn(bench.connection) == 101);
}

TEST_CASE("memory of a READ or atomic is looked up first, an empty READ has none",
          "[responder]") {
    const auto answered = [](const auto& headers_of, model::Picoseconds look_up) {
        ResponderBench bench;
        bench.timing.look_up = look_up;
        bench.request(headers_of(bench));
        bench.settle();
        REQUIRE(bench.output.packets.size() == 1);
        return bench.output.packets[0].ready;
    };
    const auto later = [&](const auto& headers_of) {
        return answered(headers_of, nanoseconds(70)) - answered(headers_of, {});
    };
    CHECK(later([](auto& b) { return b.remote(Op::read_request, 0, 64); }) == nanoseconds(70));
    CHECK(later([](auto& b) { return b.remote(Op::read_request, 0, 0); }) == nanoseconds(0));
    CHECK(later([](auto& b) { return b.atomic(Op::fetch_add, 8, 1); }) == nanoseconds(70));
}

TEST_CASE("WRITEs behind a READ are executed at once and answered behind it", "[responder]") {
    ResponderBench bench;
    bench.output.busy_until = nanoseconds(5000);
    store(bench, 64, 40);
    bench.request(bench.remote(Op::read_request, 0, 512), {}, 2);
    bench.request(bench.remote(Op::write_only, 1024, 4, true), bench.data(4));
    bench.request(bench.atomic(Op::fetch_add, 64, 2));
    bench.run_until(nanoseconds(4999));
    CHECK(bench.output.packets.empty());
    CHECK(stored(bench, 64) == 40);  // atomics wait for their turn
    CHECK(bench.host_holds(ResponderBench::kRegionHost + 1024, bench.data(4)));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 4);
    for (std::uint32_t i = 0; i < 4; ++i) {
        CHECK(bench.output.packets[i].headers().psn == 100 + i);
    }
    CHECK(bench.output.packets[2].headers().msn == 2);
    CHECK(bench.output.packets[3].operation() == Op::atomic_acknowledge);
    CHECK(bench.output.packets[3].headers().msn == 3);
    CHECK(stored(bench, 64) == 42);
}

TEST_CASE("atomics change 8 bytes in the host's order and return what was there", "[responder]") {
    ResponderBench bench;
    store(bench, 8, 0x0102'0304'0506'0708);
    bench.request(bench.atomic(Op::fetch_add, 8, 0x10));
    bench.settle();
    CHECK(bench.last().operation() == Op::atomic_acknowledge);
    CHECK(bench.last().original == 0x0102'0304'0506'0708);
    CHECK(bench.last().psn == 100);
    CHECK(bench.last().msn == 1);
    CHECK(bench.last().syndrome == 0x1f);
    CHECK(stored(bench, 8) == 0x0102'0304'0506'0718);
    // Decided on at 100; read from then on, 500 for it, 50 for the answer.
    CHECK(bench.output.packets[0].ready == nanoseconds(650));

    bench.request(bench.atomic(Op::compare_swap, 8, 77, 0x0102'0304'0506'0718));
    bench.settle();
    CHECK(bench.last().original == 0x0102'0304'0506'0718);
    CHECK(stored(bench, 8) == 77);
    bench.request(bench.atomic(Op::compare_swap, 8, 78, 5));
    bench.settle();
    CHECK(bench.last().original == 77);
    CHECK(stored(bench, 8) == 77);
    bench.request(bench.atomic(Op::fetch_add, 8, ~std::uint64_t{0}));
    bench.settle();
    CHECK(stored(bench, 8) == 76);
    CHECK(bench.queues.counter("rx_atomic_requests") == 4);
}

TEST_CASE("the card begins a READ each so often, whatever queue pair it is of", "[responder]") {
    ResponderBench bench;
    auto& other = start_other(bench, ResponderBench::kQp + 1);
    auto second = bench.remote(Op::read_request, 64, 8);
    second.destination_qp = ResponderBench::kQp + 1;
    bench.request(bench.remote(Op::read_request, 0, 8));
    bench.responder.request(other, bench.calendar.now() + bench.timing.receive,
                            bench.arrived(second));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 2);
    CHECK(bench.output.packets[1].ready - bench.output.packets[0].ready == bench.timing.read);
}

TEST_CASE("a queue pair has one atomic under way at a time", "[responder]") {
    ResponderBench bench;
    // On addresses of their own: 500 ns to read, 50 for the answer, then the next one.
    for (unsigned i = 0; i < 4; ++i) bench.request(bench.atomic(Op::fetch_add, 64 * i, 1));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 4);
    for (int i = 0; i < 4; ++i) {
        CHECK(bench.output.packets[static_cast<std::size_t>(i)].ready ==
              nanoseconds(100 + 550 * (i + 1)));
    }
}

TEST_CASE("the card starts an atomic each so often, whatever queue pair it is of", "[responder]") {
    ResponderBench bench;
    auto& other = start_other(bench, ResponderBench::kQp + 1);
    bench.request(bench.atomic(Op::fetch_add, 0, 1));
    auto second = bench.atomic(Op::fetch_add, 64, 1);
    second.psn = 100;
    second.destination_qp = ResponderBench::kQp + 1;
    bench.responder.request(other, bench.calendar.now() + bench.timing.receive,
                            bench.arrived(second));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 2);
    CHECK(bench.output.packets[0].ready == nanoseconds(100 + 550));
    CHECK(bench.output.packets[1].ready == nanoseconds(100 + 300 + 550));
}

TEST_CASE("atomics on one address follow each other as the card hands the value on",
          "[responder]") {
    ResponderBench bench;
    std::vector<roce::Connection*> others;
    for (std::uint32_t i = 1; i < 4; ++i) {
        others.push_back(&start_other(bench, ResponderBench::kQp + i));
    }
    bench.request(bench.atomic(Op::fetch_add, 0, 1));
    for (auto* other : others) {
        auto request = bench.atomic(Op::fetch_add, 0, 1);
        request.psn = 100;
        request.destination_qp = other->number;
        bench.responder.request(*other, bench.calendar.now() + bench.timing.receive,
                                bench.arrived(request));
    }
    bench.settle();
    REQUIRE(bench.output.packets.size() == 4);
    std::vector<model::Picoseconds> ready;
    for (std::uint32_t i = 0; i < 4; ++i) {
        ready.push_back(bench.output.packets[i].ready);
        CHECK(bench.output.packets[i].headers().original == i);
    }
    // The first one reads for 500 ns; the value of the others is known after 400.
    CHECK(ready == std::vector<model::Picoseconds>{nanoseconds(650), nanoseconds(1050),
                                                   nanoseconds(1450), nanoseconds(1850)});
    CHECK(stored(bench, 0) == 4);
}

TEST_CASE("an atomic must be allowed and aligned", "[responder]") {
    ResponderBench bench;
    auto request = bench.atomic(Op::fetch_add, 0, 1);
    SECTION("misaligned") {
        request.address += 4;
        bench.request(request);
        bench.settle();
        CHECK(bench.last_is_nak(NakCode::invalid_request));
        CHECK(bench.failed_with(EventType::WQ_INVAL_REQ_ERROR));
    }
    SECTION("the queue pair does not allow atomics") {
        bench.connection.attributes.remote_atomic = false;
        bench.request(request);
        bench.settle();
        CHECK(bench.last_is_nak(NakCode::remote_access_error));
        CHECK(bench.failed_with(EventType::WQ_ACCESS_ERROR));
    }
    SECTION("the key does not") {
        bench.queues.regions[ResponderBench::kKey].atomic = false;
        bench.request(request);
        bench.settle();
        CHECK(bench.last_is_nak(NakCode::remote_access_error));
    }
    SECTION("the host does not") {
        bench.host.limit = 0x1000;
        bench.request(request);
        bench.settle();
        CHECK(bench.last_is_nak(NakCode::remote_operational_error));
        CHECK(bench.failed_with(EventType::WQ_CATAS_ERROR));
    }
    CHECK(bench.queues.counter("rx_atomic_requests") == 0);
    CHECK(bench.host_untouched(ResponderBench::kRegionHost, 16));
}

TEST_CASE("a READ must be allowed and not too long", "[responder]") {
    ResponderBench bench;
    auto request = bench.remote(Op::read_request, 0, 512);
    NakCode expected = NakCode::remote_access_error;
    SECTION("the queue pair does not allow it") {
        bench.connection.attributes.remote_read = false;
    }
    SECTION("nor does the key") {
        bench.queues.regions[ResponderBench::kKey].remote_read = false;
    }
    SECTION("it ends behind the region") {
        request.address = ResponderBench::kRegion + ResponderBench::kRegionBytes - 511;
    }
    SECTION("more than 2^31 bytes") {
        request.dma_bytes = (1U << 31) + 1;
        expected = NakCode::invalid_request;
    }
    bench.request(request);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(bench.last_is_nak(expected));
    CHECK(bench.last().psn == 100);
    CHECK(bench.queues.counter("rx_read_requests") == 0);
}

TEST_CASE("the host refuses a READ half-way: a NAK in the place of the response that is missing",
          "[responder]") {
    ResponderBench bench;
    bench.host.limit = ResponderBench::kRegionHost + 300;
    bench.request(bench.remote(Op::read_request, 0, 768), {}, 3);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 2);
    CHECK(bench.output.packets[0].operation() == Op::read_response_first);
    CHECK(bench.last_is_nak(NakCode::remote_operational_error));
    CHECK(bench.last().psn == 101);
    CHECK(bench.failed_with(EventType::WQ_CATAS_ERROR));
    CHECK(bench.calendar.empty());
}

TEST_CASE("more READs and atomics under way than agreed on are an invalid request", "[responder]") {
    ResponderBench bench;
    bench.connection.attributes.responder_resources = 2;
    bench.output.busy_until = nanoseconds(5000);
    bench.request(bench.remote(Op::read_request, 0, 16));
    bench.request(bench.atomic(Op::fetch_add, 64, 1));
    SECTION("a third before the first is answered") {
        bench.request(bench.remote(Op::read_request, 0, 16));
        bench.settle();
        CHECK(bench.sent(Op::read_response_only) == 1);
        CHECK(bench.last_is_nak(NakCode::invalid_request));
        CHECK(bench.last().psn == 102);
    }
    SECTION("a third afterwards") {
        bench.settle();
        bench.request(bench.remote(Op::read_request, 0, 16));
        bench.settle();
        CHECK(bench.sent(Op::read_response_only) == 2);
        CHECK(bench.queues.events.empty());
    }
}

TEST_CASE("a duplicate READ is executed again from where it begins now", "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::read_request, 0, 1024), {}, 4);
    bench.request(bench.remote(Op::write_only, 0x8000, 4), bench.data(4));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 4);
    bench.host.pattern(ResponderBench::kRegionHost, 1024, 5);  // memory has changed meanwhile

    bench.psn = 102;
    bench.arrive(bench.remote(Op::read_request, 512, 512));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 6);
    CHECK(bench.output.packets[4].operation() == Op::read_response_first);
    CHECK(bench.output.packets[4].headers().psn == 102);
    CHECK(bench.output.packets[4].headers().msn == 1);
    CHECK(bench.output.packets[5].operation() == Op::read_response_last);
    CHECK(bench.output.packets[5].headers().psn == 103);
    CHECK(bench.host_holds(ResponderBench::kRegionHost + 512,
                           bench.output.packets[4].packet.payload));
    CHECK(bench.responder.expected_psn(bench.connection) == 105);
    CHECK(bench.responder.message_number(bench.connection) == 2);
    CHECK(bench.queues.counter("duplicate_request") == 1);
    CHECK(bench.queues.counter("rx_read_requests") == 1);
    CHECK(bench.counters.retransmitted == 2);

    bench.psn = 100;
    bench.arrive(bench.remote(Op::read_request, 0, 1024));
    bench.settle();
    CHECK(bench.output.packets.size() == 10);
}

TEST_CASE("a duplicate READ that asks for anything else is dropped", "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::read_request, 0, 1024), {}, 4);
    bench.settle();
    bench.psn = 102;
    auto again = bench.remote(Op::read_request, 512, 512);
    SECTION("other key") {
        again.key += 1;
    }
    SECTION("other place") {
        again.address += 8;
    }
    SECTION("beyond its end") {
        again.dma_bytes += 1;
    }
    SECTION("a PSN that no READ had") {
        again.psn = 90;
    }
    SECTION("the key is gone") {
        bench.queues.regions.clear();
    }
    bench.arrive(again);
    bench.settle();
    CHECK(bench.output.packets.size() == 4);
    CHECK(bench.counters.dropped_request == 1);
    CHECK(bench.queues.events.empty());
}

TEST_CASE(
    "a duplicate of a READ that is still being sent replaces the rest, in front of what "
    "follows",
    "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::read_request, 0, 32 * 256), {}, 32);
    bench.request(bench.remote(Op::read_request, 0x4000, 256));
    // One burst has left.
    bench.run_until(nanoseconds(100));
    REQUIRE(bench.output.packets.size() == 16);
    bench.psn = 104;
    bench.arrive(bench.remote(Op::read_request, 4 * 256, 28 * 256));
    bench.output.packets.clear();
    bench.settle();
    REQUIRE(bench.output.packets.size() >= 29);
    const auto first = std::ranges::find_if(bench.output.packets, [](const auto& one) {
        return one.operation() == Op::read_response_first;
    });
    REQUIRE(first != bench.output.packets.end());
    const auto index = static_cast<std::size_t>(first - bench.output.packets.begin());
    for (std::uint32_t i = 0; i < 28; ++i) {
        CHECK(bench.output.packets[index + i].headers().psn == 104 + i);
    }
    CHECK(bench.last().psn == 132);
    CHECK(bench.output.packets.size() == index + 29);
}

TEST_CASE("an older READ asked for again is sent in front of a later one under way",
          "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::read_request, 0, 512), {}, 2);
    bench.request(bench.remote(Op::read_request, 0x4000, 64 * 256), {}, 64);
    // The first READ, and when the card has begun with the second a burst of it.
    bench.run_until(nanoseconds(110));
    REQUIRE(bench.output.packets.size() == 18);
    bench.psn = 101;
    bench.arrive(bench.remote(Op::read_request, 256, 256));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 67);
    std::vector<std::uint32_t> psns;
    for (const auto& one : bench.output.packets) psns.push_back(one.headers().psn);
    const auto again = std::find(psns.begin() + 18, psns.end(), 101);
    REQUIRE(again != psns.end());
    CHECK(again - psns.begin() < 60);
    CHECK(*(again + 1) == *(again - 1) + 1);  // goes on where it was
    CHECK(psns.back() == 165);
}

TEST_CASE("a duplicate atomic is answered from memory of it, not executed", "[responder]") {
    ResponderBench bench;
    store(bench, 0, 10);
    bench.request(bench.atomic(Op::fetch_add, 0, 1));
    bench.request(bench.atomic(Op::fetch_add, 0, 1));
    bench.settle();
    bench.psn = 100;
    bench.arrive(bench.atomic(Op::fetch_add, 0, 1));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 3);
    CHECK(bench.last().operation() == Op::atomic_acknowledge);
    CHECK(bench.last().psn == 100);
    CHECK(bench.last().original == 10);
    CHECK(bench.last().msn == 1);
    CHECK(stored(bench, 0) == 12);
    CHECK(bench.queues.counter("rx_atomic_requests") == 2);
    CHECK(bench.queues.counter("duplicate_request") == 1);
}

TEST_CASE("as many READs and atomics are remembered as were agreed on", "[responder]") {
    ResponderBench bench;
    bench.connection.attributes.responder_resources = 4;
    bench.responder.start(bench.connection);
    bench.connection.responder.resources.resize(4);
    for (unsigned i = 0; i < 6; ++i) {
        bench.request(bench.atomic(Op::fetch_add, 0, 1));
        bench.settle();
    }
    for (bench.psn = 100; bench.psn < 106; ++bench.psn) {
        bench.arrive(bench.atomic(Op::fetch_add, 0, 1));
    }
    bench.settle();
    CHECK(bench.counters.dropped_request == 2);
    CHECK(bench.counters.retransmitted == 4);
    CHECK(bench.sent(Op::atomic_acknowledge) == 10);
    CHECK(bench.last().original == 5);
    CHECK(stored(bench, 0) == 6);
}

TEST_CASE("experiments without data send counted bytes and touch no memory", "[responder]") {
    ResponderBench bench;
    bench.environment.synthetic = true;
    bench.request(bench.remote(Op::read_request, 0, 600), {}, 3);
    bench.request(bench.atomic(Op::fetch_add, 0, 1));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 4);
    CHECK(bench.output.packets[0].packet.payload_bytes == 256);
    CHECK(bench.output.packets[0].packet.payload.empty());
    CHECK(bench.output.packets[2].packet.payload_bytes == 88);
    CHECK(bench.host.reads == 0);
    CHECK(bench.host.writes == 0);
}
