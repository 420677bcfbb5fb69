// SPDX-License-Identifier: Apache-2.0
#include "roce/transport/transport.h"

#include <algorithm>
#include <utility>

namespace cxsim::roce {
namespace {

using model::Picoseconds;
using model::QpState;

// qpc.st
enum ServiceType : std::uint32_t { kRc = 0, kUc = 1, kUd = 2, kXrc = 3, kQp1 = 8 };

constexpr std::uint32_t kManagementQp = 1;
constexpr std::uint32_t kMulticastQp = 0xff'ffff;
constexpr std::uint16_t kPkeyMask = 0x7fff;
constexpr std::uint16_t kFullMember = 0x8000;
constexpr std::uint32_t kSharedReceive = 1;  // qpc.rq_type
constexpr model::BitsPerSecond kFastestPort{400'000'000'000};  // until a link is up
// A full port calls back when so much more than one frame fits in: a turn is several packets.
constexpr model::Bytes kTurnRoom{8192};
constexpr std::uint32_t kManagementKey = 0x8001'0000;

bool has_transport(std::uint32_t service) {
    return service == kRc || service == kUc || service == kUd || service == kQp1;
}

// Two partition keys meet if they name one partition and not both are limited members.
bool same_partition(std::uint16_t a, std::uint16_t b) {
    return (a & kPkeyMask) == (b & kPkeyMask) && ((a | b) & kFullMember) != 0;
}

}  // namespace

Transport::Transport(const TransportSetup& setup)
    : setup_(setup),
      environment_{setup_.function, setup_.calendar,   setup_.host,    setup_.queues,
                   setup_.frames,   *this,             setup_.timing,  counters_,
                   message_stage_,  packet_stage_,     atomic_stage_,  setup_.synthetic},
      requester_(environment_, *this, setup_.addresses),
      responder_(environment_, *this),
      reaction_points_(setup_.congestion, kFastestPort),
      notification_point_(setup_.congestion) {
    environment_.caches = setup_.caches;
}

Transport::~Transport() {
    for (const Looped& looped : looping_) setup_.calendar.cancel(looped.event);
    for (auto& [number, connection] : connections_) {
        requester_.stop(*connection);
        responder_.stop(*connection);
    }
}

Connection* Transport::lookup(std::uint32_t number) {
    Connection*& recent = recent_[number % recent_.size()];
    if (recent != nullptr && recent->number == number) return recent;
    const auto place = connections_.find(number);
    if (place == connections_.end()) return nullptr;
    return recent = place->second.get();
}

Connection* Transport::find(std::uint32_t number, std::uint64_t tag) {
    Connection* const connection = lookup(number);
    if (connection != nullptr && connection->tag == tag) return connection;
    ++counters_.stale_events;
    return nullptr;
}

Connection* Transport::open(model::Qp& qp) {
    const std::uint32_t service = qp.view().get<prm::qpc::st>();
    if (!has_transport(service)) return nullptr;
    auto& place = connections_[qp.id.number];
    if (place == nullptr) {
        place = std::make_unique<Connection>(qp);
        place->tag = ++last_tag_;
        place->management = service == kQp1;
        place->service = service == kRc   ? WireService::rc
                         : service == kUc ? WireService::uc
                                          : WireService::ud;
        if (place->management) management_ = qp.id.number;
    }
    return place.get();
}

void Transport::take_attributes(Connection& connection) {
    using prm::ads;
    using prm::qpc;
    const auto context = connection.qp.view();
    QpAttributes& a = connection.attributes;
    a.remote_qp = context.get<qpc::remote_qpn>();
    a.pd = context.get<qpc::pd>();
    const std::uint32_t mtu = context.get<qpc::mtu>();
    if (mtu != 0) a.mtu = 128U << mtu;
    a.queue_key = connection.management ? kManagementKey : context.get<qpc::q_key>();
    a.send_psn = context.get<qpc::next_send_psn>();
    a.receive_psn = context.get<qpc::next_rcv_psn>();
    a.retry_count = static_cast<std::uint8_t>(context.get<qpc::retry_count>());
    a.rnr_retry = static_cast<std::uint8_t>(context.get<qpc::rnr_retry>());
    a.ack_timeout = static_cast<std::uint8_t>(
        context.get<qpc::primary_address_path, ads::ack_timeout>());
    a.min_rnr_nak = static_cast<std::uint8_t>(context.get<qpc::min_rnr_nak>());
    a.initiator_depth = 1U << context.get<qpc::log_sra_max>();
    a.responder_resources = 1U << context.get<qpc::log_rra_max>();
    a.remote_read = context.get<qpc::rre>() != 0;
    a.remote_write = context.get<qpc::rwe>() != 0;
    a.remote_atomic = context.get<qpc::rae>() != 0;
    a.atomic_mode = static_cast<std::uint8_t>(context.get<qpc::atomic_mode>());
    a.reserved_lkey = context.get<qpc::rlky>() != 0;
    a.shared_receive = context.get<qpc::rq_type>() == kSharedReceive;
    // Both forms, of 32 and of 64 bytes: what is longer than kCqeDataBytes goes to memory.
    a.receive_in_cqe = context.get<qpc::cs_res>() != 0 ? model::kCqeDataBytes : 0;
    a.answer_in_cqe = context.get<qpc::cs_req>() != 0 ? model::kCqeDataBytes : 0;
    a.service_level =
        static_cast<std::uint8_t>(context.get<qpc::primary_address_path, ads::sl>());
    if (connection.service != WireService::ud) {
        // An address that was taken from the table since leaves the path as it was.
        if (const auto path = path_of(context.nested<qpc::primary_address_path>(),
                                      connection.number, a.remote_qp, setup_.addresses)) {
            connection.path = *path;
        }
        const model::PortStatus link = setup_.link.status();
        if (link.up && link.rate != reaction_points_.port_rate()) {
            reaction_points_.set_port_rate(setup_.calendar.now(), link.rate);
        }
        const unsigned priority = connection.path.description().priority;
        if (connection.rate == nullptr) {
            connection.rate = std::make_unique<ReactionPoint>(reaction_points_, priority);
        } else {
            static_cast<ReactionPoint&>(*connection.rate)
                .set_priority(setup_.calendar.now(), priority);
        }
    }
}

void Transport::forget(Connection& connection) {
    requester_.stop(connection);
    responder_.stop(connection);
    if (management_ == connection.number) management_ = 0;
    recent_[connection.number % recent_.size()] = nullptr;
    connections_.erase(connection.number);
}

void Transport::state_changed(model::Qp& qp, QpState old) {
    if (qp.state == QpState::reset) {
        destroyed(qp);
        return;
    }
    Connection* connection = open(qp);
    if (connection == nullptr) return;
    const Picoseconds now = setup_.calendar.now();
    switch (qp.state) {
        case QpState::init:
            take_attributes(*connection);
            break;
        case QpState::rtr:
            take_attributes(*connection);
            connection->receives = true;
            responder_.start(*connection);
            break;
        case QpState::rts:
            take_attributes(*connection);
            connection->receives = true;
            connection->sends = true;
            environment_.big_endian_originals = setup_.addresses.big_endian_originals();
            if (old == QpState::rtr) requester_.start(*connection, now);
            break;
        case QpState::sq_draining:
        case QpState::sq_drained:
            break;
        case QpState::sq_error:
            connection->sends = false;
            requester_.stop(*connection);
            break;
        case QpState::error:
            connection->sends = false;
            connection->receives = false;
            requester_.stop(*connection);
            responder_.stop(*connection);
            break;
        case QpState::reset:
            break;
    }
}

void Transport::destroyed(model::Qp& qp) {
    const auto place = connections_.find(qp.id.number);
    if (place != connections_.end()) forget(*place->second);
}

void Transport::refresh(model::Qp& qp) {
    using prm::qpc;
    const auto place = connections_.find(qp.id.number);
    if (place == connections_.end()) return;
    const Connection& connection = *place->second;
    const auto context = qp.view();
    if (connection.sends) {
        context.set<qpc::next_send_psn>(requester_.next_psn(connection));
        context.set<qpc::last_acked_psn>(
            psn_add(requester_.unacknowledged_psn(connection), kPsnMask));
    }
    if (connection.receives) {
        context.set<qpc::next_rcv_psn>(responder_.expected_psn(connection));
        context.set<qpc::rmsn>(responder_.message_number(connection));
    }
}

Picoseconds Transport::post(Picoseconds at, const model::QpSend& send) {
    Connection* const connection = lookup(send.qp.id.number);
    CX_ASSERT(connection != nullptr, "QP {} sends without a connection", send.qp.id.number);
    return requester_.post(*connection, at, send);
}

std::optional<model::BitsPerSecond> Transport::rate_of(std::uint32_t qp) {
    const Connection* const connection = lookup(qp);
    if (connection == nullptr || connection->rate == nullptr) return std::nullopt;
    auto& flow = static_cast<ReactionPoint&>(*connection->rate);
    flow.settle(setup_.calendar.now());
    return flow.rate();
}

// ---- The way out ----

Picoseconds Transport::room_at(Picoseconds at, const Path& path) {
    const Picoseconds room = setup_.port.room_at(at, path.description().priority);
    return room <= at ? at : room + reaction_points_.port_rate().time_for(kTurnRoom);
}

void Transport::transmit(Picoseconds ready, const Path& path, model::FramePtr frame) {
    ++counters_.packets_sent;
    const eth::MacAddress to = path.description().destination_mac;
    if (!setup_.gate.open) {
        ++setup_.gate.transmit_vport_down;
        return;
    }
    auto& traffic = to.multicast() ? setup_.traffic.transmitted_ib_multicast
                                   : setup_.traffic.transmitted_ib_unicast;
    traffic.count(frame->size());
    seal(*frame, path);
    frame->priority = path.description().priority;
    const bool own = setup_.gate.is_station(to.value);
    const bool loops = own ? setup_.gate.loop_unicast
                           : to.multicast() && setup_.gate.loop_multicast &&
                                 !setup_.addresses.members(path.description().destination).empty();
    if (loops) {
        ++counters_.looped;
        looped_until_ = std::max(looped_until_, ready + setup_.timing.loopback);
        looping_.push_back({own ? std::move(frame) : setup_.frames.copy(*frame),
                            setup_.calendar.schedule<&Transport::looped>(looped_until_, this)});
    }
    if (frame == nullptr) return;
    ++counters_.frames_to_port;
    setup_.port.transmit(ready, std::move(frame));
}

void Transport::looped(const model::EventArguments&) {
    const model::FramePtr frame = std::move(looping_.front().frame);
    looping_.pop_front();
    ReceivedPacket packet;
    dispatch(setup_.calendar.now(), parse(*frame, packet), packet);
}

// ---- The way in ----

Picoseconds Transport::receive(Picoseconds at, model::FramePtr frame) {
    if (connections_.empty() || !setup_.addresses.enabled()) {
        return setup_.ethernet.receive(at, std::move(frame));
    }
    ReceivedPacket packet;
    const Parsed parsed = parse(*frame, packet);
    if (parsed == Parsed::not_roce || (!packet.destination_mac.multicast() &&
                                       !setup_.gate.is_station(packet.destination_mac.value))) {
        return setup_.ethernet.receive(at, std::move(frame));
    }
    ++counters_.frames_from_port;
    environment_.occupied_until = at + setup_.timing.receive;
    dispatch(at, parsed, packet);
    return environment_.occupied_until;
}

void Transport::count_received(const ReceivedPacket& packet) {
    ++counters_.packets_received;
    auto& traffic = packet.destination_mac.multicast() ? setup_.traffic.received_ib_multicast
                                                       : setup_.traffic.received_ib_unicast;
    traffic.count(packet.frame_bytes);
}

void Transport::dispatch(Picoseconds at, Parsed parsed, const ReceivedPacket& packet) {
    if (!setup_.gate.open) {
        ++setup_.gate.receive_vport_down;
        ++counters_.vport_down;
        return;
    }
    switch (parsed) {
        case Parsed::packet:
            break;
        case Parsed::bad_icrc:
            ++counters_.bad_icrc;
            return;
        case Parsed::not_roce:
        case Parsed::malformed:
            ++counters_.malformed;
            return;
    }
    count_received(packet);
    const Picoseconds decided = at + setup_.timing.receive;
    if (packet.headers.destination_qp == kMulticastQp) {
        multicast(decided, packet);
        return;
    }
    const std::uint32_t number = packet.headers.destination_qp == kManagementQp
                                     ? management_
                                     : packet.headers.destination_qp;
    dispatch(decided, lookup(number), packet);
}

void Transport::multicast(Picoseconds at, const ReceivedPacket& packet) {
    const auto members = setup_.addresses.members(packet.destination);
    if (members.empty()) {
        ++counters_.no_queue;
        return;
    }
    counters_.copies += members.size() - 1;
    for (const std::uint32_t number : members) {
        dispatch(at, lookup(number), packet);
    }
}

// A CNP for a marked packet, or with the NAK for packets lost before this one. Datagrams have no
// flow at their sender that a notification could slow down.
void Transport::notify_congestion(Picoseconds at, const Connection& connection,
                                  const ReceivedPacket& packet, bool lost) {
    if (connection.service == WireService::ud || packet.kind == NetworkKind::roce_v1) return;
    const unsigned priority = connection.path.description().priority;
    const NotificationPoint::Packet about{packet.source, packet.destination,
                                          connection.attributes.remote_qp, packet.source_port,
                                          priority};
    if (!(lost ? notification_point_.lost(at, about) : notification_point_.marked(at, about))) {
        return;
    }
    const Path path =
        reply_path(packet, static_cast<std::uint8_t>(notification_point_.cnp_dscp() << 2),
                   notification_point_.cnp_priority(priority), setup_.addresses);
    TransportHeaders headers;
    headers.opcode = kCnpOpcode;
    headers.becn = true;
    headers.pkey = connection.attributes.pkey;
    headers.destination_qp = connection.attributes.remote_qp;
    transmit(at, path, build(setup_.frames, path, headers, 0, 0, next_identification()));
}

void Transport::dispatch(Picoseconds at, Connection* connection, const ReceivedPacket& packet) {
    const TransportHeaders& headers = packet.headers;
    if (connection == nullptr || (headers.opcode != kCnpOpcode &&
                                  (headers.service() != connection->service ||
                                   !allowed(headers.service(), headers.operation())))) {
        ++counters_.no_queue;
        return;
    }
    if (!connection->receives) {
        ++counters_.not_ready;
        return;
    }
    at = connection->known_until =
        std::max(environment_.context_of(connection->number, at), connection->known_until);
    environment_.occupied_until = std::max(environment_.occupied_until, at);
    const QpAttributes& attributes = connection->attributes;
    if (!connection->management && !same_partition(headers.pkey, attributes.pkey)) {
        ++counters_.bad_pkey;
        return;
    }
    if (connection->service == WireService::ud) {
        if (headers.queue_key != attributes.queue_key) {
            ++counters_.bad_qkey;
            return;
        }
    } else {
        const Path::Description& path = connection->path.description();
        if (!same_gid(packet.source, path.destination) ||
            !same_gid(packet.destination, path.source)) {
            ++counters_.bad_address;
            return;
        }
    }
    if (packet.congestion_experienced()) notify_congestion(at, *connection, packet, false);
    if (headers.opcode == kCnpOpcode) {
        ++counters_.notifications;
        if (connection->rate != nullptr) connection->rate->notified(at);
        return;
    }
    if (headers.traits().request) {
        ++counters_.requests;
        const bool told = connection->responder.nak_in_flight;
        const bool ahead =
            psn_distance(headers.psn, responder_.expected_psn(*connection)) > 0;
        responder_.request(*connection, at, packet);
        if (ahead && !told && connection->responder.nak_in_flight) {
            notify_congestion(at + setup_.timing.nak, *connection, packet, true);
        }
    } else if (connection->sends) {
        ++counters_.responses;
        requester_.response(*connection, at, packet);
    } else {
        ++counters_.not_ready;
    }
}

}  // namespace cxsim::roce
