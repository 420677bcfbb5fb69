// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/init_segment.h"

#include <algorithm>

#include "model/base/endian.h"
#include "prm/layouts.h"

namespace cxsim::firmware_stub {

using model::Picoseconds;

namespace {

using Segment = prm::initial_seg;
using Health = prm::health_buffer;

/// Byte offset of the dword that a member lies in.
template <class Member>
constexpr std::uint64_t kDword = Member::kOffset / 32 * 4;

/// Bits to the right of a field inside its dword.
template <class Field>
constexpr std::uint32_t kShift = 32 - Field::kOffset % 32 - Field::kWidth;

template <class Field>
constexpr std::uint32_t in_dword(std::uint32_t value) {
    return value << kShift<Field>;
}

constexpr std::uint64_t kHealthBuffer = kDword<Segment::health_buffer>;
constexpr std::uint64_t kTimerHigh = kDword<Segment::internal_timer>;
constexpr std::uint64_t kTimerLow = kTimerHigh + 4;

constexpr std::uint32_t kCommandInterfaceRevision = 5;
// The layout knows two of the field's three bits; SW_RESET needs the third.
constexpr std::uint32_t kNicInterfaceMask = 0x7;
constexpr std::uint32_t kNicInterfaceShift = kShift<Segment::nic_interface>;
constexpr std::uint32_t kAddressLowMask = ~((1U << kShift<Segment::cmdq_phy_addr_31_12>) - 1);
constexpr std::uint32_t kHealthCounterMask = (1U << Segment::health_counter::kWidth) - 1;
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
    return static_cast<std::uint32_t>(count) & kHealthCounterMask;
}

std::uint32_t InitSegment::read_health(std::uint64_t offset) const {
    const bool dead = function_.health_syndrome != 0;
    switch (offset) {
        case kDword<Health::time>:
            return dead ? static_cast<std::uint32_t>(function_.died_at.seconds()) : 0;
        case kDword<Health::fw_version>:
            return (std::uint32_t{config_.firmware_major} << 24) |
                   (std::uint32_t{config_.firmware_minor} << 16) | config_.firmware_subminor;
        case kDword<Health::hw_id>: return config_.hw_id;
        case kDword<Health::severity>:
            // rfr: the driver may reset the firmware.
            return dead ? in_dword<Health::rfr>(1) | in_dword<Health::severity>(kSeverityError) : 0;
        case kDword<Health::synd>:
            return in_dword<Health::synd>(function_.health_syndrome) |
                   in_dword<Health::ext_synd>(function_.health_extended_syndrome);
        default: return 0;
    }
}

std::uint32_t InitSegment::read_dword(std::uint64_t offset) const {
    const Picoseconds now = calendar_.now();
    if (offset >= kHealthBuffer && offset < kHealthBuffer + Health::kBytes) {
        return read_health(offset - kHealthBuffer);
    }
    switch (offset) {
        case kDword<Segment::fw_rev_major>:
            return in_dword<Segment::fw_rev_minor>(config_.firmware_minor) |
                   in_dword<Segment::fw_rev_major>(config_.firmware_major);
        case kDword<Segment::cmd_interface_rev>:
            return in_dword<Segment::cmd_interface_rev>(kCommandInterfaceRevision) |
                   in_dword<Segment::fw_rev_subminor>(config_.firmware_subminor);
        case kDword<Segment::cmdq_phy_addr_63_32>: return queue_address_high_;
        case kDword<Segment::cmdq_phy_addr_31_12>:
            // Size and stride stay readable whatever the driver wrote there.
            return queue_address_low_ | (nic_interface_ << kNicInterfaceShift) |
                   in_dword<Segment::log_cmdq_size>(config_.log_command_slots) |
                   in_dword<Segment::log_cmdq_stride>(config_.log_command_stride);
        case kDword<Segment::initializing>:
            return in_dword<Segment::fw_reset_supported>(1) |
                   in_dword<Segment::initializing>(initializing(now) ? 1 : 0);
        case kTimerHigh: return static_cast<std::uint32_t>(internal_timer(now) >> 32);
        case kTimerLow: return static_cast<std::uint32_t>(internal_timer(now));
        case kDword<Segment::health_counter>: return health_counter(now);
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
    if (offset == kDword<Segment::cmdq_phy_addr_63_32>) {
        queue_address_high_ = value;
    } else if (offset == kDword<Segment::cmdq_phy_addr_31_12>) {
        queue_address_low_ = value & kAddressLowMask;
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
    } else if (offset == kDword<Segment::command_doorbell_vector>) {
        // The firmware neither takes commands while it boots nor after it died.
        if (initializing(arrival) || function_.health_syndrome != 0) return;
        function_.commands().doorbell(arrival, value);
    }
}

}  // namespace cxsim::firmware_stub
