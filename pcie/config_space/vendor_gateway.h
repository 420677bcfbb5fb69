// SPDX-License-Identifier: Apache-2.0
// The vendor-specific capability of ConnectX: a window of five dwords through which the driver and
// the firmware tools reach register spaces of the device (mlx5 lib/pci_vsc, mstflint mtcr).
#pragma once

#include "model/ports/host_bus.h"
#include "pcie/config_space/config_space.h"

#include <cstdint>

namespace cxsim::pcie {

struct GatewayStatistics {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t unsupported_spaces = 0;  ///< Selections of a space that does not exist.
    std::uint64_t syndromes = 0;           ///< Accesses to an address that does not exist.
};

class VendorGateway {
  public:
    // Offsets inside the capability.
    static constexpr std::uint16_t kControl = 0x04;  ///< Space 15:0, syndrome 27:24, status 31:29.
    static constexpr std::uint16_t kCounter = 0x08;  ///< Ticket; each read gives another one.
    static constexpr std::uint16_t kSemaphore = 0x0c;  ///< 0 free, else the holder's ticket.
    static constexpr std::uint16_t kAddress = 0x10;    ///< Address 29:0, syndrome 30, flag 31.
    static constexpr std::uint16_t kData = 0x14;
    static constexpr std::uint16_t kBytes = 0x18;
    static constexpr std::uint32_t kSyndromeAddressOutOfRange = 3;

    VendorGateway(ConfigSpace& space, std::uint16_t base, model::FunctionId function)
        : space_(space), base_(base), function_(function) {}

    void attach(model::FunctionTarget* target) { target_ = target; }

    /// Called before a host read of `size` bytes at capability offset `offset`.
    void before_read(unsigned offset, std::size_t size);
    /// Called after a host write, whose bytes the gateway judges itself: `from` are the bytes.
    void written(unsigned offset, std::span<const std::byte> from);
    void reset();

    const GatewayStatistics& statistics() const { return statistics_; }

  private:
    std::uint32_t get(std::uint16_t offset) const;
    void set(std::uint16_t offset, std::uint32_t value);
    void select_space(std::uint32_t value);
    void access(std::uint32_t value);

    ConfigSpace& space_;
    std::uint16_t base_;
    model::FunctionId function_;
    model::FunctionTarget* target_ = nullptr;
    std::uint32_t ticket_ = 0;
    GatewayStatistics statistics_;
};

}  // namespace cxsim::pcie
