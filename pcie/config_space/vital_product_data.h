// SPDX-License-Identifier: Apache-2.0
// The VPD of a function: the resource image and the address/data handshake through which the host
// reads it (PCI Local Bus Specification 3.0, appendix I).
#pragma once

#include "pcie/config_space/function_config.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cxsim::pcie {

class VitalProductData {
  public:
    /// Throws model::ConfigError for keywords or values that have no encoding.
    explicit VitalProductData(const VpdConfig& config);

    /// Four bytes at `address` (low two bits ignored); 0 beyond the image.
    std::uint32_t read(std::uint16_t address) const;
    /// Changes the bytes that lie in the data of VPD-W; the rest of the write has no effect.
    void write(std::uint16_t address, std::uint32_t value);

    const std::vector<std::byte>& image() const { return image_; }

  private:
    void append_resource(std::uint8_t tag, std::size_t length);
    void append_field(const VpdField& field);
    void append_text(const std::string& text);

    std::vector<std::byte> image_;
    std::size_t writable_start_ = 0;
    std::size_t writable_end_ = 0;
};

}  // namespace cxsim::pcie
