// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/soak/rc_end.h"

#include <fmt/format.h>

#include <array>

namespace cxsim::test {

using model::Picoseconds;
using scenarios::Completion;
using scenarios::CompletionKind;
using scenarios::CompletionStatus;
using scenarios::SendOp;
using scenarios::SendRequest;
using scenarios::Sge;
using scenarios::VerbsDriver;

namespace {

constexpr std::uint64_t kSlack = 256;  // of a message's place: guards, gaps, alignment
constexpr std::uint64_t kGap = 8;      // between pieces
constexpr unsigned kMaxPieces = 4;
constexpr unsigned kMaxInline = 220;
constexpr std::uint64_t kHead = 64;    // of a region: the word for atomics
constexpr std::uint32_t kMtus[] = {1024, 4096, 2048, 512, 256, 4096, 1024, 4096};
constexpr std::uint8_t kAddresses[] = {VerbsDriver::kIpv4V2, VerbsDriver::kIpv4V2,
                                       VerbsDriver::kIpv6V2, VerbsDriver::kIpv4V2,
                                       VerbsDriver::kIpv4V1, VerbsDriver::kIpv4V2,
                                       VerbsDriver::kIpv6V2, VerbsDriver::kIpv6V1};
constexpr unsigned kPageLogs[] = {0, 12, 16, 14};

bool is_atomic(SendOp op) {
    return op == SendOp::compare_swap || op == SendOp::fetch_add;
}
bool is_write(SendOp op) {
    return op == SendOp::write || op == SendOp::write_immediate;
}
bool is_send(SendOp op) {
    return op == SendOp::send || op == SendOp::send_immediate || op == SendOp::send_invalidate;
}

std::uint64_t load_word(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

}  // namespace

// ---- Receives ----

ReceivePool::ReceivePool(scenarios::VerbsMr& region, std::uint64_t begin, unsigned count,
                         std::uint64_t longest, model::RandomStream random, Post post)
    : region_(region),
      begin_(begin),
      longest_(longest),
      random_(random),
      post_(std::move(post)),
      pieces_(count) {
    for (std::uint64_t id = 0; id < count; ++id) std::ranges::fill(place(id), kGuard);
}

std::span<std::byte> ReceivePool::place(std::uint64_t id) const {
    return region_.bytes().subspan(begin_ + id * (longest_ + kSlack), longest_ + kSlack);
}

std::span<const std::byte> ReceivePool::head(std::uint64_t id, std::size_t bytes) const {
    return place(id).subspan(pieces_[id].front().at, bytes);
}

void ReceivePool::post_all() {
    for (std::uint64_t id = 0; id < pieces_.size(); ++id) post(id);
}

// The longest message fits, in one to three pieces, of which the first is never short.
void ReceivePool::post(std::uint64_t id) {
    std::vector<Piece>& pieces = pieces_[id];
    pieces.clear();
    std::uint64_t at = kGuardBytes + random_.below(32);
    std::uint64_t left = longest_;
    for (std::uint64_t more = random_.below(3); more > 0 && left > 256; --more) {
        const std::uint64_t bytes = 128 + random_.below(std::min<std::uint64_t>(left - 128, 2000));
        pieces.push_back({at, bytes});
        at += bytes + kGap;
        left -= bytes;
    }
    pieces.push_back({at, left});
    std::array<Sge, kMaxPieces> sges;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        sges[i] = region_.sge(begin_ + id * (longest_ + kSlack) + pieces[i].at, pieces[i].bytes);
    }
    if (!post_(id, std::span(sges).first(pieces.size()))) {
        throw SoakFailure("a receive queue is full though its buffers have come back");
    }
}

bool ReceivePool::check(std::uint64_t id, std::span<const std::byte> message, bool alone) {
    const std::span<std::byte> all = place(id);
    std::uint64_t clean_to = 0;  // what lies before is right and is guard again
    bool right = true;
    const auto guard_until = [&](std::uint64_t end) {
        right = right && (!alone || is_guard(all.subspan(clean_to, end - clean_to)));
    };
    for (const Piece& piece : pieces_[id]) {
        const std::uint64_t bytes = std::min<std::uint64_t>(piece.bytes, message.size());
        if (bytes == 0) break;
        guard_until(piece.at);
        const auto got = all.subspan(piece.at, bytes);
        right = right && std::memcmp(got.data(), message.data(), bytes) == 0;
        std::memset(got.data(), static_cast<int>(kGuard), bytes);
        message = message.subspan(bytes);
        clean_to = piece.at + bytes;
    }
    guard_until(std::min<std::uint64_t>(clean_to + kGuardBytes, all.size()));
    if (!alone) std::ranges::fill(all, kGuard);
    return right && message.empty();
}

// ---- Setting up ----

RcEnd::RcEnd(const SoakOptions& options, SoakStation& station, SoakShared& shared,
             SoakTotals& totals, Pattern& pattern, unsigned index, unsigned side)
    : options_(options),
      station_(station),
      shared_(shared),
      totals_(totals),
      pattern_(pattern),
      name_(fmt::format("pair {} of card {}", index, side)),
      identity_(index * 2 + side + 1),
      mtu_(kMtus[index % std::size(kMtus)]),
      address_(kAddresses[index / 2 % std::size(kAddresses)]),
      random_(options.seed, fmt::format("soak.pair{}.side{}", index, side)),
      stride_(options.longest + kSlack) {
    VerbsDriver& verbs = station.verbs;
    const bool from_srq = index % 4 == 3;
    // Fewer than may be under way, so that some must be sent again.
    const unsigned receives = from_srq ? 0 : options.slots * 3 / 4;
    const std::uint64_t pool_begin = kHead + 2 * options.slots * stride_;
    region_ = &verbs.create_mr(verbs.pd(),
                               pool_begin + ReceivePool::bytes_of(receives, options.longest),
                               {.log_page_size = kPageLogs[index % std::size(kPageLogs)]});
    scenarios::QpOptions qp;
    qp.send_requests = 2 * options.slots;
    qp.receive_requests = receives;
    qp.max_send_sges = kMaxPieces;
    qp.max_inline = index % 2 == 0 ? kMaxInline : 0;
    qp.blue_flame = index % 3 == 0;
    qp.data_in_completions = index % 4 < 2;
    if (from_srq) qp.srq = shared.srq;
    qp_ = &verbs.create_qp(verbs.pd(), *shared.send_cq, *shared.receive_cq, qp);
    if (from_srq) return;
    pool_ = std::make_unique<ReceivePool>(
        *region_, pool_begin, receives, options.longest,
        model::RandomStream(options.seed, fmt::format("soak.receives{}.side{}", index, side)),
        [this](std::uint64_t id, std::span<const Sge> sges) {
            return qp_->post_receive(id, sges);
        });
}

void RcEnd::connect(RcEnd& peer) {
    peer_ = &peer;
    peer.peer_ = this;
    scenarios::ConnectionOptions options;
    options.mtu = static_cast<std::uint32_t>(mtu_);
    options.ack_timeout = 8;     // 1 ms
    options.min_rnr_timer = 1;   // 10 us
    const auto depth = static_cast<std::uint8_t>(identity_ / 2 % 5);
    options.log_initiator_depth = options.log_responder_resources = depth;
    options.log_ack_frequency = static_cast<std::uint8_t>(identity_ / 2 % 9);
    scenarios::connect(*qp_, station_.verbs, *peer.qp_, peer.station_.verbs, options, address_);
    for (RcEnd* end : {this, &peer}) {
        if (end->pool_ != nullptr) end->pool_->post_all();
        end->renew_window();
    }
}

// The window lies over the peer's region; only the peer's side can make it.
void RcEnd::renew_window() {
    VerbsDriver& verbs = station_.verbs;
    if (window_ != nullptr) verbs.destroy(*window_);
    window_ = &verbs.create_mr(verbs.pd(), region_->memory(), {.remote_invalidate = true});
    window_ready_ = true;
    window_gone_ = false;
}

/// `which`: 0 near, 1 far.
std::uint64_t RcEnd::slot(unsigned which, std::uint64_t serial) const {
    return kHead + (which * options_.slots + serial % options_.slots) * stride_;
}

// ---- Posting ----

SendOp RcEnd::draw_operation() {
    struct Weight {
        SendOp op;
        unsigned weight;
    };
    constexpr Weight kWeights[] = {{SendOp::send, 18},         {SendOp::send_immediate, 12},
                                   {SendOp::write, 25},        {SendOp::write_immediate, 12},
                                   {SendOp::read, 20},         {SendOp::compare_swap, 5},
                                   {SendOp::fetch_add, 7},     {SendOp::send_invalidate, 1}};
    std::uint64_t draw = random_.below(100);
    for (const Weight& each : kWeights) {
        if (draw < each.weight) {
            return each.op == SendOp::send_invalidate && !peer_->window_ready_ ? SendOp::send
                                                                               : each.op;
        }
        draw -= each.weight;
    }
    return SendOp::send;
}

std::uint64_t RcEnd::draw_size(SendOp op) {
    if (is_atomic(op)) return 8;
    const std::uint64_t draw = random_.below(100);
    if (draw < 4) return 0;
    const std::uint64_t limit = draw < 25   ? 256
                                : draw < 35 ? 2 * mtu_ + 2
                                            : options_.longest;
    const std::uint64_t bytes = 1 + random_.below(std::min(limit, options_.longest));
    // Whole packets are a case of their own.
    return random_.below(8) == 0 && bytes > mtu_ ? bytes / mtu_ * mtu_ : bytes;
}

void RcEnd::draw_pieces(Request& request, std::uint64_t begin) {
    std::uint64_t at = begin + kGuardBytes + random_.below(32);
    std::uint64_t left = request.bytes;
    const std::uint64_t count = is_atomic(request.op) ? 1 : 1 + random_.below(kMaxPieces);
    for (std::uint64_t i = 1; i < count && left > 0; ++i) {
        const std::uint64_t bytes = random_.below(left + 1);
        request.near.push_back({at, bytes});
        at += bytes + kGap;
        left -= bytes;
    }
    request.near.push_back({at, left});
}

/// Memory on both sides as it must be before the request.
void RcEnd::fill(Request& request, SendRequest& send) {
    const auto near = region_->bytes();
    const auto far = peer_->region_->bytes();
    const Piece& last = request.near.back();
    const std::uint64_t begin = slot(0, request.serial);
    const auto message = pattern_.make(number_of(request.serial), request.bytes);
    if (request.op == SendOp::read) {
        std::memset(near.data() + begin, static_cast<int>(kGuard),
                    last.at + last.bytes + kGuardBytes - begin);
        std::memcpy(far.data() + request.far, message.data(), message.size());
    } else {
        std::uint64_t done = 0;
        for (const Piece& piece : request.near) {
            std::memcpy(near.data() + piece.at, message.data() + done, piece.bytes);
            done += piece.bytes;
        }
    }
    if (is_write(request.op)) {
        std::memset(far.data() + request.far - kGuardBytes, static_cast<int>(kGuard),
                    request.bytes + 2 * kGuardBytes);
    }
    if (request.op == SendOp::read || is_write(request.op)) {
        send.remote_address = peer_->region_->address() + request.far;
        send.rkey = is_write(request.op) && peer_->window_ready_ && random_.below(4) == 0
                        ? peer_->window_->rkey()
                        : peer_->region_->rkey();
    }
}

void RcEnd::fill_atomic(Request& request, SendRequest& send) {
    const Piece& piece = request.near.front();
    std::memset(region_->bytes().data() + piece.at - kGuardBytes, static_cast<int>(kGuard),
                piece.bytes + 2 * kGuardBytes);
    send.remote_address = peer_->region_->address();
    send.rkey = peer_->region_->rkey();
    request.original = word_;
    ++shared_.atomics;
    if (request.op == SendOp::compare_swap) {
        const bool meets = random_.below(2) == 0;
        send.compare = meets ? word_ : ~word_;
        send.swap_add = random_();
        if (meets) word_ = send.swap_add;
        return;
    }
    request.shared_word = random_.below(2) == 0;
    if (!request.shared_word) {
        send.swap_add = random_();
        word_ += send.swap_add;
        return;
    }
    send.swap_add = 1 + random_.below(1000);
    send.remote_address = peer_->shared_.words->address();
    send.rkey = peer_->shared_.words->rkey();
    peer_->shared_.added += send.swap_add;
}

void RcEnd::post(bool last) {
    Request request;
    request.serial = next_serial_++;
    request.op = draw_operation();
    request.bytes = draw_size(request.op);
    request.far = slot(1, request.serial) + kGuardBytes + random_.below(64);
    request.posted = station_.host.now();
    request.takes_receive = is_send(request.op) || request.op == SendOp::write_immediate;
    draw_pieces(request, slot(0, request.serial));
    SendRequest send;
    send.id = request.serial;
    send.op = request.op;
    if (is_atomic(request.op)) {
        fill_atomic(request, send);
    } else {
        fill(request, send);
    }
    send.inlined = request.op != SendOp::read && !is_atomic(request.op) &&
                   request.bytes <= qp_->options().max_inline && random_.below(2) == 0;
    // A queue of which nothing is signaled never gets free again.
    request.signaled =
        last || unsignaled_ + 1 >= options_.slots / 2 || random_.below(2) == 0;
    unsignaled_ = request.signaled ? 0 : unsignaled_ + 1;
    send.signaled = request.signaled;
    send.solicited = random_.below(8) == 0;
    send.fence = random_.below(10) == 0;
    request.immediate = static_cast<std::uint32_t>(random_());
    if (request.op == SendOp::send_invalidate) {
        request.immediate = peer_->window_->rkey();
        peer_->window_ready_ = false;
    }
    send.immediate = request.immediate;
    std::array<Sge, kMaxPieces> sges;
    for (std::size_t i = 0; i < request.near.size(); ++i) {
        sges[i] = region_->sge(request.near[i].at, request.near[i].bytes);
    }
    send.sges = std::span(sges).first(request.near.size());
    shared_.writes += is_write(request.op) ? 1 : 0;
    shared_.reads += request.op == SendOp::read ? 1 : 0;
    ++shared_.messages;
    totals_.payload_posted += request.bytes;
    if (request.takes_receive) peer_->expected_.push_back(request.serial);
    under_way_.push_back(std::move(request));
    if (!qp_->post_send(send, false)) fail(under_way_.back(), "the send queue is full");
}

// ---- What came of it ----

void RcEnd::fail(const Request& request, const std::string& what) const {
    throw SoakFailure(fmt::format(
        "seed {}, {} (QP {:#x}, MTU {}), request {} (operation {:#x}, {} bytes, posted at {} us): "
        "{}",
        options_.seed, name_, qp_->number(), mtu_, request.serial,
        static_cast<unsigned>(request.op), request.bytes, request.posted.nanoseconds() / 1000,
        what));
}

void RcEnd::sent(const Completion& done) {
    if (under_way_.empty() || done.id < under_way_.front().serial || done.id >= next_serial_) {
        throw SoakFailure(fmt::format("{}: a completion for request {}, which is not under way",
                                      name_, done.id));
    }
    ++totals_.completions;
    if (!done.ok()) {
        broken(done);
        return;
    }
    Request* last = nullptr;
    for (Request& request : under_way_) {
        if (request.serial < next_done_) continue;
        if (request.serial > done.id) break;
        last = &request;
        require(request.serial == done.id || !request.signaled, request,
                "its completion is missing, a later one came");
        finish(request);
    }
    if (last == nullptr || last->serial != done.id) {
        throw SoakFailure(fmt::format("{}: request {} completed twice", name_, done.id));
    }
    require(last->signaled, *last, "completed though it asked for none");
    require(done.op == last->op, *last, "completed as another operation");
    if (last->op == SendOp::read || is_atomic(last->op)) {
        require(done.bytes == last->bytes, *last, "its completion tells of another length");
    }
    retire();
}

/// The request is done: its data are where they belong.
void RcEnd::finish(Request& request) {
    request.done = true;
    next_done_ = request.serial + 1;
    ++totals_.requests;
    totals_.payload += request.bytes;
    const auto near = std::span<const std::byte>(region_->bytes());
    if (is_atomic(request.op)) {
        const Piece& piece = request.near.front();
        const std::uint64_t original = load_word(near.subspan(piece.at, 8));
        if (request.shared_word) {
            require(original >= least_sum_, request, "the shared word went backwards");
            least_sum_ = original + 1;
        } else {
            require(original == request.original, request, "the original is another");
        }
        require(is_guard(near.subspan(piece.at - kGuardBytes, kGuardBytes)) &&
                    is_guard(near.subspan(piece.at + 8, kGuardBytes)),
                request, "bytes beside the original changed");
    } else if (request.op == SendOp::read) {
        const auto message = pattern_.make(number_of(request.serial), request.bytes);
        std::uint64_t at = 0;
        std::uint64_t clean_to = slot(0, request.serial);
        for (const Piece& piece : request.near) {
            require(is_guard(near.subspan(clean_to, piece.at - clean_to)), request,
                    "bytes beside the pieces changed");
            require(std::memcmp(near.data() + piece.at, message.data() + at, piece.bytes) == 0,
                    request, "what was read is wrong");
            at += piece.bytes;
            clean_to = piece.at + piece.bytes;
        }
        require(is_guard(near.subspan(clean_to, kGuardBytes)), request,
                "bytes behind the pieces changed");
    } else if (is_write(request.op) && !peer_dead_) {
        const auto far = std::span<const std::byte>(peer_->region_->bytes());
        const auto message = pattern_.make(number_of(request.serial), request.bytes);
        require(std::memcmp(far.data() + request.far, message.data(), message.size()) == 0,
                request, "what was written is wrong");
        require(is_guard(far.subspan(request.far - kGuardBytes, kGuardBytes)) &&
                    is_guard(far.subspan(request.far + request.bytes, kGuardBytes)),
                request, "bytes beside what was written changed");
    }
}

void RcEnd::retire() {
    while (!under_way_.empty() && under_way_.front().done &&
           (peer_dead_ || !under_way_.front().takes_receive || under_way_.front().received)) {
        under_way_.pop_front();
    }
}

/// After the peer's death: one request has used up its retries, all later ones are flushed, each
/// with a completion of its own, asked for or not.
void RcEnd::broken(const Completion& done) {
    Request& request = under_way_[done.id - under_way_.front().serial];
    if (!peer_dead_) {
        fail(request, fmt::format("failed: {}, vendor syndrome {:#x}",
                                  scenarios::to_string(done.status), done.vendor_syndrome));
    }
    if (!failed_) {
        for (Request& before : under_way_) {
            if (before.serial < next_done_ || before.serial >= done.id) continue;
            require(!before.signaled, before, "has no completion, a later one failed");
            finish(before);
        }
    }
    require(request.serial == next_done_, request, "failed twice or out of order");
    const CompletionStatus expected =
        failed_ ? CompletionStatus::flushed : CompletionStatus::transport_retries_exceeded;
    require(done.status == expected, request, "failed with another status");
    failed_ = true;
    request.done = true;
    next_done_ = request.serial + 1;
    retire();
}

void RcEnd::received(const Completion& done) {
    ++totals_.receives;
    if (!done.ok()) {
        if (peer_dead_ && done.status == CompletionStatus::flushed) {
            ++flushed_receives_;
            return;
        }
        throw SoakFailure(
            fmt::format("{}: a receive failed: {}", name_, scenarios::to_string(done.status)));
    }
    if (expected_.empty()) {
        throw SoakFailure(fmt::format("{}: received what was not sent", name_));
    }
    if (peer_dead_) {
        ++late_receives_;
        return;
    }
    Request& request = peer_->under_way_[expected_.front() - peer_->under_way_.front().serial];
    expected_.pop_front();
    const auto check = [&](bool right, const char* what) { peer_->require(right, request, what); };
    check(!request.received, "received twice");
    request.received = true;
    const bool send = is_send(request.op);
    const CompletionKind kind = request.op == SendOp::send ? CompletionKind::received
                                : request.op == SendOp::send_immediate
                                    ? CompletionKind::received_immediate
                                : request.op == SendOp::send_invalidate
                                    ? CompletionKind::received_invalidate
                                    : CompletionKind::received_write_immediate;
    check(done.kind == kind, "received as another operation");
    check(done.bytes == request.bytes, "received with another length");
    check(done.source_qpn == peer_->qp_->number(), "received from another queue pair");
    if (request.op != SendOp::send) {
        check(done.immediate == request.immediate, "received with another immediate or key");
    }
    ReceivePool& pool = pool_ != nullptr ? *pool_ : *shared_.pool;
    std::span<const std::byte> message;
    if (send) message = pattern_.make(peer_->number_of(request.serial), request.bytes);
    check(pool.check(done.id, message), "what was received, or bytes beside it, is wrong");
    pool.post(done.id);
    if (request.op == SendOp::send_invalidate) {
        window_gone_ = true;
        ++totals_.invalidations;
    }
    peer_->retire();
}

void RcEnd::check_age(Picoseconds now) {
    if (under_way_.empty()) return;
    const Request& request = under_way_.front();
    if (now - request.posted <= options_.stuck) return;
    fail(request, "stuck: " + describe());
}

std::string RcEnd::describe() {
    using prm::qpc;
    const auto answer = qp_->query();
    const auto context = answer.view().nested<prm::query_qp_out::qpc>();
    const model::QueueCounters& queues = station_.function().queues().counters();
    std::string requests;
    for (const Request& each : under_way_) {
        requests += fmt::format(" {}:{:#x}{}{}", each.serial, static_cast<unsigned>(each.op),
                                each.done ? " done" : "", each.received ? " received" : "");
    }
    return fmt::format(
        "state {}, next_send_psn {:#x}, last_acked_psn {:#x}, next_rcv_psn {:#x}, WQEs {} of {}, "
        "doorbells ignored {}, stale events {}, under way:{}",
        context.get<qpc::state>(), context.get<qpc::next_send_psn>(),
        context.get<qpc::last_acked_psn>(), context.get<qpc::next_rcv_psn>(),
        context.get<qpc::hw_sq_wqebb_counter>(), context.get<qpc::sw_sq_wqebb_counter>(),
        queues.doorbell_ignored, queues.stale_events, requests);
}

void RcEnd::check_word() {
    const std::uint64_t word = load_word(peer_->region_->bytes());
    if (word != word_) {
        throw SoakFailure(fmt::format("{}: atomics made {:#x} of the peer's word, not {:#x}", name_,
                                      word, word_));
    }
}

}  // namespace cxsim::test
