// SPDX-License-Identifier: Apache-2.0
// A capture file of one end of a link: what its device sends and what arrives there.
#pragma once

#include "eth/link/link.h"
#include "eth/wire/pcap.h"

#include <string>

namespace cxsim::eth {

/// Listens from construction to destruction; the link outlives it. Sent frames carry the time of
/// their first bit, received ones that of their arrival, in simulated nanoseconds. Damaged frames
/// are recorded as they were sent.
class PcapTap : public LinkObserver {
  public:
    PcapTap(Link& link, unsigned end, const std::string& path)
        : link_(link), end_(end), path_(path), writer_(path) {
        link_.observe(end_, this);
    }
    ~PcapTap() override { link_.observe(end_, nullptr); }
    PcapTap(const PcapTap&) = delete;
    PcapTap& operator=(const PcapTap&) = delete;

    void frame_seen(model::Picoseconds at, Direction direction,
                    const model::Frame& frame) override {
        writer_.write(at, frame);
        if (next_ != nullptr) next_->frame_seen(at, direction, frame);
    }
    /// A link has one observer at each end: this one lets another see what it sees. Null: none.
    void pass_on(LinkObserver* next) { next_ = next; }

    bool failed() const { return writer_.failed(); }
    int error() const { return writer_.error(); }
    std::uint64_t frames() const { return writer_.frames(); }
    /// Bytes that the file has not got yet.
    std::size_t backlog() const { return writer_.backlog(); }
    const std::string& path() const { return path_; }

  private:
    Link& link_;
    unsigned end_;
    std::string path_;
    PcapWriter writer_;
    LinkObserver* next_ = nullptr;
};

}  // namespace cxsim::eth
