// SPDX-License-Identifier: Apache-2.0
// One queue pair of a reliable connection under soak: posts requests drawn from a seed and knows
// what must come of each, on both sides.
#pragma once

#include "model/base/random.h"
#include "tests/integration/soak/pattern.h"
#include "tests/integration/soak/soak_bench.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cxsim::test {

/// Something is not as it must be; names connection and request.
struct SoakFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Buffers for receives, of one queue pair or of an SRQ, in a part of a region.
class ReceivePool {
  public:
    using Post = std::function<bool(std::uint64_t id, std::span<const scenarios::Sge> sges)>;
    ReceivePool(scenarios::VerbsMr& region, std::uint64_t begin, unsigned count,
                std::uint64_t longest, model::RandomStream random, Post post);

    static std::uint64_t bytes_of(unsigned count, std::uint64_t longest) {
        return count * (longest + kSlack);
    }
    /// All buffers, at the start.
    void post_all();
    /// Compares buffer `id` with a message (which may be none) and posts it again.
    /// Returns whether everything in it was right. `alone`: nothing else was ever in the buffer; of
    /// unreliable connections a message that broke off may have been.
    bool check(std::uint64_t id, std::span<const std::byte> message, bool alone = true);
    void post(std::uint64_t id);
    /// The first bytes of what came.
    std::span<const std::byte> head(std::uint64_t id, std::size_t bytes) const;
    unsigned count() const { return static_cast<unsigned>(pieces_.size()); }

  private:
    static constexpr std::uint64_t kSlack = 256;
    std::span<std::byte> place(std::uint64_t id) const;

    scenarios::VerbsMr& region_;
    std::uint64_t begin_;
    std::uint64_t longest_;
    model::RandomStream random_;
    Post post_;
    std::vector<std::vector<Piece>> pieces_;  // of each buffer, as offsets into its place
};

/// What all queue pairs of one station share.
struct SoakShared {
    scenarios::VerbsCq* send_cq = nullptr;
    scenarios::VerbsCq* receive_cq = nullptr;
    scenarios::VerbsSrq* srq = nullptr;
    std::unique_ptr<ReceivePool> pool{};       ///< of the SRQ
    scenarios::VerbsMr* words = nullptr;       ///< a word that all of the other station add to
    std::uint64_t added = 0;                   ///< to it, in total
    // What the requesters here have posted, for the other station's counters.
    std::uint64_t writes = 0;
    std::uint64_t reads = 0;
    std::uint64_t atomics = 0;
    std::uint64_t messages = 0;
};

struct SoakTotals {
    std::uint64_t payload_posted = 0;
    std::uint64_t payload = 0;      ///< of requests that are done and checked
    std::uint64_t requests = 0;     ///< likewise
    std::uint64_t completions = 0;
    std::uint64_t receives = 0;
    std::uint64_t invalidations = 0;
};

class RcEnd {
  public:
    RcEnd(const SoakOptions& options, SoakStation& station, SoakShared& shared, SoakTotals& totals,
          Pattern& pattern, unsigned index, unsigned side);

    void connect(RcEnd& peer);
    scenarios::VerbsQp& qp() { return *qp_; }
    const std::string& name() const { return name_; }

    bool may_post() const { return !failed_ && under_way_.size() < options_.slots; }
    bool idle() const { return under_way_.empty(); }
    /// The next request, without a doorbell. `last`: its completion is asked for in any case.
    void post(bool last = false);
    /// Of the requests under way the last ones ask for no completion.
    bool unsignaled_tail() const { return unsignaled_ != 0 && !under_way_.empty(); }
    /// A completion of the send queue, of the receive queue.
    void sent(const scenarios::Completion& done);
    void received(const scenarios::Completion& done);
    /// Throws if the oldest request is older than options.stuck.
    void check_age(model::Picoseconds now);
    /// What can be said at the end: the word that only this connection changes.
    void check_word();
    /// The key that a SEND with invalidate took away is made anew.
    void renew_window();
    bool wants_window() const { return window_gone_; }

    /// The other side is dead: requests fail from here on, nothing is looked up there any more.
    void peer_died() { peer_dead_ = true; }
    bool failed() const { return failed_; }
    /// What is under way, as the test and the card know it.
    std::string describe();
    /// Receives of the own queue that have not come back.
    std::int64_t receives_missing() const {
        if (pool_ == nullptr) return 0;
        return std::int64_t{pool_->count()} - static_cast<std::int64_t>(flushed_receives_) -
               static_cast<std::int64_t>(late_receives_);
    }

  private:
    struct Request {
        std::uint64_t serial = 0;
        scenarios::SendOp op{};
        std::uint64_t bytes = 0;
        std::vector<Piece> near;   ///< in the own region
        std::uint64_t far = 0;     ///< offset in the peer's
        bool signaled = false;
        bool takes_receive = false;
        bool done = false;
        bool received = false;
        bool shared_word = false;
        std::uint32_t immediate = 0;
        std::uint64_t original = 0;  ///< an atomic's answer
        model::Picoseconds posted;
    };

    std::uint64_t number_of(std::uint64_t serial) const { return identity_ << 40 ^ serial; }
    std::uint64_t slot(unsigned which, std::uint64_t serial) const;
    scenarios::SendOp draw_operation();
    std::uint64_t draw_size(scenarios::SendOp op);
    void draw_pieces(Request& request, std::uint64_t begin);
    void fill(Request& request, scenarios::SendRequest& send);
    void fill_atomic(Request& request, scenarios::SendRequest& send);
    void finish(Request& request);
    void retire();
    void broken(const scenarios::Completion& done);
    [[noreturn]] void fail(const Request& request, const std::string& what) const;
    void require(bool right, const Request& request, const char* what) const {
        if (!right) fail(request, what);
    }

    const SoakOptions& options_;
    SoakStation& station_;
    SoakShared& shared_;
    SoakTotals& totals_;
    Pattern& pattern_;
    std::string name_;
    std::uint64_t identity_;
    std::uint64_t mtu_;
    std::uint8_t address_;
    model::RandomStream random_;
    std::uint64_t stride_;
    scenarios::VerbsMr* region_ = nullptr;
    scenarios::VerbsMr* window_ = nullptr;  ///< over the region, to be invalidated
    bool window_ready_ = false;
    bool window_gone_ = false;
    scenarios::VerbsQp* qp_ = nullptr;
    std::unique_ptr<ReceivePool> pool_;     ///< of the own receive queue
    RcEnd* peer_ = nullptr;
    std::deque<Request> under_way_;
    std::uint64_t next_serial_ = 0;
    std::uint64_t next_done_ = 0;           ///< serial of the oldest request not done
    unsigned unsignaled_ = 0;               ///< at the end of the queue
    std::deque<std::uint64_t> expected_;    ///< serials of the peer's that take a receive here
    std::uint64_t word_ = 0;                ///< what the requests posted so far make of the peer's
    std::uint64_t least_sum_ = 0;           ///< of the shared word, after the last answer
    bool peer_dead_ = false;
    bool failed_ = false;
    std::uint64_t flushed_receives_ = 0;
    std::uint64_t late_receives_ = 0;  ///< that were completed, but not posted again
};

}  // namespace cxsim::test
