// SPDX-License-Identifier: Apache-2.0
// The host pages that a function's firmware lives on: given by the driver, used for contexts and
// translation tables, handed back when asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "model/base/units.h"
#include "model/memory/context_caches.h"

namespace cxsim::firmware_stub {

inline constexpr std::uint64_t kFirmwarePageBytes = 4096;

/// From the card's data.
struct PageParameters {
    std::uint32_t boot = 0;        ///< asked for at boot (QUERY_PAGES op_mod 1)
    std::uint32_t init = 0;        ///< asked for before INIT_HCA (op_mod 2)
    std::uint32_t low_water = 0;   ///< fewer free pages: ask for more by event
    std::uint32_t high_water = 0;  ///< more free pages: offer the surplus back by event
};

class PageSupply : public model::ContextMemory {
  public:
    explicit PageSupply(const PageParameters& parameters) : parameters_(parameters) {}

    enum class GiveError : std::uint8_t { none, not_aligned, given_twice };

    /// Takes over pages; all or none.
    GiveError give(std::span<const std::uint64_t> addresses);
    /// Hands back up to `count` pages that hold nothing, the latest given first.
    std::vector<std::uint64_t> take(std::uint32_t count);

    /// Contexts of a kind lie one behind the other, page after page of those held.
    std::optional<model::HostAddress> context_address(model::ContextKind kind, std::uint32_t owner,
                                                      std::uint32_t index,
                                                      std::uint32_t bytes) const override;

    /// What the firmware keeps in pages now: `working_pages` of its own plus contexts.
    void set_use(std::uint32_t working_pages, model::Bytes contexts);

    std::uint32_t held() const { return static_cast<std::uint32_t>(pages_.size()); }
    std::uint32_t used() const {
        return static_cast<std::uint32_t>(pages_for(working_, contexts_));
    }
    std::uint32_t free() const { return held() > used() ? held() - used() : 0; }
    /// No page has room for another context, however small.
    bool exhausted() const { return pages_for(working_, {contexts_.value + 1}) > held(); }

    const PageParameters& parameters() const { return parameters_; }
    /// Pages to ask for (above 0) or to offer (below 0) now; 0 while an earlier request is open.
    std::int32_t wanted() const;
    /// An event was sent; no other one until answered() or withdrawn.
    void asked() { request_open_ = true; }
    void answered() { request_open_ = false; }

    void reset();

  private:
    static std::uint64_t pages_for(std::uint32_t working, model::Bytes contexts) {
        return working + (contexts.value + kFirmwarePageBytes - 1) / kFirmwarePageBytes;
    }

    PageParameters parameters_;
    std::vector<std::uint64_t> pages_;
    std::unordered_set<std::uint64_t> known_;
    std::uint32_t working_ = 0;
    model::Bytes contexts_;
    bool request_open_ = false;
};

}  // namespace cxsim::firmware_stub
