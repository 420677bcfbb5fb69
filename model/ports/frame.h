// SPDX-License-Identifier: Apache-2.0
// Ethernet frames on their way through cards and links. A frame has one owner at a time; its memory
// comes from a pool, so that a running simulation allocates nothing for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cxsim::model {

class FramePool;

/// From the destination address to the last byte of the payload: without preamble and frame check
/// sequence, not padded to the minimum. `synthetic` bytes at the end are only counted: they have a
/// length on the wire and no content (experiments that need no data).
class Frame {
  public:
    /// Room in front of a new frame's first byte, for tags and tunnel headers.
    static constexpr std::uint32_t kHeadroom = 256;

    std::span<std::byte> bytes() { return {storage_.get() + offset_, stored_}; }
    std::span<const std::byte> bytes() const { return {storage_.get() + offset_, stored_}; }
    /// Bytes with content.
    std::uint32_t stored() const { return stored_; }
    /// Length as the wire sees it, without FCS and padding.
    std::uint32_t size() const { return stored_ + synthetic; }
    std::uint32_t headroom() const { return offset_; }
    std::uint32_t tailroom() const { return capacity_ - offset_ - stored_; }

    /// Opens `bytes` of uninitialised room at the front; at most headroom().
    void grow_front(std::uint32_t bytes);
    /// Drops bytes at the front; at most stored().
    void shrink_front(std::uint32_t bytes);
    /// Sets the number of stored bytes; new ones are uninitialised. At most stored() + tailroom().
    void resize(std::uint32_t stored);

    std::uint32_t synthetic = 0;
    /// Bits were flipped on the way and not repaired: the FCS does not match at the receiver.
    bool damaged = false;
    /// Priority of the sender's queue (0 to 7).
    std::uint8_t priority = 0;

  private:
    friend class FramePool;
    friend struct ReturnFrame;
    std::unique_ptr<std::byte[]> storage_;
    FramePool* pool_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t offset_ = 0;
    std::uint32_t stored_ = 0;
    std::uint8_t size_class_ = 0;
};

struct ReturnFrame {
    void operator()(Frame* frame) const;
};
using FramePtr = std::unique_ptr<Frame, ReturnFrame>;

/// Must outlive its frames.
class FramePool {
  public:
    /// Longest frame without headroom that a pool makes: the largest MTU of any card and tunnels.
    static constexpr std::uint32_t kMaxFrame = 16 * 1024;

    FramePool() = default;
    ~FramePool();
    FramePool(const FramePool&) = delete;
    FramePool& operator=(const FramePool&) = delete;

    /// A frame with `stored` uninitialised bytes and kHeadroom in front. `stored` <= kMaxFrame.
    FramePtr make(std::uint32_t stored);
    FramePtr copy(const Frame& frame);

    /// Frames that were made and not yet given back.
    std::uint64_t in_use() const { return made_ - returned_; }
    /// Blocks of memory taken so far: constant after warm-up.
    std::uint64_t allocations() const { return allocations_; }

  private:
    friend struct ReturnFrame;
    void give_back(Frame* frame);

    static constexpr std::uint32_t kClassBytes[] = {256, 2048, kMaxFrame};
    std::vector<Frame*> free_[3];
    std::uint64_t made_ = 0;
    std::uint64_t returned_ = 0;
    std::uint64_t allocations_ = 0;
};

}  // namespace cxsim::model
