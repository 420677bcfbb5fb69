// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/version.h"

#include "pcie/vfio_user/protocol.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace cxsim::vfio_user {
namespace {

constexpr std::size_t kMaxCapabilityText = 16 * 1024;

// Reads a non-negative integer if it is there. False when it is there and something else.
bool read_number(const nlohmann::json& object, const char* name, std::uint64_t& value,
                 bool& named) {
    const auto found = object.find(name);
    if (found == object.end()) return true;
    if (!found->is_number_unsigned()) return false;
    value = found->get<std::uint64_t>();
    named = true;
    return true;
}

bool is_page_size_mask(std::uint64_t pgsizes) {
    return pgsizes != 0 && (pgsizes & 0xfff) == 0;
}

}  // namespace

Result<ClientCapabilities> parse_capabilities(std::span<const std::byte> text) {
    ClientCapabilities client;
    if (text.empty()) return client;
    if (text.size() > kMaxCapabilityText || text.back() != std::byte{0}) return Status(EINVAL);
    const std::string_view json(reinterpret_cast<const char*>(text.data()), text.size() - 1);
    if (json.find('\0') != std::string_view::npos) return Status(EINVAL);
    const nlohmann::json root = nlohmann::json::parse(json, nullptr, false);
    if (!root.is_object()) return Status(EINVAL);
    const auto found = root.find("capabilities");
    if (found == root.end()) return client;
    if (!found->is_object()) return Status(EINVAL);

    const bool numbers =
        read_number(*found, "max_msg_fds", client.max_msg_fds, client.named_max_msg_fds) &&
        read_number(*found, "max_data_xfer_size", client.max_data_xfer_size,
                    client.named_max_data_xfer_size) &&
        read_number(*found, "max_dma_maps", client.max_dma_maps, client.named_max_dma_maps) &&
        read_number(*found, "pgsizes", client.pgsizes, client.named_pgsizes);
    if (!numbers || client.max_data_xfer_size == 0 || !is_page_size_mask(client.pgsizes)) {
        return Status(EINVAL);
    }
    if (const auto multi = found->find("write_multiple"); multi != found->end()) {
        if (!multi->is_boolean()) return Status(EINVAL);
        client.write_multiple = multi->get<bool>();
    }
    return client;
}

Result<Agreement> agree(std::uint16_t major, std::uint16_t minor, const ClientCapabilities& client,
                        const ServerOptions& server) {
    if (major != kProtocolMajor) return Status(ENOTSUP);
    const std::uint64_t pgsizes = client.pgsizes & server.pgsizes;
    if (pgsizes == 0) return Status(ENOTSUP);
    Agreement agreement;
    agreement.minor = std::min(minor, kProtocolMinor);
    agreement.peer_max_fds = client.max_msg_fds;
    agreement.peer_max_data_xfer_size =
        std::min<std::uint64_t>(client.max_data_xfer_size, server.max_data_xfer_size);
    agreement.max_dma_maps = std::min<std::uint64_t>(client.max_dma_maps, server.max_dma_maps);
    agreement.dma_alignment = pgsizes & (~pgsizes + 1);
    agreement.write_multiple = client.write_multiple;
    return agreement;
}

std::string reply_capabilities(const ClientCapabilities& client, const ServerOptions& server) {
    const ClientCapabilities defaults;
    nlohmann::json capabilities = nlohmann::json::object();
    if (client.named_max_msg_fds) capabilities["max_msg_fds"] = server.max_msg_fds;
    if (client.named_max_data_xfer_size ||
        server.max_data_xfer_size < defaults.max_data_xfer_size) {
        capabilities["max_data_xfer_size"] = server.max_data_xfer_size;
    }
    if (client.named_max_dma_maps || server.max_dma_maps < defaults.max_dma_maps) {
        capabilities["max_dma_maps"] = server.max_dma_maps;
    }
    if (client.named_pgsizes) capabilities["pgsizes"] = client.pgsizes & server.pgsizes;
    if (client.write_multiple) capabilities["write_multiple"] = true;
    return nlohmann::json{{"capabilities", capabilities}}.dump();
}

}  // namespace cxsim::vfio_user
