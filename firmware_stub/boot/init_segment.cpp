// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/init_segment.h"

#include <algorithm>

#include "model/base/endian.h"

namespace cxsim::firmware_stub {

using model::Picoseconds;

namespace {

// Byte offsets (PRM, initialization segment; initial_seg in the layouts).
constexpr std::uint64_t kFirmwareRevision = 0x0;
constexpr std::uint64_t kInterfaceRevision = 0x4;
constexpr std::uint64_t kQueueAddressHigh = 0x10;
constexpr std::uint64_t kQueueAddressLow = 0x14;
constexpr std::uint64_t kCommandDoorbell = 0x18;
constexpr std::uint64_t kInitializing = 0x1fc;
constexpr std::uint64_t kHealthBuffer = 0x200;
constexpr std::uint64_t kHealthBufferBytes = 0x40;
constexpr std::uint64_t kHealthTime = 0x2c;
constexpr std::uint64_t kHealthFirmwareVersion = 0x30;
constexpr std::uint64_t kHealthHwId = 0x34;
constexpr std::uint64_t kHealthSeverity = 0x38;
constexpr std::uint64_t kHealthSyndrome = 0x3c;
constexpr std::uint64_t kTimerHigh = 0x1000;
constexpr std::uint64_t kTimerLow = 0x1004;
constexpr std::uint64_t kHealthCounter = 0x1010;

constexpr std::uint32_t kCommandInterfaceRevision = 5;
constexpr std::uint32_t kInitializingBit = 1U << 31;
constexpr std::uint32_t kFirmwareResetSupported = 1U << 30;
constexpr std::uint32_t kResetRequired = 1U << 31;  // rfr: the driver may reset the firmware
constexpr std::uint32_t kNicInterfaceMask = 0x7;
constexpr unsigned kNicInterfaceShift = 8;
constexpr std::uint32_t kSeverityError = 3;

}  // namespace

void InitSegment::reboot() {
    booted_at_ = calendar_.now();
    ready_at_ = booted_at_ + config_.initialisation_time;
    queue_address_high_ = 0;
    queue_address_low_ = 0;
}

void InitSegment::reset() {
    reboot();
    nic_interface_ = kNicFull;
}

std::uint64_t InitSegment::internal_timer(Picoseconds at) const {
    // kHz times ps is 1e-9 cycles; split to stay inside 64 bits.
    const auto ps = static_cast<std::uint64_t>(at.value);
    const std::uint64_t khz = config_.device_frequency_khz;
    constexpr std::uint64_t kScale = 1'000'000'000;
    return ps / kScale * khz + ps % kScale * khz / kScale;
}

// A dead firmware does not count any more: that is how the driver notices.
std::uint32_t InitSegment::health_counter(Picoseconds at) const {
    if (function_.health_syndrome != 0) at = std::min(at, function_.died_at);
    if (at < ready_at_) return 0;
    const auto count = (at - booted_at_).value / config_.health_period.value;
    return static_cast<std::uint32_t>(count) & 0xffffff;
}

std::uint32_t InitSegment::read_health(std::uint64_t offset) const {
    const bool dead = function_.health_syndrome != 0;
    switch (offset) {
        case kHealthTime:
            return dead ? static_cast<std::uint32_t>(function_.died_at.seconds()) : 0;
        case kHealthFirmwareVersion:
            return (std::uint32_t{config_.firmware_major} << 24) |
                   (std::uint32_t{config_.firmware_minor} << 16) | config_.firmware_subminor;
        case kHealthHwId: return config_.hw_id;
        case kHealthSeverity: return dead ? kResetRequired | kSeverityError << 24 : 0;
        case kHealthSyndrome:
            return (std::uint32_t{function_.health_syndrome} << 16) |
                   function_.health_extended_syndrome;
        default: return 0;
    }
}

std::uint32_t InitSegment::read_dword(std::uint64_t offset) const {
    const Picoseconds now = calendar_.now();
    if (offset >= kHealthBuffer && offset < kHealthBuffer + kHealthBufferBytes) {
        return read_health(offset - kHealthBuffer);
    }
    switch (offset) {
        case kFirmwareRevision:
            return (std::uint32_t{config_.firmware_minor} << 16) | config_.firmware_major;
        case kInterfaceRevision:
            return (kCommandInterfaceRevision << 16) | config_.firmware_subminor;
        case kQueueAddressHigh: return queue_address_high_;
        case kQueueAddressLow:
            // Size and stride stay readable whatever the driver wrote there.
            return queue_address_low_ | (nic_interface_ << kNicInterfaceShift) |
                   (config_.log_command_slots << 4) | config_.log_command_stride;
        case kInitializing:
            return kFirmwareResetSupported | (initializing(now) ? kInitializingBit : 0);
        case kTimerHigh: return static_cast<std::uint32_t>(internal_timer(now) >> 32);
        case kTimerLow: return static_cast<std::uint32_t>(internal_timer(now));
        case kHealthCounter: return health_counter(now);
        default: return 0;
    }
}

void InitSegment::read(std::uint64_t offset, std::span<std::byte> into) const {
    // Any size and alignment: the bytes of the dwords that it touches.
    std::uint64_t cached = ~std::uint64_t{0};
    std::byte dword[4];
    for (std::size_t i = 0; i < into.size(); ++i) {
        const std::uint64_t at = offset + i;
        if (at / 4 != cached) {
            cached = at / 4;
            model::store_be<std::uint32_t>(dword, read_dword(cached * 4));
        }
        into[i] = dword[at % 4];
    }
}

void InitSegment::write(Picoseconds arrival, std::uint64_t offset,
                        std::span<const std::byte> from) {
    // Registers take whole dwords; anything else is dropped as the card drops it.
    if (offset % 4 != 0 || from.size() % 4 != 0) return;
    for (std::size_t i = 0; i < from.size(); i += 4) {
        write_dword(arrival, offset + i, model::load_be<std::uint32_t>(from.data() + i));
    }
}

void InitSegment::write_dword(Picoseconds arrival, std::uint64_t offset, std::uint32_t value) {
    if (offset == kQueueAddressHigh) {
        queue_address_high_ = value;
    } else if (offset == kQueueAddressLow) {
        queue_address_low_ = value & ~std::uint32_t{0xfff};
        const std::uint32_t before = nic_interface_;
        nic_interface_ = (value >> kNicInterfaceShift) & kNicInterfaceMask;
        const model::HostAddress address{(std::uint64_t{queue_address_high_} << 32) |
                                         queue_address_low_};
        if (nic_interface_ == kNicSoftwareReset) {
            nic_interface_ = kNicDisabled;  // what the driver waits for
            if (software_reset_) software_reset_();
        } else if (nic_interface_ == kNicDisabled && before != kNicDisabled) {
            // Fast teardown: the driver takes the function away, its command queue with it.
            function_.commands().stop();
            function_.tear_down();
            if (disabled_) disabled_();
        } else if (nic_interface_ == kNicFull) {
            function_.commands().configure(address, config_.log_command_slots,
                                           config_.log_command_stride);
        }
    } else if (offset == kCommandDoorbell) {
        // The firmware neither takes commands while it boots nor after it died.
        if (initializing(arrival) || function_.health_syndrome != 0) return;
        function_.commands().doorbell(arrival, value);
    }
}

}  // namespace cxsim::firmware_stub
