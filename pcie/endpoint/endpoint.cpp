// SPDX-License-Identifier: Apache-2.0
#include "pcie/endpoint/endpoint.h"

#include "model/params/config_error.h"
#include "model/sim/kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cxsim::pcie {

using model::DmaResult;
using model::DmaStatus;
using model::FunctionId;
using model::HostAddress;
using model::Picoseconds;

namespace {

const LinkRegisters& link_registers(const EndpointConfig& config) {
    if (config.functions.empty() || config.functions.front().virtual_function) {
        throw model::ConfigError({"PCI endpoint", 0}, "functions", "function 0 must be physical");
    }
    return config.functions.front().link;
}

// Until software says otherwise (7.5.3.4).
constexpr unsigned kResetMaxPayload = 128;

}  // namespace

Endpoint::Endpoint(sc_core::sc_module_name name, model::Calendar& calendar,
                   const EndpointConfig& config, const HostProfile& host)
    : sc_module(name),
      host_socket("host_socket"),
      dma_socket("dma_socket"),
      calendar_(calendar),
      config_(config),
      link_(link_registers(config), config.link, kResetMaxPayload),
      host_(host, config.seed, sc_module::name()),
      dma_(config.dma, link_, host_, config.functions.size()),
      epochs_(config.functions.size()) {
    bool virtual_ones = false;
    for (std::size_t i = 0; i < config_.functions.size(); ++i) {
        const FunctionConfig& f = config_.functions[i];
        const bool bad_order = virtual_ones && !f.virtual_function;
        virtual_ones |= f.virtual_function;
        const std::size_t pf = f.physical_function.value;
        if (bad_order ||
            (f.virtual_function && (pf >= i || config_.functions[pf].virtual_function))) {
            throw model::ConfigError({"PCI endpoint", 0}, "functions",
                                     "physical functions come first, a VF names one of them");
        }
        functions_.push_back(
            std::make_unique<Function>(f, FunctionId{static_cast<std::uint16_t>(i)}));
    }
    host_socket.register_b_transport(this, &Endpoint::serve_host);
    update_link();
}

Endpoint::~Endpoint() = default;

void Endpoint::attach(model::FunctionTarget& device) {
    device_ = &device;
    for (auto& function : functions_) function->attach(&device);
}

HostMemory* Endpoint::memory() {
    if (memory_ == nullptr) {
        if (dma_socket.size() > 0) socket_memory_.bind(dma_socket.get_base_port().operator->());
        memory_ = &socket_memory_;
    }
    return memory_;
}

bool Endpoint::present(FunctionId id) const {
    if (id.value >= functions_.size()) return false;
    const Function& f = *functions_[id.value];
    if (!f.virtual_function()) return true;
    const FunctionId pf_id = f.config().physical_function;
    const Function& pf = *functions_[pf_id.value];
    if (!pf.vf_enable()) return false;
    unsigned index = 0;
    for (std::size_t i = 0; i < id.value; ++i) {
        index +=
            functions_[i]->virtual_function() && functions_[i]->config().physical_function == pf_id;
    }
    return index < pf.num_vfs();
}

bool Endpoint::memory_answers(FunctionId id) const {
    if (!present(id)) return false;
    const Function& f = *functions_[id.value];
    if (!f.memory_space()) return false;
    if (!f.virtual_function()) return true;
    const Function& pf = *functions_[f.config().physical_function.value];
    return pf.vf_memory() && !pf.in_d3hot();
}

bool Endpoint::may_master(FunctionId id) const {
    return present(id) && functions_[id.value]->bus_master();
}

void Endpoint::update_link() {
    link_.set_max_payload(functions_.front()->limits().max_payload);
}

// --- DMA ---------------------------------------------------------------------------------------

DmaResult Endpoint::read(FunctionId function, Picoseconds start, HostAddress address,
                         std::span<std::byte> into) {
    if (!may_master(function)) {
        ++statistics_.dma_bus_master_disabled;
        return {DmaStatus::bus_master_disabled, start};
    }
    Function& f = *functions_[function.value];
    const DmaStatus status = memory()->read(function, address, into);
    if (status != DmaStatus::ok) {
        f.errors().received_abort(status == DmaStatus::unsupported_request
                                      ? UncorrectableError::unsupported_request
                                      : UncorrectableError::completer_abort);
        return {status, dma_.refused_read(function, start)};
    }
    return {DmaStatus::ok, dma_.read(function, start, address, into.size(), f.limits())};
}

DmaResult Endpoint::write(FunctionId function, Picoseconds start, HostAddress address,
                          std::span<const std::byte> from) {
    if (!may_master(function)) {
        ++statistics_.dma_bus_master_disabled;
        return {DmaStatus::bus_master_disabled, start};
    }
    const DmaStatus status = memory()->write(function, address, from);
    // Nobody answers a posted write: the TLPs travel in any case, and a real card does not learn
    // that the host dropped them. The status is for counters of the device.
    if (status != DmaStatus::ok) dma_.refused_write();
    return {status, dma_.write(function, start, address, from.size(),
                               functions_[function.value]->limits())};
}

// --- Interrupts --------------------------------------------------------------------------------

Picoseconds Endpoint::raise_interrupt(FunctionId function, Picoseconds start,
                                      std::uint32_t vector) {
    Function* f = function.value < functions_.size() ? functions_[function.value].get() : nullptr;
    MsixTable* table = f != nullptr ? f->msix() : nullptr;
    if (table == nullptr || vector >= table->vectors()) {
        ++statistics_.interrupts_no_vector;
        return start;
    }
    switch (present(function) ? table->raise(vector) : MsixTable::Outcome::disabled) {
        case MsixTable::Outcome::send:
            return send_message(function, start, vector);
        case MsixTable::Outcome::pending:
            ++statistics_.interrupts_pending;
            break;
        case MsixTable::Outcome::disabled:
            ++statistics_.interrupts_disabled;
            break;
    }
    return start;
}

Picoseconds Endpoint::send_message(FunctionId id, Picoseconds start, unsigned vector) {
    const MsixMessage message = functions_[id.value]->msix()->message(vector);
    ++statistics_.interrupts_sent;
    const Picoseconds arrival =
        dma_.write(id, start, {message.address}, 4, functions_[id.value]->limits());
    // Message as it is now: later changes of the table do not reach what has been sent.
    const std::uint64_t who =
        id.value | std::uint64_t{vector} << 16 | std::uint64_t{epochs_[id.value]} << 32;
    calendar_.schedule<&Endpoint::deliver_message>(arrival, this,
                                                   {who, message.address, message.data});
    return arrival;
}

void Endpoint::deliver_message(const model::EventArguments& arguments) {
    const FunctionId id{static_cast<std::uint16_t>(arguments.a)};
    const auto vector = static_cast<unsigned>(arguments.a >> 16 & 0xffff);
    // Approximation: a reset also takes back messages that are on the wire already.
    if (static_cast<std::uint16_t>(arguments.a >> 32) != epochs_[id.value]) {
        ++statistics_.interrupts_lost_in_reset;
        return;
    }
    if (sink_ != nullptr) {
        sink_->interrupt(id, vector, {arguments.b, static_cast<std::uint32_t>(arguments.c)});
        model::Kernel::systemc_called();
    }
}

void Endpoint::release_pending(FunctionId id) {
    MsixTable* table = functions_[id.value]->msix();
    if (table == nullptr || !present(id)) return;
    for (int vector = table->take_released(); vector >= 0; vector = table->take_released()) {
        send_message(id, calendar_.now(), static_cast<unsigned>(vector));
    }
}

void Endpoint::program_vector(FunctionId function, unsigned vector, const MsixMessage& message,
                              bool masked) {
    MsixTable* table =
        function.value < functions_.size() ? functions_[function.value]->msix() : nullptr;
    if (table == nullptr || vector >= table->vectors()) return;
    std::array<std::byte, 16> entry;
    const std::uint32_t control = masked ? 1 : 0;
    std::memcpy(entry.data(), &message.address, 8);
    std::memcpy(entry.data() + 8, &message.data, 4);
    std::memcpy(entry.data() + 12, &control, 4);
    table->write_table(std::size_t{vector} * 16, entry);
    release_pending(function);
}

// --- Resets ------------------------------------------------------------------------------------

void Endpoint::reset_function(FunctionId id, ConfigReset kind) {
    functions_[id.value]->reset(kind);
    ++epochs_[id.value];
}

void Endpoint::function_level_reset(FunctionId id) {
    if (!present(id)) return;
    ++statistics_.function_level_resets;
    // VF Enable is among the registers that a PF loses: its VFs go first (9.2.2.2).
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        const FunctionId vf{static_cast<std::uint16_t>(i)};
        if (!functions_[i]->virtual_function() || !present(vf)) continue;
        if (functions_[i]->config().physical_function != id) continue;
        reset_function(vf, ConfigReset::function_level);
        if (device_ != nullptr) device_->function_reset(vf, model::ResetKind::function_level);
    }
    reset_function(id, ConfigReset::function_level);
    if (device_ != nullptr) device_->function_reset(id, model::ResetKind::function_level);
}

void Endpoint::conventional_reset(ConfigReset kind) {
    ++statistics_.conventional_resets;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        reset_function({static_cast<std::uint16_t>(i)}, kind);
    }
    link_.reset();
    dma_.reset();
    update_link();
    if (device_ != nullptr) device_->function_reset({0}, model::ResetKind::conventional);
}

void Endpoint::change_vf_enable(FunctionId pf_id) {
    Function& pf = *functions_[pf_id.value];
    unsigned configured = 0;
    for (const auto& f : functions_) {
        configured += f->virtual_function() && f->config().physical_function == pf_id;
    }
    if (pf.vf_enable() &&
        (pf.num_vfs() > configured || pf.num_vfs() > pf.config().sriov.total_vfs)) {
        ++statistics_.vf_enable_refused;
        pf.refuse_vf_enable();
        return;
    }
    // Enabled or disabled, a VF starts from its initial state (9.3.3.3.1).
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        const FunctionId vf{static_cast<std::uint16_t>(i)};
        if (!functions_[i]->virtual_function()) continue;
        if (functions_[i]->config().physical_function != pf_id) continue;
        reset_function(vf, ConfigReset::power_on);
        if (device_ != nullptr) device_->function_reset(vf, model::ResetKind::function_level);
    }
}

void Endpoint::carry_out(FunctionId id, const ConfigEffects& effects) {
    if (effects.function_level_reset) {
        function_level_reset(id);
        return;  // all else the write did is undone
    }
    if (effects.power_state_reset) {
        ++statistics_.power_state_resets;
        reset_function(id, ConfigReset::conventional);
        if (id.value == 0) update_link();
        if (device_ != nullptr) device_->function_reset(id, model::ResetKind::power_state);
        return;
    }
    if (effects.payload_changed && id.value == 0) update_link();
    if (effects.vf_enable_changed) change_vf_enable(id);
    if (effects.bus_master_changed && device_ != nullptr) {
        device_->bus_master_changed(id, functions_[id.value]->bus_master());
    }
    if (effects.msix_changed) release_pending(id);
}

}  // namespace cxsim::pcie
