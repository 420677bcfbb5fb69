// SPDX-License-Identifier: Apache-2.0
// Work requests of queue pairs: from what the application says to WQEs, and from CQEs back.
#include "model/base/endian.h"
#include "model/queues/wqe.h"
#include "scenarios/driver/verbs_qp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cxsim::scenarios {

using prm::View;
using prm::wqe_ctrl_seg;
using prm::wqe_data_seg;

namespace {

constexpr std::size_t kBlock = model::kBasicBlockBytes;
constexpr std::uint64_t kUarBytes = 4096;
constexpr std::uint64_t kBlueFlameBytes = prm::blueflame_buffer::kBytes;
constexpr std::uint32_t kFence = 2;     // wqe_ctrl_seg.fm: after earlier READs and atomics
constexpr std::uint32_t kSignaled = 2;  // wqe_ctrl_seg.ce
constexpr std::uint8_t kRequesterError = 13;  // cqe64.opcode
constexpr std::uint8_t kResponderError = 14;
constexpr std::uint32_t kDataInCqe = 1;  // cqe64.cqe_format: the first 32 bytes

// Bits of wqe_umr_ctrl_seg.mkey_mask, as libmlx5 names them.
constexpr std::uint64_t kMaskRegion = 1U << 0 | 1U << 6;  // length, start address
constexpr std::uint64_t kMaskRights = 1U << 18 | 1U << 19 | 1U << 20 | 1U << 21;
constexpr std::uint64_t kMaskKey = 1U << 13;
constexpr std::uint64_t kMaskQueue = 1U << 14;
constexpr std::uint64_t kMaskFree = 1U << 29;
constexpr std::uint32_t kMustBeFree = 1;  // wqe_umr_ctrl_seg.check_free
constexpr std::uint32_t kAnyQueue = 0xffffff;

// All segments behind the control segment. Returns where they end.
std::size_t fill_binding(std::span<std::byte> wqe, std::size_t at, const WindowBinding& binding,
                         std::uint32_t queue) {
    using prm::mkc;
    using Umr = prm::wqe_umr_ctrl_seg;
    constexpr std::size_t kLine = 64;  // entries come in lines
    const bool opens = binding.bytes != 0;
    const View<Umr> umr(wqe.subspan(at));
    umr.set<Umr::is_inline>(1U);
    umr.set<Umr::translation_offset_en>(1U);
    umr.set<Umr::check_free>(opens && binding.of_queue ? kMustBeFree : 0U);
    umr.set<Umr::check_qpn>(!opens && binding.of_queue);
    umr.set<Umr::mkey_mask>(kMaskFree | kMaskKey | (binding.of_queue ? kMaskQueue : 0) |
                            (opens ? kMaskRegion | kMaskRights : 0));
    at += Umr::kBytes;
    const auto key =
        View<prm::wqe_mkey_context_seg>(wqe.subspan(at)).nested<prm::wqe_mkey_context_seg::mkc>();
    key.set<mkc::mkey_7_0>(binding.new_key & 0xff);
    key.set<mkc::qpn>(opens && binding.of_queue ? queue : kAnyQueue);
    at += prm::wqe_mkey_context_seg::kBytes;
    if (!opens) {
        key.set<mkc::free>(1U);
        return at;
    }
    key.set<mkc::lw>(binding.access.local_write);
    key.set<mkc::rr>(binding.access.remote_read);
    key.set<mkc::rw>(binding.access.remote_write);
    key.set<mkc::a>(binding.access.remote_atomic);
    key.set<mkc::start_addr>(binding.zero_based ? 0 : binding.address);
    key.set<mkc::len>(binding.bytes);
    umr.set<Umr::xlt_octowords>(static_cast<std::uint32_t>(kLine / model::kSegmentBytes));
    const View<prm::klm> entry(wqe.subspan(at));
    entry.set<prm::klm::byte_count>(static_cast<std::uint32_t>(binding.bytes));
    entry.set<prm::klm::mkey>(binding.region_key);
    entry.set<prm::klm::va>(binding.address);
    return at + kLine;
}

bool is_atomic(SendOp op) {
    return op == SendOp::compare_swap || op == SendOp::fetch_add;
}
bool has_remote_address(SendOp op) {
    return op == SendOp::write || op == SendOp::write_immediate || op == SendOp::read ||
           is_atomic(op);
}
bool serves(QpService service, SendOp op) {
    switch (service) {
        case QpService::rc:
            return true;
        case QpService::uc:
            return op != SendOp::read && !is_atomic(op) && op != SendOp::send_invalidate;
        case QpService::ud:
            return op == SendOp::send || op == SendOp::send_immediate || op == SendOp::nop;
    }
    return false;
}

void fill_address(View<prm::wqe_datagram_seg> segment, const SendRequest& request) {
    using prm::av;
    using prm::base_av;
    const AddressHandle& to = *request.to;
    const auto vector = segment.nested<prm::wqe_datagram_seg::av>();
    const auto base = vector.nested<av::base>();
    base.set<base_av::qkey>(request.queue_key);
    base.set<base_av::dqp_dct>(request.remote_qpn);
    base.set<base_av::ext>(1U);
    base.set<base_av::sl>((to.priority & 7U) << 1);  // on Ethernet the priority's three bits
    base.set<base_av::udp_sport>(to.udp_source_port);
    std::ranges::transform(to.mac, vector.bytes<av::rmac>().begin(),
                           [](std::uint8_t byte) { return std::byte{byte}; });
    vector.set<av::tclass>(to.traffic_class);
    vector.set<av::hop_limit>(to.hop_limit);
    vector.set<av::grh>(1U);
    vector.set<av::src_addr_index>(to.source_index);
    vector.set<av::flow_label>(to.flow_label);
    std::ranges::transform(to.gid, vector.bytes<av::rgid>().begin(),
                           [](std::uint8_t byte) { return std::byte{byte}; });
}

void fill_pointer(std::span<std::byte> into, const Sge& sge) {
    const View<wqe_data_seg> segment(into);
    segment.set<wqe_data_seg::is_inline>(0U);
    segment.set<wqe_data_seg::byte_count>(sge.bytes);
    segment.set<wqe_data_seg::lkey>(sge.lkey);
    segment.set<wqe_data_seg::addr>(sge.address);
}

}  // namespace

std::string_view to_string(CompletionStatus status) {
    switch (status) {
        case CompletionStatus::success: return "success";
        case CompletionStatus::local_length: return "local_length";
        case CompletionStatus::local_qp_operation: return "local_qp_operation";
        case CompletionStatus::local_protection: return "local_protection";
        case CompletionStatus::flushed: return "flushed";
        case CompletionStatus::window_bind: return "window_bind";
        case CompletionStatus::bad_response: return "bad_response";
        case CompletionStatus::local_access: return "local_access";
        case CompletionStatus::remote_invalid_request: return "remote_invalid_request";
        case CompletionStatus::remote_access: return "remote_access";
        case CompletionStatus::remote_operation: return "remote_operation";
        case CompletionStatus::transport_retries_exceeded: return "transport_retries_exceeded";
        case CompletionStatus::rnr_retries_exceeded: return "rnr_retries_exceeded";
        case CompletionStatus::aborted: return "aborted";
    }
    return "unknown";
}

Gid gid_of_ipv4(std::uint32_t address) {
    Gid gid{};
    gid[10] = gid[11] = 0xff;
    for (std::size_t i = 0; i < 4; ++i) gid[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
    return gid;
}

bool is_ipv4(const Gid& gid) {
    return std::all_of(gid.begin(), gid.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) &&
           gid[10] == 0xff && gid[11] == 0xff;
}

Gid link_local_gid(const MacAddress& mac) {
    constexpr std::uint8_t kLocalBit = 2;
    return {0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(mac[0] ^ kLocalBit),
            mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
}

void write_pieces(std::span<std::byte> into, std::span<const Sge> sges, std::uint32_t end_key) {
    std::size_t at = 0;
    for (const Sge& sge : sges) {
        if (sge.bytes == 0) continue;  // 0 in a segment means 2^31
        fill_pointer(into.subspan(at), sge);
        at += wqe_data_seg::kBytes;
    }
    if (at + wqe_data_seg::kBytes <= into.size()) fill_pointer(into.subspan(at), {0, 0, end_key});
}

// ---- Sending ----

void VerbsQp::check(const SendRequest& request) const {
    std::uint64_t bytes = 0;
    for (const Sge& sge : request.sges) bytes += sge.bytes;
    if (!serves(options_.service, request.op)) {
        throw DriverError(fmt::format("operation {:#x} is none of this service",
                                      static_cast<unsigned>(request.op)));
    }
    if (request.inlined ? bytes > options_.max_inline : request.sges.size() > options_.max_send_sges) {
        throw DriverError("more pieces or inline bytes than the queue was made for");
    }
    if (request.inlined && (request.op == SendOp::read || is_atomic(request.op))) {
        throw DriverError("what a READ or an atomic fetches has no place in the WQE");
    }
    if (options_.service == QpService::ud && request.op != SendOp::nop && request.to == nullptr) {
        throw DriverError("a datagram without an address");
    }
    if (request.op == SendOp::bind &&
        (request.binding == nullptr || request.binding->bytes > std::uint64_t{1} << 31)) {
        throw DriverError("a binding that no window can have");
    }
}

std::size_t VerbsQp::write_payload(const SendRequest& request, std::span<std::byte> wqe,
                                   std::size_t at) const {
    if (!request.inlined) {
        for (const Sge& sge : request.sges) {
            if (sge.bytes == 0) continue;
            fill_pointer(wqe.subspan(at), sge);
            at += wqe_data_seg::kBytes;
        }
        return at;
    }
    const View<prm::wqe_inline_seg> head(wqe.subspan(at));
    const std::size_t start = at + prm::wqe_inline_seg::kBytes;
    std::size_t end = start;
    for (const Sge& sge : request.sges) {
        context_.host().memory().load({sge.address}, wqe.subspan(end, sge.bytes));
        end += sge.bytes;
    }
    head.set<prm::wqe_inline_seg::is_inline>(1U);
    head.set<prm::wqe_inline_seg::byte_count>(static_cast<std::uint32_t>(end - start));
    return (end + 15) / 16 * 16;
}

// Returns its bytes. `wqe` is zeroed.
std::size_t VerbsQp::write_wqe(const SendRequest& request, std::span<std::byte> wqe) const {
    const View<wqe_ctrl_seg> control(wqe);
    control.set<wqe_ctrl_seg::wqe_index>(send_producer_);
    control.set<wqe_ctrl_seg::opcode>(request.op);
    control.set<wqe_ctrl_seg::qp_or_sq>(number());
    control.set<wqe_ctrl_seg::fm>(request.fence ? kFence : 0U);
    control.set<wqe_ctrl_seg::ce>(request.signaled ? kSignaled : 0U);
    control.set<wqe_ctrl_seg::se>(request.solicited);
    control.set<wqe_ctrl_seg::imm>(request.immediate);
    std::size_t at = wqe_ctrl_seg::kBytes;
    if (request.op == SendOp::bind) {
        control.set<wqe_ctrl_seg::imm>(request.binding->key);
        at = fill_binding(wqe, at, *request.binding, number());
    } else if (request.op != SendOp::nop && request.op != SendOp::local_invalidate) {
        if (options_.service == QpService::ud) {
            fill_address(View<prm::wqe_datagram_seg>(wqe.subspan(at)), request);
            at += prm::wqe_datagram_seg::kBytes;
        }
        if (has_remote_address(request.op)) {
            const View<prm::wqe_raddr_seg> remote(wqe.subspan(at));
            remote.set<prm::wqe_raddr_seg::raddr>(request.remote_address);
            remote.set<prm::wqe_raddr_seg::rkey>(request.rkey);
            at += prm::wqe_raddr_seg::kBytes;
        }
        if (is_atomic(request.op)) {
            const View<prm::wqe_atomic_seg> operands(wqe.subspan(at));
            operands.set<prm::wqe_atomic_seg::swap_add>(request.swap_add);
            operands.set<prm::wqe_atomic_seg::compare>(request.compare);
            at += prm::wqe_atomic_seg::kBytes;
        }
        at = write_payload(request, wqe, at);
    }
    control.set<wqe_ctrl_seg::ds>(static_cast<std::uint32_t>(at / model::kSegmentBytes));
    return at;
}

bool VerbsQp::post_send(const SendRequest& request, bool doorbell) {
    check(request);
    std::array<std::byte, model::kMaxWqeBytes + model::kSegmentBytes> wqe{};
    const std::size_t bytes = write_wqe(request, wqe);
    const auto blocks = static_cast<std::uint16_t>((bytes + kBlock - 1) / kBlock);
    const auto used = static_cast<std::uint16_t>(send_producer_ - send_consumer_);
    if (std::uint32_t{used} + blocks > send_blocks_) return false;
    const std::size_t place = (send_producer_ & (send_blocks_ - 1)) * kBlock;
    const std::size_t before_end = std::min(blocks * kBlock, send_ring_.size() - place);
    std::copy_n(wqe.begin(), before_end, send_ring_.begin() + static_cast<std::ptrdiff_t>(place));
    std::copy(wqe.begin() + static_cast<std::ptrdiff_t>(before_end),
              wqe.begin() + static_cast<std::ptrdiff_t>(blocks * kBlock), send_ring_.begin());
    sent_[send_producer_ & (send_blocks_ - 1)] = {request.id, blocks, request.op, sends_posted_};
    ++sends_posted_;
    last_wqe_ = send_producer_;
    send_producer_ = static_cast<std::uint16_t>(send_producer_ + blocks);
    if (doorbell) ring_doorbell();
    return true;
}

void VerbsQp::ring_doorbell() {
    if (announced_ == send_producer_) return;
    const bool single = announced_ == last_wqe_;
    announced_ = send_producer_;
    model::store_be<std::uint32_t>(record_.bytes.data() + 4, send_producer_);
    const std::size_t place = (last_wqe_ & (send_blocks_ - 1)) * kBlock;
    const std::size_t bytes = static_cast<std::uint16_t>(send_producer_ - last_wqe_) * kBlock;
    std::uint64_t at = context_.driver.uar() * kUarBytes + prm::uar_page::blueflame::kOffset / 8;
    // Two halves in turn, so that a write need not wait for the one before.
    at += kBlueFlameBytes * blue_flame_half_;
    blue_flame_half_ ^= 1;
    const bool whole = options_.blue_flame && single && bytes <= kBlueFlameBytes &&
                       place + bytes <= send_ring_.size();
    context_.host().mmio_write(at, send_ring_.subspan(place, whole ? bytes : 8));
}

// ---- Receiving ----

bool VerbsQp::post_receive(std::uint64_t id, std::span<const Sge> sges) {
    if (receive_ring_.empty()) throw DriverError("the queue pair has no receive queue of its own");
    if (sges.size() > options_.max_receive_sges) {
        throw DriverError("more pieces than the receive queue was made for");
    }
    if (receives_outstanding() == receive_ids_.size()) return false;
    const std::size_t slot = receive_producer_ & (receive_ids_.size() - 1);
    write_pieces(receive_ring_.subspan(slot * receive_stride_, receive_stride_), sges,
                 context_.terminate_key);
    receive_ids_[slot] = id;
    ++receive_producer_;
    model::store_be<std::uint32_t>(record_.bytes.data(), receive_producer_);
    return true;
}

// ---- Completions ----

namespace {

/// Data that came in a CQE go into the pieces of a ring that begin at `at`.
void scatter(Host& host, std::span<const std::byte> ring, std::size_t at,
             std::span<const std::byte> data) {
    for (; !data.empty(); at += wqe_data_seg::kBytes) {
        const prm::ConstView<wqe_data_seg> piece(
            ring.subspan(at % ring.size(), wqe_data_seg::kBytes));
        const std::size_t bytes =
            std::min<std::size_t>(data.size(), piece.get<wqe_data_seg::byte_count>());
        if (bytes == 0) throw DriverError("a CQE brought more than its request has room for");
        host.memory().store({piece.get<wqe_data_seg::addr>()}, data.first(bytes));
        data = data.subspan(bytes);
    }
}

}  // namespace

void VerbsQp::scatter_received(std::uint16_t index, std::span<const std::byte> data) const {
    if (options_.srq != nullptr) {
        scatter(context_.host(), options_.srq->pieces(index), 0, data);
        return;
    }
    const std::size_t slot = index & (receive_ids_.size() - 1);
    scatter(context_.host(), receive_ring_.subspan(slot * receive_stride_, receive_stride_), 0,
            data);
}

void VerbsQp::scatter_answer(std::uint16_t index, std::span<const std::byte> data) const {
    const Sent& sent = sent_[index & (send_blocks_ - 1)];
    std::size_t at = (index & (send_blocks_ - 1)) * kBlock + wqe_ctrl_seg::kBytes +
                     prm::wqe_raddr_seg::kBytes;
    if (is_atomic(sent.op)) at += prm::wqe_atomic_seg::kBytes;
    scatter(context_.host(), send_ring_, at, data);
}

Completion VerbsQp::completed(std::span<const std::byte> bytes) {
    using prm::cqe64;
    using prm::err_cqe;
    const prm::ConstView<cqe64> cqe(bytes);
    const auto opcode = static_cast<std::uint8_t>(cqe.get<cqe64::opcode>());
    const auto counter = static_cast<std::uint16_t>(cqe.get<cqe64::wqe_counter>());
    Completion done;
    done.qpn = number();
    if (opcode == kRequesterError || opcode == kResponderError) {
        const prm::ConstView<err_cqe> error(bytes);
        done.status = static_cast<CompletionStatus>(error.get<err_cqe::syndrome>());
        done.vendor_syndrome = static_cast<std::uint8_t>(error.get<err_cqe::vendor_err_synd>());
    } else if (opcode <= static_cast<std::uint8_t>(CompletionKind::received_invalidate)) {
        done.kind = static_cast<CompletionKind>(opcode);
        done.bytes = cqe.get<cqe64::byte_cnt>();
        done.solicited = cqe.get<cqe64::se>() != 0;
    } else {
        throw DriverError(fmt::format("QP {:#x} has a CQE with opcode {:#x}", number(), opcode));
    }
    const bool in_cqe = done.ok() && cqe.get<cqe64::cqe_format>() == kDataInCqe;
    if (in_cqe && done.bytes > model::kCqeDataBytes) {
        throw DriverError(fmt::format("QP {:#x} has a CQE with {} bytes", number(), done.bytes));
    }
    done.receive = opcode == kResponderError || (done.ok() && done.kind != CompletionKind::sent);
    if (!done.receive) {
        const Sent& sent = sent_[counter & (send_blocks_ - 1)];
        if (sent.blocks == 0 || sends_outstanding() == 0) {
            throw DriverError(fmt::format("QP {:#x} has a CQE for WQE {}, which is none", number(),
                                          counter));
        }
        done.id = sent.id;
        done.op = sent.op;
        if (in_cqe) scatter_answer(counter, bytes.first(done.bytes));
        send_consumer_ = static_cast<std::uint16_t>(counter + sent.blocks);
        sends_done_ = sent.serial + 1;
        return done;
    }
    if (in_cqe) scatter_received(counter, bytes.first(done.bytes));
    if (options_.srq != nullptr) {
        done.id = options_.srq->complete(counter);
    } else {
        if (receives_outstanding() == 0) {
            throw DriverError(fmt::format("QP {:#x} received without a receive", number()));
        }
        done.id = receive_ids_[counter & (receive_ids_.size() - 1)];
        ++receive_consumer_;
    }
    if (!done.ok()) return done;
    done.immediate = cqe.get<cqe64::immediate>();
    if (in_cqe) {  // data stand in place of the other fields
        done.source_qpn = remote_qpn_;
        return done;
    }
    done.source_qpn = cqe.get<cqe64::rqpn>();
    done.priority = static_cast<std::uint8_t>(cqe.get<cqe64::sl>());
    done.grh = cqe.get<cqe64::grh>() != 0;
    return done;
}

}  // namespace cxsim::scenarios
