// SPDX-License-Identifier: Apache-2.0
// The machine that a card is plugged into, for drivers inside this process: accesses to its
// configuration space and BAR0 through the endpoint's TLM socket, memory, interrupts, and the
// passing of simulated time while the processor waits.
#pragma once

#include "model/sim/kernel.h"
#include "pcie/endpoint/interrupt_sink.h"
#include "pcie/host/host_access.h"
#include "pcie/host/sparse_memory.h"
#include "scenarios/driver/error.h"
#include "scenarios/testbed/card.h"

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

namespace cxsim::scenarios {

class Host : public sc_core::sc_module, public pcie::InterruptSink {
  public:
    /// Binds the card's endpoint; made before the simulation runs. Kernel and card outlive it.
    Host(sc_core::sc_module_name name, model::Kernel& kernel, Card& card);

    model::Kernel& kernel() { return kernel_; }
    Card& card() { return card_; }
    pcie::SparseMemory& memory() { return memory_; }
    model::Picoseconds now() const { return kernel_.now(); }

    // --- Accesses of the processor. Reads take simulated time, writes are posted. An access that
    // the card does not answer throws DriverError.

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes = 4);
    void config_write(std::uint16_t offset, std::uint32_t value, unsigned bytes = 4);
    /// Registers of BAR0 are big-endian.
    std::uint32_t mmio_read32(std::uint64_t offset);
    void mmio_write32(std::uint64_t offset, std::uint32_t value);
    void mmio_write(std::uint64_t offset, std::span<const std::byte> data);

    // --- What a kernel's PCI core does before a driver starts and after it ends.

    /// Memory space and bus mastering on, MSI-X on with every vector programmed and unmasked.
    void enable();
    void disable();
    /// Offset of a capability in configuration space; 0 if the card does not have it.
    std::uint16_t find_capability(std::uint8_t id);
    /// Through DevCtl, as the kernel resets a function; waits the 100 ms that PCIe gives it.
    void function_level_reset();
    void hot_reset();

    // --- Waiting.

    /// Runs the simulation until `done` holds. `limit` is a duration. Returns done().
    template <class Predicate>
    bool wait_until(Predicate&& done, model::Picoseconds limit) {
        return kernel_.run_until_true(done, now() + limit);
    }
    void wait_for(model::Picoseconds duration) { kernel_.run_for(duration); }

    /// Interrupts received on a vector since the start.
    std::uint64_t interrupts(unsigned vector) const { return interrupts_.at(vector); }
    unsigned vectors() const { return static_cast<unsigned>(interrupts_.size()); }
    std::uint64_t wild_interrupts() const { return wild_interrupts_; }

    // pcie::InterruptSink
    void interrupt(model::FunctionId function, unsigned vector,
                   const pcie::MsixMessage& message) override;

  private:
    void access(tlm::tlm_command command, pcie::AccessSpace space, std::uint64_t address,
                std::span<std::byte> data);
    void program_vectors();

    model::Kernel& kernel_;
    Card& card_;
    tlm_utils::simple_initiator_socket<Host> to_card_;
    pcie::SparseMemory memory_;
    tlm::tlm_generic_payload payload_;
    pcie::HostAccess extension_;
    std::vector<std::uint64_t> interrupts_;
    std::uint64_t wild_interrupts_ = 0;  ///< messages that nobody programmed so
};

}  // namespace cxsim::scenarios
