// SPDX-License-Identifier: Apache-2.0
// By which key and which of its pages a stretch of host memory was found.
#pragma once

#include <cstdint>

namespace cxsim::model {

struct TranslationOrigin {
    std::uint64_t address = 0;  ///< of the stretch's first byte, as the key counts
    std::uint32_t mkey = 0;     ///< index; 0: found without a key's context
    std::uint8_t log_page = 0;  ///< size of the key's pages; 0: it has none (physical addresses)

    /// What follows `bytes` bytes behind may be looked up as one stretch with it.
    friend constexpr bool continues(const TranslationOrigin& first, std::uint64_t bytes,
                                    const TranslationOrigin& next) {
        return first.mkey == next.mkey && first.log_page == next.log_page &&
               (first.log_page == 0 || first.address + bytes == next.address);
    }
};

}  // namespace cxsim::model
