// SPDX-License-Identifier: Apache-2.0
// What the queue engines of one function share.
#pragma once

#include "model/base/units.h"
#include "model/ports/host_bus.h"
#include "model/resources/resources.h"
#include "model/sim/calendar.h"

namespace cxsim::model {

/// Times of the queue engines, from the card's timing data.
struct QueueTiming {
    Picoseconds doorbell;          ///< UAR write seen until the scheduler starts on the queue
    Picoseconds wqe_execute;       ///< a WQE fetched until it is done (without its memory accesses)
    Picoseconds completion_write;  ///< work done until the CQE goes out
    Picoseconds event_write;       ///< event decided until the EQE goes out
};

struct QueueContext {
    FunctionId function;
    Resources& resources;
    HostBus& host;
    Calendar& calendar;
    QueueTiming timing;
};

}  // namespace cxsim::model
