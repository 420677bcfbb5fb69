// SPDX-License-Identifier: Apache-2.0
// User memory registration: the WQE that changes an mkey's translation and context.
#pragma once

#include "model/queues/engine_state.h"
#include "model/queues/wqe.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::model {

/// Who asks for a registration.
struct UmrRequester {
    std::uint32_t queue = 0;
    std::uint32_t pd = 0;
    bool any_pd = false;         ///< the driver's registration QP works on mkeys of all PDs
    bool reserved_lkey = false;  ///< rlky
};

struct UmrOutcome {
    WqeStatus status;
    Picoseconds finish;  ///< when the translation list had been read
};

class UmrExecutor {
  public:
    explicit UmrExecutor(EngineState& state) : state_(state) {}

    /// Executes the UMR WQE `wqe` (all its bytes, control segment first). Nothing of the mkey has
    /// changed when the status is an error, save the entries read before the host refused.
    UmrOutcome execute(Picoseconds at, const WqeControl& control, std::span<const std::byte> wqe,
                       const UmrRequester& requester);

    /// The WQE of one segment that frees the mkey named in its immediate.
    WqeStatus invalidate(const WqeControl& control, const UmrRequester& requester);

  private:
    bool memory_serves(const Mkey& mkey, prm::ConstView<prm::mkc> from, std::uint64_t mask,
                       std::span<const std::byte> entries, const UmrRequester& requester) const;
    UmrOutcome load_translations(Picoseconds at, Mkey& mkey, std::uint64_t offset,
                                 std::uint64_t bytes, bool is_inline,
                                 std::span<const std::byte> segments,
                                 const UmrRequester& requester);

    EngineState& state_;
    std::vector<HostRange> ranges_;  // reused
};

/// What a SEND with invalidate asks at the receiver: the key must live, belong to the domain (and
/// be bound to the QP, if to any) and allow remote invalidation. Frees it; false: not allowed.
bool invalidate_remotely(const Translator& translator, std::uint32_t key, std::uint32_t pd,
                         std::uint32_t queue);

}  // namespace cxsim::model
