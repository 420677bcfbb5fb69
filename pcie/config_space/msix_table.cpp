// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/msix_table.h"

#include "model/base/assert.h"

#include <algorithm>
#include <cstring>

namespace cxsim::pcie {

MsixTable::MsixTable(unsigned vectors) : entries_(vectors), pending_((vectors + 63) / 64) {
    reset();
}

void MsixTable::reset() {
    std::fill(entries_.begin(), entries_.end(), Entry{0, 0, 1});
    std::fill(pending_.begin(), pending_.end(), 0);
    pending_count_ = 0;
    enabled_ = false;
    function_mask_ = false;
    bus_master_ = false;
}

void MsixTable::read_table(std::size_t offset, std::span<std::byte> into) const {
    CX_ASSERT(offset + into.size() <= table_bytes(), "MSI-X table read at {:#x}", offset);
    std::memcpy(into.data(), reinterpret_cast<const std::byte*>(entries_.data()) + offset,
                into.size());
}

void MsixTable::write_table(std::size_t offset, std::span<const std::byte> from) {
    CX_ASSERT(offset + from.size() <= table_bytes(), "MSI-X table write at {:#x}", offset);
    std::memcpy(reinterpret_cast<std::byte*>(entries_.data()) + offset, from.data(), from.size());
    const std::size_t last = (offset + from.size() - 1) / 16;
    for (std::size_t i = offset / 16; i <= last; ++i) {
        entries_[i].address &= ~std::uint64_t{3};  // dword aligned, read-only zeroes
        entries_[i].control &= 1;                  // the other bits are reserved
    }
}

void MsixTable::read_pba(std::size_t offset, std::span<std::byte> into) const {
    CX_ASSERT(offset + into.size() <= pba_bytes(), "PBA read at {:#x}", offset);
    std::memcpy(into.data(), reinterpret_cast<const std::byte*>(pending_.data()) + offset,
                into.size());
}

void MsixTable::set_control(bool enable, bool function_mask) {
    enabled_ = enable;
    function_mask_ = function_mask;
}

MsixTable::Outcome MsixTable::raise(unsigned vector) {
    CX_ASSERT(vector < entries_.size(), "MSI-X vector {}", vector);
    if (!enabled_) return Outcome::disabled;
    if (may_send(vector)) return Outcome::send;
    if (!pending(vector)) {
        pending_[vector / 64] |= std::uint64_t{1} << (vector % 64);
        ++pending_count_;
    }
    return Outcome::pending;
}

int MsixTable::take_released() {
    if (pending_count_ == 0 || !enabled_ || function_mask_ || !bus_master_) return -1;
    for (unsigned vector = 0; vector < entries_.size(); ++vector) {
        if (!pending(vector) || masked(vector)) continue;
        pending_[vector / 64] &= ~(std::uint64_t{1} << (vector % 64));
        --pending_count_;
        return static_cast<int>(vector);
    }
    return -1;
}

}  // namespace cxsim::pcie
