// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/soak/loose_end.h"

#include <fmt/format.h>

namespace cxsim::test {

using scenarios::Completion;
using scenarios::CompletionKind;
using scenarios::QpService;
using scenarios::SendOp;
using scenarios::Sge;

namespace {

constexpr std::uint64_t kLabel = 8;         // a message begins with its serial
constexpr std::uint64_t kNetworkHeader = 40;  // of a datagram
constexpr std::uint64_t kMtu = 1024;  // ConnectionOptions' own
constexpr unsigned kReceives = 64;
constexpr std::uint32_t kQueueKey = 0x11111111;

}  // namespace

LooseEnd::LooseEnd(const SoakOptions& options, SoakStation& station, SoakShared& shared,
                   Pattern& pattern, QpService service, unsigned index, unsigned side)
    : options_(options),
      station_(station),
      pattern_(pattern),
      name_(fmt::format("{} pair {} of card {}", service == QpService::uc ? "UC" : "UD", index,
                        side)),
      identity_(1000 + (index * 2 + side) * 2 + (service == QpService::ud ? 1 : 0)),
      posted_(options.slots) {
    scenarios::VerbsDriver& verbs = station.verbs;
    const std::uint64_t begin = options.slots * options.longest;
    const std::uint64_t room = options.longest + kNetworkHeader;
    region_ = &verbs.create_mr(verbs.pd(), begin + ReceivePool::bytes_of(kReceives, room));
    scenarios::QpOptions qp;
    qp.service = service;
    qp.send_requests = options.slots;
    qp.receive_requests = kReceives;
    qp_ = &verbs.create_qp(verbs.pd(), *shared.send_cq, *shared.receive_cq, qp);
    pool_ = std::make_unique<ReceivePool>(
        *region_, begin, kReceives, room, model::RandomStream(options.seed, "soak." + name_),
        [this](std::uint64_t id, std::span<const Sge> sges) {
            return qp_->post_receive(id, sges);
        });
}

void LooseEnd::connect(LooseEnd& peer) {
    peer_ = &peer;
    peer.peer_ = this;
    constexpr std::uint8_t kAddress = scenarios::VerbsDriver::kIpv4V2;
    if (datagrams()) {
        scenarios::ConnectionOptions options;
        options.queue_key = kQueueKey;
        qp_->connect(options);
        peer.qp_->connect(options);
        to_peer_ = peer.station_.verbs.path_to(kAddress);
        peer.to_peer_ = station_.verbs.path_to(kAddress);
    } else {
        scenarios::connect(*qp_, station_.verbs, *peer.qp_, peer.station_.verbs, {}, kAddress);
    }
    pool_->post_all();
    peer.pool_->post_all();
}

std::uint64_t LooseEnd::size_of(std::uint64_t serial) const {
    const std::uint64_t most = datagrams() ? kMtu : options_.longest;
    return kLabel + mix(number_of(serial)) % (most - kLabel + 1);
}

void LooseEnd::fail(std::uint64_t serial, const char* what) const {
    throw SoakFailure(fmt::format("seed {}, {} (QP {:#x}), message {}: {}", options_.seed, name_,
                                  qp_->number(), serial, what));
}

void LooseEnd::post() {
    const std::uint64_t serial = next_serial_++;
    const std::uint64_t bytes = size_of(serial);
    const std::uint64_t at = serial % options_.slots * options_.longest;
    std::ranges::copy(pattern_.make(number_of(serial), bytes), region_->bytes().begin() +
                                                                    static_cast<std::ptrdiff_t>(at));
    std::memcpy(region_->bytes().data() + at, &serial, kLabel);
    const Sge piece = region_->sge(at, bytes);
    posted_[serial % options_.slots] = station_.host.now();
    const bool immediate = immediate_of(serial);
    if (!qp_->post_send({.id = serial,
                         .op = immediate ? SendOp::send_immediate : SendOp::send,
                         .sges = {&piece, 1},
                         .signaled = serial % 2 == 1,
                         .immediate = static_cast<std::uint32_t>(serial),
                         .to = &to_peer_,
                         .remote_qpn = peer_->qp_->number(),
                         .queue_key = kQueueKey})) {
        fail(serial, "the send queue is full");
    }
}

void LooseEnd::sent(const Completion& done) {
    if (!done.ok()) fail(done.id, "failed");
    // Every second one is signaled.
    if (done.id != next_done_ + 1) fail(done.id, "completed out of order, or twice");
    next_done_ = done.id + 1;
}

void LooseEnd::received(const Completion& done) {
    if (!done.ok()) fail(done.id, "a receive failed");
    const std::uint64_t header = datagrams() ? kNetworkHeader : 0;
    if (done.bytes < header + kLabel) fail(done.id, "received with a length that none has");
    // The label may begin in the middle of a piece, which are never short.
    std::uint64_t serial = 0;
    std::memcpy(&serial, pool_->head(done.id, header + kLabel).data() + header, kLabel);
    if (serial >= peer_->next_serial_) fail(serial, "received what was never sent");
    const std::uint64_t bytes = peer_->size_of(serial);
    if (done.bytes != header + bytes) peer_->fail(serial, "received with another length");
    if (done.source_qpn != peer_->qp_->number()) peer_->fail(serial, "received from another");
    const bool immediate = peer_->immediate_of(serial);
    if (done.kind != (immediate ? CompletionKind::received_immediate : CompletionKind::received) ||
        (immediate && done.immediate != static_cast<std::uint32_t>(serial))) {
        peer_->fail(serial, "received as another operation or with another immediate");
    }
    std::vector<std::byte> message(header + bytes);
    const auto head = pool_->head(done.id, header);
    std::ranges::copy(head, message.begin());
    std::ranges::copy(pattern_.make(peer_->number_of(serial), bytes),
                      message.begin() + static_cast<std::ptrdiff_t>(header));
    std::memcpy(message.data() + header, &serial, kLabel);
    if (!pool_->check(done.id, message, datagrams())) peer_->fail(serial, "what was received is wrong");
    pool_->post(done.id);
    if (seen_.size() <= serial) seen_.resize(serial + 1);
    if (seen_[serial]) {
        ++copies_;
    } else {
        seen_[serial] = true;
        ++arrived_;
    }
}

void LooseEnd::check_age(model::Picoseconds now) {
    if (idle()) return;
    if (now - posted_[next_done_ % options_.slots] > options_.stuck) fail(next_done_, "stuck");
}

}  // namespace cxsim::test
