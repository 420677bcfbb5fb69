// SPDX-License-Identifier: Apache-2.0
#include "model/ports/frame.h"

#include <algorithm>

#include "model/base/assert.h"
#include "model/base/copy_bytes.h"

namespace cxsim::model {

void Frame::grow_front(std::uint32_t bytes) {
    CX_ASSERT(bytes <= offset_, "no headroom left");
    offset_ -= bytes;
    stored_ += bytes;
}

void Frame::shrink_front(std::uint32_t bytes) {
    CX_ASSERT(bytes <= stored_, "more than the frame holds");
    offset_ += bytes;
    stored_ -= bytes;
}

void Frame::resize(std::uint32_t stored) {
    CX_ASSERT(stored <= capacity_ - offset_, "no tailroom left");
    stored_ = stored;
}

void ReturnFrame::operator()(Frame* frame) const {
    frame->pool_->give_back(frame);
}

FramePool::~FramePool() {
    for (auto& list : free_) {
        for (Frame* frame : list) delete frame;
    }
}

FramePtr FramePool::make(std::uint32_t stored) {
    CX_ASSERT(stored <= kMaxFrame, "longer than any frame");
    std::uint8_t size_class = 0;
    while (stored > kClassBytes[size_class]) ++size_class;
    auto& list = free_[size_class];
    Frame* frame = nullptr;
    if (list.empty()) {
        auto fresh = std::make_unique<Frame>();
        fresh->capacity_ = Frame::kHeadroom + kClassBytes[size_class];
        fresh->storage_ = std::make_unique_for_overwrite<std::byte[]>(fresh->capacity_);
        fresh->size_class_ = size_class;
        fresh->pool_ = this;
        frame = fresh.release();
        ++allocations_;
    } else {
        frame = list.back();
        list.pop_back();
    }
    frame->offset_ = Frame::kHeadroom;
    frame->stored_ = stored;
    frame->synthetic = 0;
    frame->damaged = false;
    frame->priority = 0;
    ++made_;
    return FramePtr(frame);
}

FramePtr FramePool::copy(const Frame& frame) {
    FramePtr twin = make(frame.stored());
    copy_bytes(frame.bytes(), twin->bytes().data());
    twin->synthetic = frame.synthetic;
    twin->damaged = frame.damaged;
    twin->priority = frame.priority;
    return twin;
}

void FramePool::give_back(Frame* frame) {
    ++returned_;
    free_[frame->size_class_].push_back(frame);
}

}  // namespace cxsim::model
