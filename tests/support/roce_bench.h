// SPDX-License-Identifier: Apache-2.0
// A function's transport without card and wire: flat host memory, queues that write down what they
// are told, an output that takes packets apart, one connection per call. For tests of requester and
// responder.
#pragma once

#include "model/ports/frame.h"
#include "model/sim/calendar.h"
#include "roce/transport/addressing.h"
#include "roce/transport/connection.h"
#include "roce/transport/environment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cxsim::test {

/// A megabyte of host memory from address 0; the rest of the address space refuses.
class FlatHostBus final : public model::HostBus {
  public:
    static constexpr std::size_t kBytes = 1 << 20;

    model::Picoseconds read_latency = model::nanoseconds(500);
    model::Picoseconds write_latency = model::nanoseconds(200);
    std::vector<std::byte> memory = std::vector<std::byte>(kBytes);
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    model::Picoseconds last_write_start;
    /// Accesses from here on are refused (completer abort).
    std::uint64_t limit = kBytes;

    model::DmaResult read(model::FunctionId, model::Picoseconds start, model::HostAddress address,
                          std::span<std::byte> into) override {
        ++reads;
        if (!inside(address, into.size())) {
            return {model::DmaStatus::completer_abort, start + read_latency};
        }
        std::ranges::copy(bytes(address.value, into.size()), into.begin());
        return {model::DmaStatus::ok, start + read_latency};
    }
    model::DmaResult write(model::FunctionId, model::Picoseconds start, model::HostAddress address,
                           std::span<const std::byte> from) override {
        ++writes;
        last_write_start = start;
        if (!inside(address, from.size())) {
            return {model::DmaStatus::completer_abort, start + write_latency};
        }
        std::ranges::copy(from, bytes(address.value, from.size()).begin());
        return {model::DmaStatus::ok, start + write_latency};
    }
    model::Picoseconds raise_interrupt(model::FunctionId, model::Picoseconds start,
                                       std::uint32_t) override {
        return start + write_latency;
    }

    std::span<std::byte> bytes(std::uint64_t address, std::size_t count) {
        return std::span(memory).subspan(static_cast<std::size_t>(address), count);
    }
    /// Byte i becomes (seed + i) mod 251: a shifted or repeated stretch is seen.
    void pattern(std::uint64_t address, std::size_t count, unsigned seed = 0) {
        for (std::size_t i = 0; i < count; ++i) {
            bytes(address, count)[i] = static_cast<std::byte>((seed + i) % 251);
        }
    }

  private:
    bool inside(model::HostAddress address, std::size_t count) const {
        return address.value + count <= std::min<std::uint64_t>(limit, kBytes);
    }
};

/// Memory behind a key: `address` of the key's space lies at `host`.
struct FakeRegion {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t host = 0;
    std::uint32_t pd = 0;
    bool remote_read = true;
    bool remote_write = true;
    bool atomic = true;
    bool zeros = false;
    /// Ranges are cut at multiples of it.
    std::uint64_t page = 4096;
};

class FakeQpQueues final : public model::QpQueues {
  public:
    struct Sent {
        model::Picoseconds at;
        model::SendDone done;  ///< its data are gone
        std::uint32_t qp = 0;
        std::vector<std::byte> data{};
    };
    struct SendFailure {
        model::Picoseconds at;
        std::uint16_t wqe_index = 0;
        model::WqeStatus status;
    };
    struct Received {
        model::Picoseconds at;
        std::uint16_t wqe_index = 0;
        std::uint32_t shared_number = 0;
        std::array<std::byte, 64> cqe{};
        bool solicited = false;
        std::uint32_t qp = 0;
    };
    struct ReceiveFailure {
        model::Picoseconds at;
        std::uint16_t wqe_index = 0;
        model::WqeStatus status;
    };
    struct Event {
        model::Picoseconds at;
        prm::EventType type{};
        bool error = false;
    };

    std::vector<Sent> sent;
    std::vector<SendFailure> send_failures;
    std::vector<model::Picoseconds> room;
    std::vector<Received> received;
    std::vector<ReceiveFailure> receive_failures;
    std::vector<Event> events;
    std::vector<std::uint32_t> invalidated;
    std::map<std::string_view, std::uint64_t> counters;

    std::deque<model::PostedReceive> posted;
    /// What take_receive says when nothing is posted.
    model::ReceiveVerdict empty_verdict = model::ReceiveVerdict::no_buffer;
    model::Picoseconds receive_fetch = model::nanoseconds(0);
    std::map<std::uint32_t, FakeRegion> regions;  ///< by key
    bool invalidate_allowed = true;
    /// Called from within send_room(): the queue brings more.
    std::function<void()> on_room;
    /// Called where the QP goes into error by what the responder reports, if set.
    std::function<void()> stop;

    void post_receive(std::uint16_t index, std::uint64_t host, std::uint64_t bytes,
                      std::uint32_t shared_number = 0) {
        model::PostedReceive receive;
        receive.wqe_index = index;
        receive.shared_number = shared_number;
        receive.bytes = bytes;
        if (bytes != 0) receive.ranges.push_back({model::HostAddress{host}, bytes});
        posted.push_back(std::move(receive));
    }
    std::uint64_t counter(std::string_view name) const {
        const auto found = counters.find(name);
        return found == counters.end() ? 0 : found->second;
    }

    void send_done(model::Qp& qp, model::Picoseconds at, const model::SendDone& done) override {
        sent.push_back({at, done, qp.id.number, {done.data.begin(), done.data.end()}});
        sent.back().done.data = {};
    }
    void send_failed(model::Qp&, model::Picoseconds at, std::uint16_t wqe_index,
                     const model::WqeStatus& status) override {
        send_failures.push_back({at, wqe_index, status});
    }
    void send_room(model::Qp&, model::Picoseconds at) override {
        room.push_back(at);
        if (on_room) on_room();
    }
    model::ReceiveVerdict take_receive(model::Qp&, model::Picoseconds& at,
                                       model::PostedReceive& into) override {
        if (posted.empty()) {
            if (empty_verdict == model::ReceiveVerdict::failed && stop) stop();
            return empty_verdict;
        }
        at += receive_fetch;
        const model::PostedReceive& next = posted.front();
        into.wqe_index = next.wqe_index;
        into.shared_number = next.shared_number;
        into.bytes = next.bytes;
        into.ranges.assign(next.ranges.begin(), next.ranges.end());
        posted.pop_front();
        return model::ReceiveVerdict::delivered;
    }
    void receive_done(model::Qp& qp, model::Picoseconds at,
                      const model::ReceiveDone& done) override {
        Received entry{at, done.wqe_index, done.shared_number, {}, done.solicited, qp.id.number};
        std::ranges::copy(done.cqe, entry.cqe.begin());
        received.push_back(entry);
    }
    void receive_failed(model::Qp&, model::Picoseconds at, const model::PostedReceive& receive,
                        const model::WqeStatus& status) override {
        receive_failures.push_back({at, receive.wqe_index, status});
        if (stop) stop();
    }
    void responder_error(model::Qp&, model::Picoseconds at, prm::EventType type) override {
        events.push_back({at, type, true});
        if (stop) stop();
    }
    void event(model::Qp&, model::Picoseconds at, prm::EventType type) override {
        events.push_back({at, type, false});
    }
    model::TranslationError translate(const model::TranslationRequest& request,
                                      std::vector<model::HostRange>& out) override {
        const auto found = regions.find(request.key);
        if (found == regions.end()) return model::TranslationError::unknown_key;
        const FakeRegion& region = found->second;
        if (region.pd != request.pd) return model::TranslationError::wrong_domain;
        if (!permits(region, request.access)) return model::TranslationError::no_permission;
        if (request.bytes == 0) return model::TranslationError::none;
        if (request.address < region.address || request.bytes > region.bytes ||
            request.address - region.address > region.bytes - request.bytes) {
            return model::TranslationError::out_of_range;
        }
        std::uint64_t offset = request.address - region.address;
        for (std::uint64_t left = request.bytes; left > 0;) {
            const std::uint64_t n = std::min(left, region.page - offset % region.page);
            out.push_back({model::HostAddress{region.host + offset}, n, region.zeros});
            offset += n;
            left -= n;
        }
        return model::TranslationError::none;
    }
    bool invalidate(model::Qp&, std::uint32_t key) override {
        if (!invalidate_allowed) return false;
        invalidated.push_back(key);
        return true;
    }
    void count(model::Qp&, std::string_view name, std::uint64_t n) override {
        counters[name] += n;
    }

  private:
    static bool permits(const FakeRegion& region, model::Access access) {
        switch (access) {
            case model::Access::remote_read: return region.remote_read;
            case model::Access::remote_write: return region.remote_write;
            case model::Access::atomic: return region.atomic;
            default: return true;
        }
    }
};

/// Keeps every packet, taken apart.
class RecordingOutput final : public roce::PacketOutput {
  public:
    struct Record {
        model::Picoseconds ready;
        model::FramePtr frame;  ///< the packet's payload lies in it
        roce::Parsed parsed = roce::Parsed::malformed;
        roce::ReceivedPacket packet;

        const roce::TransportHeaders& headers() const { return packet.headers; }
        roce::Operation operation() const { return packet.headers.operation(); }
    };

    std::vector<Record> packets;
    bool keep = true;  ///< off: only counted, so that nothing grows
    std::uint64_t count = 0;
    /// room_at() says at least this.
    model::Picoseconds busy_until;
    std::function<void(const Record&)> on_packet;

    void transmit(model::Picoseconds ready, const roce::Path& path,
                  model::FramePtr frame) override {
        ++count;
        if (!keep && !on_packet) return;
        roce::seal(*frame, path);
        Record record;
        record.ready = ready;
        record.parsed = roce::parse(*frame, record.packet);
        record.frame = std::move(frame);
        if (keep) {
            packets.push_back(std::move(record));
            if (on_packet) on_packet(packets.back());
        } else {
            on_packet(record);
        }
    }
    model::Picoseconds room_at(model::Picoseconds at, const roce::Path&) override {
        return std::max(at, busy_until);
    }
    std::uint16_t next_identification() override { return ++identification_; }

  private:
    std::uint16_t identification_ = 0;
};

class FakeAddressTable final : public roce::AddressTable {
  public:
    std::map<std::uint32_t, roce::LocalAddress> entries;
    std::map<roce::Gid, std::vector<std::uint32_t>> groups;

    std::optional<roce::LocalAddress> address(std::uint32_t index) const override {
        const auto found = entries.find(index);
        if (found == entries.end()) return std::nullopt;
        return found->second;
    }
    bool enabled() const override { return true; }
    std::span<const std::uint32_t> members(const roce::Gid& group) const override {
        const auto found = groups.find(group);
        return found == groups.end() ? std::span<const std::uint32_t>() : found->second;
    }
};

class FakeConnections final : public roce::ConnectionFinder {
  public:
    std::map<std::uint32_t, roce::Connection*> connections;
    std::uint64_t stale = 0;

    roce::Connection* find(std::uint32_t number, std::uint64_t tag) override {
        const auto found = connections.find(number);
        if (found != connections.end() && found->second->tag == tag) return found->second;
        ++stale;
        return nullptr;
    }
};

struct RoceBench {
    static constexpr std::uint32_t kRemoteQp = 0x4321;

    model::Calendar calendar;
    FlatHostBus host;
    FakeQpQueues queues;
    model::FramePool frames;
    RecordingOutput output;
    roce::TransportTiming timing = default_timing();
    roce::TransportCounters counters;
    model::Timeline message_stage;
    model::Timeline packet_stage;
    model::Timeline atomic_stage;
    roce::Environment environment{.function = {},
                                  .calendar = calendar,
                                  .host = host,
                                  .queues = queues,
                                  .frames = frames,
                                  .output = output,
                                  .timing = timing,
                                  .counters = counters,
                                  .message_stage = message_stage,
                                  .packet_stage = packet_stage,
                                  .atomic_stage = atomic_stage};
    FakeConnections connections;
    FakeAddressTable addresses;

    RoceBench() {
        roce::LocalAddress local;
        local.kind = roce::NetworkKind::roce_v2_ipv4;
        local.gid = ipv4_gid(1);
        local.mac = {0x0200'0000'0001};
        addresses.entries[0] = local;
    }
    RoceBench(const RoceBench&) = delete;
    RoceBench& operator=(const RoceBench&) = delete;

    static roce::TransportTiming default_timing() {
        roce::TransportTiming t;
        t.message_per_qp = model::nanoseconds(50);
        t.message = model::nanoseconds(8);
        t.packet = model::nanoseconds(5);
        t.transmit = model::nanoseconds(100);
        t.receive = model::nanoseconds(100);
        t.acknowledge = model::nanoseconds(50);
        t.read = model::nanoseconds(10);
        t.atomic = model::nanoseconds(300);
        t.atomic_forward = model::nanoseconds(400);
        t.nak = model::microseconds(2);
        t.nak_read = model::microseconds(2);
        t.retransmit = model::microseconds(3);
        t.loopback = model::nanoseconds(200);
        return t;
    }

    /// ::ffff:192.0.2.<host>
    static roce::Gid ipv4_gid(std::uint8_t host) {
        roce::Gid gid{};
        gid[10] = gid[11] = std::byte{0xff};
        gid[12] = std::byte{192};
        gid[14] = std::byte{2};
        gid[15] = std::byte{host};
        return gid;
    }
    static roce::Path peer_path() {
        roce::Path::Description d;
        d.source_mac = {0x0200'0000'0001};
        d.destination_mac = {0x0200'0000'0002};
        d.source = ipv4_gid(1);
        d.destination = ipv4_gid(2);
        d.traffic_class = 0x02;
        return roce::Path(d);
    }

    /// A connection in RTS with a peer; PSNs start where the caller's changes say.
    roce::Connection& connect(std::uint32_t number, roce::WireService service = roce::WireService::rc,
                              const std::function<void(roce::QpAttributes&)>& change = {}) {
        auto& qp = qps_.emplace_back(std::make_unique<model::Qp>());
        qp->id = {model::ObjectKind::qp, number};
        qp->state = model::QpState::rts;
        auto& made = made_.emplace_back(std::make_unique<roce::Connection>(*qp));
        made->service = service;
        made->tag = ++next_tag_;
        made->receives = made->sends = true;
        made->path = peer_path();
        roce::QpAttributes& a = made->attributes;
        a.remote_qp = kRemoteQp;
        a.retry_count = 7;
        a.rnr_retry = 7;
        a.initiator_depth = 16;
        a.responder_resources = 16;
        a.remote_read = a.remote_write = a.remote_atomic = true;
        if (change) change(a);
        connections.connections[number] = made.get();
        return *made;
    }

    /// A packet as it arrives from the peer. `payload` must outlive its use.
    static roce::ReceivedPacket arrived(const roce::TransportHeaders& headers,
                                        std::span<const std::byte> payload = {}) {
        roce::ReceivedPacket packet;
        packet.source_mac = {0x0200'0000'0002};
        packet.destination_mac = {0x0200'0000'0001};
        packet.source = ipv4_gid(2);
        packet.destination = ipv4_gid(1);
        packet.traffic_class = 0x02;
        packet.hop_limit = 64;
        packet.source_port = 0xc001;
        packet.headers = headers;
        packet.payload = payload;
        packet.payload_bytes = static_cast<std::uint32_t>(payload.size());
        packet.frame_bytes = 14 + 20 + 8 + roce::transport_header_bytes(headers.opcode) +
                             packet.payload_bytes + 4;
        return packet;
    }

    /// Runs what is due until then.
    void run_until(model::Picoseconds time) { calendar.run_until(time); }
    void run_for(model::Picoseconds time) { calendar.run_until(calendar.now() + time); }

  private:
    std::vector<std::unique_ptr<model::Qp>> qps_;
    std::vector<std::unique_ptr<roce::Connection>> made_;
    std::uint64_t next_tag_ = 0;
};

}  // namespace cxsim::test
