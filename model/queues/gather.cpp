// SPDX-License-Identifier: Apache-2.0
#include "model/queues/gather.h"

namespace cxsim::model {
namespace {

constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 31;

WqeStatus status_of(TranslationError error, Access access) {
    const bool scatters = access == Access::local_write;
    if (scatters &&
        (error == TranslationError::no_permission || error == TranslationError::out_of_range)) {
        return wqe_status::kBadScatter;
    }
    return protection_status(error);
}

}  // namespace

void Gatherer::clear() {
    pieces_.clear();
    bytes_ = 0;
}

WqeStatus Gatherer::append_all(std::span<const std::byte> wqe, std::size_t offset,
                               const DescriptorOwner& owner) {
    while (offset < wqe.size()) {
        const WqeStatus status = append(wqe, offset, owner);
        if (!status.ok()) return status;
    }
    return wqe_status::kSuccess;
}

WqeStatus Gatherer::append(std::span<const std::byte> wqe, std::size_t& offset,
                           const DescriptorOwner& owner) {
    const auto segment = wqe.subspan(offset);
    const prm::ConstView<prm::wqe_inline_seg> head(segment);
    if (head.get<prm::wqe_inline_seg::is_inline>() == 0) {
        if (segment.size() < prm::wqe_data_seg::kBytes) return wqe_status::kBadWqe;
        offset += prm::wqe_data_seg::kBytes;
        return append_pointer(segment, owner);
    }
    const std::size_t bytes = head.get<prm::wqe_inline_seg::byte_count>();
    if (owner.access == Access::local_write ||
        prm::wqe_inline_seg::kBytes + bytes > segment.size()) {
        return wqe_status::kBadWqe;
    }
    if (bytes != 0) {
        PayloadPiece piece;
        piece.bytes = bytes;
        piece.wqe_offset = static_cast<std::uint32_t>(offset + prm::wqe_inline_seg::kBytes);
        piece.in_wqe = true;
        pieces_.push_back(piece);
        bytes_ += bytes;
    }
    offset += round_to_segment(prm::wqe_inline_seg::kBytes + bytes);
    return wqe_status::kSuccess;
}

WqeStatus Gatherer::append_pointer(std::span<const std::byte> segment,
                                   const DescriptorOwner& owner) {
    const prm::ConstView<prm::wqe_data_seg> data(segment);
    TranslationRequest request;
    request.key = data.get<prm::wqe_data_seg::lkey>();
    request.pd = owner.pd;
    request.queue_number = owner.queue_number;
    request.address = data.get<prm::wqe_data_seg::addr>();
    request.bytes = data.get<prm::wqe_data_seg::byte_count>();
    request.access = owner.access;
    request.reserved_lkey = owner.reserved_lkey;
    ranges_.clear();
    const TranslationError error = state_.translator.translate(request, ranges_);
    if (error != TranslationError::none) return status_of(error, owner.access);
    for (const HostRange& range : ranges_) {
        PayloadPiece piece;
        piece.address = range.address;
        piece.bytes = range.bytes;
        piece.zeros = range.zeros;
        piece.origin = range.origin;
        pieces_.push_back(piece);
    }
    bytes_ += request.bytes;
    if (bytes_ > kMaxMessageBytes) return wqe_status::kMessageTooLong;
    return wqe_status::kSuccess;
}

}  // namespace cxsim::model
