// SPDX-License-Identifier: Apache-2.0
// RDMA WRITEs of several cards to one through a switch, a driver each, for the test of costs and
// for `scripts/bench network`. One per process: SystemC elaborates once.
#pragma once

#include "eth/link/link_mode.h"
#include "scenarios/driver/port_functions.h"
#include "scenarios/driver/verbs_driver.h"
#include "scenarios/testbed/network.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace cxsim::perf {

struct RdmaCase {
    const char* name;
    const char* card;
    const char* host_profile;
    unsigned senders;
    std::uint64_t bytes;  ///< of each sender
    std::uint32_t mtu;    ///< of the path
    bool synthetic;       ///< payload has lengths and no content, and does not cross PCIe
    bool controlled;      ///< DCQCN with a marking switch, priority flow control
};

// One flow through a switch; eight flows to one receiver. Links of 100 Gb/s and 1 us.
constexpr RdmaCase kRdmaCases[] = {
    {"one flow, payload counted", "connectx5", "broadwell_e5_2630v4", 1, 100'000'000, 1024, true,
     false},
    {"one flow, payload moved", "connectx5", "broadwell_e5_2630v4", 1, 100'000'000, 1024, false,
     false},
    {"8 to 1, DCQCN and PFC, payload counted", "connectx5", "broadwell_e5_2630v4", 8, 10'000'000,
     1024, true, true},
};

struct RdmaResult {
    std::uint64_t packets = 0;  ///< of data, the receiver's
    std::uint64_t events = 0;
    std::uint64_t allocations = 0;
    double wall_seconds = 0;
    double goodput = 0;  ///< bit/s of payload, from the first doorbell to the last completion
};

class RdmaLoad {
  public:
    static constexpr std::uint32_t kMessage = 1 << 16;  ///< bytes of a WRITE
    static constexpr unsigned kDepth = 16;              ///< WRITEs of a sender under way

    explicit RdmaLoad(const RdmaCase& which) : case_(which), network_(kernel_) {
        std::vector<scenarios::Card*> cards;
        for (unsigned i = 0; i <= which.senders; ++i) {
            stations_.push_back(std::make_unique<Station>(*this, i));
            cards.push_back(&stations_.back()->card);
        }
        scenarios::NetworkSetup wire;
        wire.topology = scenarios::Topology::switched;
        wire.delay = model::microseconds(1);
        wire.switch_settings.modes = model::LinkModeMask{1}
                                     << static_cast<unsigned>(model::LinkMode::speed_100g_4x);
        if (which.controlled) control(wire.switch_settings);
        network_.connect(cards, wire);
        for (auto& station : stations_) station->verbs.open();
        if (which.controlled) {
            for (auto& station : stations_) control(station->driver);
        }
        for (auto& station : stations_) {
            if (!station->verbs.wait_for_link(model::seconds(3))) {
                throw scenarios::DriverError("no link");
            }
        }
        for (unsigned i = 0; i < which.senders; ++i) join(*stations_[i]);
    }

    model::Kernel& kernel() { return kernel_; }
    scenarios::VerbsDriver& receiver() { return stations_.back()->verbs; }
    scenarios::VerbsDriver& sender(unsigned index) { return stations_[index]->verbs; }

    /// All senders' WRITEs, to their completions. Throws DriverError for one that ends badly or
    /// not within ten seconds of simulated time.
    RdmaResult run(std::uint64_t bytes, const std::uint64_t& allocations) {
        using Clock = std::chrono::steady_clock;
        RdmaResult result;
        const std::uint64_t frames = received_frames();
        const std::uint64_t events = kernel_.calendar().executed();
        const std::uint64_t blocks = allocations;
        const model::Picoseconds start = kernel_.now();
        const auto wall = Clock::now();
        const std::uint64_t messages = (bytes + kMessage - 1) / kMessage;
        for (unsigned i = 0; i < case_.senders; ++i) stations_[i]->begin(messages);
        model::Picoseconds last = start;
        for (bool busy = true; busy;) {
            busy = false;
            kernel_.run_until(kernel_.now() + model::microseconds(5));
            for (unsigned i = 0; i < case_.senders; ++i) {
                if (stations_[i]->poll(last)) busy = true;
            }
            if (kernel_.now() - start > model::seconds(10)) {
                throw scenarios::DriverError("WRITEs do not end");
            }
        }
        result.wall_seconds = std::chrono::duration<double>(Clock::now() - wall).count();
        result.allocations = allocations - blocks;
        result.events = kernel_.calendar().executed() - events;
        result.packets = received_frames() - frames;
        result.goodput = 8.0 * static_cast<double>(messages * kMessage) * case_.senders /
                         (last - start).seconds();
        return result;
    }

  private:
    struct Station {
        Station(RdmaLoad& all, unsigned index)
            : card(all.kernel_, setup(all, index)),
              host(fmt::format("host{}", index).c_str(), all.kernel_, card),
              driver(host),
              verbs(driver, {.ipv4 = 0x0a000001 + index}) {}
        static scenarios::CardSetup setup(RdmaLoad& all, unsigned index) {
            scenarios::CardSetup setup;
            setup.name = fmt::format("card{}", index);
            setup.model = all.case_.card;
            setup.instance = static_cast<std::uint16_t>(index);
            setup.frames = &all.network_.frames();
            setup.host_profile = all.case_.host_profile;
            setup.synthetic = all.case_.synthetic;
            return setup;
        }
        void begin(std::uint64_t messages) {
            left = messages;
            post();
        }
        void post() {
            const std::uint64_t before = left;
            while (left > 0 && qp->sends_outstanding() < kDepth) {
                const scenarios::Sge piece = source->sge(0, kMessage);
                scenarios::SendRequest request;
                request.op = scenarios::SendOp::write;
                request.sges = {&piece, 1};
                request.remote_address = target->address();
                request.rkey = target->rkey();
                if (!qp->post_send(request, false)) break;
                --left;
            }
            if (left != before) qp->ring_doorbell();
        }
        /// Whether there is more to do; `last` becomes the time of the last completion.
        bool poll(model::Picoseconds& last) {
            scenarios::Completion done;
            while (cq->poll(done)) {
                if (!done.ok()) throw scenarios::DriverError("a WRITE failed");
                last = std::max(last, host.now());
            }
            post();
            return left > 0 || qp->sends_outstanding() > 0;
        }

        scenarios::Card card;
        scenarios::Host host;
        scenarios::Driver driver;
        scenarios::VerbsDriver verbs;
        scenarios::VerbsCq* cq = nullptr;
        scenarios::VerbsQp* qp = nullptr;
        scenarios::VerbsMr* source = nullptr;
        scenarios::VerbsMr* target = nullptr;  ///< at the receiver
        std::uint64_t left = 0;
    };

    // Lossless priority of the data by DSCP, as data centres have it; the thresholds and timers of
    // published simulations (8 to 1 at 100 Gb/s).
    static constexpr std::uint8_t kPriority = 3;
    static constexpr std::uint8_t kDscp = 26;

    static void control(eth::SwitchSettings& settings) {
        settings.trust_dscp = true;
        settings.lossless = 1U << kPriority;
        settings.shared_buffer = {32'000'000};
        settings.alpha = 0.125;
        settings.reserve = {4096};
        settings.headroom = {50'000};
        settings.resume_offset = {3072};
        settings.ecn[kPriority] = {{400'000}, {1'600'000}, 0.2};
    }
    static void control(scenarios::Driver& driver) {
        scenarios::set_priorities(driver, {.lossless = 1U << kPriority, .trust_dscp = true});
        scenarios::set_congestion_parameters(driver, {{"dce_tcp_rtt", 1},
                                                      {"rate_reduce_monitor_period", 4},
                                                      {"rpg_time_reset", 300},
                                                      {"dce_tcp_g", 1020},
                                                      {"rpg_ai_rate", 20},
                                                      {"rpg_hai_rate", 200},
                                                      {"rpg_min_rate", 1000},
                                                      {"rpg_byte_reset", 0}});
    }

    void join(Station& from) {
        scenarios::VerbsDriver& to = receiver();
        from.cq = &from.verbs.create_cq(2 * kDepth);
        scenarios::VerbsCq& peer_cq = to.create_cq(2 * kDepth);
        from.source = &from.verbs.create_mr(from.verbs.pd(), kMessage);
        from.target = &to.create_mr(to.pd(), kMessage);
        from.qp = &from.verbs.create_qp(from.verbs.pd(), *from.cq, *from.cq, {});
        scenarios::VerbsQp& peer = to.create_qp(to.pd(), peer_cq, peer_cq, {});
        scenarios::ConnectionOptions options;
        options.mtu = case_.mtu;
        if (case_.controlled) {
            options.path.priority = kPriority;
            options.path.traffic_class = kDscp << 2;
        }
        scenarios::connect(*from.qp, from.verbs, peer, to, options);
    }

    std::uint64_t received_frames() {
        return stations_.back()->card.port().port_counters().rx_frames.value();
    }

    RdmaCase case_;
    model::Kernel kernel_;
    scenarios::Network network_;
    std::vector<std::unique_ptr<Station>> stations_;
};

}  // namespace cxsim::perf
