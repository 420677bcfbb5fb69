// SPDX-License-Identifier: Apache-2.0
// The 4096 bytes of a function's configuration space with the access kind of each bit. A
// capability declares one table of registers; everything it does not declare is read-only zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cxsim::pcie {

/// One register of a capability's table. Bits in no mask are read-only. PCI Express Base
/// Specification 7.4: RW, RW1C; RWS, RW1CS, ROS are the same with `sticky`.
struct Register {
    std::uint16_t offset;         ///< From the start of the capability.
    std::uint8_t bytes;           ///< 1, 2 or 4.
    std::string_view name;        ///< As lspci or the specification abbreviates it.
    std::uint32_t rw = 0;         ///< Takes what is written.
    std::uint32_t rw1c = 0;       ///< Writing 1 clears.
    std::uint32_t sticky = 0;     ///< Survives every reset but a power cycle.
    std::uint32_t flr_keeps = 0;  ///< Survives a function level reset (specification 6.6.2).
};

enum class ConfigReset : std::uint8_t { power_on, conventional, function_level };

class ConfigSpace {
  public:
    static constexpr std::size_t kBytes = 4096;
    static constexpr std::uint16_t kExtendedStart = 0x100;

    /// Makes the bits of `table`, whose offsets count from `base`, writable as declared.
    void declare(std::uint16_t base, std::span<const Register> table);
    /// Sets the value after power-on (and now). Little-endian, `bytes` is 1, 2 or 4.
    void initialize(std::uint16_t offset, unsigned bytes, std::uint32_t value);

    /// Appends a standard capability to the list. Offset: 0x40 to 0xfc, multiple of 4.
    void link_capability(std::uint8_t id, std::uint8_t offset);
    /// Appends an extended capability. Offsets must ascend; the first must be 0x100.
    void link_extended(std::uint16_t id, std::uint8_t version, std::uint16_t offset);

    /// `offset + into.size()` must lie inside the space.
    void read(std::uint16_t offset, std::span<std::byte> into) const;
    /// A write of the host: changes writable bits only. Same bounds.
    void write(std::uint16_t offset, std::span<const std::byte> from);

    std::uint32_t get(std::uint16_t offset, unsigned bytes) const;
    /// The device's own change: any bit, whatever its access kind.
    void set(std::uint16_t offset, unsigned bytes, std::uint32_t value);

    void reset(ConfigReset kind);

    std::span<const std::byte, kBytes> bytes() const { return value_; }

  private:
    using Space = std::array<std::byte, kBytes>;
    void store(Space& space, std::uint16_t offset, unsigned bytes, std::uint32_t value);

    Space value_{};
    Space initial_{};
    Space rw_{};
    Space rw1c_{};
    Space sticky_{};
    Space flr_keeps_{};
    std::uint16_t last_capability_ = 0x33;  // so that its "next" byte is the pointer at 0x34
    std::uint16_t last_extended_ = 0;
};

}  // namespace cxsim::pcie
