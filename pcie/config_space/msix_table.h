// SPDX-License-Identifier: Apache-2.0
// MSI-X table and pending bit array of one function: PCI Express Base Specification 7.7.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::pcie {

struct MsixMessage {
    std::uint64_t address = 0;
    std::uint32_t data = 0;
};

class MsixTable {
  public:
    enum class Outcome : std::uint8_t { send, pending, disabled };

    explicit MsixTable(unsigned vectors);

    unsigned vectors() const { return static_cast<unsigned>(entries_.size()); }
    std::size_t table_bytes() const { return entries_.size() * 16; }
    std::size_t pba_bytes() const { return pending_.size() * 8; }

    /// Accesses of the host, offsets from the start of the structure; the range must lie inside.
    /// The PBA is read-only. After a table write, and after set_control, the caller sends what
    /// take_released() returns.
    void read_table(std::size_t offset, std::span<std::byte> into) const;
    void write_table(std::size_t offset, std::span<const std::byte> from);
    void read_pba(std::size_t offset, std::span<std::byte> into) const;

    /// Message Control changed.
    void set_control(bool enable, bool function_mask);
    /// The function may (not) issue requests: bus mastering off keeps messages pending.
    void set_bus_master(bool on) { bus_master_ = on; }

    /// The device wants `vector` (below vectors()) raised.
    Outcome raise(unsigned vector);
    MsixMessage message(unsigned vector) const {
        return {entries_[vector].address, entries_[vector].data};
    }
    bool masked(unsigned vector) const { return (entries_[vector].control & 1) != 0; }
    bool pending(unsigned vector) const {
        return (pending_[vector / 64] >> (vector % 64) & 1) != 0;
    }

    /// Next vector that was pending and may be sent now; clears its pending bit. -1: none.
    int take_released();

    /// Entries masked, nothing pending, as after every reset.
    void reset();

  private:
    struct Entry {
        std::uint64_t address;
        std::uint32_t data;
        std::uint32_t control;
    };
    static_assert(sizeof(Entry) == 16);
    bool may_send(unsigned vector) const {
        return enabled_ && !function_mask_ && bus_master_ && !masked(vector);
    }

    std::vector<Entry> entries_;
    std::vector<std::uint64_t> pending_;
    unsigned pending_count_ = 0;
    bool enabled_ = false;
    bool function_mask_ = false;
    bool bus_master_ = false;
};

}  // namespace cxsim::pcie
