// SPDX-License-Identifier: Apache-2.0
// Which posted writes of a function a request may not pass.
#pragma once

#include "model/base/units.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cxsim::pcie {

/// Callers compute ahead, so writes are not asked for in the order in which they become ready: one
/// that waits for a translation does not hold back those that are ready before it. Bounded memory:
/// of more than kWrites the first is taken for earlier than all that come.
class PostedOrder {
  public:
    struct Write {
        model::Picoseconds start;    ///< when it was ready to go
        model::Picoseconds sent;     ///< it and all before it
        model::Picoseconds visible;  ///< it and all before it
    };

    /// What a request ready at `start` has to stay behind: the writes that were ready by then.
    const Write& before(model::Picoseconds start) const {
        std::size_t at = count_;
        while (at > 0 && write(at - 1).start > start) --at;
        return at == 0 ? floor_ : write(at - 1);
    }

    void add(const Write& added) {
        if (count_ == kWrites) {
            floor_ = write(0);
            ++first_;
            --count_;
        }
        std::size_t at = count_++;
        for (; at > 0 && write(at - 1).start > added.start; --at) {
            write(at) = write(at - 1);
            raise(write(at), added);
        }
        write(at) = added;
        raise(write(at), at == 0 ? floor_ : write(at - 1));
    }

    void reset() { *this = {}; }

  private:
    static constexpr std::size_t kWrites = 64;  // a power of two

    static void raise(Write& later, const Write& earlier) {
        later.sent = std::max(later.sent, earlier.sent);
        later.visible = std::max(later.visible, earlier.visible);
    }
    Write& write(std::size_t index) { return ring_[(first_ + index) & (kWrites - 1)]; }
    const Write& write(std::size_t index) const { return ring_[(first_ + index) & (kWrites - 1)]; }

    std::array<Write, kWrites> ring_{};  // by start from first_ on
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    Write floor_;
};

}  // namespace cxsim::pcie
