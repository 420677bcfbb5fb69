// SPDX-License-Identifier: Apache-2.0
// READ and atomics: executed once, remembered for duplicates (IBTA volume 1, sections 9.4.4, 9.4.5
// and 9.7.5.1).
#include "model/base/endian.h"
#include "roce/responder/responder.h"
#include "roce/responder/syndromes.h"
#include "roce/transport/memory.h"

#include <algorithm>
#include <array>

namespace cxsim::roce {
namespace {

using model::Picoseconds;

constexpr std::uint32_t kAtomicBytes = 8;

std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
    return std::max(1U, (bytes + mtu - 1) / mtu);
}

}  // namespace

/// Whether the peer keeps to the number of READs and atomics under way that was agreed on.
bool Responder::has_resource(const Connection& connection) const {
    const auto taken =
        std::ranges::count_if(connection.responder.responses, [](const Response& response) {
            return !response.replay && (response.kind == Response::Kind::read ||
                                        response.kind == Response::Kind::atomic);
        });
    return static_cast<std::uint32_t>(taken) < connection.attributes.responder_resources;
}

/// The oldest one is forgotten. has_resource() has been true, so its answer has left; only one to a
/// late duplicate may still be under way.
std::uint32_t Responder::take_resource(Connection& connection) {
    ResponderState& state = connection.responder;
    if (state.resources.size() < connection.attributes.responder_resources) {
        state.next_resource = static_cast<std::uint32_t>(state.resources.size());
        state.resources.resize(connection.attributes.responder_resources);
    }
    const std::uint32_t index = state.next_resource;
    state.next_resource = (index + 1) % static_cast<std::uint32_t>(state.resources.size());
    const auto replays = std::erase_if(state.responses, [index](const Response& response) {
        return response.replay && response.resource == index;
    });
    if (replays != 0) wake(connection);
    return index;
}

bool Responder::translate_read(Connection& connection, const TransportHeaders& headers,
                               ResponderResource& resource) {
    resource.ranges.clear();
    resource.cursor = {};
    if (headers.dma_bytes == 0) return true;  // IBTA: the key of an empty READ is not looked at
    const model::TranslationRequest request{.key = headers.key,
                                            .pd = connection.attributes.pd,
                                            .queue_number = connection.number,
                                            .address = headers.address,
                                            .bytes = headers.dma_bytes,
                                            .access = model::Access::remote_read};
    return environment_.queues.translate(request, resource.ranges) == model::TranslationError::none;
}

/// When key and translations of a request of `bytes` decided on at `at` are found.
Picoseconds Responder::place_known(Picoseconds at, std::uint32_t bytes) const {
    return bytes == 0 ? at : at + environment_.timing.look_up;
}

void Responder::read(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const TransportHeaders& headers = packet.headers;
    if (!connection.attributes.remote_read) {
        refuse(connection, at, NakCode::remote_access_error);
        return;
    }
    if (headers.dma_bytes > kLargestMessage || !has_resource(connection)) {
        refuse(connection, at, NakCode::invalid_request);
        return;
    }
    const std::uint32_t index = take_resource(connection);
    ResponderResource& resource = state.resources[index];
    resource.valid = false;
    if (!translate_read(connection, headers, resource)) {
        refuse(connection, at, NakCode::remote_access_error);
        return;
    }
    environment_.queues.count(connection.qp, "rx_read_requests", 1);
    // The message counts with its request: duplicates of it must not count again.
    state.msn = psn_add(state.msn, 1);
    ++environment_.counters.messages_received;
    resource.valid = true;
    resource.atomic = false;
    resource.psn = headers.psn;
    resource.packets = packets_of(headers.dma_bytes, connection.attributes.mtu);
    resource.msn = state.msn;
    resource.address = headers.address;
    resource.key = headers.key;
    resource.bytes = headers.dma_bytes;
    state.expected = psn_add(state.expected, resource.packets);
    append(connection, {.kind = Response::Kind::read,
                        .syndrome = aeth_syndrome(AethKind::ack, kUnlimitedCredits),
                        .psn = headers.psn,
                        .msn = resource.msn,
                        .resource = index,
                        .bytes = headers.dma_bytes,
                        .packets = resource.packets,
                        .ready = place_known(at, headers.dma_bytes)});
}

// The peer misses responses from some PSN on. What is still to be sent of the READ is replaced;
// what belongs to later requests stays where it is, behind.
void Responder::read_again(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const TransportHeaders& headers = packet.headers;
    const auto found = std::ranges::find_if(state.resources, [&](const ResponderResource& one) {
        return one.valid && !one.atomic && ((headers.psn - one.psn) & kPsnMask) < one.packets;
    });
    if (found == state.resources.end()) {
        ++environment_.counters.dropped_request;
        return;
    }
    ResponderResource& resource = *found;
    const std::uint64_t offset =
        std::uint64_t{(headers.psn - resource.psn) & kPsnMask} * connection.attributes.mtu;
    // A rest of what was asked for, and still allowed; anything else is no duplicate.
    if (headers.key != resource.key || headers.address != resource.address + offset ||
        offset + headers.dma_bytes > resource.bytes ||
        !translate_read(connection, headers, resource)) {
        ++environment_.counters.dropped_request;
        return;
    }
    const auto index = static_cast<std::uint32_t>(found - state.resources.begin());
    Response response{.kind = Response::Kind::read,
                      .syndrome = aeth_syndrome(AethKind::ack, kUnlimitedCredits),
                      .replay = true,
                      .psn = headers.psn,
                      .msn = resource.msn,
                      .resource = index,
                      .bytes = headers.dma_bytes,
                      .packets = packets_of(headers.dma_bytes, connection.attributes.mtu),
                      .ready = place_known(at, headers.dma_bytes)};
    const auto under_way = std::ranges::find_if(state.responses, [&](const Response& one) {
        return one.kind == Response::Kind::read && one.resource == index;
    });
    if (under_way == state.responses.end()) {
        insert(connection, response);
        return;
    }
    response.replay = under_way->replay;
    *under_way = response;
    wake(connection);
}

/// Whether the atomic at the head of the responses may be executed now; if not, it has been seen to
/// that it is later. One of a QP is under way at a time: the next one waits behind its answer.
bool Responder::may_change(Connection& connection, Response& response) {
    const Picoseconds now = environment_.calendar.now();
    if (!response.admitted) {
        response.admitted = true;
        const Picoseconds work = environment_.timing.atomic;
        response.ready = environment_.atomic_stage.reserve(now, work) - work;
    }
    response.ready = std::max(
        response.ready, lock_of(connection.responder.resources[response.resource].address).until);
    if (response.ready <= now) return true;
    wake_at(connection, response.ready);
    return false;
}

/// Reads, changes and writes 8 bytes. False: the host refused; a NAK stands in the place of all
/// responses.
bool Responder::change(Connection& connection, Response& response) {
    ResponderState& state = connection.responder;
    ResponderResource& resource = state.resources[response.resource];
    const Picoseconds now = environment_.calendar.now();
    Picoseconds done = now + environment_.timing.atomic;
    if (!environment_.synthetic) {
        const std::optional<Picoseconds> changed = change_memory(resource);
        if (!changed) {
            const std::uint32_t psn = response.psn;
            state.responses.clear();
            state.expected = psn;
            refuse(connection, now, NakCode::remote_operational_error);
            return false;
        }
        done = std::max(done, *changed);
    }
    environment_.queues.count(connection.qp, "rx_atomic_requests", 1);
    response.executed = true;
    response.ready = done + environment_.timing.acknowledge;
    return true;
}

/// Returns when the original is known; nothing: the host refused.
std::optional<Picoseconds> Responder::change_memory(ResponderResource& resource) {
    const Picoseconds now = environment_.calendar.now();
    const std::span<const model::HostRange> place = resource.ranges;
    std::array<std::byte, kAtomicBytes> bytes{};
    RangeCursor cursor;
    const Picoseconds there =
        translated(environment_.caches, place, cursor, 0, kAtomicBytes, now);
    const model::DmaResult got =
        gather(environment_.host, environment_.function, there, place, cursor, 0, bytes);
    if (!got.ok()) return std::nullopt;
    AtomicLock& lock = lock_of(resource.address);
    Picoseconds known = got.finish;
    // What the last atomic here wrote is on its way to memory: the card has it, and does not wait
    // until it could be read from there.
    if (lock.address == resource.address && lock.visible > there) {
        known = std::min(known, there + environment_.timing.atomic_forward);
    }
    // Memory holds the host's order, little-endian; packets hold the number.
    resource.original = model::load_le<std::uint64_t>(bytes.data());
    const std::uint64_t value =
        !resource.swaps                         ? resource.original + resource.swap_add
        : resource.original == resource.compare ? resource.swap_add
                                                : resource.original;
    model::store_le<std::uint64_t>(bytes.data(), value);
    cursor = {};
    const model::DmaResult put =
        scatter(environment_.host, environment_.function, known, place, cursor, 0, bytes);
    if (!put.ok()) return std::nullopt;
    lock = {resource.address, known, put.finish};
    return known;
}

void Responder::atomic(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const TransportHeaders& headers = packet.headers;
    if (!connection.attributes.remote_atomic) {
        refuse(connection, at, NakCode::remote_access_error);
        return;
    }
    if (headers.address % kAtomicBytes != 0 || !has_resource(connection)) {
        refuse(connection, at, NakCode::invalid_request);
        return;
    }
    const std::uint32_t index = take_resource(connection);
    ResponderResource& resource = state.resources[index];
    resource.valid = false;
    resource.ranges.clear();
    const model::TranslationRequest request{.key = headers.key,
                                            .pd = connection.attributes.pd,
                                            .queue_number = connection.number,
                                            .address = headers.address,
                                            .bytes = kAtomicBytes,
                                            .access = model::Access::atomic};
    if (environment_.queues.translate(request, resource.ranges) != model::TranslationError::none) {
        refuse(connection, at, NakCode::remote_access_error);
        return;
    }
    // As of a READ: the message counts with its request.
    state.msn = psn_add(state.msn, 1);
    ++environment_.counters.messages_received;
    resource.valid = true;
    resource.atomic = true;
    resource.psn = headers.psn;
    resource.packets = 1;
    resource.msn = state.msn;
    resource.address = headers.address;
    resource.swaps = headers.operation() == Operation::compare_swap;
    resource.swap_add = headers.swap_add;
    resource.compare = headers.compare;
    state.expected = psn_add(state.expected, 1);
    append(connection, {.kind = Response::Kind::atomic,
                        .syndrome = aeth_syndrome(AethKind::ack, kUnlimitedCredits),
                        .psn = headers.psn,
                        .msn = resource.msn,
                        .resource = index,
                        .ready = place_known(at, kAtomicBytes)});
}

// Memory is left alone: the peer gets what was there the first time.
void Responder::atomic_again(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const auto found = std::ranges::find_if(state.resources, [&](const ResponderResource& one) {
        return one.valid && one.atomic && one.psn == packet.headers.psn;
    });
    if (found == state.resources.end()) {
        ++environment_.counters.dropped_request;
        return;
    }
    const auto index = static_cast<std::uint32_t>(found - state.resources.begin());
    const bool under_way = std::ranges::any_of(state.responses, [&](const Response& one) {
        return one.kind == Response::Kind::atomic && one.resource == index;
    });
    if (under_way) return;
    insert(connection, {.kind = Response::Kind::atomic,
                        .syndrome = aeth_syndrome(AethKind::ack, kUnlimitedCredits),
                        .replay = true,
                        .psn = found->psn,
                        .msn = found->msn,
                        .resource = index,
                        .executed = true,
                        .ready = at + environment_.timing.acknowledge});
}

}  // namespace cxsim::roce
