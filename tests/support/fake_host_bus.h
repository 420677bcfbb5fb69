// SPDX-License-Identifier: Apache-2.0
// A host without PCIe: sparse memory, fixed latencies, interrupts on record. For tests of what sits
// above the HostBus port.
#pragma once

#include "model/base/endian.h"
#include "model/ports/host_bus.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace cxsim::test {

class FakeHostBus : public model::HostBus {
  public:
    struct Interrupt {
        model::FunctionId function;
        std::uint32_t vector = 0;
        model::Picoseconds start;
        model::Picoseconds arrival;
    };
    struct Access {
        bool write = false;
        model::Picoseconds start;
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
    };

    model::Picoseconds read_latency = model::nanoseconds(500);
    model::Picoseconds write_latency = model::nanoseconds(200);
    bool bus_master = true;
    std::vector<Interrupt> interrupts;
    std::vector<Access> accesses;

    model::DmaResult read(model::FunctionId, model::Picoseconds start, model::HostAddress address,
                          std::span<std::byte> into) override {
        accesses.push_back({false, start, address.value, into.size()});
        const model::DmaStatus status = check(address.value, into.size());
        if (status == model::DmaStatus::ok) peek(address.value, into);
        return {status, start + read_latency};
    }

    model::DmaResult write(model::FunctionId, model::Picoseconds start, model::HostAddress address,
                           std::span<const std::byte> from) override {
        accesses.push_back({true, start, address.value, from.size()});
        const model::DmaStatus status = check(address.value, from.size());
        if (status == model::DmaStatus::ok) poke(address.value, from);
        return {status, start + write_latency};
    }

    model::Picoseconds raise_interrupt(model::FunctionId function, model::Picoseconds start,
                                       std::uint32_t vector) override {
        interrupts.push_back({function, vector, start, start + write_latency});
        return start + write_latency;
    }

    /// Requests that touch [address, address + bytes) are answered with a completer abort.
    void refuse(std::uint64_t address, std::uint64_t bytes) {
        refused_.push_back({address, bytes});
    }
    void allow_all() { refused_.clear(); }

    /// Memory as the host's software sees it; unwritten memory reads as zero.
    void peek(std::uint64_t address, std::span<std::byte> into) const {
        for (std::byte& byte : into) {
            const auto page = pages_.find(address / kPage);
            byte = page == pages_.end() ? std::byte{0} : (*page->second)[address % kPage];
            ++address;
        }
    }
    void poke(std::uint64_t address, std::span<const std::byte> from) {
        for (const std::byte byte : from) {
            auto& page = pages_[address / kPage];
            if (page == nullptr) page = std::make_unique<Page>();
            (*page)[address % kPage] = byte;
            ++address;
        }
    }
    void fill(std::uint64_t address, std::uint64_t bytes, std::uint8_t value) {
        const std::vector<std::byte> data(bytes, std::byte{value});
        poke(address, data);
    }
    template <class T>
    T load_be(std::uint64_t address) const {
        std::array<std::byte, sizeof(T)> bytes{};
        peek(address, bytes);
        return model::load_be<T>(bytes.data());
    }
    template <class T>
    void store_be(std::uint64_t address, std::type_identity_t<T> value) {
        std::array<std::byte, sizeof(T)> bytes{};
        model::store_be<T>(bytes.data(), value);
        poke(address, bytes);
    }

  private:
    static constexpr std::uint64_t kPage = 4096;
    using Page = std::array<std::byte, kPage>;
    struct Range {
        std::uint64_t address;
        std::uint64_t bytes;
    };

    model::DmaStatus check(std::uint64_t address, std::uint64_t bytes) const {
        if (!bus_master) return model::DmaStatus::bus_master_disabled;
        const bool hit = std::ranges::any_of(refused_, [=](const Range& range) {
            return address < range.address + range.bytes && range.address < address + bytes;
        });
        return hit ? model::DmaStatus::completer_abort : model::DmaStatus::ok;
    }

    std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
    std::vector<Range> refused_;
};

}  // namespace cxsim::test
