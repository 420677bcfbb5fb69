// SPDX-License-Identifier: Apache-2.0
#include "model/params/identity.h"

#include <fmt/format.h>

#include <bit>

namespace cxsim::model {
namespace {

bool is_power_of_two(Bytes size) {
    return std::has_single_bit(size.value);
}

}  // namespace

std::string Identity::firmware_version() const {
    return fmt::format("{}.{}.{:04}", firmware_major(), firmware_minor(), firmware_subminor());
}

bool Identity::accept_unknown(const IniEntry& entry) {
    if (entry.section != "vpd_read_only") return false;
    if (entry.key.size() != 2) {
        throw ConfigError(entry.value.place, entry.path(), "a VPD keyword has two characters");
    }
    if (entry.key == "RV") {
        throw ConfigError(entry.value.place, entry.path(), "RV is computed, leave it out");
    }
    VpdKeyword keyword{entry.key, entry.value};
    try {
        keyword.value.text = parse_text(entry.value.text);
    } catch (const ValueError& error) {
        throw ConfigError(entry.value.place, entry.path(), error.what());
    }
    vpd_read_only_.push_back(std::move(keyword));
    return true;
}

void Identity::append_rows(std::vector<ParameterRow>& rows) const {
    for (const auto& [keyword, value] : vpd_read_only_) {
        rows.push_back({fmt::format("identity.vpd_read_only.{}", keyword), value.text, value.source,
                        value.note});
    }
}

void Identity::check(const std::string& file) const {
    const auto require = [&](bool good, const ParameterBase& parameter, std::string_view rule) {
        if (good) return;
        throw ConfigError({file, 0}, std::string(parameter.name()),
                          fmt::format("{} is impossible: {}", parameter.text(), rule));
    };
    require(class_code() <= 0xffffff, class_code, "24 bits");
    require(is_power_of_two(bar0_size()) && bar0_size().value >= 0x10000, bar0_size,
            "a power of two of at least 64KiB");
    require(rom_size().value == 0 || is_power_of_two(rom_size()), rom_size, "a power of two or 0B");
    require(is_power_of_two(vf_bar0_size()), vf_bar0_size, "a power of two");
    require(msix_vectors() >= 2 && msix_vectors() <= 2048, msix_vectors,
            "2 to 2048: the driver wants one for completions besides the control events");
    require(msix_table_offset() % 8 == 0 && msix_pba_offset() % 8 == 0, msix_table_offset,
            "table and pending bits are aligned to 8 bytes");
    require(msix_table_offset() + 16u * msix_vectors() <= msix_pba_offset() ||
                msix_pba_offset() + (msix_vectors() + 63u) / 64 * 8 <= msix_table_offset(),
            msix_pba_offset, "the pending bits overlap the table");
    require(link_generation() >= 1 && link_generation() <= 5, link_generation, "1 to 5");
    require(link_width() == 1 || link_width() == 2 || link_width() == 4 || link_width() == 8 ||
                link_width() == 16,
            link_width, "1, 2, 4, 8 or 16");
    require(
        is_power_of_two(max_payload()) && max_payload().value >= 128 && max_payload().value <= 4096,
        max_payload, "a power of two from 128B to 4096B");
    require(psid().size() <= 16, psid, "at most 16 characters");
    require(node_description().size() <= 64, node_description, "at most 64 characters");
    require((mac_prefix() & 0x0300) == 0x0200, mac_prefix,
            "bits 0 and 1 of the first byte: locally administered, not a group");
    if (vpd_read_only_.empty()) {
        throw ConfigError({file, 0}, "vpd_read_only", "missing; expected at least PN and SN");
    }
}

}  // namespace cxsim::model
