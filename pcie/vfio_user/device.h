// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/protocol.h"
#include "pcie/vfio_user/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cxsim::vfio_user {

struct RegionInfo {
    std::uint64_t size = 0;  // bytes; 0: the region does not exist
    bool readable = true;
    bool writable = true;
    // A file the client may map instead of sending messages; -1: none. The device owns it.
    int fd = -1;
    std::uint64_t fd_offset = 0;  // where the region begins in that file
    // What of the region may be mapped; empty with an fd: all of it.
    std::vector<SparseMmapArea> mmap_areas;
};

struct IrqInfo {
    std::uint32_t count = 0;
    bool maskable = false;    // the client may mask and unmask through the protocol
    bool automasked = false;  // a delivery masks; the client unmasks (INTx)
};

struct DmaRegion {
    std::uint64_t address = 0;  // as the device sees it
    std::uint64_t size = 0;
    bool readable = false;
    bool writable = false;
    // The client's memory in this process; nullptr when the client gave no file.
    std::byte* data = nullptr;
};

// A PCI device behind one socket. The server calls it on the thread that runs Server::dispatch
// (or poll_once), never concurrently. A callback may use the endpoint's memory and interrupts, and
// may ask for Endpoint::disconnect; it may not call the server.
class Device {
  public:
    virtual ~Device() = default;

    // Both are asked for often and must not change while a client is connected.
    virtual std::span<const RegionInfo> regions() const = 0;  // index = position
    virtual std::span<const IrqInfo> irqs() const = 0;

    // `offset` and the size lie inside the region and its access rights were checked. A Status
    // other than ok is the errno of the error reply.
    virtual Status read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> out) = 0;
    virtual Status write(std::uint32_t region, std::uint64_t offset,
                         std::span<const std::byte> in) = 0;
    virtual Status reset() = 0;

    virtual void client_connected() {}  // version agreed
    // After the last dma_unmapped and after the eventfds are closed.
    virtual void client_disconnected(std::string_view /*reason*/) {}
    virtual void irqs_changed(std::uint32_t /*index*/, std::uint32_t /*start*/,
                              std::uint32_t /*count*/) {}
    virtual void dma_mapped(const DmaRegion& /*region*/) {}
    // The last moment at which pointers into the region are valid.
    virtual void dma_unmapped(const DmaRegion& /*region*/) {}
};

}  // namespace cxsim::vfio_user
