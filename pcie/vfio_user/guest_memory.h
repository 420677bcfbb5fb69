// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/device.h"
#include "pcie/vfio_user/sigbus_guard.h"
#include "pcie/vfio_user/status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace cxsim::vfio_user {

// How memory without a file is reached: by asking the client. Bounded in time.
class RemoteMemory {
  public:
    virtual ~RemoteMemory() = default;
    virtual Status read(std::uint64_t address, std::span<std::byte> out) = 0;
    virtual Status write(std::uint64_t address, std::span<const std::byte> in) = 0;
};

// The client's memory as the device may see it: what DMA_MAP announced, nothing else.
//
// Used on the server's thread only. That makes an unmap under traffic safe: the server handles
// DMA_UNMAP between two accesses, tells the device before pointers die, and changes generation().
class GuestMemory {
  public:
    GuestMemory() = default;
    ~GuestMemory();
    GuestMemory(const GuestMemory&) = delete;
    GuestMemory& operator=(const GuestMemory&) = delete;

    // All or nothing as to permission: EFAULT where any byte is not mapped, EACCES where the access
    // is not allowed; no byte is moved then. EFAULT also when the client took the file's pages
    // away, and ETIMEDOUT, EBUSY, ECONNRESET, EIO or the client's errno from memory without a
    // file; the range may be partly moved in these cases. A device answers all of them with a
    // completion abort.
    Status read(std::uint64_t address, std::span<std::byte> out);
    Status write(std::uint64_t address, std::span<const std::byte> in);

    // The bytes from `address` on that lie behind one pointer, at most `length`; empty when the
    // address is not mapped, not permitted, or has no file. Valid until generation() changes.
    std::span<const std::byte> readable(std::uint64_t address, std::uint64_t length);
    std::span<std::byte> writable(std::uint64_t address, std::uint64_t length);

    // Changes with every map, unmap and disconnection.
    std::uint64_t generation() const { return generation_; }
    std::size_t region_count() const { return regions_.size(); }
    std::vector<DmaRegion> regions() const;  // by ascending address

    // For the server. `fd` may be -1; it is not kept. EEXIST on overlap, EINVAL on an impossible
    // range or file, else the errno of mmap().
    Status map(const DmaRegion& region, int fd, std::uint64_t fd_offset, bool guard_sigbus);
    Status unmap(std::uint64_t address, std::uint64_t size);  // ENOENT unless exactly one map
    void clear();
    void set_remote(RemoteMemory* remote) { remote_ = remote; }
    void set_unmap_observer(std::function<void(const DmaRegion&)> observer) {
        unmap_observer_ = std::move(observer);
    }
    std::byte* find_data(std::uint64_t address);  // nullptr: not mapped or no file
    bool any_faulted() const;                     // a client took pages away under a map

  private:
    struct Region {
        DmaRegion info;
        std::uint64_t last;  // address of the last byte, so that 2^64 needs no special case
        void* mapping = nullptr;
        std::size_t mapping_size = 0;
        SigbusGuard guard;
    };
    using Visitor = Status (*)(GuestMemory&, Region&, std::uint64_t address, std::byte* data,
                               std::size_t size);

    Region* find(std::uint64_t address);
    Status check(std::uint64_t address, std::uint64_t size, bool write);
    Status transfer(std::uint64_t address, std::byte* data, std::size_t size, Visitor visit);
    std::span<std::byte> direct(std::uint64_t address, std::uint64_t length, bool write);
    void drop(Region& region);

    std::vector<Region> regions_;
    std::size_t last_hit_ = 0;
    std::uint64_t generation_ = 1;
    RemoteMemory* remote_ = nullptr;
    std::function<void(const DmaRegion&)> unmap_observer_;
};

}  // namespace cxsim::vfio_user
