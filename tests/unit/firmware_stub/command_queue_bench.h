// SPDX-License-Identifier: Apache-2.0
// A command queue alone: a fake host, an executor that keeps what it was asked.
#pragma once

#include "firmware_stub/mailbox/command_queue.h"
#include "tests/support/command_host.h"
#include "tests/support/fake_host_bus.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <vector>

namespace cxsim::test {

/// Answers every byte of the output with the input's byte at that place plus one.
class FakeExecutor : public firmware_stub::CommandExecutor {
  public:
    struct Ended {
        std::uint32_t slot;
        firmware_stub::DeliveryStatus status;
        model::Picoseconds at;
    };

    explicit FakeExecutor(model::Calendar& calendar) : calendar_(calendar) {}

    void accepted(firmware_stub::Command& command) override {
        accepted_slots.push_back(command.slot);
        command.reports_by_event = true;
    }
    model::Picoseconds latency(const firmware_stub::Command& command) override {
        return latency_of[command.slot];
    }
    void execute(firmware_stub::Command& command) override {
        inputs.push_back(command.input);
        for (std::size_t i = 0; i < command.output.size(); ++i) {
            const std::byte in = i < command.input.size() ? command.input[i] : std::byte{0};
            command.output[i] = static_cast<std::byte>(std::to_integer<unsigned>(in) + 1);
        }
        if (during_execute) during_execute();
    }
    void completed(const firmware_stub::Command& command,
                   firmware_stub::DeliveryStatus status) override {
        ended.push_back({command.slot, status, calendar_.now()});
    }

    std::array<model::Picoseconds, firmware_stub::CommandQueue::kSlots> latency_of{};
    std::vector<std::uint32_t> accepted_slots;
    std::vector<std::vector<std::byte>> inputs;
    std::vector<Ended> ended;
    std::function<void()> during_execute;

  private:
    model::Calendar& calendar_;
};

struct CommandQueueBench {
    explicit CommandQueueBench(std::size_t processors = 4)
        : executor(calendar),
          queue(model::FunctionId{0}, host, calendar, executor, processors),
          driver(host) {
        queue.configure(model::HostAddress{driver.queue()}, 5, 6);
        executor.latency_of.fill(model::microseconds(10));
    }

    /// `size` bytes that differ from their neighbours and between blocks.
    static std::vector<std::byte> pattern(std::size_t size) {
        std::vector<std::byte> bytes(size);
        for (std::size_t i = 0; i < size; ++i) {
            bytes[i] = static_cast<std::byte>((i * 7 + i / 512) & 0xff);
        }
        return bytes;
    }
    static std::vector<std::byte> answer(const std::vector<std::byte>& input, std::size_t size) {
        std::vector<std::byte> bytes(size, std::byte{1});
        for (std::size_t i = 0; i < std::min(size, input.size()); ++i) {
            bytes[i] = static_cast<std::byte>(std::to_integer<unsigned>(input[i]) + 1);
        }
        return bytes;
    }
    void sign(bool on) {
        queue.check_signatures(on);
        driver.signatures = on;
    }
    void ring(std::uint32_t slot) { queue.doorbell(calendar.now(), 1U << slot); }
    void run() { calendar.run_until(calendar.now() + model::milliseconds(100)); }

    model::Calendar calendar;
    FakeHostBus host;
    FakeExecutor executor;
    firmware_stub::CommandQueue queue;
    CommandHost<FakeHostBus> driver;
};

}  // namespace cxsim::test
