// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/options.h"
#include "pcie/vfio_user/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cxsim::vfio_user {

// What the client said in VERSION; where it said nothing, the specification's default.
struct ClientCapabilities {
    std::uint64_t max_msg_fds = 1;
    std::uint64_t max_data_xfer_size = 1 << 20;
    std::uint64_t max_dma_maps = 65535;
    std::uint64_t pgsizes = 4096;
    bool write_multiple = false;
    // Which it named: the reply may contain nothing else, except a limit below the default.
    bool named_max_msg_fds = false;
    bool named_max_data_xfer_size = false;
    bool named_max_dma_maps = false;
    bool named_pgsizes = false;
};

// Both sides' limits together, in force for the session.
struct Agreement {
    std::uint16_t minor = 0;
    std::uint64_t peer_max_fds = 1;                // what we may send at once
    std::uint64_t peer_max_data_xfer_size = 4096;  // bytes of a DMA_READ or DMA_WRITE
    std::uint64_t max_dma_maps = 65535;
    std::uint64_t dma_alignment = 4096;
    bool write_multiple = false;
};

// `text` is what follows the two version numbers: nothing, or JSON ending with NUL. Unknown
// capabilities are ignored. EINVAL on malformed text, wrong types and impossible values.
Result<ClientCapabilities> parse_capabilities(std::span<const std::byte> text);

// ENOTSUP when no version or page size is common to both.
Result<Agreement> agree(std::uint16_t major, std::uint16_t minor, const ClientCapabilities& client,
                        const ServerOptions& server);

// The JSON of our reply, without the NUL.
std::string reply_capabilities(const ClientCapabilities& client, const ServerOptions& server);

}  // namespace cxsim::vfio_user
