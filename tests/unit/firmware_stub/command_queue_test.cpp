// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/firmware_stub/command_queue_bench.h"

#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_range.hpp>

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::CommandQueue;
using firmware_stub::DeliveryStatus;
using model::microseconds;
using model::nanoseconds;

using Host = CommandHost<FakeHostBus>;

TEST_CASE("a command of any length comes in whole and its output goes out whole", "[mailbox]") {
    const std::size_t input = GENERATE(8, 15, 16, 17, 528, 529, 1040, 5000);
    const std::size_t output = GENERATE(8, 16, 17, 528, 529, 4112);
    const bool signed_blocks = GENERATE(false, true);
    CAPTURE(input, output, signed_blocks);
    CommandQueueBench bench;
    bench.sign(signed_blocks);
    const auto sent = CommandQueueBench::pattern(input);
    bench.driver.post(3, sent, output);
    bench.ring(3);
    bench.run();
    REQUIRE(bench.executor.inputs.size() == 1);
    CHECK(bench.executor.inputs[0] == sent);
    CHECK_FALSE(bench.driver.owned_by_hardware(3));
    CHECK(bench.driver.delivery(3) == DeliveryStatus::OK);
    CHECK(bench.driver.output(3) == CommandQueueBench::answer(sent, output));
    if (signed_blocks) CHECK(bench.driver.signatures_verify(3, input));
    CHECK(bench.queue.in_flight() == 0);
    CHECK(bench.queue.counters().commands == 1);
    CHECK(bench.queue.counters().delivery_errors == 0);
    CHECK(bench.executor.ended.size() == 1);
}

TEST_CASE("the longest command is taken, a longer one is not", "[mailbox]") {
    CommandQueueBench bench;
    const auto sent = CommandQueueBench::pattern(CommandQueue::kMaxLength);
    bench.driver.post(0, sent, 16);
    bench.ring(0);
    bench.run();
    REQUIRE(bench.driver.delivery(0) == DeliveryStatus::OK);
    CHECK(bench.executor.inputs.at(0) == sent);
    bench.host.store_be<std::uint32_t>(bench.driver.entry(1) + Host::kInputLength, 0);
    bench.driver.post(1, CommandQueueBench::pattern(8), 16);
    bench.host.store_be<std::uint32_t>(bench.driver.entry(1) + Host::kInputLength,
                                       CommandQueue::kMaxLength + 1);
    bench.ring(1);
    bench.run();
    CHECK(bench.driver.delivery(1) == DeliveryStatus::IN_LENGTH_ERR);
}

TEST_CASE("each malformation of an entry or a mailbox has its delivery status", "[mailbox]") {
    struct Row {
        const char* name;
        void (*spoil)(CommandQueueBench&);
        DeliveryStatus status;
    };
    // Slot 2, three blocks in, two blocks out.
    static const Row rows[] = {
        {"type", [](auto& b) { b.driver.set_byte(b.driver.entry(2), 6); },
         DeliveryStatus::CMD_DESCR_ERR},
        {"reserved byte after the type",
         [](auto& b) { b.driver.set_byte(b.driver.entry(2) + 1, 1); },
         DeliveryStatus::RES_FLD_NOT_CLR_ERR},
        {"two reserved bytes that cancel",
         [](auto& b) {
             b.driver.set_byte(b.driver.entry(2) + 1, 1);
             b.driver.set_byte(b.driver.entry(2) + 3, 1);
         },
         DeliveryStatus::RES_FLD_NOT_CLR_ERR},
        {"input shorter than a header",
         [](auto& b) { b.host.template store_be<std::uint32_t>(b.driver.entry(2) + 4, 7); },
         DeliveryStatus::IN_LENGTH_ERR},
        {"input of no length",
         [](auto& b) { b.host.template store_be<std::uint32_t>(b.driver.entry(2) + 4, 0); },
         DeliveryStatus::IN_LENGTH_ERR},
        {"input of all ones",
         [](auto& b) {
             b.host.template store_be<std::uint32_t>(b.driver.entry(2) + 4, 0xffffffff);
         },
         DeliveryStatus::IN_LENGTH_ERR},
        {"output shorter than a header",
         [](auto& b) { b.host.template store_be<std::uint32_t>(b.driver.entry(2) + 56, 7); },
         DeliveryStatus::OUT_LENGTH_ERR},
        {"output of all ones",
         [](auto& b) {
             b.host.template store_be<std::uint32_t>(b.driver.entry(2) + 56, 0xffffffff);
         },
         DeliveryStatus::OUT_LENGTH_ERR},
        {"no input mailbox",
         [](auto& b) { b.host.template store_be<std::uint64_t>(b.driver.entry(2) + 8, 0); },
         DeliveryStatus::IN_PTR_ALIGN_ERR},
        {"input mailbox misaligned",
         [](auto& b) {
             b.host.template store_be<std::uint64_t>(b.driver.entry(2) + 8,
                                                     b.driver.input_block(2, 0) + 256);
         },
         DeliveryStatus::IN_PTR_ALIGN_ERR},
        {"input mailbox unreachable",
         [](auto& b) { b.host.refuse(b.driver.input_block(2, 0), 1); },
         DeliveryStatus::IN_PTR_ALIGN_ERR},
        {"last input mailbox unreachable",
         [](auto& b) { b.host.refuse(b.driver.input_block(2, 2) + 575, 1); },
         DeliveryStatus::IN_PTR_ALIGN_ERR},
        {"input chain ends too early",
         [](auto& b) {
             b.host.template store_be<std::uint64_t>(b.driver.input_block(2, 1) + Host::kNext, 0);
         },
         DeliveryStatus::IN_PTR_ALIGN_ERR},
        {"input chain goes on misaligned",
         [](auto& b) {
             b.host.template store_be<std::uint64_t>(b.driver.input_block(2, 0) + Host::kNext,
                                                     b.driver.input_block(2, 1) + 8);
         },
         DeliveryStatus::IN_PTR_ALIGN_ERR},
        {"input chain in a circle",
         [](auto& b) {
             b.host.template store_be<std::uint64_t>(b.driver.input_block(2, 1) + Host::kNext,
                                                     b.driver.input_block(2, 0));
         },
         DeliveryStatus::BAD_BLK_NUM},
        {"token of an input block",
         [](auto& b) { b.driver.set_byte(b.driver.input_block(2, 1) + Host::kBlockToken, 0x41); },
         DeliveryStatus::TOK_ERR},
        {"token of the entry",
         [](auto& b) { b.driver.set_byte(b.driver.entry(2) + Host::kToken, 0x41); },
         DeliveryStatus::TOK_ERR},
        {"block number of an input block",
         [](auto& b) {
             b.driver.set_byte(b.driver.input_block(2, 2) + Host::kBlockNumber + 3, 7);
         },
         DeliveryStatus::BAD_BLK_NUM},
        {"no output mailbox",
         [](auto& b) { b.host.template store_be<std::uint64_t>(b.driver.entry(2) + 48, 0); },
         DeliveryStatus::OUT_PTR_ALIGN_ERR},
        {"output mailbox misaligned",
         [](auto& b) {
             b.host.template store_be<std::uint64_t>(b.driver.entry(2) + 48,
                                                     b.driver.output_block(2, 0) + 64);
         },
         DeliveryStatus::OUT_PTR_ALIGN_ERR},
        {"output mailbox unreachable",
         [](auto& b) { b.host.refuse(b.driver.output_block(2, 0) + 512, 64); },
         DeliveryStatus::OUT_PTR_ALIGN_ERR},
        {"output chain ends too early",
         [](auto& b) {
             b.host.template store_be<std::uint64_t>(b.driver.output_block(2, 0) + Host::kNext, 0);
         },
         DeliveryStatus::OUT_PTR_ALIGN_ERR},
        {"token of an output block",
         [](auto& b) { b.driver.set_byte(b.driver.output_block(2, 1) + Host::kBlockToken, 0); },
         DeliveryStatus::TOK_ERR},
        {"block number of an output block",
         [](auto& b) { b.driver.set_byte(b.driver.output_block(2, 0) + Host::kBlockNumber, 1); },
         DeliveryStatus::BAD_BLK_NUM},
    };
    const auto& row = GENERATE(from_range(std::begin(rows), std::end(rows)));
    INFO(row.name);
    CommandQueueBench bench;
    bench.driver.post(2, CommandQueueBench::pattern(1100), 600);
    row.spoil(bench);
    bench.ring(2);
    bench.run();
    CHECK(bench.executor.inputs.empty());  // what cannot be delivered does not take effect
    CHECK_FALSE(bench.driver.owned_by_hardware(2));
    CHECK(bench.driver.delivery(2) == row.status);
    CHECK(bench.queue.counters().delivery_errors == 1);
    CHECK(bench.queue.counters().commands == 0);
    CHECK(bench.queue.in_flight() == 0);
    REQUIRE(bench.executor.ended.size() == 1);
    CHECK(bench.executor.ended[0].status == row.status);

    // The slot works again once the driver does it right.
    bench.host.allow_all();
    bench.driver.post(2, CommandQueueBench::pattern(1100), 600);
    bench.ring(2);
    bench.run();
    CHECK(bench.driver.delivery(2) == DeliveryStatus::OK);
}

TEST_CASE("output that becomes unreachable while the command runs is reported", "[mailbox]") {
    CommandQueueBench bench;
    bench.driver.post(2, CommandQueueBench::pattern(16), 600);
    bench.executor.during_execute = [&] { bench.host.refuse(bench.driver.output_block(2, 1), 576); };
    bench.ring(2);
    bench.run();
    CHECK(bench.executor.inputs.size() == 1);
    CHECK(bench.driver.delivery(2) == DeliveryStatus::OUT_PTR_ALIGN_ERR);
    CHECK(bench.queue.counters().delivery_errors == 1);
}

TEST_CASE("signatures count only when they are enabled", "[mailbox]") {
    using Spoil = void (*)(CommandQueueBench&);
    const Spoil spoil = GENERATE(
        Spoil([](CommandQueueBench& b) { b.driver.set_byte(b.driver.entry(2) + 61, 0); }),
        Spoil([](CommandQueueBench& b) {
            b.driver.set_byte(b.driver.input_block(2, 1) + Host::kBlockSignature, 0);
        }),
        Spoil([](CommandQueueBench& b) {
            // Wrong control signature, block signature made to fit.
            const auto at = b.driver.input_block(2, 0);
            b.driver.set_byte(at + Host::kControlSignature,
                              b.driver.byte(at + Host::kControlSignature) ^ 1);
            b.driver.set_byte(at + Host::kBlockSignature,
                              b.driver.byte(at + Host::kBlockSignature) ^ 1);
        }),
        Spoil([](CommandQueueBench& b) {
            b.driver.set_byte(b.driver.input_block(2, 1) + 17,
                              b.driver.byte(b.driver.input_block(2, 1) + 17) ^ 0x10);
        }));
    const bool enabled = GENERATE(false, true);
    CAPTURE(enabled);
    CommandQueueBench bench;
    bench.sign(true);
    bench.driver.post(2, CommandQueueBench::pattern(1100), 600);
    spoil(bench);
    bench.queue.check_signatures(enabled);
    bench.ring(2);
    bench.run();
    CHECK(bench.driver.delivery(2) ==
          (enabled ? DeliveryStatus::SIGNAT_ERR : DeliveryStatus::OK));
    CHECK(bench.executor.inputs.empty() == enabled);
}

TEST_CASE("an entry with a delivery error is signed as well", "[mailbox]") {
    CommandQueueBench bench;
    bench.sign(true);
    bench.driver.post(2, CommandQueueBench::pattern(16), 16);
    bench.driver.set_byte(bench.driver.entry(2) + 1, 1);
    bench.driver.set_byte(bench.driver.entry(2) + Host::kSignature,
                          bench.driver.byte(bench.driver.entry(2) + Host::kSignature) ^ 1);
    bench.ring(2);
    bench.run();
    CHECK(bench.driver.delivery(2) == DeliveryStatus::RES_FLD_NOT_CLR_ERR);
    CHECK(bench.driver.signatures_verify(2, 16));
}

TEST_CASE("doorbells without a command are ignored and counted", "[mailbox]") {
    CommandQueueBench bench;
    bench.driver.post(2, CommandQueueBench::pattern(16), 16);
    SECTION("the entry still belongs to software") {
        bench.driver.set_byte(bench.driver.entry(2) + Host::kStatusOwn, 0);
        bench.ring(2);
        bench.run();
        CHECK(bench.queue.counters().doorbells_ignored == 1);
        CHECK(bench.executor.ended.empty());
        CHECK(bench.queue.in_flight() == 0);
    }
    SECTION("the queue is smaller") {
        bench.queue.configure(model::HostAddress{bench.driver.queue()}, 1, 6);
        bench.ring(2);
        bench.run();
        CHECK(bench.queue.counters().doorbells_ignored == 1);
        CHECK(bench.driver.owned_by_hardware(2));
        CHECK(bench.executor.accepted_slots.empty());
    }
    SECTION("no queue was configured") {
        bench.queue.reset();
        bench.ring(2);
        bench.run();
        CHECK(bench.queue.counters().doorbells_ignored == 1);
        CHECK(bench.driver.owned_by_hardware(2));
    }
    SECTION("the slot is being worked on") {
        bench.ring(2);
        bench.calendar.run_until(microseconds(3));
        bench.ring(2);
        bench.run();
        CHECK(bench.queue.counters().doorbells_ignored == 1);
        CHECK(bench.executor.inputs.size() == 1);
        CHECK(bench.executor.ended.size() == 1);
    }
    SECTION("no bit is set") {
        bench.queue.doorbell(bench.calendar.now(), 0);
        bench.run();
        CHECK(bench.queue.counters().doorbells == 1);
        CHECK(bench.queue.counters().doorbells_ignored == 0);
        CHECK(bench.executor.accepted_slots.empty());
    }
}

TEST_CASE("an entry that cannot be reached leaves the driver waiting", "[mailbox]") {
    CommandQueueBench bench;
    bench.driver.post(2, CommandQueueBench::pattern(16), 16);
    SECTION("when it is read") {
        bench.host.refuse(bench.driver.entry(2), 64);
        bench.ring(2);
        bench.run();
        CHECK(bench.executor.ended.empty());
        CHECK(bench.queue.counters().entries_unreachable == 1);
    }
    SECTION("when it is handed back") {
        bench.ring(2);
        bench.calendar.run_until(microseconds(5));
        bench.host.bus_master = false;
        bench.run();
        CHECK(bench.queue.counters().entries_unreachable == 1);
        CHECK(bench.driver.owned_by_hardware(2));
    }
    CHECK(bench.queue.in_flight() == 0);
    bench.host.allow_all();
    bench.host.bus_master = true;
    bench.ring(2);
    bench.run();
    CHECK_FALSE(bench.driver.owned_by_hardware(2));
}

TEST_CASE("as many commands are worked on at once as there are processors", "[mailbox]") {
    CommandQueueBench bench(2);
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
        bench.driver.post(slot, CommandQueueBench::pattern(16), 16);
    }
    bench.executor.latency_of[0] = microseconds(100);
    bench.queue.doorbell(bench.calendar.now(), 0b1111);
    CHECK(bench.queue.in_flight() == 4);
    bench.run();
    // One processor is taken by the slow command, the other does the rest one after the other.
    std::vector<std::uint32_t> order;
    for (const auto& end : bench.executor.ended) order.push_back(end.slot);
    CHECK(order == std::vector<std::uint32_t>{1, 2, 3, 0});
    const auto& ended = bench.executor.ended;
    const auto read = nanoseconds(500);
    CHECK(ended[0].at == read + microseconds(10));
    CHECK(ended[1].at == read + microseconds(20));
    CHECK(ended[2].at == read + microseconds(30));
    CHECK(ended[3].at == read + microseconds(100));
}

TEST_CASE("all 32 slots in flight complete, each with its own output", "[mailbox]") {
    CommandQueueBench bench;
    std::array<std::vector<std::byte>, 32> sent;
    for (std::uint32_t slot = 0; slot < 32; ++slot) {
        sent[slot] = CommandQueueBench::pattern(16 + slot * 40);
        sent[slot][0] = std::byte{static_cast<unsigned char>(slot)};
        bench.driver.post(slot, sent[slot], 16 + slot * 40);
        bench.executor.latency_of[slot] = microseconds(1 + (slot * 13) % 32);
    }
    bench.queue.doorbell(bench.calendar.now(), 0xffffffff);
    CHECK(bench.queue.in_flight() == 32);
    bench.run();
    CHECK(bench.queue.in_flight() == 0);
    CHECK(bench.queue.counters().commands == 32);
    for (std::uint32_t slot = 0; slot < 32; ++slot) {
        CAPTURE(slot);
        CHECK(bench.driver.delivery(slot) == DeliveryStatus::OK);
        CHECK(bench.driver.output(slot) ==
              CommandQueueBench::answer(sent[slot], sent[slot].size()));
    }
}

TEST_CASE("entries lie as far apart as the stride says", "[mailbox]") {
    CommandQueueBench bench;
    bench.queue.configure(model::HostAddress{bench.driver.queue()}, 5, 7);
    bench.driver.post(4, CommandQueueBench::pattern(16), 16);  // slot 2 of 128-byte entries
    bench.ring(2);
    bench.run();
    CHECK_FALSE(bench.driver.owned_by_hardware(4));
}

TEST_CASE("a reset in the middle writes nothing more and frees the slots", "[mailbox]") {
    CommandQueueBench bench;
    bench.driver.post(2, CommandQueueBench::pattern(16), 16);
    SECTION("before the entry is read") { bench.ring(2); }
    SECTION("while the firmware works") {
        bench.ring(2);
        bench.calendar.run_until(microseconds(5));
    }
    SECTION("by the command itself") {
        bench.executor.during_execute = [&] { bench.queue.reset(); };
        bench.ring(2);
        bench.run();
        bench.executor.during_execute = nullptr;
    }
    bench.queue.reset();
    CHECK(bench.queue.in_flight() == 0);
    const std::size_t before = bench.host.accesses.size();
    bench.run();
    CHECK(bench.host.accesses.size() == before);
    CHECK(bench.driver.owned_by_hardware(2));
    CHECK(bench.executor.ended.empty());

    bench.queue.configure(model::HostAddress{bench.driver.queue()}, 5, 6);
    bench.ring(2);
    bench.run();
    CHECK(bench.driver.delivery(2) == DeliveryStatus::OK);
    CHECK(bench.executor.ended.size() == 1);
}

TEST_CASE("the time of a command is its reads, its latency and its hand-back", "[mailbox]") {
    CommandQueueBench bench;
    bench.driver.post(2, CommandQueueBench::pattern(1100), 600);
    bench.ring(2);
    bench.run();
    REQUIRE(bench.executor.ended.size() == 1);
    // Entry, three input blocks and two output controls are read one after the other; the two
    // output blocks are written one after the other; the entry goes out behind them.
    const auto expected =
        bench.host.read_latency * 6 + microseconds(10) + bench.host.write_latency * 2;
    CHECK(bench.executor.ended[0].at == expected);
    CHECK(bench.queue.counters().dma_read_bytes == 64 + 3 * 576 + 2 * 64);
    CHECK(bench.queue.counters().dma_written_bytes == 2 * 576 + 64);
}
