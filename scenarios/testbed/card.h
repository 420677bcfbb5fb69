// SPDX-License-Identifier: Apache-2.0
// One simulated card put together from its data: endpoint, firmware, packet pipelines, port.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "eth/mac/mac.h"
#include "eth/nic/receiver.h"
#include "eth/nic/transmitter.h"
#include "firmware_stub/boot/firmware.h"
#include "model/params/card_data.h"
#include "model/sim/kernel.h"
#include "pcie/endpoint/endpoint.h"
#include "roce/transport/transport.h"
#include "scenarios/testbed/roce_addresses.h"

namespace cxsim::scenarios {

struct CardSetup {
    std::string name = "card0";          ///< SystemC name and prefix of its statistics
    std::string model = "connectx5";     ///< one of model::card_names()
    model::CardOptions options;          ///< other files, overrides (those of the host, too)
    std::string host_profile = "broadwell_e5_2630v4";
    std::uint64_t seed = 1;
    std::uint16_t instance = 0;          ///< numbers the boards of one simulation
    /// Puts a bus of the caller between firmware and endpoint, e.g. one that traces. Null: none.
    std::function<model::HostBus&(model::HostBus& endpoint)> wrap_bus;
    /// Frames of all cards that share a wire come from one pool, which outlives them. Null: the
    /// card has its own, and no wire.
    model::FramePool* frames = nullptr;
    /// RDMA payload has lengths and no content (experiments that need no data).
    bool synthetic = false;
};

class Card {
  public:
    /// Throws model::ConfigError.
    Card(model::Kernel& kernel, const CardSetup& setup);
    ~Card();

    const std::string& name() const { return setup_.name; }
    const CardSetup& setup() const { return setup_; }
    const model::CardData& data() const { return *data_; }
    const model::BoardIdentity& board() const { return board_; }
    pcie::Endpoint& endpoint() { return *endpoint_; }
    firmware_stub::Firmware& firmware() { return *firmware_; }
    eth::Mac& port() { return *port_; }
    const eth::Transmitter& transmitter() const { return *transmitter_; }
    const eth::Receiver& receiver() const { return *receiver_; }
    const roce::Transport& transport() const { return *transport_; }
    roce::Transport& transport() { return *transport_; }
    /// Counters of the port and below.
    model::stats::Group& statistics() { return statistics_; }

  private:
    CardSetup setup_;
    model::stats::Group statistics_;
    model::FramePool own_frames_;
    std::shared_ptr<const model::CardData> data_;
    model::BoardIdentity board_;
    firmware_stub::FirmwareConfig firmware_config_;
    std::unique_ptr<eth::Mac> port_;
    std::unique_ptr<pcie::Endpoint> endpoint_;
    std::unique_ptr<firmware_stub::Firmware> firmware_;
    std::unique_ptr<eth::Receiver> receiver_;
    std::unique_ptr<eth::Transmitter> transmitter_;
    std::unique_ptr<RoceAddresses> roce_addresses_;
    std::unique_ptr<roce::Transport> transport_;
};

/// What the PCIe endpoint of a card is, from its data.
pcie::EndpointConfig endpoint_config(const model::CardData& card,
                                     const model::BoardIdentity& board);
/// Times and windows of its transport.
roce::TransportTiming transport_timing(const model::CardData& card);
/// What its packet pipelines may do.
eth::PipelineOptions pipeline_options(const model::CardData& card);
/// What its firmware is.
firmware_stub::FirmwareConfig firmware_config(const model::CardData& card,
                                              const model::BoardIdentity& board);

}  // namespace cxsim::scenarios
