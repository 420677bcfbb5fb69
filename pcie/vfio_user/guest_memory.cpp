// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/guest_memory.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace cxsim::vfio_user {
namespace {

// mmap() wants offsets and munmap() lengths in units of the file's pages, which are huge ones on
// hugetlbfs, while a client may map any 4 KiB of such a file.
Result<std::uint64_t> mapping_granule(int fd) {
    struct statfs fs {};
    if (::fstatfs(fd, &fs) != 0) return Status(errno);
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (fs.f_type == HUGETLBFS_MAGIC) {
        return std::max(page, static_cast<std::uint64_t>(fs.f_bsize));
    }
    return page;
}

}  // namespace

GuestMemory::~GuestMemory() {
    clear();
}

Status GuestMemory::map(const DmaRegion& region, int fd, std::uint64_t fd_offset,
                        bool guard_sigbus) {
    if (region.size == 0 || (!region.readable && !region.writable)) return Status(EINVAL);
    if (region.address + (region.size - 1) < region.address) return Status(EINVAL);
    Region entry;
    entry.info = region;
    entry.info.data = nullptr;
    entry.last = region.address + (region.size - 1);

    const auto place =
        std::lower_bound(regions_.begin(), regions_.end(), region.address,
                         [](const Region& r, std::uint64_t address) { return r.last < address; });
    if (place != regions_.end() && place->info.address <= entry.last) return Status(EEXIST);

    if (fd >= 0) {
        struct stat file {};
        if (::fstat(fd, &file) != 0) return Status(errno);
        // Only of a regular file (memfd, tmpfs, hugetlbfs) is the size known, and pages beyond the
        // end raise SIGBUS.
        if (!S_ISREG(file.st_mode)) return Status(EINVAL);
        const auto file_size = static_cast<std::uint64_t>(file.st_size);
        if (fd_offset > file_size || region.size > file_size - fd_offset) return Status(EINVAL);
        const Result<std::uint64_t> granule = mapping_granule(fd);
        if (!granule.ok()) return granule.status();
        const std::uint64_t lead = fd_offset % granule.value();
        const std::uint64_t wanted = lead + region.size;
        const std::uint64_t length =
            (wanted + granule.value() - 1) / granule.value() * granule.value();
        if (length < wanted || length > std::numeric_limits<std::size_t>::max() / 2) {
            return Status(EINVAL);
        }
        const int protection = PROT_READ | (region.writable ? PROT_WRITE : 0);
        void* mapping = ::mmap(nullptr, length, protection, MAP_SHARED | MAP_NORESERVE, fd,
                               static_cast<off_t>(fd_offset - lead));
        if (mapping == MAP_FAILED) return Status(errno);
        entry.mapping = mapping;
        entry.mapping_size = length;
        entry.info.data = static_cast<std::byte*>(mapping) + lead;
        if (guard_sigbus) entry.guard = SigbusGuard(mapping, length);
    }
    regions_.insert(place, std::move(entry));
    last_hit_ = 0;
    ++generation_;
    return Status();
}

Status GuestMemory::unmap(std::uint64_t address, std::uint64_t size) {
    const auto found =
        std::lower_bound(regions_.begin(), regions_.end(), address,
                         [](const Region& r, std::uint64_t a) { return r.info.address < a; });
    if (found == regions_.end() || found->info.address != address || found->info.size != size) {
        return Status(ENOENT);
    }
    drop(*found);
    regions_.erase(found);
    last_hit_ = 0;
    ++generation_;
    return Status();
}

void GuestMemory::clear() {
    // One by one, so that an observer which looks never meets a pointer that is gone.
    while (!regions_.empty()) {
        drop(regions_.back());
        regions_.pop_back();
        last_hit_ = 0;
        ++generation_;
    }
}

void GuestMemory::drop(Region& region) {
    if (unmap_observer_) unmap_observer_(region.info);
    // Before munmap(): the handler must not write over whatever is mapped there next.
    region.guard.release();
    if (region.mapping != nullptr) ::munmap(region.mapping, region.mapping_size);
    region.mapping = nullptr;
}

std::vector<DmaRegion> GuestMemory::regions() const {
    std::vector<DmaRegion> out;
    out.reserve(regions_.size());
    for (const Region& region : regions_) out.push_back(region.info);
    return out;
}

bool GuestMemory::any_faulted() const {
    return std::any_of(regions_.begin(), regions_.end(),
                       [](const Region& region) { return region.guard.faulted(); });
}

GuestMemory::Region* GuestMemory::find(std::uint64_t address) {
    if (last_hit_ < regions_.size()) {
        Region& region = regions_[last_hit_];
        if (address >= region.info.address && address <= region.last) return &region;
    }
    const auto found =
        std::lower_bound(regions_.begin(), regions_.end(), address,
                         [](const Region& r, std::uint64_t a) { return r.last < a; });
    if (found == regions_.end() || found->info.address > address) return nullptr;
    last_hit_ = static_cast<std::size_t>(found - regions_.begin());
    return &*found;
}

std::byte* GuestMemory::find_data(std::uint64_t address) {
    const Region* region = find(address);
    if (region == nullptr || region->info.data == nullptr) return nullptr;
    return region->info.data + (address - region->info.address);
}

Status GuestMemory::check(std::uint64_t address, std::uint64_t size, bool write) {
    while (size > 0) {
        const Region* region = find(address);
        if (region == nullptr) return Status(EFAULT);
        if (write ? !region->info.writable : !region->info.readable) return Status(EACCES);
        const std::uint64_t tail = region->last - address;  // bytes after the first
        if (size - 1 <= tail) return Status();
        size -= tail + 1;
        address = region->last + 1;
        if (address == 0) return Status(EFAULT);  // ran past the top of the address space
    }
    return Status();
}

Status GuestMemory::transfer(std::uint64_t address, std::byte* data, std::size_t size,
                             Visitor visit) {
    while (size > 0) {
        Region* region = find(address);
        // A message to the client cannot change the map (commands are deferred while it is under
        // way), but the client can go.
        if (region == nullptr) return Status(EFAULT);
        const std::uint64_t tail = region->last - address;
        const std::size_t part = size - 1 <= tail ? size : static_cast<std::size_t>(tail + 1);
        if (const Status status = visit(*this, *region, address, data, part); !status.ok()) {
            return status;
        }
        data += part;
        size -= part;
        address += part;
    }
    return Status();
}

Status GuestMemory::read(std::uint64_t address, std::span<std::byte> out) {
    if (const Status status = check(address, out.size(), false); !status.ok()) return status;
    return transfer(address, out.data(), out.size(),
                    [](GuestMemory& self, Region& region, std::uint64_t from, std::byte* data,
                       std::size_t size) {
                        if (region.info.data == nullptr) {
                            if (self.remote_ == nullptr) return Status(ECONNRESET);
                            return self.remote_->read(from, std::span(data, size));
                        }
                        std::memcpy(data, region.info.data + (from - region.info.address), size);
                        return region.guard.faulted() ? Status(EFAULT) : Status();
                    });
}

Status GuestMemory::write(std::uint64_t address, std::span<const std::byte> in) {
    if (const Status status = check(address, in.size(), true); !status.ok()) return status;
    // transfer() hands the pointer on without writing through it.
    return transfer(
        address, const_cast<std::byte*>(in.data()), in.size(),
        [](GuestMemory& self, Region& region, std::uint64_t to, std::byte* data, std::size_t size) {
            if (region.info.data == nullptr) {
                if (self.remote_ == nullptr) return Status(ECONNRESET);
                return self.remote_->write(to, std::span<const std::byte>(data, size));
            }
            std::memcpy(region.info.data + (to - region.info.address), data, size);
            return region.guard.faulted() ? Status(EFAULT) : Status();
        });
}

std::span<std::byte> GuestMemory::direct(std::uint64_t address, std::uint64_t length, bool write) {
    Region* region = find(address);
    if (region == nullptr || region->info.data == nullptr || length == 0) return {};
    if (write ? !region->info.writable : !region->info.readable) return {};
    const std::uint64_t tail = region->last - address;
    const std::uint64_t size = length - 1 <= tail ? length : tail + 1;
    return {region->info.data + (address - region->info.address), static_cast<std::size_t>(size)};
}

std::span<const std::byte> GuestMemory::readable(std::uint64_t address, std::uint64_t length) {
    return direct(address, length, false);
}

std::span<std::byte> GuestMemory::writable(std::uint64_t address, std::uint64_t length) {
    return direct(address, length, true);
}

}  // namespace cxsim::vfio_user
