// SPDX-License-Identifier: Apache-2.0
// What the queue engines of one function share.
#pragma once

#include "model/base/units.h"
#include "model/ports/host_bus.h"
#include "model/resources/resources.h"
#include "model/sim/calendar.h"

#include <cstdint>

namespace cxsim::model {

/// Times of the queue engines, from the card's timing data.
struct QueueTiming {
    Picoseconds doorbell;          ///< UAR write seen until the scheduler starts on the queue
    Picoseconds wqe_execute;       ///< a WQE fetched until it is done (without its memory accesses)
    Picoseconds completion_write;  ///< work done until the CQE goes out
    Picoseconds event_write;       ///< event decided until the EQE goes out
    /// Period of the free-running clock that stamps CQEs; zero: stamps stay zero, as on a device
    /// without a clock.
    Picoseconds clock_period;
};

/// Keys that the PRM reserves (QUERY_SPECIAL_CONTEXTS); zero: the device has none.
struct SpecialKeys {
    std::uint32_t reserved_lkey = 0;               ///< physical addresses, for queues with rlky set
    std::uint32_t null_mkey = 0;                   ///< reads give zeros, writes vanish
    std::uint32_t terminate_scatter_list = 0x100;  ///< ends a receive WQE's list
};

class ContextCaches;

struct QueueContext {
    FunctionId function;
    Resources& resources;
    HostBus& host;
    Calendar& calendar;
    QueueTiming timing;
    SpecialKeys keys = {};
    ContextCaches* caches = nullptr;  ///< null: all contexts are always at hand
};

}  // namespace cxsim::model
