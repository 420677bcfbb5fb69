// SPDX-License-Identifier: Apache-2.0
// Two whole cards back to back with a packet driver each, for the test of rates and for
// `scripts/bench network`. One per process: SystemC elaborates once.
#pragma once

#include "pcie/host/builtin_profiles.h"
#include "scenarios/driver/packet_driver.h"
#include "scenarios/testbed/network.h"
#include "tests/perf/network_bounds.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace cxsim::perf {

/// A row of the table: a card, a speed, a size of frames.
struct NetworkCase {
    const char* card;
    model::LinkMode mode;
    std::uint32_t bytes;  ///< of a frame with its FCS
};

constexpr NetworkCase kNetworkCases[] = {
    {"connectx4lx", model::LinkMode::speed_25g, 64},
    {"connectx4lx", model::LinkMode::speed_25g, 1500},
    {"connectx5", model::LinkMode::speed_100g_4x, 64},
    {"connectx5", model::LinkMode::speed_100g_4x, 1500},
    {"connectx6dx", model::LinkMode::speed_100g_4x, 64},
    {"connectx6dx", model::LinkMode::speed_100g_4x, 1500},
    {"connectx7", model::LinkMode::speed_200g_4x, 64},
    {"connectx7", model::LinkMode::speed_200g_4x, 1500},
    {"connectx7", model::LinkMode::speed_400g_4x, 64},
    {"connectx7", model::LinkMode::speed_400g_4x, 1500},
};

/// How an application that wants small packets at full rate posts them on such a card.
inline scenarios::PacketOptions packet_options(const NetworkCase& which, bool multi_packet) {
    scenarios::PacketOptions options;
    options.frame_bytes = which.bytes - 4;
    if (!multi_packet) return options;
    const bool small = options.frame_bytes <= 60;
    options.inline_frames = small;
    options.frames_per_wqe = small ? 15 : 6;  // WQEs of 16 and of 2 basic blocks
    options.signal_every = small ? 1 : 4;
    return options;
}

/// Cards stand in hosts of their generation.
inline const char* host_profile(const NetworkCase& which) {
    return std::string_view(which.card) == "connectx7" ? "sapphire_rapids" : "broadwell_e5_2630v4";
}

struct NetworkResult {
    double frames_per_second = 0;  ///< at the receiver's driver, in simulated time
    double offered_per_second = 0;  ///< that the sender's port put on the wire
    std::uint64_t frames = 0;
    std::uint64_t events = 0;
    std::uint64_t allocations = 0;
    double wall_seconds = 0;
};

/// Remembers when the card's last write is visible: data move when the card computes the write.
class WatchedBus final : public model::HostBus {
  public:
    explicit WatchedBus(model::HostBus& bus) : bus_(bus) {}
    model::DmaResult read(model::FunctionId function, model::Picoseconds start,
                          model::HostAddress address, std::span<std::byte> into) override {
        return bus_.read(function, start, address, into);
    }
    model::DmaResult write(model::FunctionId function, model::Picoseconds start,
                           model::HostAddress address,
                           std::span<const std::byte> from) override {
        const model::DmaResult result = bus_.write(function, start, address, from);
        visible_ = result.finish;
        return result;
    }
    model::Picoseconds raise_interrupt(model::FunctionId function, model::Picoseconds start,
                                       std::uint32_t vector) override {
        return bus_.raise_interrupt(function, start, vector);
    }
    model::Picoseconds visible() const { return visible_; }

  private:
    model::HostBus& bus_;
    model::Picoseconds visible_;
};

class TwoCards {
  public:
    /// `single`: a WQE for each frame, whatever the card can.
    explicit TwoCards(const NetworkCase& which, bool single = false)
        : case_(which),
          single_(single),
          network_(kernel_),
          sender_(*this, "card0", 0),
          receiver_(*this, "card1", 1) {
        scenarios::Card* cards[] = {&sender_.card, &receiver_.card};
        network_.connect(cards, {});
        for (Side* side : {&sender_, &receiver_}) side->packets.open();
        const auto* facts = &eth::facts_of(which.mode);
        if (sender_.packets.extended_speeds()) {  // the others come up with their fastest
            for (Side* side : {&sender_, &receiver_}) side->packets.set_speed(which.mode);
        }
        for (Side* side : {&sender_, &receiver_}) {
            if (!side->packets.wait_for_link(model::seconds(3)) ||
                side->card.port().status().mode != facts->mode) {
                throw scenarios::DriverError(std::string("no link of ") + facts->name);
            }
        }
    }

    model::Kernel& kernel() { return kernel_; }
    scenarios::PacketDriver& sender() { return sender_.packets; }
    scenarios::PacketDriver& receiver() { return receiver_.packets; }
    scenarios::Card& sender_card() { return sender_.card; }
    scenarios::Card& receiver_card() { return receiver_.card; }
    scenarios::Network& network() { return network_; }
    const NetworkCase& which() const { return case_; }

    /// Simulates on, both drivers polling.
    void run_for(model::Picoseconds duration) {
        const model::Picoseconds end = kernel_.now() + duration;
        while (kernel_.now() < end) {
            kernel_.run_until(std::min(end, kernel_.now() + kPollInterval));
            sender_.packets.poll();
            receiver_.packets.poll();
        }
    }

    /// `allocations`: a counter of the process. As many as the wire takes of `frames`, after
    /// warm-up: until nothing grows any more.
    NetworkResult measure(std::uint64_t frames, const std::uint64_t& allocations) {
        using Clock = std::chrono::steady_clock;
        const double wire = wire_frames_per_second(case_.mode, case_.bytes);
        const auto window = model::Picoseconds{
            static_cast<std::int64_t>(static_cast<double>(frames) / wire * 1e12)};
        // Where a bound lies just below the wire, buffers fill over millions of frames: the pool
        // has what they will hold.
        std::vector<model::FramePtr> held;
        for (int i = 0; i < 2048; ++i) held.push_back(network_.frames().make(case_.bytes));
        held.clear();
        sender_.packets.send(true);
        sender_.packets.poll();
        run_for(2 * window);
        for (int i = 0; i < 40; ++i) {  // rings that still double
            const std::uint64_t before = allocations;
            run_for(2 * window);
            if (allocations == before) break;
        }
        const std::uint64_t received = receiver_.packets.counters().received;
        const std::uint64_t offered = sender_.card.port().port_counters().tx_frames.value();
        const std::uint64_t events = kernel_.calendar().executed();
        const std::uint64_t blocks = allocations;
        const model::Picoseconds start = kernel_.now();
        const auto wall = Clock::now();
        run_for(window);
        NetworkResult result;
        result.wall_seconds = std::chrono::duration<double>(Clock::now() - wall).count();
        const double seconds = (kernel_.now() - start).seconds();
        result.allocations = allocations - blocks;
        result.events = kernel_.calendar().executed() - events;
        result.frames = receiver_.packets.counters().received - received;
        result.frames_per_second = static_cast<double>(result.frames) / seconds;
        result.offered_per_second =
            static_cast<double>(sender_.card.port().port_counters().tx_frames.value() - offered) / seconds;
        return result;
    }

    /// Half of the time from a doorbell to the visible completion of the answer that the other
    /// driver sends as soon as it sees the frame: the mean of `rounds`. Drivers poll and take no
    /// time themselves.
    model::Picoseconds half_round_trip(unsigned rounds) {
        const model::Picoseconds start = kernel_.now();
        for (unsigned i = 0; i < rounds; ++i) {
            one_way(sender_, receiver_);
            one_way(receiver_, sender_);
        }
        return model::Picoseconds{(kernel_.now() - start).value / (2 * std::int64_t{rounds})};
    }

    std::vector<Bound> bounds() const {
        return network_bounds(case_.mode, sender_.card.data(),
                              pcie::builtin_host_profile(host_profile(case_)), sender_.packets);
    }

  private:
    static constexpr model::Picoseconds kPollInterval = model::microseconds(2);

    struct Side {
        Side(TwoCards& both, const char* name, std::uint16_t instance)
            : card(both.kernel_, setup(both, name, instance)),
              host((std::string(name) + "_host").c_str(), both.kernel_, card),
              driver(host),
              packets(driver,
                      packet_options(both.case_,
                                     !both.single_ && scenarios::pipeline_options(card.data())
                                                          .multi_packet)) {}
        static scenarios::CardSetup setup(TwoCards& both, const char* name,
                                          std::uint16_t instance) {
            scenarios::CardSetup setup;
            setup.name = name;
            setup.model = both.case_.card;
            setup.instance = instance;
            setup.frames = &both.network_.frames();
            setup.host_profile = host_profile(both.case_);
            setup.wrap_bus = [&both, instance](model::HostBus& endpoint) -> model::HostBus& {
                both.buses_[instance] = std::make_unique<WatchedBus>(endpoint);
                return *both.buses_[instance];
            };
            return setup;
        }
        scenarios::Card card;
        scenarios::Host host;
        scenarios::Driver driver;
        scenarios::PacketDriver packets;
    };

    void one_way(Side& from, Side& to) {
        const std::uint64_t before = to.packets.counters().received;
        from.packets.poll();  // what completed meanwhile makes room
        if (!from.packets.send_one() ||
            !kernel_.run_until_true(
                [&] {
                    to.packets.poll();
                    return to.packets.counters().received != before;
                },
                kernel_.now() + model::milliseconds(1))) {
            throw scenarios::DriverError("a frame does not arrive");
        }
        kernel_.run_until(std::max(kernel_.now(), buses_[to.card.setup().instance]->visible()));
    }

    NetworkCase case_;
    bool single_;
    model::Kernel kernel_;
    std::unique_ptr<WatchedBus> buses_[2];
    scenarios::Network network_;
    Side sender_;
    Side receiver_;
};

}  // namespace cxsim::perf
