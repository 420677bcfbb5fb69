// SPDX-License-Identifier: Apache-2.0
// What Python sees as a testbed: cards in hosts on a wire, with traces, captures and time.
#pragma once

#include "model/trace/sinks.h"
#include "scenarios/driver/verbs_driver.h"
#include "scenarios/prm_tools/card_tap.h"
#include "scenarios/prm_tools/stage_trace.h"
#include "scenarios/prm_tools/trace_listener.h"
#include "scenarios/testbed/network.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cxsim::scenarios {

struct TestbedSetup {
    std::vector<std::string> cards{"connectx5", "connectx5"};
    std::string wire = "auto";
    model::Picoseconds delay = model::nanoseconds(10);
    double bit_error_ratio = 0;
    std::optional<eth::Impairments> impairments;
    std::string host_profile = "broadwell_e5_2630v4";
    std::uint64_t seed = 1;
    std::vector<model::Override> overrides;
    eth::SwitchSettings switch_settings;
    model::Bytes queue_limit = eth::SwitchConfig{}.queue_limit;
    model::Picoseconds switch_latency = eth::SwitchConfig{}.latency;
    bool synthetic = false;           ///< RDMA payload has lengths and no content
    std::string pcap;                 ///< prefix of the captures; empty: none
    std::vector<std::string> traces;  ///< files by ending; empty: none
};

/// A card in a host of its own, and its driver.
class Station {
  public:
    /// Card `index` of the simulation. `tracer`: null without traces.
    Station(model::Kernel& kernel, Network& network, const TestbedSetup& setup, unsigned index,
            model::trace::Tracer* tracer);

    Card& card() { return card_; }
    CardTap& tap() { return tap_; }
    Host& host() { return host_; }
    Driver& driver() { return driver_; }
    VerbsDriver& verbs() { return verbs_; }
    const std::string& model() const { return card_.setup().model; }
    std::uint32_t ipv4() const { return ipv4_; }

    /// Starts the driver if it is not started. Throws DriverError.
    VerbsDriver& open();
    /// How often it has been started.
    std::uint64_t session() const { return session_; }

  private:
    CardSetup card_setup(Network& network, const TestbedSetup& setup, unsigned index);

    std::uint32_t ipv4_;
    std::unique_ptr<VisibleWrites> visible_;
    CardTap tap_;
    Card card_;
    Host host_;
    std::unique_ptr<TraceListener> listener_;
    Driver driver_;
    VerbsDriver verbs_;
    std::uint64_t session_ = 0;
};

/// One per process: SystemC elaborates once.
class Testbed {
  public:
    /// Throws std::runtime_error for a second one, model::ConfigError, std::runtime_error.
    explicit Testbed(const TestbedSetup& setup);
    ~Testbed();

    model::Kernel& kernel() { return kernel_; }
    Network& network() { return network_; }
    const std::vector<std::unique_ptr<Station>>& stations() const { return stations_; }

    /// Starts every driver and waits for the links, `limit` of simulated time at most. Throws
    /// DriverTimeout.
    void open(model::Picoseconds limit);
    /// Stops every driver that runs, ends traces. The testbed is of no more use.
    void close();
    bool closed() const { return closed_; }

  private:
    void trace_stages();

    bool closed_ = false;
    model::Kernel kernel_;
    Network network_;
    model::trace::Tracer tracer_;
    std::vector<std::unique_ptr<Station>> stations_;
    // With traces only.
    PacketsUnderWay packets_;
    PacketsUnderWay in_switch_;
    std::unique_ptr<StageTracks> switch_tracks_;
    std::vector<std::unique_ptr<CardStages>> card_stages_;
    std::vector<std::unique_ptr<SwitchStages>> switch_stages_;
};

}  // namespace cxsim::scenarios
