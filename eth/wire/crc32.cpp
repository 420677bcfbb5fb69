// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/crc32.h"

#include "model/base/endian.h"

#include <isa-l/crc.h>

namespace cxsim::eth {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t start) {
    return ::crc32_gzip_refl(start, reinterpret_cast<const unsigned char*>(bytes.data()),
                             bytes.size());
}

std::array<std::byte, 4> frame_check_sequence(std::span<const std::byte> frame) {
    std::array<std::byte, 4> fcs{};
    model::store_le<std::uint32_t>(fcs.data(), crc32(frame));
    return fcs;
}

}  // namespace cxsim::eth
