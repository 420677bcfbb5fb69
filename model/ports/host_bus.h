// SPDX-License-Identifier: Apache-2.0
// The narrow waist towards the host: what the card asks of PCIe, and what PCIe asks of the card.
// pcie implements HostBus; the device (model/device, firmware_stub) implements FunctionTarget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/base/units.h"

namespace cxsim::model {

/// Index of a PCI function of one card: physical functions first, then virtual ones.
struct FunctionId {
    std::uint16_t value = 0;
    friend constexpr auto operator<=>(FunctionId, FunctionId) = default;
};

/// Address in the host's memory as the card sees it (after no or an IOMMU: the bus address).
struct HostAddress {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(HostAddress, HostAddress) = default;
    friend constexpr HostAddress operator+(HostAddress a, std::uint64_t n) { return {a.value + n}; }
};

/// How the fabric answered a request of the card.
enum class DmaStatus : std::uint8_t {
    ok,
    bus_master_disabled,   ///< Command register: the function may not issue requests.
    unsupported_request,   ///< Nobody claims the address.
    completer_abort,       ///< The host refuses the access (unmapped, no permission).
};

struct DmaResult {
    DmaStatus status = DmaStatus::ok;
    /// When the last completion (read) or the last posted byte (write) has arrived.
    Picoseconds finish;
    bool ok() const { return status == DmaStatus::ok; }
};

/// Requests of a function to the host. Time is computed ahead: the caller states when the request
/// is ready (`start`, never before the calendar's now), data moves at the call, and the answer
/// says when it would have been there; the caller schedules what must become visible then.
class HostBus {
  public:
    virtual ~HostBus() = default;

    /// Reads `into.size()` bytes at `address`. On a refusal `into` is left untouched.
    virtual DmaResult read(FunctionId function, Picoseconds start, HostAddress address,
                           std::span<std::byte> into) = 0;

    /// Posted write. Writes of one function become visible in the order of the calls.
    virtual DmaResult write(FunctionId function, Picoseconds start, HostAddress address,
                            std::span<const std::byte> from) = 0;

    /// Raises MSI-X `vector`: a posted write of its own behind the function's earlier writes;
    /// masked vectors set their pending bit. Vectors beyond the table are ignored and counted.
    /// Returns when the message has arrived at the host.
    virtual Picoseconds raise_interrupt(FunctionId function, Picoseconds start,
                                        std::uint32_t vector) = 0;
};

enum class ResetKind : std::uint8_t {
    conventional,    ///< Hot or warm reset: everything of the card.
    function_level,  ///< FLR of one function.
    power_state,     ///< D3hot to D0 without NoSoftRst.
};

/// What the endpoint asks of the device behind a function. Calls come in bus order.
class FunctionTarget {
  public:
    virtual ~FunctionTarget() = default;

    /// Memory read of BAR0, answered at once; `offset + into.size()` lies inside the BAR.
    /// The MSI-X table and PBA are the endpoint's own and do not arrive here.
    virtual void bar_read(FunctionId function, std::uint64_t offset, std::span<std::byte> into) = 0;

    /// Posted memory write of BAR0 that reaches the device at `arrival`.
    virtual void bar_write(FunctionId function, Picoseconds arrival, std::uint64_t offset,
                           std::span<const std::byte> from) = 0;

    /// The function (all functions for `conventional`) has been reset.
    virtual void function_reset(FunctionId function, ResetKind kind) = 0;

    /// Bus mastering was switched; a device with work waiting may go on.
    virtual void bus_master_changed(FunctionId function, bool enabled) = 0;

    /// Vendor-specific capability gateway: a dword of `space`; false when the space or the
    /// address does not exist (the gateway then reports its syndrome).
    virtual bool gateway_read(FunctionId function, std::uint16_t space, std::uint32_t address,
                              std::uint32_t& value) = 0;
    virtual bool gateway_write(FunctionId function, std::uint16_t space, std::uint32_t address,
                               std::uint32_t value) = 0;
    /// Whether the gateway's space select should report `space` as supported.
    virtual bool gateway_space_supported(FunctionId function, std::uint16_t space) = 0;
};

}  // namespace cxsim::model
