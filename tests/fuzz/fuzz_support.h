// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of the card share: a reader of the fuzzer's bytes, host memory that is
// cheap to clear, and the invariants that hold between any two steps.
#pragma once

#include "firmware_stub/boot/firmware.h"
#include "model/ports/host_bus.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <vector>

namespace cxsim::fuzz {

/// The fuzzer's bytes in order; zeros when they are used up.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data, size) {}
    bool empty() const { return data_.empty(); }
    std::uint8_t byte() {
        if (data_.empty()) return 0;
        const std::uint8_t value = data_.front();
        data_ = data_.subspan(1);
        return value;
    }
    std::uint16_t word() {
        const std::uint16_t high = byte();
        return static_cast<std::uint16_t>(high << 8 | byte());
    }
    std::uint32_t dword() {
        const std::uint32_t high = word();
        return high << 16 | word();
    }
    std::span<const std::byte> take(std::size_t count) {
        const auto part = data_.first(std::min(count, data_.size()));
        data_ = data_.subspan(part.size());
        return std::as_bytes(part);
    }

  private:
    std::span<const std::uint8_t> data_;
};

/// Ends the run with a message, as a sanitizer does.
[[noreturn]] inline void broken(const char* what) {
    std::fprintf(stderr, "invariant broken: %s\n", what);
    std::abort();
}

/// Memory at [0, kBytes); what lies beyond nobody claims. Pages that were written are cleared.
class HostImage {
  public:
    static constexpr std::uint64_t kBytes = 2U << 20;

    void clear() {
        for (std::size_t page = 0; page < dirty_.size(); ++page) {
            if (!dirty_[page]) continue;
            std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(page * kPage), kPage,
                        std::byte{0});
            dirty_[page] = false;
        }
    }
    static bool contains(std::uint64_t address, std::uint64_t count) {
        return address <= kBytes && count <= kBytes - address;
    }
    void peek(std::uint64_t address, std::span<std::byte> into) const {
        if (!contains(address, into.size())) broken("the target reads beyond its own memory");
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(address), into.size(),
                    into.begin());
    }
    void poke(std::uint64_t address, std::span<const std::byte> from) {
        if (!contains(address, from.size())) broken("the target writes beyond its own memory");
        std::copy(from.begin(), from.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(address));
        if (from.empty()) return;
        for (std::uint64_t page = address / kPage; page <= (address + from.size() - 1) / kPage;
             ++page) {
            dirty_[page] = true;
        }
    }

  private:
    static constexpr std::uint64_t kPage = 4096;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
    std::vector<bool> dirty_ = std::vector<bool>(kBytes / kPage);
};

template <class Visit>
void for_each_object(model::Resources& resources, Visit&& visit) {
    const auto all = [&](auto&... table) { (table.for_each(visit), ...); };
    model::Resources& r = resources;
    all(r.uars, r.pds, r.transport_domains, r.xrcds, r.mkeys, r.eqs, r.cqs, r.qps, r.srqs,
        r.xrc_srqs, r.rmps, r.rqs, r.sqs, r.tises, r.tirs, r.rqts, r.q_counters, r.flow_tables,
        r.flow_groups, r.flow_counters, r.modify_headers, r.packet_reformats,
        r.scheduling_elements, r.vxlan_udp_dports);
}

/// Every hold names a living object, and each object has exactly the users that hold it.
inline void check_references(model::Resources& resources) {
    std::map<model::ObjectId, std::uint32_t> users;
    const auto hold = [&](model::ObjectId used) {
        if (resources.find(used) == nullptr) broken("a hold names an object that does not live");
        ++users[used];
    };
    for_each_object(resources, [&](model::Object& object) {
        for (const model::ObjectId used : object.holds) hold(used);
    });
    resources.flow_groups.for_each([&](model::FlowGroup& group) {
        for (const auto& [index, entry] : group.entries) {
            for (const model::ObjectId used : entry.holds) hold(used);
        }
    });
    for_each_object(resources, [&](model::Object& object) {
        const auto place = users.find(object.id);
        if (object.users != (place == users.end() ? 0 : place->second)) {
            broken("an object counts other users than hold it");
        }
    });
}

/// What holds for a function between any two steps, whatever was done to it.
inline void check_function(firmware_stub::FunctionState& function) {
    check_references(function.resources());
    if (function.commands().in_flight() > firmware_stub::CommandQueue::kSlots) {
        broken("more commands in flight than slots");
    }
    if (function.phase() == firmware_stub::Phase::reset && function.resources().total() != 0) {
        broken("objects live in a function that is not enabled");
    }
    const auto& pages = function.pages();
    if (pages.free() > pages.held()) broken("more pages free than held");
}

}  // namespace cxsim::fuzz
