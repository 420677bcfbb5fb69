// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/config_space.h"

#include "model/base/assert.h"

#include <algorithm>
#include <cstring>

namespace cxsim::pcie {

void ConfigSpace::store(Space& space, std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    CX_ASSERT(bytes <= 4 && offset + bytes <= kBytes, "register at {:#x}", offset);
    std::memcpy(space.data() + offset, &value, bytes);
}

void ConfigSpace::declare(std::uint16_t base, std::span<const Register> table) {
    for (const Register& row : table) {
        const auto offset = static_cast<std::uint16_t>(base + row.offset);
        store(rw_, offset, row.bytes, row.rw);
        store(rw1c_, offset, row.bytes, row.rw1c);
        store(sticky_, offset, row.bytes, row.sticky);
        store(flr_keeps_, offset, row.bytes, row.flr_keeps);
    }
}

void ConfigSpace::initialize(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    store(initial_, offset, bytes, value);
    store(value_, offset, bytes, value);
}

void ConfigSpace::link_capability(std::uint8_t id, std::uint8_t offset) {
    CX_ASSERT(offset >= 0x40 && offset % 4 == 0, "capability at {:#x}", offset);
    initialize(static_cast<std::uint16_t>(last_capability_ + 1), 1, offset);
    initialize(offset, 1, id);
    last_capability_ = offset;
}

void ConfigSpace::link_extended(std::uint16_t id, std::uint8_t version, std::uint16_t offset) {
    CX_ASSERT(last_extended_ == 0 ? offset == kExtendedStart : offset > last_extended_,
              "extended capability at {:#x} after {:#x}", offset, last_extended_);
    CX_ASSERT(offset % 4 == 0, "extended capability at {:#x}", offset);
    if (last_extended_ != 0) {
        const std::uint32_t header = get(last_extended_, 4);
        initialize(last_extended_, 4,
                   (header & 0x000fffff) | static_cast<std::uint32_t>(offset) << 20);
    }
    initialize(offset, 4, id | static_cast<std::uint32_t>(version) << 16);
    last_extended_ = offset;
}

void ConfigSpace::read(std::uint16_t offset, std::span<std::byte> into) const {
    CX_ASSERT(offset + into.size() <= kBytes, "read of {} at {:#x}", into.size(), offset);
    std::memcpy(into.data(), value_.data() + offset, into.size());
}

void ConfigSpace::write(std::uint16_t offset, std::span<const std::byte> from) {
    CX_ASSERT(offset + from.size() <= kBytes, "write of {} at {:#x}", from.size(), offset);
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::size_t at = offset + i;
        value_[at] = (value_[at] & ~rw_[at]) | (from[i] & rw_[at]);
        value_[at] &= ~(from[i] & rw1c_[at]);
    }
}

std::uint32_t ConfigSpace::get(std::uint16_t offset, unsigned bytes) const {
    CX_ASSERT(bytes <= 4 && offset + bytes <= kBytes, "register at {:#x}", offset);
    std::uint32_t value = 0;
    std::memcpy(&value, value_.data() + offset, bytes);
    return value;
}

void ConfigSpace::set(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    store(value_, offset, bytes, value);
}

void ConfigSpace::reset(ConfigReset kind) {
    for (std::size_t at = 0; at < kBytes; ++at) {
        std::byte kept{};
        if (kind != ConfigReset::power_on) kept |= sticky_[at];
        if (kind == ConfigReset::function_level) kept |= flr_keeps_[at];
        value_[at] = (value_[at] & kept) | (initial_[at] & ~kept);
    }
}

}  // namespace cxsim::pcie
