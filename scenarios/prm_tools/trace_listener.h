// SPDX-License-Identifier: Apache-2.0
// What passes at a card's waists as trace records: text, JSON Lines, Perfetto.
#pragma once

#include "model/trace/tracer.h"
#include "scenarios/prm_tools/card_tap.h"

namespace cxsim::scenarios {

class TraceListener : public TapListener {
  public:
    /// Both outlive the listener.
    TraceListener(model::trace::Tracer& tracer, const Card& card);

    // TapListener
    void bar_read(model::FunctionId function, model::Picoseconds at, std::uint64_t offset,
                  std::span<const std::byte> data) override;
    void bar_write(model::FunctionId function, model::Picoseconds arrival, std::uint64_t offset,
                   std::span<const std::byte> from) override;
    void dma(model::FunctionId function, bool write, model::Picoseconds start,
             const model::DmaResult& result, model::HostAddress address,
             std::span<const std::byte> data) override;
    void event(model::FunctionId function, model::Picoseconds finish, std::uint32_t eqn,
               std::uint32_t index, std::span<const std::byte> eqe) override;
    void interrupt(model::FunctionId function, model::Picoseconds arrival, std::uint32_t vector,
                   bool masked) override;
    void reset(model::FunctionId function, model::Picoseconds at, model::ResetKind kind) override;
    void command_ended(const firmware_stub::CommandReport& report, std::uint32_t others) override;

  private:
    void doorbell(model::FunctionId function, model::Picoseconds arrival, std::uint64_t offset,
                  std::span<const std::byte> from);

    model::trace::Tracer& tracer_;
    model::trace::ComponentId commands_;
    model::trace::ComponentId bar_;
    model::trace::ComponentId dma_;
    model::trace::ComponentId events_;
    model::trace::ComponentId interrupts_;
    model::trace::ComponentId function_;
};

}  // namespace cxsim::scenarios
