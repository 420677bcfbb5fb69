// SPDX-License-Identifier: Apache-2.0
// What one end of a link saw of a transport: refusals that went out and came in, and everything as
// one number that changes with any byte or time.
#pragma once

#include "eth/link/link.h"
#include "eth/wire/pcap.h"

#include <cstdint>
#include <memory>
#include <string>

namespace cxsim::test {

class WireBooks final : public eth::LinkObserver {
  public:
    /// `capture`: a file for all frames; empty: none.
    WireBooks(eth::Link& link, unsigned end, const std::string& capture);
    ~WireBooks() override { link_.observe(end_, nullptr); }
    WireBooks(const WireBooks&) = delete;
    WireBooks& operator=(const WireBooks&) = delete;

    void frame_seen(model::Picoseconds at, Direction direction, const model::Frame& frame) override;

    struct Count {
        std::uint64_t frames = 0;          ///< without MAC control
        std::uint64_t control_frames = 0;  ///< pause
        std::uint64_t bytes = 0;
        std::uint64_t sequence_naks = 0;  ///< with a right ICRC, as all below
        std::uint64_t rnr_naks = 0;
        std::uint64_t other_naks = 0;
        std::uint64_t acknowledges = 0;
    };
    const Count& sent() const { return sent_; }
    const Count& received() const { return received_; }
    /// Takes in all content and times from now on.
    void follow() { follows_ = true; }
    std::uint64_t digest() const { return digest_; }

  private:
    eth::Link& link_;
    unsigned end_;
    Count sent_;
    Count received_;
    bool follows_ = false;
    std::uint64_t digest_ = 0;
    std::unique_ptr<eth::PcapWriter> capture_;
};

}  // namespace cxsim::test
