// SPDX-License-Identifier: Apache-2.0
//
// A client may truncate the file behind a DMA map at any moment; touching the lost pages then
// raises SIGBUS. While a range is guarded, the handler puts zeroed private memory in its place, so
// that the access finishes, and remembers the fault for the owner of the range to act on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cxsim::vfio_user {

// Guards [address, address + length) for its lifetime. The range must be a whole mmap()ed area.
// Past 65536 ranges in the process, further ones are not guarded (active() is false).
class SigbusGuard {
  public:
    SigbusGuard() = default;
    SigbusGuard(void* address, std::size_t length);
    SigbusGuard(SigbusGuard&& other) noexcept;
    SigbusGuard& operator=(SigbusGuard&& other) noexcept;
    ~SigbusGuard();

    bool active() const { return slot_ >= 0; }
    bool faulted() const;
    void release();

    // Faults absorbed in the whole process so far: a cheap check whether to ask each guard.
    static std::uint64_t total_faults();

  private:
    int slot_ = -1;
};

}  // namespace cxsim::vfio_user
