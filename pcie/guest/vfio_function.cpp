// SPDX-License-Identifier: Apache-2.0
#include "pcie/guest/vfio_function.h"

#include <algorithm>

#include "pcie/vfio_user/protocol.h"

namespace cxsim::pcie {

using model::DmaStatus;

namespace {

constexpr std::uint64_t kConfigBytes = 4096;
constexpr std::uint64_t kStandardConfigBytes = 256;
constexpr std::uint32_t kRomRegion = 6;

DmaStatus to_dma_status(vfio_user::Status status) {
    return status.ok() ? DmaStatus::ok : DmaStatus::completer_abort;
}

}  // namespace

DmaStatus GuestHostMemory::read(model::FunctionId function, model::HostAddress address,
                                std::span<std::byte> into) {
    vfio_user::GuestMemory* memory = memories_.at(function.value);
    const DmaStatus status = memory == nullptr ? DmaStatus::unsupported_request
                                               : to_dma_status(memory->read(address.value, into));
    refused_ += status == DmaStatus::ok ? 0 : 1;
    return status;
}

DmaStatus GuestHostMemory::write(model::FunctionId function, model::HostAddress address,
                                 std::span<const std::byte> from) {
    vfio_user::GuestMemory* memory = memories_.at(function.value);
    const DmaStatus status = memory == nullptr
                                 ? DmaStatus::unsupported_request
                                 : to_dma_status(memory->write(address.value, from));
    refused_ += status == DmaStatus::ok ? 0 : 1;
    return status;
}

VfioFunction::VfioFunction(Endpoint& endpoint, model::FunctionId function,
                           model::Calendar& calendar, std::function<void()> synchronise)
    : endpoint_(endpoint),
      function_(function),
      calendar_(calendar),
      synchronise_(std::move(synchronise)),
      regions_(vfio_user::kPciRegionCount),
      irqs_(vfio_user::kPciIrqCount) {
    const FunctionConfig& config = endpoint.function(function).config();
    regions_[kBar0Region].size = std::uint64_t{1} << config.bar0_log2;
    if (config.rom_log2 != 0) {
        regions_[kRomRegion].size = std::uint64_t{1} << config.rom_log2;
        regions_[kRomRegion].writable = false;
    }
    regions_[vfio_user::kPciConfigRegion].size = kConfigBytes;
    if (config.interrupt_pin != 0) {
        irqs_[vfio_user::kPciIntxIrq] = {.count = 1, .maskable = true, .automasked = true};
    }
    irqs_[vfio_user::kPciMsixIrq] = {.count = config.msix.vectors};
}

void VfioFunction::connect(vfio_user::Endpoint& socket, GuestHostMemory& memory) {
    socket_ = &socket;
    memory.set(function_, &socket.memory());
}

bool VfioFunction::interrupt(unsigned vector) {
    return socket_ != nullptr &&
           socket_->interrupts().trigger(vfio_user::kPciMsixIrq, vector) ==
               vfio_user::Delivery::kDelivered;
}

// QEMU reads all 4096 bytes once, at realize, and edits the extended list that it then finds: it
// unlinks SR-IOV and ARI. If that one read shows no extended list, it leaves the live one alone,
// and the guest sees what the card shows.
void VfioFunction::read_config(std::uint64_t offset, std::span<std::byte> out) {
    endpoint_.config_read(function_, static_cast<std::uint16_t>(offset), out);
    if (offset < kStandardConfigBytes && offset + out.size() > kStandardConfigBytes) {
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(kStandardConfigBytes - offset),
                  out.end(), std::byte{0});
    }
}

vfio_user::Status VfioFunction::read(std::uint32_t region, std::uint64_t offset,
                                     std::span<std::byte> out) {
    synchronise_();
    switch (region) {
        case vfio_user::kPciConfigRegion: read_config(offset, out); break;
        case kBar0Region: endpoint_.bar_read(function_, calendar_.now(), offset, out); break;
        case kRomRegion: endpoint_.rom_read(function_, calendar_.now(), offset, out); break;
        default: return vfio_user::Status(EINVAL);
    }
    return {};
}

vfio_user::Status VfioFunction::write(std::uint32_t region, std::uint64_t offset,
                                      std::span<const std::byte> in) {
    synchronise_();
    switch (region) {
        case vfio_user::kPciConfigRegion:
            endpoint_.config_write(function_, static_cast<std::uint16_t>(offset), in);
            break;
        case kBar0Region: endpoint_.bar_write(function_, calendar_.now(), offset, in); break;
        default: return vfio_user::Status(EINVAL);
    }
    return {};
}

vfio_user::Status VfioFunction::reset() {
    synchronise_();
    // The client resets the machine: for a card of one function that is the bus's reset.
    if (endpoint_.functions() == 1) {
        endpoint_.hot_reset();
    } else {
        endpoint_.function_level_reset(function_);
    }
    return {};
}

void VfioFunction::client_connected() {
    ++connections_;
}

// The machine is gone: what comes next is another power-up.
void VfioFunction::client_disconnected(std::string_view) {
    synchronise_();
    if (endpoint_.functions() == 1) {
        endpoint_.power_cycle();
    } else {
        endpoint_.function_level_reset(function_);
    }
}

// The client keeps the MSI-X table itself and tells us by eventfds which vectors may be sent.
void VfioFunction::irqs_changed(std::uint32_t index, std::uint32_t start, std::uint32_t count) {
    if (index != vfio_user::kPciMsixIrq || socket_ == nullptr) return;
    for (std::uint32_t vector = start; vector < start + count; ++vector) {
        const bool enabled = socket_->interrupts().enabled(index, vector);
        endpoint_.program_vector(function_, vector, MsixMessage{0, vector}, !enabled);
    }
}

}  // namespace cxsim::pcie
