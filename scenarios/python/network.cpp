// SPDX-License-Identifier: Apache-2.0
// The switch in Python: its options, its queues, what it counts; callbacks in simulated time.
#include "eth/link/link_mode.h"
#include "scenarios/python/bindings.h"

#include <pybind11/stl.h>

#include <fmt/format.h>

#include <exception>
#include <map>
#include <optional>
#include <utility>

namespace cxsim::scenarios::python {

namespace {

constexpr unsigned kPriorities = eth::SwitchSettings::kPriorities;

std::exception_ptr pending;    // raised in a callback, not yet by a call
bool inside_callback = false;  // no time may pass there

model::Bytes to_bytes(double value, const char* what) {
    if (!(value >= 0 && value < 1e15)) {
        throw py::value_error(std::string(what) + ": bytes, 0 or more");
    }
    return {static_cast<std::uint64_t>(value)};
}

unsigned checked_priority(unsigned priority) {
    if (priority >= kPriorities) throw py::value_error("a priority is 0 to 7");
    return priority;
}

eth::EcnThresholds thresholds(const py::handle& object) {
    const auto values = py::cast<py::tuple>(object);
    if (values.size() != 3) throw py::value_error("ecn is (kmin, kmax, pmax)");
    return {to_bytes(values[0].cast<double>(), "kmin"), to_bytes(values[1].cast<double>(), "kmax"),
            values[2].cast<double>()};
}

SwitchOptions make_options(double rate, const py::object& ecn,
                           const std::vector<unsigned>& lossless, double buffer, double alpha,
                           double reserve, double headroom, double resume_offset, double xoff,
                           double xon, bool trust_dscp, const std::map<unsigned, unsigned>& dscp,
                           double queue_limit, double latency) {
    SwitchOptions options;
    eth::SwitchSettings& settings = options.settings;
    for (const eth::ModeFacts& mode : eth::all_modes()) {
        if (rate == mode.rate.value) settings.modes |= model::mask_of(mode.mode);
    }
    if (rate != 0 && settings.modes == 0) throw py::value_error("no Ethernet has such a rate");
    if (py::isinstance<py::dict>(ecn)) {
        for (const auto& [priority, each] : py::cast<py::dict>(ecn)) {
            settings.ecn[checked_priority(priority.cast<unsigned>())] = thresholds(each);
        }
    } else if (!ecn.is_none()) {
        settings.mark_all(thresholds(ecn));
    }
    for (const unsigned priority : lossless) {
        settings.lossless =
            static_cast<std::uint8_t>(settings.lossless | 1U << checked_priority(priority));
    }
    settings.shared_buffer = to_bytes(buffer, "buffer");
    settings.alpha = alpha;
    settings.reserve = to_bytes(reserve, "reserve");
    settings.headroom = to_bytes(headroom, "headroom");
    settings.resume_offset = to_bytes(resume_offset, "resume_offset");
    settings.xoff = to_bytes(xoff, "xoff");
    settings.xon = to_bytes(xon, "xon");
    settings.trust_dscp = trust_dscp;
    for (const auto& [code, priority] : dscp) {
        if (code >= settings.priority_of_dscp.size()) throw py::value_error("a DSCP is 0 to 63");
        settings.priority_of_dscp[code] = static_cast<std::uint8_t>(checked_priority(priority));
    }
    options.queue_limit = to_bytes(queue_limit, "queue_limit");
    options.latency = to_time(latency);
    if (const char* problem = settings.problem()) throw py::value_error(problem);
    return options;
}

eth::Impairments make_impairments(double loss, double duplicate, double reorder, double corrupt,
                                  double reorder_time) {
    const eth::Impairments result{loss, duplicate, reorder, corrupt, to_time(reorder_time)};
    if (const char* problem = result.problem()) throw py::value_error(problem);
    return result;
}

void bind_impairments(py::module_& module) {
    py::class_<eth::Impairments>(
        module, "Impairments",
        "What a cable does to frames, each by itself: probabilities 0 to 1 of losing it, sending\n"
        "it twice, holding it back for up to reorder_time seconds while others pass, and flipping\n"
        "1 to 3 of its bits behind the frame check sequence's back. Raises ValueError.")
        .def(py::init(&make_impairments), py::kw_only(), py::arg("loss") = 0.0,
             py::arg("duplicate") = 0.0, py::arg("reorder") = 0.0, py::arg("corrupt") = 0.0,
             py::arg("reorder_time") = 10e-6)
        .def_readonly("loss", &eth::Impairments::loss)
        .def_readonly("duplicate", &eth::Impairments::duplicate)
        .def_readonly("reorder", &eth::Impairments::reorder)
        .def_readonly("corrupt", &eth::Impairments::corrupt)
        .def_property_readonly("reorder_time", [](const eth::Impairments& self) {
            return to_seconds(self.reorder_time);
        });
}

/// The switch of the testbed, as long as that is open.
struct SwitchHandle {
    eth::Switch& get() const {
        eth::Switch* fabric = current().network().fabric();
        if (fabric == nullptr) throw std::runtime_error("the testbed has no switch");
        return *fabric;
    }
    static unsigned port_of(const CardHandle& card) {
        return current().network().port_of(card.station->card());
    }
    /// Of one priority, or the sum of all.
    template <class Of>
    static std::uint64_t sum(const std::optional<unsigned>& priority, Of&& of) {
        if (priority) return of(checked_priority(*priority)).value;
        std::uint64_t total = 0;
        for (unsigned i = 0; i < kPriorities; ++i) total += of(i).value;
        return total;
    }
};

void bind_switch(py::module_& module) {
    using Priority = std::optional<unsigned>;
    py::class_<SwitchHandle>(
        module, "LiveSwitch",
        "Testbed.switch: what lies in the switch now. Bytes are those of the wire (24 more than\n"
        "a frame without FCS). No time passes. Raises RuntimeError for a card that is not at it.")
        .def("queue",
             [](const SwitchHandle& self, const CardHandle& to, const Priority& priority) {
                 eth::Switch& fabric = self.get();
                 return SwitchHandle::sum(priority, [&, port = self.port_of(to)](unsigned i) {
                     return fabric.queued(port, i);
                 });
             },
             py::arg("to"), py::arg("priority") = py::none(),
             "Bytes that wait to be sent to a card, of a priority or of all.")
        .def("peak_queue",
             [](const SwitchHandle& self, const CardHandle& to, unsigned priority) {
                 return self.get().peak_queued(self.port_of(to), checked_priority(priority)).value;
             },
             py::arg("to"), py::arg("priority"),
             "The most that has waited since the start or reset_peaks().")
        .def("held",
             [](const SwitchHandle& self, const CardHandle* from, const Priority& priority) {
                 eth::Switch& fabric = self.get();
                 if (from == nullptr) return fabric.held().value;
                 return SwitchHandle::sum(priority, [&, port = self.port_of(*from)](unsigned i) {
                     return fabric.held_of(port, i);
                 });
             },
             py::arg("origin") = py::none(), py::arg("priority") = py::none(),
             "Bytes of the shared buffer that frames from a card hold, or all frames. 0 without\n"
             "buffer and lossless priorities.")
        .def("paused",
             [](const SwitchHandle& self, const CardHandle& card) {
                 const std::uint8_t mask = self.get().paused_priorities(self.port_of(card));
                 std::vector<unsigned> result;
                 for (unsigned i = 0; i < kPriorities; ++i) {
                     if ((mask >> i & 1) != 0) result.push_back(i);
                 }
                 return result;
             },
             py::arg("card"), "Priorities that the card is told to pause now.")
        .def_property_readonly(
            "threshold", [](const SwitchHandle& self) { return self.get().buffer().threshold(); },
            "Bytes beyond which a port is paused now: alpha times the free pool, or xoff.")
        .def("counters",
             [](const SwitchHandle& self) {
                 const eth::SwitchCounters& all = self.get().counters();
                 py::dict result;
                 for (const auto* each :
                      {&all.received, &all.forwarded, &all.flooded, &all.filtered,
                       &all.dropped_queue_full, &all.dropped_no_link, &all.dropped_buffer_full,
                       &all.marked, &all.not_markable, &all.pauses_sent, &all.resumes_sent,
                       &all.table_full}) {
                     result[py::str(each->name())] = each->value();
                 }
                 return result;
             },
             "What the switch counts: forwarded, marked, dropped_buffer_full, dropped_queue_full,\n"
             "pauses_sent (times that a priority of a port was told to pause), ...")
        .def("reset_peaks", [](const SwitchHandle& self) { self.get().reset_peaks(); });
}

}  // namespace

void raise_pending() {
    if (pending) std::rethrow_exception(std::exchange(pending, nullptr));
}

void time_may_pass() {
    if (inside_callback) {
        throw std::runtime_error("no time can pass inside a callback of Testbed.every()");
    }
    raise_pending();
}

Ticker::Ticker(model::Calendar& calendar, model::Picoseconds period, py::function callback)
    : calendar_(calendar), period_(period), callback_(std::move(callback)) {
    event_ = calendar_.schedule<&Ticker::tick>(calendar_.now() + period_, this);
}

void Ticker::stop() {
    if (!running_) return;
    running_ = false;
    calendar_.cancel(event_);
}

// What it raises must not unwind the simulation: the call that lets time pass raises it.
void Ticker::tick(const model::EventArguments&) {
    inside_callback = true;
    try {
        callback_();
    } catch (...) {
        if (!pending) pending = std::current_exception();
        running_ = false;
    }
    inside_callback = false;
    if (running_) event_ = calendar_.schedule<&Ticker::tick>(calendar_.now() + period_, this);
}

void bind_network(py::module_& module) {
    py::class_<SwitchOptions>(
        module, "Switch",
        "Options of the testbed's switch. Sizes are bytes on the wire.\n\n"
        "rate: of its ports in bit/s, e.g. 100e9; 0: whatever the cards have. ecn: (kmin, kmax,\n"
        "pmax) of all queues, or {priority: (kmin, kmax, pmax)}: no marks below kmin, with a\n"
        "probability up to pmax at kmax, all from there on; None: none. lossless: priorities with\n"
        "flow control (PFC). buffer: shared by all ports; 0: only queue_limit counts. A port's\n"
        "sender is paused beyond a threshold of what came in by it: fixed (xoff, until xon), or\n"
        "dynamic: alpha times what is free of the buffer, until resume_offset below it, where\n"
        "each port has `reserve` and `headroom` of each lossless priority for itself. trust_dscp:\n"
        "untagged IP packets have the priority dscp[DSCP], by default DSCP / 8. queue_limit: of\n"
        "the queues of other priorities. latency: seconds from a frame's end to its start.\n"
        "Raises ValueError for options that contradict each other.")
        .def(py::init(&make_options), py::kw_only(), py::arg("rate") = 0.0,
             py::arg("ecn") = py::none(), py::arg("lossless") = std::vector<unsigned>{},
             py::arg("buffer") = 0.0, py::arg("alpha") = 0.0, py::arg("reserve") = 0.0,
             py::arg("headroom") = 0.0, py::arg("resume_offset") = 0.0, py::arg("xoff") = 0.0,
             py::arg("xon") = 0.0, py::arg("trust_dscp") = false,
             py::arg("dscp") = std::map<unsigned, unsigned>{}, py::arg("queue_limit") = 524288.0,
             py::arg("latency") = 200e-9);
    bind_switch(module);
    bind_impairments(module);
    py::class_<Ticker, std::shared_ptr<Ticker>>(module, "Ticker", "Made by Testbed.every().")
        .def("stop", &Ticker::stop, "No more calls.")
        .def_property_readonly("running", &Ticker::running);
}

py::object live_switch() {
    const SwitchHandle handle;
    handle.get();
    return py::cast(handle);
}

}  // namespace cxsim::scenarios::python
