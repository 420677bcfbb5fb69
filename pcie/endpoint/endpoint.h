// SPDX-License-Identifier: Apache-2.0
// The card's PCI Express endpoint: its functions, the link, the bus master. The device behind it
// sees model::HostBus; the host sees configuration space, BAR0 and ROM of each function, through
// the methods below or through the sockets that call them.
#pragma once

#include "model/ports/host_bus.h"
#include "model/sim/calendar.h"
#include "pcie/dma/dma_engine.h"
#include "pcie/endpoint/function.h"
#include "pcie/endpoint/interrupt_sink.h"
#include "pcie/host/host_access.h"
#include "pcie/host/host_memory.h"
#include "pcie/host/memory_socket.h"
#include "pcie/host/root_complex.h"
#include "pcie/link/link.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

namespace cxsim::pcie {

struct EndpointConfig {
    /// Index = FunctionId: physical functions first, then virtual ones. The first one's link
    /// registers are the link's.
    std::vector<FunctionConfig> functions;
    LinkTiming link;
    DmaTiming dma;
    /// From a read of BAR0 understood by the card to its data ready for the link.
    model::Picoseconds register_read{};
    std::uint64_t seed = 0;  ///< Of the tails of the host's latencies.
};

/// How a request of the host was answered.
enum class Completion : std::uint8_t { success, unsupported_request };

struct AccessResult {
    Completion status = Completion::success;
    /// Reads: data back at the core. Writes: arrived at the card.
    model::Picoseconds finish;
    bool ok() const { return status == Completion::success; }
};

struct EndpointStatistics {
    std::uint64_t config_reads = 0;
    std::uint64_t config_writes = 0;
    std::uint64_t bar_reads = 0;
    std::uint64_t bar_writes = 0;
    std::uint64_t rom_reads = 0;
    std::uint64_t unsupported_requests = 0;  ///< Accesses of the host that were refused.
    std::uint64_t dma_bus_master_disabled = 0;
    std::uint64_t interrupts_sent = 0;
    std::uint64_t interrupts_pending = 0;    ///< Raised while masked.
    std::uint64_t interrupts_disabled = 0;   ///< Raised while MSI-X was off: lost.
    std::uint64_t interrupts_no_vector = 0;  ///< Vector beyond the table: ignored.
    std::uint64_t interrupts_lost_in_reset = 0;
    std::uint64_t function_level_resets = 0;
    std::uint64_t conventional_resets = 0;
    std::uint64_t power_state_resets = 0;
    std::uint64_t vf_enable_refused = 0;  ///< VF Enable with more VFs than are configured.
};

class Endpoint : public sc_core::sc_module, public model::HostBus {
  public:
    /// Host accesses with a HostAccess extension. Optional to bind.
    tlm_utils::simple_target_socket_optional<Endpoint> host_socket;
    /// Requests of the card to host memory, used when no HostMemory is attached.
    tlm_utils::simple_initiator_socket_optional<Endpoint> dma_socket;

    /// Throws model::ConfigError for functions that cannot exist.
    Endpoint(sc_core::sc_module_name name, model::Calendar& calendar, const EndpointConfig& config,
             const HostProfile& host);
    ~Endpoint() override;

    void attach(model::FunctionTarget& device);
    /// Instead of dma_socket: no payload, no socket call per request.
    void attach(HostMemory& memory) { memory_ = &memory; }
    void attach(InterruptSink& sink) { sink_ = &sink; }

    // --- The host's side. Ranges that leave the space are answered as unsupported.

    /// 1, 2 or 4 bytes, or any range (dumps). Functions that do not exist read all ones.
    Completion config_read(model::FunctionId function, std::uint16_t offset,
                           std::span<std::byte> into);
    Completion config_write(model::FunctionId function, std::uint16_t offset,
                            std::span<const std::byte> from);
    /// `start`: when the core issues the access, not before the calendar's now. Refused reads
    /// return all ones.
    AccessResult bar_read(model::FunctionId function, model::Picoseconds start,
                          std::uint64_t offset, std::span<std::byte> into);
    /// Posted. Reaches the device in the order of the calls.
    AccessResult bar_write(model::FunctionId function, model::Picoseconds start,
                           std::uint64_t offset, std::span<const std::byte> from);
    AccessResult rom_read(model::FunctionId function, model::Picoseconds start,
                          std::uint64_t offset, std::span<std::byte> into);

    /// What a host does to a vector's table entry, for hosts that own the table themselves.
    void program_vector(model::FunctionId function, unsigned vector, const MsixMessage& message,
                        bool masked);

    /// Link reset, hot reset: everything but sticky bits.
    void hot_reset() { conventional_reset(ConfigReset::conventional); }
    /// Sticky bits too.
    void power_cycle() { conventional_reset(ConfigReset::power_on); }
    /// As by DevCtl's Initiate FLR.
    void function_level_reset(model::FunctionId function);

    // --- The device's side (model::HostBus).
    model::DmaResult read(model::FunctionId function, model::Picoseconds start,
                          model::HostAddress address, std::span<std::byte> into) override;
    model::DmaResult write(model::FunctionId function, model::Picoseconds start,
                           model::HostAddress address, std::span<const std::byte> from) override;
    model::Picoseconds raise_interrupt(model::FunctionId function, model::Picoseconds start,
                                       std::uint32_t vector) override;

    // --- Looking inside.
    std::size_t functions() const { return functions_.size(); }
    Function& function(model::FunctionId id) { return *functions_[id.value]; }
    const Function& function(model::FunctionId id) const { return *functions_[id.value]; }
    /// Exists on the bus: a PF always, a VF while its PF has it enabled.
    bool present(model::FunctionId id) const;
    RootComplex& root_complex() { return host_; }
    const EndpointStatistics& statistics() const { return statistics_; }
    const DmaStatistics& dma_statistics() const { return dma_.statistics(); }
    const Link& link() const { return link_; }

  private:
    enum class BarPart : std::uint8_t { device, msix_table, msix_pba };
    struct BarSlice {
        BarPart part;
        std::uint64_t offset;  // in the part
        std::size_t bytes;
    };

    void serve_host(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    HostMemory* memory();
    bool memory_answers(model::FunctionId id) const;
    bool may_master(model::FunctionId id) const;
    BarSlice slice(const Function& function, std::uint64_t offset, std::size_t bytes);
    AccessResult refuse(model::FunctionId id, model::Picoseconds start, bool posted,
                        std::uint64_t offset, std::size_t bytes);
    AccessResult round_trip(model::FunctionId id, model::Picoseconds start, std::size_t bytes,
                            model::Picoseconds inside);
    void carry_out(model::FunctionId id, const ConfigEffects& effects);
    void change_vf_enable(model::FunctionId pf);
    void conventional_reset(ConfigReset kind);
    void reset_function(model::FunctionId id, ConfigReset kind);
    void release_pending(model::FunctionId id);
    model::Picoseconds send_message(model::FunctionId id, model::Picoseconds start,
                                    unsigned vector);
    void deliver_message(const model::EventArguments& arguments);
    void update_link();

    model::Calendar& calendar_;
    EndpointConfig config_;
    std::vector<std::unique_ptr<Function>> functions_;
    Link link_;
    RootComplex host_;
    DmaEngine dma_;
    MemorySocket socket_memory_;
    HostMemory* memory_ = nullptr;
    model::FunctionTarget* device_ = nullptr;
    InterruptSink* sink_ = nullptr;
    model::Picoseconds mmio_sent_;       // last MMIO request on the link
    std::vector<std::uint16_t> epochs_;  // resets of each function
    EndpointStatistics statistics_;
};

}  // namespace cxsim::pcie
