// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/device.h"
#include "pcie/vfio_user/event_loop.h"
#include "pcie/vfio_user/protocol.h"
#include "pcie/vfio_user/status.h"
#include "pcie/vfio_user/unique_fd.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace cxsim::vfio_user {

enum class Delivery {
    kDelivered,  // the client's eventfd was written
    kMasked,     // kept; delivered when unmasked
    kNoEventfd,  // the client does not listen; nothing is kept
    kFailed,     // the eventfd would not take it
    kBadVector,  // no such index or subindex
};

// The interrupts of one device, as SET_IRQS of the client has them.
class Interrupts {
  public:
    struct Counters {
        std::uint64_t delivered = 0;
        std::uint64_t masked = 0;
        std::uint64_t no_eventfd = 0;
        std::uint64_t failed = 0;
    };

    explicit Interrupts(EventLoop& loop) : loop_(loop) {}
    ~Interrupts() { clear(); }
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    // `index` is a PCI interrupt type (kPciIntxIrq ...), `subindex` the vector. Never blocks.
    Delivery trigger(std::uint32_t index, std::uint32_t subindex);
    // Forgets a kept interrupt: a level-triggered line went down before the client unmasked it.
    void withdraw(std::uint32_t index, std::uint32_t subindex);
    // EINVAL for a vector that is not there.
    Status set_masked(std::uint32_t index, std::uint32_t subindex, bool masked);
    bool enabled(std::uint32_t index, std::uint32_t subindex) const;  // an eventfd is there
    bool masked(std::uint32_t index, std::uint32_t subindex) const;
    bool pending(std::uint32_t index, std::uint32_t subindex) const;
    const Counters& counters() const { return counters_; }

    // For the server.
    void configure(std::span<const IrqInfo> infos);
    void clear();  // closes every eventfd, unmasks, forgets
    // Applies SET_IRQS. `bools` is the payload behind it. Takes the fds it needs.
    Status set(const IrqSetPayload& request, std::span<const std::byte> bools,
               std::span<UniqueFd> fds);
    void set_observer(
        std::function<void(std::uint32_t index, std::uint32_t start, std::uint32_t count)> f) {
        observer_ = std::move(f);
    }

  private:
    struct Vector {
        UniqueFd trigger;
        // The client writes these to mask or unmask without a message (KVM's resample eventfd).
        UniqueFd mask_request;
        UniqueFd unmask_request;
        EventLoop::Token mask_token = 0;
        EventLoop::Token unmask_token = 0;
        bool masked = false;
        bool pending = false;
    };
    struct Type {
        IrqInfo info;
        std::vector<Vector> vectors;
    };

    const Vector* find(std::uint32_t index, std::uint32_t subindex) const;
    Vector* find(std::uint32_t index, std::uint32_t subindex);
    Status validate(const IrqSetPayload& request, std::size_t bool_count,
                    std::span<const UniqueFd> fds) const;
    Status assign(Vector& vector, const IrqSetPayload& request, std::uint32_t subindex,
                  UniqueFd fd);
    void disable(Vector& vector);
    Delivery signal(const IrqInfo& info, Vector& vector);
    void notify(std::uint32_t index, std::uint32_t start, std::uint32_t count);

    EventLoop& loop_;
    std::vector<Type> types_;
    Counters counters_;
    std::function<void(std::uint32_t, std::uint32_t, std::uint32_t)> observer_;
};

}  // namespace cxsim::vfio_user
