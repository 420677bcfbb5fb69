// SPDX-License-Identifier: Apache-2.0
// A card's HCA capabilities and capability registers as PRM images. The keys of capabilities.ini
// are PRM member paths, checked by reflection, so that a name or a width cannot drift.
#pragma once

#include "model/params/parameter.h"
#include "model/prm/reflect.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::model {

/// One capability layout filled in, in the byte order that a command's output carries.
class CapabilityImage {
  public:
    explicit CapabilityImage(const prm::LayoutInfo& layout);

    const prm::LayoutInfo& layout() const { return *layout_; }
    std::span<const std::byte> bytes() const { return bytes_; }

    /// The value of a plain member of at most 64 bits; asserts that `path` names one.
    std::uint64_t get(std::string_view path) const;

    /// Throws ValueError if `path` is no writable member or `value` does not fit it.
    void set(std::string_view path, std::uint64_t value);

  private:
    const prm::LayoutInfo* layout_;
    std::vector<std::byte> bytes_;
};

/// Sections of the file:
///   [LAYOUT]          maximum capability of an HCA capability layout; also its current value
///   [LAYOUT current]  members whose value after power-on differs from the maximum
///   [LAYOUT group N]  contents of a capability register (pcam_reg, mcam_reg, qcam_reg) for group N
class Capabilities {
  public:
    /// `overrides` with keys "capabilities.<layout>.<member path>" replace a maximum. Throws
    /// ConfigError for an unknown layout, member or a value that does not fit.
    explicit Capabilities(const IniFile& file, std::span<const Override> overrides = {});

    /// Maximum capability; null when the card lacks the group: the command is refused.
    const CapabilityImage* max(std::string_view layout) const;
    /// What a query answers after power-on, before SET_HCA_CAP; null as for max().
    const CapabilityImage* current(std::string_view layout) const;
    /// Contents of a capability register for one group; null when the card has no such group.
    const CapabilityImage* register_group(std::string_view layout, unsigned group) const;

    /// Shorthand for max(layout)->get(path); 0 when the card lacks the group.
    std::uint64_t max_value(std::string_view layout, std::string_view path) const;

    /// Names of the HCA capability layouts that the card has.
    std::vector<std::string_view> layouts() const;
    /// Value, source word and note of each key of the file.
    const std::vector<ParameterRow>& rows() const { return rows_; }

  private:
    using Images = std::map<std::string, CapabilityImage, std::less<>>;

    Images maximum_;
    Images current_;
    Images groups_;  ///< by "layout group N"
    std::vector<ParameterRow> rows_;
};

}  // namespace cxsim::model
