// SPDX-License-Identifier: Apache-2.0
// One PCI function of the card: its configuration space with everything that configuration
// accesses do to it. The endpoint asks it what it may do and acts on what changed.
#pragma once

#include "model/ports/host_bus.h"
#include "pcie/config_space/capabilities.h"
#include "pcie/config_space/error_reporting.h"
#include "pcie/config_space/msix_table.h"
#include "pcie/config_space/vendor_gateway.h"
#include "pcie/config_space/vital_product_data.h"
#include "pcie/dma/dma_engine.h"

#include <memory>
#include <optional>

namespace cxsim::pcie {

/// What a configuration write changed beyond the registers; the endpoint carries it out.
struct ConfigEffects {
    bool function_level_reset = false;
    bool power_state_reset = false;  ///< D3hot to D0 without NoSoftRst.
    bool bus_master_changed = false;
    bool msix_changed = false;     ///< Pending vectors may have been released.
    bool payload_changed = false;  ///< Max_Payload_Size.
    bool vf_enable_changed = false;
};

class Function {
  public:
    Function(const FunctionConfig& config, model::FunctionId id);

    const FunctionConfig& config() const { return config_; }
    model::FunctionId id() const { return id_; }
    void attach(model::FunctionTarget* target);

    /// Any range inside the 4096 bytes. `transactions_pending`: a non-posted request is out.
    void config_read(std::uint16_t offset, std::span<std::byte> into, bool transactions_pending);
    ConfigEffects config_write(std::uint16_t offset, std::span<const std::byte> from);

    /// Registers to their values after the reset; VPD contents stay.
    void reset(ConfigReset kind);

    bool memory_space() const;  ///< BAR0 answers (of a VF: if its PF says so, too).
    bool bus_master() const { return bus_master_; }  ///< May issue requests.
    bool in_d3hot() const;
    bool rom_enabled() const;
    const RequestLimits& limits() const { return limits_; }

    bool virtual_function() const { return config_.virtual_function; }
    // SR-IOV registers of a PF.
    bool vf_enable() const;
    bool vf_memory() const;
    unsigned num_vfs() const;
    void refuse_vf_enable();

    ConfigSpace& space() { return space_; }
    const ConfigSpace& space() const { return space_; }
    MsixTable* msix() { return msix_ ? &*msix_ : nullptr; }
    VitalProductData* vpd() { return vpd_ ? &*vpd_ : nullptr; }
    const VendorGateway* gateway() const { return gateway_ ? &*gateway_ : nullptr; }
    ErrorReporting& errors() { return errors_; }
    const ErrorReporting& errors() const { return errors_; }

    /// Programmed address of BAR0.
    std::uint64_t bar0_address() const;

  private:
    std::uint16_t express(std::uint16_t offset) const {
        return static_cast<std::uint16_t>(express_ + offset);
    }
    void refresh_before_read(std::uint16_t offset, std::size_t size, bool transactions_pending);
    void vpd_written(std::uint16_t offset, std::size_t size);
    void derive();

    FunctionConfig config_;
    model::FunctionId id_;
    model::FunctionTarget* target_ = nullptr;
    // Offsets of the structures with behaviour, 0 if absent.
    std::uint16_t power_;
    std::uint16_t vpd_at_;
    std::uint16_t express_;
    std::uint16_t msix_at_;
    std::uint16_t gateway_at_;
    std::uint16_t sriov_;

    ConfigSpace space_;
    std::optional<MsixTable> msix_;
    std::optional<VitalProductData> vpd_;
    std::optional<VendorGateway> gateway_;
    ErrorReporting errors_;
    RequestLimits limits_;
    bool bus_master_ = false;
};

}  // namespace cxsim::pcie
