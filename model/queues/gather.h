// SPDX-License-Identifier: Apache-2.0
// Data segments of send WQEs: pointers and inline data become pieces of payload.
#pragma once

#include "model/queues/engine_state.h"
#include "model/queues/wqe.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::model {

/// Whose descriptors they are, and what is done with the memory.
struct DescriptorOwner {
    std::uint32_t queue_number = 0;
    std::uint32_t pd = 0;
    bool reserved_lkey = false;
    Access access = Access::local_read;  ///< local_write: an answer is scattered, none is inline
};

/// Pieces stay until the next clear().
class Gatherer {
  public:
    explicit Gatherer(EngineState& state) : state_(state) {}

    void clear();
    /// Appends the segments from `offset` to the end of the WQE.
    WqeStatus append_all(std::span<const std::byte> wqe, std::size_t offset,
                         const DescriptorOwner& owner);
    /// Appends one segment and moves `offset` behind it.
    WqeStatus append(std::span<const std::byte> wqe, std::size_t& offset,
                     const DescriptorOwner& owner);

    std::span<const PayloadPiece> pieces() const { return pieces_; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    WqeStatus append_pointer(std::span<const std::byte> segment, const DescriptorOwner& owner);

    EngineState& state_;
    std::vector<PayloadPiece> pieces_;  // reused
    std::vector<HostRange> ranges_;     // reused
    std::uint64_t bytes_ = 0;
};

/// Sizes of segments in a WQE are multiples of this.
constexpr std::size_t round_to_segment(std::size_t bytes) {
    return (bytes + kSegmentBytes - 1) / kSegmentBytes * kSegmentBytes;
}

}  // namespace cxsim::model
