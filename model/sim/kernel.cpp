// SPDX-License-Identifier: Apache-2.0
#include "model/sim/kernel.h"

#include <algorithm>

#include "model/base/assert.h"

namespace cxsim::model {

// SystemC's default resolution is 1 ps; it must not be changed by anybody.
sc_core::sc_time to_sc_time(Picoseconds time) {
    return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(time.value));
}

Picoseconds from_sc_time(const sc_core::sc_time& time) {
    return {static_cast<std::int64_t>(time.value())};
}

namespace {

// sc_pending_activity() and sc_time_to_pending_activity() would look at everything twice.
Picoseconds next_systemc_activity() {
    const sc_core::sc_simcontext* const context = sc_core::sc_get_curr_simcontext();
    if (sc_core::sc_pending_activity_at_current_time(context)) {
        return from_sc_time(context->time_stamp());
    }
    sc_core::sc_time next;
    return context->next_time(next) ? from_sc_time(next) : Picoseconds::max();
}

}  // namespace

Kernel::Kernel(sc_core::sc_module_name name) : sc_module(name) {
    CX_ASSERT(sc_core::sc_get_time_resolution() == sc_core::sc_time(1, sc_core::SC_PS),
              "the simulator counts picoseconds");
    SC_HAS_PROCESS(Kernel);
    SC_METHOD(activate);
    dont_initialize();
    sensitive << wake_;
    calendar_.on_earlier([](void* self) { static_cast<Kernel*>(self)->arm(); }, this);
}

void Kernel::arm() {
    if (active_) return;  // activate() arms when it leaves
    const Picoseconds next = calendar_.next_time();
    if (next == Picoseconds::max()) return;
    const Picoseconds kernel_now = from_sc_time(sc_core::sc_time_stamp());
    wake_.cancel();
    wake_.notify(to_sc_time(std::max(next, kernel_now) - kernel_now));
}

void Kernel::activate() {
    active_ = true;
    do {
        systemc_called_ = false;
        const Picoseconds limit = std::min(horizon_, next_systemc_activity());
        while (calendar_.run_next(limit) && !systemc_called_) {}
    } while (systemc_called_);
    active_ = false;
    arm();
}

Picoseconds Kernel::next_activity() {
    return std::max(now(), std::min(calendar_.next_time(), next_systemc_activity()));
}

void Kernel::run_until(Picoseconds time) {
    CX_ASSERT(time >= now(), "cannot run back to {} ps from {} ps", time.value, now().value);
    horizon_ = time;
    arm();
    const Picoseconds kernel_now = from_sc_time(sc_core::sc_time_stamp());
    sc_core::sc_start(to_sc_time(time - kernel_now), sc_core::SC_RUN_TO_TIME);
    // sc_start leaves what is due exactly at its end for the next call; we include the end.
    while (next_systemc_activity() == time) sc_core::sc_start(sc_core::SC_ZERO_TIME);
    calendar_.run_until(time);  // nothing is left at or before `time`; this moves now() there
}

}  // namespace cxsim::model
