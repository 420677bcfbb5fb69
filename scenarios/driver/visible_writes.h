// SPDX-License-Identifier: Apache-2.0
// When the card's writes become visible. Data move when the card computes a write, which is before
// it would be there; a program that polls memory asks here, so that it sees nothing early.
#pragma once

#include "model/ports/host_bus.h"

#include <cstdint>
#include <vector>

namespace cxsim::scenarios {

/// Stands between firmware and endpoint (CardSetup::wrap_bus) and remembers for each 64-byte block
/// of the watched ranges when its last write is visible.
class VisibleWrites final : public model::HostBus {
  public:
    static constexpr std::uint64_t kBlockBytes = 64;

    explicit VisibleWrites(model::HostBus& bus) : bus_(bus) {}

    void watch(model::HostAddress start, std::uint64_t bytes);
    void forget(model::HostAddress start);
    /// Picoseconds 0 for a block that was never written or is not watched.
    model::Picoseconds visible(model::HostAddress address) const;

    // model::HostBus
    model::DmaResult read(model::FunctionId function, model::Picoseconds start,
                          model::HostAddress address, std::span<std::byte> into) override {
        return bus_.read(function, start, address, into);
    }
    model::DmaResult write(model::FunctionId function, model::Picoseconds start,
                           model::HostAddress address, std::span<const std::byte> from) override;
    model::Picoseconds raise_interrupt(model::FunctionId function, model::Picoseconds start,
                                       std::uint32_t vector) override {
        return bus_.raise_interrupt(function, start, vector);
    }

  private:
    struct Range {
        std::uint64_t start;
        std::uint64_t end;
        std::vector<model::Picoseconds> blocks;
    };
    /// Index of the range that holds `address`, ranges_.size() if there is none.
    std::size_t find(std::uint64_t address) const;

    model::HostBus& bus_;
    std::vector<Range> ranges_;  // ascending, disjoint
};

}  // namespace cxsim::scenarios
