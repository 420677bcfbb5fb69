// SPDX-License-Identifier: Apache-2.0
#include "model/queues/send_wqe.h"

namespace cxsim::model {
namespace {

constexpr std::size_t kInlineStart = 14;  // inlined headers start inside the Ethernet segment
constexpr std::size_t kInlineStartBytes = 2;

DescriptorOwner owner_of(const SendRequester& requester) {
    return {requester.queue.number, requester.pd, requester.reserved_lkey, Access::local_read};
}

}  // namespace

SendOutcome SendExecutor::execute(Picoseconds at, const WqeControl& control,
                                  std::span<const std::byte> wqe, const SendRequester& requester) {
    SendRequest request;
    const WqeStatus status = parse(control, wqe, requester, request);
    if (!status.ok()) return {at, status, at};
    return emit(at, request);
}

SendOutcome SendExecutor::execute_multi(Picoseconds at, const WqeControl& control,
                                        std::span<const std::byte> wqe,
                                        const SendRequester& requester) {
    std::size_t offset = prm::wqe_ctrl_seg::kBytes + prm::wqe_eth_seg::kBytes;
    if (offset >= wqe.size()) return {at, wqe_status::kBadWqe, at};
    SendRequest request;
    request.queue = requester.queue;
    request.opcode = control.opcode;
    request.wqe_index = control.index;
    request.wqe = wqe;
    SendOutcome all{at, wqe_status::kSuccess, at};
    while (offset < wqe.size()) {
        gatherer_.clear();
        const WqeStatus status = gatherer_.append(wqe, offset, owner_of(requester));
        if (!status.ok()) return {all.finish, status, all.room};
        request.payload = gatherer_.pieces();
        request.payload_bytes = gatherer_.bytes();
        const SendOutcome one = emit(at, request);
        all.finish = std::max(all.finish, one.finish);
        all.room = std::max(all.room, one.room);
        if (!one.status.ok()) return {all.finish, one.status, all.room};
    }
    return all;
}

SendOutcome SendExecutor::emit(Picoseconds at, const SendRequest& request) {
    ++state_.counters.sends;
    state_.counters.send_bytes += request.payload_bytes + request.headers.size();
    if (state_.sink == nullptr) {
        ++state_.counters.tx_discards_no_link;
        return {at, wqe_status::kSuccess, at};
    }
    SendOutcome outcome = state_.sink->send(at, request);
    outcome.finish = std::max(outcome.finish, at);
    return outcome;
}

WqeStatus SendExecutor::parse(const WqeControl& control, std::span<const std::byte> wqe,
                              const SendRequester& requester, SendRequest& request) {
    request.queue = requester.queue;
    request.opcode = control.opcode;
    request.wqe_index = control.index;
    request.wqe = wqe;
    std::size_t offset = prm::wqe_ctrl_seg::kBytes;
    if (requester.datagram) {
        if (wqe.size() < offset + prm::base_av::kBytes) return wqe_status::kBadWqe;
        const prm::ConstView<prm::base_av> av(wqe.subspan(offset));
        const bool extended = av.get<prm::base_av::ext>() != 0;
        offset += extended ? prm::wqe_datagram_seg::kBytes : prm::base_av::kBytes;
        if (offset > wqe.size()) return wqe_status::kBadWqe;
    }
    const bool has_ethernet = requester.ethernet || requester.ethernet_pad;
    const bool lso = control.opcode == static_cast<std::uint8_t>(WqeOpcode::lso);
    if (lso && !has_ethernet) return wqe_status::kBadWqe;
    if (has_ethernet) {
        if (requester.ethernet_pad) offset += kSegmentBytes;
        if (offset + prm::wqe_eth_seg::kBytes > wqe.size()) return wqe_status::kBadWqe;
        const prm::ConstView<prm::wqe_eth_seg> eth(wqe.subspan(offset));
        std::size_t inlined = 0;
        if (eth.get<prm::wqe_eth_seg::insert, prm::wqe_eth_seg_insert::insert_vlan>() == 0) {
            inlined = eth.get<prm::wqe_eth_seg::inline_hdr, prm::wqe_eth_seg_inline_hdr::sz>();
        }
        if (offset + kInlineStart + inlined > wqe.size()) return wqe_status::kBadWqe;
        if (inlined == 0 && requester.inline_required) return wqe_status::kNoInlineHeader;
        request.headers = wqe.subspan(offset + kInlineStart, inlined);
        request.mss = static_cast<std::uint16_t>(eth.get<prm::wqe_eth_seg::mss>());
        // Segmentation copies the inlined headers and cuts at the MSS: without either it cannot.
        if (lso && (request.mss == 0 || inlined == 0)) return wqe_status::kBadWqe;
        offset += prm::wqe_eth_seg::kBytes;
        if (inlined > kInlineStartBytes) offset += round_to_segment(inlined - kInlineStartBytes);
    }
    gatherer_.clear();
    const WqeStatus status = gatherer_.append_all(wqe, offset, owner_of(requester));
    request.payload = gatherer_.pieces();
    request.payload_bytes = gatherer_.bytes();
    return status;
}

}  // namespace cxsim::model
