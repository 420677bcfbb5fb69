// SPDX-License-Identifier: Apache-2.0
// The one place where the calendar meets SystemC: a module with one event and one method.
#pragma once

#include <systemc>

#include "model/sim/calendar.h"

namespace cxsim::model {

/// Owns the calendar of a simulation and drives it from the SystemC kernel. One per process, as
/// the SystemC kernel is. The calendar may run ahead of sc_time_stamp() inside one activation, but
/// never past another pending SystemC event nor past the end of the running slice, so that
/// calendar and SystemC processes see each other in time order. Handlers run while no SystemC
/// process does: only they can make SystemC activity pending meanwhile, and those who do, or call
/// what may, say so with systemc_called().
class Kernel : public sc_core::sc_module {
  public:
    explicit Kernel(sc_core::sc_module_name name = "kernel");

    Calendar& calendar() { return calendar_; }
    Picoseconds now() const { return calendar_.now(); }

    /// Simulates up to and including `time`. `time` must not lie before now().
    void run_until(Picoseconds time);
    void run_for(Picoseconds duration) { run_until(now() + duration); }

    /// Runs until `done()` holds, checked after each event, or until `limit`. Returns done().
    template <class Predicate>
    bool run_until_true(Predicate&& done, Picoseconds limit) {
        while (!done()) {
            const Picoseconds next = next_activity();
            if (next > limit) {
                run_until(limit);
                return done();
            }
            run_until(next);
        }
        return true;
    }

    /// Time of the next calendar event or SystemC activity, Picoseconds::max() if there is none.
    Picoseconds next_activity();

    /// An event's handler has notified a SystemC event, or called a module outside of the model
    /// that may have: the kernel looks at SystemC again before the next event.
    static void systemc_called() { systemc_called_ = true; }

  private:
    void activate();
    void arm();

    Calendar calendar_;
    sc_core::sc_event wake_;
    Picoseconds horizon_;
    bool active_ = false;
    inline static bool systemc_called_ = false;  // of the one SystemC kernel of the process
};

sc_core::sc_time to_sc_time(Picoseconds time);
Picoseconds from_sc_time(const sc_core::sc_time& time);

}  // namespace cxsim::model
