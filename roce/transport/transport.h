// SPDX-License-Identifier: Apache-2.0
// The transport of one function: takes RoCE packets from the port before Ethernet sees them, finds
// their QP, and keeps the connections that requester and responder work on.
#pragma once

#include "model/ports/congestion_control.h"
#include "model/ports/port_control.h"
#include "model/resources/resources.h"
#include "roce/congestion/notification_point.h"
#include "roce/congestion/reaction_point.h"
#include "roce/requester/requester.h"
#include "roce/responder/responder.h"
#include "roce/transport/addressing.h"
#include "roce/transport/connection.h"
#include "roce/transport/environment.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

namespace cxsim::roce {

struct TransportSetup {
    model::FunctionId function;
    model::Calendar& calendar;
    model::HostBus& host;
    model::QpQueues& queues;
    model::FramePool& frames;
    model::WirePort& port;
    model::VportTraffic& traffic;
    model::VportGate& gate;
    const AddressTable& addresses;
    /// Takes the frames that are not the transport's.
    model::FrameReceiver& ethernet;
    model::CongestionControl& congestion;
    const model::PortControl& link;
    TransportTiming timing;
    bool synthetic = false;  ///< see Environment
    model::ContextCaches* caches = nullptr;  ///< see Environment
};

class Transport final : public model::Transport,
                        public model::FrameReceiver,
                        private PacketOutput,
                        private ConnectionFinder {
  public:
    explicit Transport(const TransportSetup& setup);
    ~Transport() override;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    // From the queues.
    model::Picoseconds post(model::Picoseconds at, const model::QpSend& send) override;
    void state_changed(model::Qp& qp, model::QpState old) override;
    void destroyed(model::Qp& qp) override;
    void refresh(model::Qp& qp) override;

    // From the port.
    model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override;

    const TransportCounters& counters() const { return counters_; }
    std::size_t connections() const { return connections_.size(); }
    /// What congestion control lets a connected QP send at this moment: the port's speed if it is
    /// not limited. Nothing for other QPs.
    std::optional<model::BitsPerSecond> rate_of(std::uint32_t qp);

  private:
    struct Looped {
        model::FramePtr frame;
        model::EventHandle event;
    };

    void transmit(model::Picoseconds ready, const Path& path, model::FramePtr frame) override;
    model::Picoseconds room_at(model::Picoseconds at, const Path& path) override;
    std::uint16_t next_identification() override { return ++identification_; }
    Connection* find(std::uint32_t number, std::uint64_t tag) override;

    Connection* lookup(std::uint32_t number);
    Connection* open(model::Qp& qp);
    void take_attributes(Connection& connection);
    void forget(Connection& connection);
    void looped(const model::EventArguments& arguments);
    /// `packet` as parse() left it.
    void dispatch(model::Picoseconds at, Parsed parsed, const ReceivedPacket& packet);
    void dispatch(model::Picoseconds at, Connection* connection, const ReceivedPacket& packet);
    void multicast(model::Picoseconds at, const ReceivedPacket& packet);
    void count_received(const ReceivedPacket& packet);
    void notify_congestion(model::Picoseconds at, const Connection& connection,
                           const ReceivedPacket& packet, bool lost);

    TransportSetup setup_;
    TransportCounters counters_;
    model::Timeline message_stage_;
    model::Timeline packet_stage_;
    model::Timeline atomic_stage_;
    Environment environment_;
    Requester requester_;
    Responder responder_;
    ReactionPoints reaction_points_;
    NotificationPoint notification_point_;
    std::unordered_map<std::uint32_t, std::unique_ptr<Connection>> connections_;  // by QP number
    std::array<Connection*, 256> recent_{};  ///< found last, by the number's lower bits
    std::uint32_t management_ = 0;  ///< number of the QP that is QP1; 0: none
    std::uint64_t last_tag_ = 0;
    std::uint16_t identification_ = 0;
    std::deque<Looped> looping_;  ///< on their way to the own receiver, oldest first
    model::Picoseconds looped_until_;
};

}  // namespace cxsim::roce
