// SPDX-License-Identifier: Apache-2.0
// Two cards on a link with a connected queue pair each, and what tests of traffic do with them.
#pragma once

#include "tests/integration/verbs/verbs_bench.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cxsim::test {

inline constexpr model::Picoseconds kTrafficLimit = model::milliseconds(20);

/// One side: a region in two halves, so that what is sent and what arrives never overlap.
struct TrafficSide {
    scenarios::VerbsDriver* verbs = nullptr;
    scenarios::VerbsMr* mr = nullptr;
    scenarios::VerbsCq* cq = nullptr;
    scenarios::VerbsQp* qp = nullptr;

    std::uint64_t half() const { return mr->bytes().size() / 2; }
    std::span<std::byte> out(std::uint64_t bytes) const { return mr->bytes().first(bytes); }
    std::span<std::byte> in(std::uint64_t bytes) const { return mr->bytes().subspan(half(), bytes); }
    scenarios::Sge out_piece(std::uint64_t bytes) const { return mr->sge(0, bytes); }
    scenarios::Sge in_piece(std::uint64_t bytes) const { return mr->sge(half(), bytes); }
    std::uint64_t in_address() const { return mr->address() + half(); }

    /// The next completion; throws after kTrafficLimit of simulated time.
    scenarios::Completion next() const {
        scenarios::Completion done;
        if (!cq->wait(done, kTrafficLimit)) throw std::runtime_error("no completion");
        return done;
    }
};

struct TrafficBench : VerbsBench {
    /// `cards` 1: both queue pairs are of the same card. Regions of `bytes` each.
    explicit TrafficBench(scenarios::QpOptions options = {},
                          scenarios::ConnectionOptions connection = {},
                          std::uint8_t address = scenarios::VerbsDriver::kIpv4V2,
                          unsigned cards = 2, const std::string& model = "connectx5",
                          std::uint64_t bytes = 1 << 16)
        : VerbsBench(cards, model) {
        unsigned i = 0;
        for (TrafficSide* side : {&a, &b}) {
            side->verbs = &verbs(cards == 1 ? 0 : i++);
            side->mr = &side->verbs->create_mr(side->verbs->pd(), bytes);
            side->cq = &side->verbs->create_cq(1024);
            side->qp = &side->verbs->create_qp(side->verbs->pd(), *side->cq, *side->cq, options);
        }
        if (options.service == scenarios::QpService::ud) {
            connection.path = b.verbs->path_to(address);
            a.qp->connect(connection);
            b.qp->connect(connection);
        } else {
            scenarios::connect(*a.qp, *a.verbs, *b.qp, *b.verbs, connection, address);
        }
    }

    TrafficSide a;
    TrafficSide b;
};

inline bool equal(std::span<const std::byte> one, std::span<const std::byte> other) {
    return std::ranges::equal(one, other);
}

inline bool untouched(std::span<const std::byte> bytes, std::byte value) {
    return std::ranges::all_of(bytes, [value](std::byte byte) { return byte == value; });
}

inline std::uint64_t load_number(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

inline void store_number(std::span<std::byte> bytes, std::uint64_t value) {
    std::memcpy(bytes.data(), &value, sizeof value);
}

}  // namespace cxsim::test
