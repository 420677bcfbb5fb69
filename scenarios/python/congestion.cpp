// SPDX-License-Identifier: Apache-2.0
// Registers, priorities and congestion control of a card in Python.
#include "scenarios/driver/port_functions.h"
#include "scenarios/python/bindings.h"

#include <pybind11/stl.h>

#include <map>

namespace cxsim::scenarios::python {

namespace {

Driver& driver_of(const CardHandle& card) {
    time_may_pass();
    return card.verbs().driver();
}

void set_card_priorities(const CardHandle& card, const std::vector<unsigned>& lossless,
                         bool trust_dscp, const std::map<unsigned, unsigned>& dscp) {
    PriorityOptions options;
    for (const unsigned priority : lossless) {
        if (priority > 7) throw py::value_error("a priority is 0 to 7");
        options.lossless = static_cast<std::uint8_t>(options.lossless | 1U << priority);
    }
    options.trust_dscp = trust_dscp;
    for (const auto& [code, priority] : dscp) {
        if (code > 63 || priority > 7) {
            throw py::value_error("DSCPs are 0 to 63, priorities 0 to 7");
        }
        options.priority_of_dscp[static_cast<std::uint8_t>(code)] =
            static_cast<std::uint8_t>(priority);
    }
    set_priorities(driver_of(card), options);
}

py::dict counts_of(const CardHandle& card) {
    current();
    auto& control =
        card.station->card().firmware().function(model::FunctionId{0}).congestion;
    if (control.flows != nullptr) control.flows->settle(current().kernel().now());
    py::dict result;
    result["rp_cur_flows"] = control.limited_flows;
    result["rp_cnp_handled"] = control.cnps_handled;
    result["rp_cnp_ignored"] = control.cnps_ignored;
    result["np_cnp_sent"] = control.cnps_sent;
    result["np_ecn_marked_roce_packets"] = control.ecn_marked_packets;
    return result;
}

}  // namespace

void bind_congestion(py::class_<CardHandle>& card) {
    card.def(
            "register",
            [](const CardHandle& self, const std::string& name, const py::dict& fields,
               bool write) {
                return to_python(
                    access_register(driver_of(self), name, from_python(fields), write));
            },
            py::arg("name"), py::arg("fields") = py::dict(), py::arg("write") = false,
            "Reads or writes an access register by name and fields, e.g. ('PFCC',); a dict of\n"
            "what the card returned, fields that are zero left out. Raises CommandFailed,\n"
            "DriverError.")
        .def("set_priorities", &set_card_priorities, py::kw_only(),
             py::arg("lossless") = std::vector<unsigned>{}, py::arg("trust_dscp") = false,
             py::arg("dscp") = std::map<unsigned, unsigned>{},
             "lossless: priorities with flow control in both directions (PFCC). trust_dscp: IP\n"
             "packets have the priority of their DSCP (QPTS), else that of tags and queue pairs.\n"
             "dscp: {DSCP: priority} (QPDPM); DSCP / 8 at first. Queue pairs that are connected\n"
             "already keep their queue. Raises CommandFailed, ValueError.")
        .def(
            "congestion",
            [](const CardHandle& self) { return congestion_parameters(driver_of(self)); },
            "Parameters of DCQCN by their real names (QUERY_CONG_PARAMS). Rates are Mb/s, times\n"
            "us, rpg_byte_reset bytes, dce_tcp_g and initial_alpha_value in 1024.")
        .def(
            "set_congestion",
            [](const CardHandle& self, const py::kwargs& wanted) {
                std::map<std::string, std::uint32_t> values;
                for (const auto& [name, value] : wanted) {
                    values[name.cast<std::string>()] = value.cast<std::uint32_t>();
                }
                set_congestion_parameters(driver_of(self), values);
            },
            "Changes parameters of DCQCN (MODIFY_CONG_PARAMS): set_congestion(rpg_ai_rate=20,\n"
            "min_time_between_cnps=4). Of senders, rates in Mb/s and times in us: clamp_tgt_rate,\n"
            "clamp_tgt_rate_after_time_inc (0, 1), rpg_time_reset, rpg_byte_reset (bytes, 0: no\n"
            "counter), rpg_threshold, rpg_max_rate (0: port speed), rpg_ai_rate, rpg_hai_rate,\n"
            "rpg_gd, rpg_min_dec_fac (%), rpg_min_rate, rate_to_set_on_first_cnp (0: port speed),\n"
            "dce_tcp_g (what alpha keeps, in 1024: 1 - g), dce_tcp_rtt, initial_alpha_value (in\n"
            "1024), rate_reduce_monitor_period. Of receivers: min_time_between_cnps (us),\n"
            "cnp_dscp, cnp_prio_mode (0: cnp_802p_prio), cnp_802p_prio. Raises DriverError for other names,\n"
            "CommandFailed for values out of range.")
        .def(
            "congestion_status",
            [](const CardHandle& self, std::uint8_t priority) {
                const CongestionStatus status = congestion_status(driver_of(self), priority);
                return std::pair(status.reaction_point, status.notification_point);
            },
            py::arg("priority"),
            "(senders slow down, receivers notify) of a priority (QUERY_CONG_STATUS).")
        .def(
            "set_congestion_status",
            [](const CardHandle& self, std::uint8_t priority, bool reaction, bool notification) {
                set_congestion_status(driver_of(self), priority, {reaction, notification});
            },
            py::arg("priority"), py::kw_only(), py::arg("reaction_point") = true,
            py::arg("notification_point") = true,
            "Who takes part in congestion control, by priority (MODIFY_CONG_STATUS).")
        .def("congestion_counters", &counts_of,
             "rp_cur_flows, rp_cnp_handled, rp_cnp_ignored, np_cnp_sent and\n"
             "np_ecn_marked_roce_packets as QUERY_CONG_STATISTICS tells them; no time passes.");
}

}  // namespace cxsim::scenarios::python
