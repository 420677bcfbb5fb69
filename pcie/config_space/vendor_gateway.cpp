// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/vendor_gateway.h"

#include <array>
#include <cstring>

namespace cxsim::pcie {

namespace {

constexpr std::uint32_t kFlag = 1u << 31;
constexpr std::uint32_t kSyndrome = 1u << 30;
constexpr std::uint32_t kAddressMask = 0x3fffffff;
constexpr std::uint32_t kStatusSupported = 1u << 29;
constexpr unsigned kSyndromeCodeShift = 24;

/// Whether the access covers the last byte of the dword at `reg`: the moment at which a dword, or
/// its last part, has arrived.
bool completes(unsigned offset, std::size_t size, unsigned reg) {
    return offset <= reg + 3 && offset + size > reg + 3;
}

}  // namespace

std::uint32_t VendorGateway::get(std::uint16_t offset) const {
    return space_.get(static_cast<std::uint16_t>(base_ + offset), 4);
}

void VendorGateway::set(std::uint16_t offset, std::uint32_t value) {
    space_.set(static_cast<std::uint16_t>(base_ + offset), 4, value);
}

void VendorGateway::before_read(unsigned offset, std::size_t size) {
    // One ticket for each read of the counter; dumps of the whole space do not count.
    if (offset > kCounter || offset + size <= kCounter || size > 4) return;
    // 0 is no ticket: it would read back from a free semaphore as if it had been taken.
    if (++ticket_ == 0) ++ticket_;
    set(kCounter, ticket_);
}

void VendorGateway::written(unsigned offset, std::span<const std::byte> from) {
    // The registers are read-only for the table, so the dword is put together here.
    const auto merged = [&](std::uint16_t reg) {
        std::array<std::byte, 4> bytes{};
        const std::uint32_t old = get(reg);
        std::memcpy(bytes.data(), &old, 4);
        for (std::size_t i = 0; i < from.size(); ++i) {
            const std::size_t at = offset + i;
            if (at >= reg && at < reg + 4u) bytes[at - reg] = from[i];
        }
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data(), 4);
        return value;
    };
    const auto touches = [&](unsigned reg) {
        return offset < reg + 4 && offset + from.size() > reg;
    };

    if (touches(kControl)) select_space(merged(kControl));
    if (touches(kSemaphore)) {
        const std::uint32_t value = merged(kSemaphore);
        // Free: the ticket takes it. Taken: only 0 is accepted, it releases.
        if (get(kSemaphore) == 0 || value == 0) set(kSemaphore, value);
    }
    if (touches(kAddress)) {
        const std::uint32_t value = merged(kAddress);
        if (completes(offset, from.size(), kAddress)) {
            access(value);
        } else {
            set(kAddress, value);
        }
    }
}

void VendorGateway::select_space(std::uint32_t value) {
    const auto selected = static_cast<std::uint16_t>(value);
    const bool supported =
        target_ != nullptr && target_->gateway_space_supported(function_, selected);
    if (!supported) ++statistics_.unsupported_spaces;
    set(kControl, selected | (supported ? kStatusSupported : 0));
}

void VendorGateway::access(std::uint32_t value) {
    const std::uint32_t control = get(kControl);
    const auto selected = static_cast<std::uint16_t>(control);
    const std::uint32_t address = value & kAddressMask;
    const bool write = (value & kFlag) != 0;
    const bool supported = (control & kStatusSupported) != 0;

    bool good = false;
    if (write) {
        ++statistics_.writes;
        good = supported && target_ != nullptr &&
               target_->gateway_write(function_, selected, address, get(kData));
    } else {
        ++statistics_.reads;
        std::uint32_t data = 0;
        good = supported && target_ != nullptr &&
               target_->gateway_read(function_, selected, address, data);
        if (good) set(kData, data);
    }
    if (!good) ++statistics_.syndromes;
    // Done at once: a read ends with the flag set, a write with the flag clear.
    set(kAddress, address | (write ? 0 : kFlag) | (good ? 0 : kSyndrome));
    set(kControl, selected | (supported ? kStatusSupported : 0) |
                      (good ? 0 : kSyndromeAddressOutOfRange << kSyndromeCodeShift));
}

void VendorGateway::reset() {
    ticket_ = 0;
    set(kCounter, 0);
}

}  // namespace cxsim::pcie
