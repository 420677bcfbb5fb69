// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/sigbus_guard.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

namespace cxsim::vfio_user {
namespace {

struct Slot {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<bool> faulted{false};
    std::atomic<bool> used{false};
};

// Process-wide because signal handlers are. Zero-initialised, so untouched slots cost no memory.
constexpr std::size_t kSlotCount = 65536;
std::array<Slot, kSlotCount> slots;
std::atomic<std::size_t> slots_in_use_limit{0};
std::atomic<std::uint64_t> fault_count{0};
std::mutex slots_mutex;
std::size_t first_maybe_free = 0;
bool handler_installed = false;
struct sigaction previous_action {};

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

// True when the address lies in a guarded range, which then is ordinary memory. Only
// async-signal-safe work: lock-free atomics and one system call.
bool absorb(std::uintptr_t address) {
    const std::size_t limit = slots_in_use_limit.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < limit; ++i) {
        Slot& slot = slots[i];
        const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
        const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
        if (begin == 0 || address < begin || address >= end) continue;
        void* replaced = ::mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE,
                                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (replaced == MAP_FAILED) return false;
        slot.faulted.store(true, std::memory_order_release);
        fault_count.fetch_add(1, std::memory_order_acq_rel);
        return true;
    }
    return false;
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    const bool absorbed =
        info->si_code == BUS_ADRERR && absorb(reinterpret_cast<std::uintptr_t>(info->si_addr));
    errno = saved_errno;
    if (absorbed) return;
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
        previous_action.sa_sigaction(signal, info, context);
    } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
        // Returning repeats the access, which then ends the process as it would have.
        struct sigaction fallback {};
        fallback.sa_handler = SIG_DFL;
        ::sigaction(SIGBUS, &fallback, nullptr);
    } else {
        previous_action.sa_handler(signal);
    }
}

void install_handler() {
    if (handler_installed) return;
    struct sigaction action {};
    action.sa_sigaction = &on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    handler_installed = ::sigaction(SIGBUS, &action, &previous_action) == 0;
}

}  // namespace

SigbusGuard::SigbusGuard(void* address, std::size_t length) {
    const std::lock_guard lock(slots_mutex);
    install_handler();
    if (!handler_installed) return;
    std::size_t i = first_maybe_free;
    while (i < kSlotCount && slots[i].used.load(std::memory_order_relaxed)) ++i;
    if (i == kSlotCount) return;
    first_maybe_free = i + 1;
    Slot& slot = slots[i];
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    slot.used.store(true, std::memory_order_relaxed);
    slot.faulted.store(false, std::memory_order_relaxed);
    slot.end.store(begin + length, std::memory_order_release);
    slot.begin.store(begin, std::memory_order_release);
    if (i >= slots_in_use_limit.load(std::memory_order_relaxed)) {
        slots_in_use_limit.store(i + 1, std::memory_order_release);
    }
    slot_ = static_cast<int>(i);
}

SigbusGuard::SigbusGuard(SigbusGuard&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

SigbusGuard& SigbusGuard::operator=(SigbusGuard&& other) noexcept {
    if (this != &other) {
        release();
        slot_ = std::exchange(other.slot_, -1);
    }
    return *this;
}

SigbusGuard::~SigbusGuard() {
    release();
}

bool SigbusGuard::faulted() const {
    return slot_ >= 0 &&
           slots[static_cast<std::size_t>(slot_)].faulted.load(std::memory_order_acquire);
}

void SigbusGuard::release() {
    if (slot_ < 0) return;
    const std::lock_guard lock(slots_mutex);
    const auto index = static_cast<std::size_t>(slot_);
    Slot& slot = slots[index];
    slot.begin.store(0, std::memory_order_release);
    slot.end.store(0, std::memory_order_release);
    slot.used.store(false, std::memory_order_relaxed);
    first_maybe_free = std::min(first_maybe_free, index);
    slot_ = -1;
}

std::uint64_t SigbusGuard::total_faults() {
    return fault_count.load(std::memory_order_acquire);
}

}  // namespace cxsim::vfio_user
