// SPDX-License-Identifier: Apache-2.0
#include "model/queues/transport_wqe.h"

#include "model/queues/service_type.h"

namespace cxsim::model {
namespace {

// opc_mod of an extended atomic: this bit, and the logarithm of the operand's size less two.
constexpr std::uint8_t kExtendedAtomic = 0x8;

enum class Kind : std::uint8_t { none, send, write, read, atomic };

Kind kind_of(std::uint8_t opcode) {
    switch (static_cast<WqeOpcode>(opcode)) {
        case WqeOpcode::send:
        case WqeOpcode::send_immediate:
        case WqeOpcode::send_invalidate:
            return Kind::send;
        case WqeOpcode::rdma_write:
        case WqeOpcode::rdma_write_immediate:
            return Kind::write;
        case WqeOpcode::rdma_read:
            return Kind::read;
        case WqeOpcode::atomic_compare_swap:
        case WqeOpcode::atomic_fetch_add:
        case WqeOpcode::atomic_masked_compare_swap:
        case WqeOpcode::atomic_masked_fetch_add:
            return Kind::atomic;
        default:
            return Kind::none;
    }
}

bool allowed(std::uint32_t service, Kind kind, std::uint8_t opcode) {
    const bool invalidates = opcode == static_cast<std::uint8_t>(WqeOpcode::send_invalidate);
    switch (service) {
        case service::kRc:
            return kind != Kind::none;
        case service::kUc:
            return kind == Kind::write || (kind == Kind::send && !invalidates);
        case service::kUd:
        case service::kQp1:
            return kind == Kind::send && !invalidates;
        default:
            return false;
    }
}

// The segment at `offset`, which moves behind it; false: the WQE ends before.
template <class Layout>
bool take(std::span<const std::byte> wqe, std::size_t& offset,
          std::span<const std::byte>& segment) {
    if (wqe.size() - offset < Layout::kBytes) return false;
    segment = wqe.subspan(offset, Layout::kBytes);
    offset += Layout::kBytes;
    return true;
}

}  // namespace

WqeStatus TransportWqe::parse(std::span<const std::byte> wqe, QpSend& send) {
    const auto context = send.qp.view();
    const std::uint32_t service = context.get<prm::qpc::st>();
    const Kind kind = kind_of(send.control.opcode);
    if (!allowed(service, kind, send.control.opcode)) {
        ++state_.counters.unimplemented_wqes;
        ++state_.counters.unimplemented_opcodes[send.control.opcode];
        return wqe_status::kBadWqe;
    }
    std::size_t offset = prm::wqe_ctrl_seg::kBytes;
    send.wqe = wqe;
    WqeStatus status;
    if (service::is_datagram(service)) {
        status = parse_address(wqe, offset, send);
    } else if (kind != Kind::send) {
        std::span<const std::byte> segment;
        if (!take<prm::wqe_raddr_seg>(wqe, offset, segment)) return wqe_status::kBadWqe;
        const prm::ConstView<prm::wqe_raddr_seg> remote(segment);
        send.remote_address = remote.get<prm::wqe_raddr_seg::raddr>();
        send.remote_key = remote.get<prm::wqe_raddr_seg::rkey>();
        if (kind == Kind::atomic) status = parse_atomic(wqe, offset, send);
    }
    if (!status.ok()) return status;

    DescriptorOwner owner;
    owner.queue_number = send.qp.id.number;
    owner.pd = context.get<prm::qpc::pd>();
    owner.reserved_lkey = context.get<prm::qpc::rlky>() != 0;
    const bool answered = kind == Kind::read || kind == Kind::atomic;
    owner.access = answered ? Access::local_write : Access::local_read;
    gatherer_.clear();
    status = gatherer_.append_all(wqe, offset, owner);
    if (!status.ok()) return status;
    send.payload = gatherer_.pieces();
    send.payload_bytes = gatherer_.bytes();
    if (kind == Kind::atomic) {
        return send.payload_bytes == send.atomic_bytes ? wqe_status::kSuccess
                                                       : wqe_status::kAtomicLength;
    }
    // 0 is what a context holds that no INIT2RTR has filled.
    const auto log_limit = context.get<prm::qpc::log_msg_max>();
    if (log_limit != 0 && send.payload_bytes > std::uint64_t{1} << log_limit) {
        return wqe_status::kMessageTooLong;
    }
    return wqe_status::kSuccess;
}

// The address vector, in its short form or whole; of a UD QP with offloads also what stands between
// it and the data. Headers to be copied in front of the message are a matter of raw Ethernet.
WqeStatus TransportWqe::parse_address(std::span<const std::byte> wqe, std::size_t& offset,
                                      QpSend& send) {
    std::span<const std::byte> segment;
    const std::size_t start = offset;
    if (!take<prm::base_av>(wqe, offset, segment)) return wqe_status::kBadWqe;
    if (prm::ConstView<prm::base_av>(segment).get<prm::base_av::ext>() != 0) {
        offset = start;
        if (!take<prm::wqe_datagram_seg>(wqe, offset, segment)) return wqe_status::kBadWqe;
    }
    send.address_vector = segment;
    const auto offloads = send.qp.view().get<prm::qpc::ulp_stateless_offload_mode>();
    if (offloads == 0) return wqe_status::kSuccess;
    offset += kSegmentBytes;
    if (offset > wqe.size() || !take<prm::wqe_eth_seg>(wqe, offset, segment)) {
        return wqe_status::kBadWqe;
    }
    const prm::ConstView<prm::wqe_eth_seg> ethernet(segment);
    return ethernet.get<prm::wqe_eth_seg::inline_hdr, prm::wqe_eth_seg_inline_hdr::sz>() == 0
               ? wqe_status::kSuccess
               : wqe_status::kBadWqe;
}

// Operands stand in one segment, those of a masked compare-and-swap of 8 bytes in two.
WqeStatus TransportWqe::parse_atomic(std::span<const std::byte> wqe, std::size_t& offset,
                                     QpSend& send) {
    const auto opcode = static_cast<WqeOpcode>(send.control.opcode);
    const bool masked = opcode == WqeOpcode::atomic_masked_compare_swap ||
                        opcode == WqeOpcode::atomic_masked_fetch_add;
    const bool adds =
        opcode == WqeOpcode::atomic_fetch_add || opcode == WqeOpcode::atomic_masked_fetch_add;
    std::span<const std::byte> segment;
    if (!masked) {
        if (send.control.modifier != 0) return wqe_status::kBadWqe;
        if (!take<prm::wqe_atomic_seg>(wqe, offset, segment)) return wqe_status::kBadWqe;
        const prm::ConstView<prm::wqe_atomic_seg> operands(segment);
        send.swap_add = operands.get<prm::wqe_atomic_seg::swap_add>();
        send.compare = operands.get<prm::wqe_atomic_seg::compare>();
        if (adds) send.swap_add_mask = 0;  // one field
        return wqe_status::kSuccess;
    }
    if (send.control.modifier == kExtendedAtomic) {
        send.atomic_bytes = 4;
        if (!take<prm::wqe_masked_atomic_4_cs_seg>(wqe, offset, segment)) {
            return wqe_status::kBadWqe;
        }
        if (adds) {
            using Seg = prm::wqe_masked_atomic_4_fa_seg;
            const prm::ConstView<Seg> operands(segment);
            send.swap_add = operands.get<Seg::add>();
            send.swap_add_mask = operands.get<Seg::field_boundary>();
            return wqe_status::kSuccess;
        }
        using Seg = prm::wqe_masked_atomic_4_cs_seg;
        const prm::ConstView<Seg> operands(segment);
        send.swap_add = operands.get<Seg::swap>();
        send.compare = operands.get<Seg::compare>();
        send.swap_add_mask = operands.get<Seg::swap_mask>();
        send.compare_mask = operands.get<Seg::compare_mask>();
        return wqe_status::kSuccess;
    }
    if (send.control.modifier != (kExtendedAtomic | 1)) return wqe_status::kBadWqe;
    using Seg = prm::wqe_masked_atomic_seg;
    if (adds) {
        if (!take<prm::wqe_atomic_seg>(wqe, offset, segment)) return wqe_status::kBadWqe;
        const prm::ConstView<prm::wqe_atomic_seg> operands(segment);
        send.swap_add = operands.get<prm::wqe_atomic_seg::swap_add>();
        send.swap_add_mask = operands.get<prm::wqe_atomic_seg::compare>();
        return wqe_status::kSuccess;
    }
    if (!take<Seg>(wqe, offset, segment)) return wqe_status::kBadWqe;
    const prm::ConstView<Seg> operands(segment);
    send.swap_add = operands.get<Seg::swap_add>();
    send.compare = operands.get<Seg::compare>();
    send.swap_add_mask = operands.get<Seg::swap_add_mask>();
    send.compare_mask = operands.get<Seg::compare_mask>();
    return wqe_status::kSuccess;
}

}  // namespace cxsim::model
