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
                        .ready = at});
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
                      .ready = at};
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

std::optional<std::uint64_t> Responder::change(const TransportHeaders& headers,
                                               std::span<const model::HostRange> place,
                                               Picoseconds& at) {
    const Picoseconds work = environment_.timing.atomic;
    const Picoseconds done = environment_.atomic_stage.reserve(at, work);
    at = done;
    if (environment_.synthetic) return 0;
    std::array<std::byte, kAtomicBytes> bytes{};
    RangeCursor cursor;
    const model::DmaResult got =
        gather(environment_.host, environment_.function, done - work, place, cursor, 0, bytes);
    if (!got.ok()) return std::nullopt;
    // Memory holds the host's order, little-endian; packets hold the number.
    const auto original = model::load_le<std::uint64_t>(bytes.data());
    const bool swap = headers.operation() == Operation::compare_swap;
    const std::uint64_t value = !swap                         ? original + headers.swap_add
                                : original == headers.compare ? headers.swap_add
                                                              : original;
    model::store_le<std::uint64_t>(bytes.data(), value);
    cursor = {};
    const model::DmaResult put =
        scatter(environment_.host, environment_.function, got.finish, place, cursor, 0, bytes);
    if (!put.ok()) return std::nullopt;
    at = std::max(done, got.finish);
    return original;
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
    Picoseconds done = at;
    const std::optional<std::uint64_t> original = change(headers, resource.ranges, done);
    if (!original) {
        refuse(connection, at, NakCode::remote_operational_error);
        return;
    }
    environment_.queues.count(connection.qp, "rx_atomic_requests", 1);
    state.msn = psn_add(state.msn, 1);
    ++environment_.counters.messages_received;
    resource.valid = true;
    resource.atomic = true;
    resource.psn = headers.psn;
    resource.packets = 1;
    resource.msn = state.msn;
    resource.original = *original;
    state.expected = psn_add(state.expected, 1);
    append(connection, {.kind = Response::Kind::atomic,
                        .syndrome = aeth_syndrome(AethKind::ack, kUnlimitedCredits),
                        .psn = headers.psn,
                        .msn = resource.msn,
                        .resource = index,
                        .ready = done + environment_.timing.acknowledge});
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
                        .ready = at + environment_.timing.acknowledge});
}

}  // namespace cxsim::roce
