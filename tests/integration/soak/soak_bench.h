// SPDX-License-Identifier: Apache-2.0
// Two whole cards in hosts with RDMA drivers, a harmful device on the wire between them, and books
// at both ends. One bench per process: SystemC elaborates once.
#pragma once

#include "eth/link/impairer.h"
#include "scenarios/driver/verbs_driver.h"
#include "tests/integration/soak/wire_books.h"

#include <array>
#include <memory>
#include <string>

namespace cxsim::test {

struct SoakOptions {
    std::string card = "connectx5";
    std::uint64_t seed = 1;          ///< of the traffic and of the wire
    unsigned pairs = 64;             ///< RC queue pairs
    unsigned unreliable_pairs = 0;   ///< UC queue pairs, and as many of UD
    std::uint64_t payload = 0;       ///< bytes of RC messages, both directions together
    std::uint64_t longest = 8192;    ///< bytes of a message
    unsigned slots = 6;              ///< requests of one queue pair under way
    eth::Impairments harm{.loss = 1e-3, .duplicate = 1e-3, .reorder = 1e-3, .corrupt = 1e-3};
    /// A request that takes longer has got stuck.
    model::Picoseconds stuck = model::milliseconds(400);
    std::string capture;             ///< "<capture>.<card>.pcap"; empty: none
    bool follow = false;             ///< WireBooks::digest()
};

struct SoakStation {
    SoakStation(model::Kernel& kernel, model::FramePool& frames, const std::string& model,
                std::uint16_t instance)
        : card(kernel, setup(frames, model, instance)),
          host(("host" + std::to_string(instance)).c_str(), kernel, card),
          driver(host),
          verbs(driver, {.ipv4 = 0x0a000001U + instance}) {}

    static scenarios::CardSetup setup(model::FramePool& frames, const std::string& model,
                                      std::uint16_t instance) {
        scenarios::CardSetup result;
        result.name = "card" + std::to_string(instance);
        result.model = model;
        result.instance = instance;
        result.frames = &frames;
        return result;
    }
    firmware_stub::FunctionState& function() {
        return card.firmware().function(model::FunctionId{0});
    }

    scenarios::Card card;
    scenarios::Host host;
    scenarios::Driver driver;
    scenarios::VerbsDriver verbs;
};

class SoakBench {
  public:
    explicit SoakBench(const SoakOptions& options);

    model::Kernel kernel;
    model::FramePool frames;
    model::stats::Group statistics{"network"};
    // Cards go before the cables that they are at.
    std::unique_ptr<eth::Impairer> impairer;
    std::array<std::unique_ptr<eth::Link>, 2> links;   ///< end 0: the card
    std::array<std::unique_ptr<SoakStation>, 2> stations;
    std::array<std::unique_ptr<WireBooks>, 2> books;
};

}  // namespace cxsim::test
