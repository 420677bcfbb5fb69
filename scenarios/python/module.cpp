// SPDX-License-Identifier: Apache-2.0
// The Python module `cxsim`: cards, links and RDMA from scripts; see README.md.
#include "model/params/config_error.h"
#include "scenarios/python/bindings.h"

#include <pybind11/stl.h>

#include <fmt/format.h>

#include <cstdlib>

// SystemC's library wants it; Python owns main() here, and the first run elaborates.
__attribute__((visibility("default"))) int sc_main(int, char**) {
    return 1;
}

namespace cxsim::scenarios::python {

namespace {

// Lives until the interpreter ends, since SystemC cannot be started anew.
std::unique_ptr<Testbed> testbed;
std::vector<std::shared_ptr<Ticker>> tickers;  // go before it

std::string gid_text(const Gid& gid) {
    if (is_ipv4(gid)) return fmt::format("{}.{}.{}.{}", gid[12], gid[13], gid[14], gid[15]);
    std::string text;
    for (std::size_t i = 0; i < gid.size(); i += 2) {
        text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid[i], gid[i + 1]);
    }
    return text;
}

py::dict values_of(const model::stats::Group& group) {
    py::dict result;
    group.visit([&](const std::string& path, const model::stats::Counter& counter) {
        result[py::str(path)] = counter.value();
    });
    return result;
}

AccessRights rights(const std::vector<std::string>& words) {
    AccessRights access{false, false, false, false};
    for (const std::string& word : words) {
        if (word == "local_write") access.local_write = true;
        else if (word == "remote_read") access.remote_read = true;
        else if (word == "remote_write") access.remote_write = true;
        else if (word == "remote_atomic") access.remote_atomic = true;
        else throw py::value_error("no access right '" + word + "'");
    }
    return access;
}

QpHandle make_qp(const CardHandle& card, const CqHandle& cq, const std::string& service,
                 const CqHandle* receive_cq, const PdHandle* pd, const SrqHandle* srq,
                 std::uint32_t send_requests, std::uint32_t receive_requests, unsigned max_pieces,
                 unsigned max_inline, bool blue_flame, bool data_in_completions) {
    QpOptions options;
    if (service == "uc") options.service = QpService::uc;
    else if (service == "ud") options.service = QpService::ud;
    else if (service != "rc") throw py::value_error("a service is 'rc', 'uc' or 'ud'");
    options.srq = srq != nullptr ? &srq->get() : nullptr;
    options.send_requests = send_requests;
    options.receive_requests = receive_requests;
    options.max_send_sges = options.max_receive_sges = max_pieces;
    options.max_inline = max_inline;
    options.blue_flame = blue_flame;
    options.data_in_completions = data_in_completions;
    VerbsDriver& verbs = card.verbs();
    return {*card.station,
            verbs.create_qp(pd != nullptr ? pd->get() : verbs.pd(), cq.get(),
                            receive_cq != nullptr ? receive_cq->get() : cq.get(), options)};
}

void bind_card(py::module_& module) {
    py::class_<CardHandle> type(module, "Card",
                                "A card in a host of its own. Its driver starts at the first use.");
    bind_congestion(type);
    type.def_property_readonly("name",
                               [](const CardHandle& card) { return card.station->card().name(); })
        .def_property_readonly("model",
                               [](const CardHandle& card) { return card.station->model(); })
        .def_property_readonly(
            "mac",
            [](const CardHandle& card) {
                return py::bytes(reinterpret_cast<const char*>(card.verbs().mac().data()), 6);
            },
            "Six bytes.")
        .def(
            "open", [](const CardHandle& card) { time_may_pass(), card.verbs(); },
            "Starts the driver: cold start, event queues, RoCE. Raises DriverError.")
        .def(
            "close",
            [](const CardHandle& card) {
                time_may_pass();
                current();
                card.station->verbs().close();
            },
            "Takes everything back and stops the driver; open() starts it anew.")
        .def(
            "impair",
            [](const CardHandle& card, const eth::Impairments& towards,
               const eth::Impairments& origin) {
                current().network().impair(card.station->card(), towards, origin);
            },
            py::kw_only(), py::arg("towards") = eth::Impairments{},
            py::arg("origin") = eth::Impairments{},
            "Impairments of the card's cable from now on, of frames towards it and from it;\n"
            "none that are not given. Raises RuntimeError if the testbed was made without.")
        .def(
            "address",
            [](const CardHandle& card, std::uint8_t index) {
                return gid_text(card.verbs().address(index).gid);
            },
            py::arg("index") = VerbsDriver::kIpv4V2, "An entry of the table of RoCE addresses.")
        .def(
            "path",
            [](const CardHandle& card, std::uint8_t index) { return card.verbs().path_to(index); },
            py::arg("index") = VerbsDriver::kIpv4V2,
            "An AddressHandle with which another card's datagrams reach this one.")
        .def("pd",
             [](const CardHandle& card) { return PdHandle(*card.station, card.verbs().create_pd()); },
             "A new protection domain; without one, objects use the driver's own.")
        .def(
            "mr",
            [](const CardHandle& card, std::uint64_t bytes, const std::vector<std::string>& access,
               const PdHandle* pd, unsigned log_page_size, bool remote_invalidate) {
                VerbsDriver& verbs = card.verbs();
                return MrHandle(*card.station,
                                verbs.create_mr(pd != nullptr ? pd->get() : verbs.pd(), bytes,
                                                {rights(access), log_page_size, remote_invalidate}));
            },
            py::arg("bytes"),
            py::arg("access") = std::vector<std::string>{"local_write", "remote_read",
                                                         "remote_write", "remote_atomic"},
            py::kw_only(), py::arg("pd") = py::none(), py::arg("log_page_size") = 0,
            py::arg("remote_invalidate") = false,
            "A memory region over `bytes` of new, zeroed memory. log_page_size: of its\n"
            "translations, 12 to 31, 0 the driver's choice. Raises DriverError, ValueError.")
        .def("cq",
             [](const CardHandle& card, std::uint32_t entries) {
                 return CqHandle(*card.station, card.verbs().create_cq(entries));
             },
             py::arg("entries") = 256, "A completion queue; entries: rounded up to 2^n.")
        .def("srq",
             [](const CardHandle& card, std::uint32_t entries, unsigned max_pieces,
                const PdHandle* pd) {
                 VerbsDriver& verbs = card.verbs();
                 return SrqHandle(*card.station,
                                  verbs.create_srq(pd != nullptr ? pd->get() : verbs.pd(), entries,
                                                   max_pieces));
             },
             py::arg("entries") = 127, py::arg("max_pieces") = 4, py::arg("pd") = py::none(),
             "A shared receive queue of 2^n - 1 entries.")
        .def("qp", &make_qp, py::arg("cq"), py::arg("service") = "rc", py::kw_only(),
             py::arg("receive_cq") = py::none(), py::arg("pd") = py::none(),
             py::arg("srq") = py::none(), py::arg("send_requests") = 128,
             py::arg("receive_requests") = 128, py::arg("max_pieces") = 4,
             py::arg("max_inline") = 0, py::arg("blue_flame") = false,
             py::arg("data_in_completions") = false,
             "A queue pair in reset. service: 'rc', 'uc', 'ud'. max_inline: bytes, up to 900.\n"
             "data_in_completions: up to 32 bytes of a SEND, READ or atomic come in the CQE.\n"
             "Raises DriverError, ValueError.")
        .def(
            "command",
            [](const CardHandle& card, const std::string& name, const py::dict& fields,
               std::size_t tail) {
                time_may_pass();
                return to_python(card.verbs().driver().command(name, from_python(fields), tail));
            },
            py::arg("name"), py::arg("fields") = py::dict(), py::arg("tail") = 0,
            "Any command by its name and fields, e.g. ('QUERY_HCA_CAP', {'op_mod': 1}); a dict of\n"
            "the output's fields, those that are zero left out. tail: bytes behind the output's\n"
            "layout. Raises CommandFailed, or DriverError for names that do not exist.")
        .def("counters",
             [](const CardHandle& card, bool clear) {
                 time_may_pass();
                 return card.verbs().counters(clear);
             },
             py::arg("clear") = false, "Queue counters of the driver's set: name to value.")
        .def("statistics",
             [](const CardHandle& card) {
                 current();
                 return values_of(card.station->card().statistics());
             },
             "What the model of the card's port counts: path to value.");
}

bool run_until(Testbed& bed, const py::function& done, double timeout) {
    time_may_pass();
    model::Kernel& kernel = bed.kernel();
    const model::Picoseconds end = kernel.now() + to_time(timeout);
    return kernel.run_until_true(
        [&] {
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();
            raise_pending();
            return done().cast<bool>();
        },
        end);
}

/// What Python calls a Testbed; there is one.
struct TestbedHandle {};

TestbedHandle make_testbed(const std::vector<std::string>& cards, const std::string& wire,
                           double delay, double bit_error_ratio, const std::string& host,
                           std::uint64_t seed, const SwitchOptions* fabric,
                           const eth::Impairments* impairments, const std::string& payload,
                           const std::map<std::string, std::string>& overrides,
                           const std::string& pcap, const std::vector<std::string>& traces) {
    TestbedSetup setup;
    if (payload != "real" && payload != "counted") {
        throw py::value_error("a payload is 'real' or 'counted'");
    }
    setup.synthetic = payload == "counted";
    if (fabric != nullptr) {
        const bool switched = wire == "switch" || (wire == "auto" && cards.size() > 2);
        if (!switched) throw py::value_error("options of a switch without a switch");
        setup.switch_settings = fabric->settings;
        setup.queue_limit = fabric->queue_limit;
        setup.switch_latency = fabric->latency;
    }
    setup.cards = cards;
    setup.wire = wire;
    setup.delay = to_time(delay);
    setup.bit_error_ratio = bit_error_ratio;
    if (impairments != nullptr) setup.impairments = *impairments;
    setup.host_profile = host;
    setup.seed = seed;
    for (const auto& [key, value] : overrides) setup.overrides.push_back({key, value});
    setup.pcap = pcap;
    setup.traces = traces;
    testbed = std::make_unique<Testbed>(setup);
    return {};
}

void run(double seconds) {
    time_may_pass();
    current().kernel().run_for(to_time(seconds));
    raise_pending();
}

std::shared_ptr<Ticker> every(double period, const py::function& callback) {
    const model::Picoseconds step = to_time(period);
    if (step == model::Picoseconds{}) throw py::value_error("a period is longer than 0");
    tickers.push_back(std::make_shared<Ticker>(current().kernel().calendar(), step, callback));
    return tickers.back();
}

void stop_tickers() {
    for (const auto& ticker : tickers) ticker->stop();
    tickers.clear();
}

void close_testbed() {
    time_may_pass();
    stop_tickers();
    if (testbed) testbed->close();
}

}  // namespace

Testbed& current() {
    if (testbed == nullptr || testbed->closed()) {
        throw std::runtime_error("the testbed is closed");
    }
    return *testbed;
}

VerbsDriver& CardHandle::verbs() const {
    current();
    return station->open();
}

void bind_testbed(py::module_& module) {
    bind_card(module);
    py::class_<TestbedHandle>(
        module, "Testbed",
        "Cards, each in a host, on a wire. One for each process. Times are simulated seconds.\n\n"
        "cards: model names (see `cxsim cards`). wire: 'auto' (a link for two cards, a switch for\n"
        "more), 'link', 'switch', 'none'. delay: of each link, one way, seconds. bit_error_ratio:\n"
        "0 to 1e-3. switch: its options, a Switch. impairments: Impairments of both directions of\n"
        "each cable, to be changed by Card.impair(); without them no cable can be impaired.\n"
        "seed: of all that is random. payload: 'real', or 'counted': RDMA payload has lengths and\n"
        "no content and is not read from the host, which is faster.\n"
        "overrides: of the cards' data and the hosts', e.g. {'timing.command.query': '5us',\n"
        "'host.iommu.enabled': 'true'}. pcap: prefix of captures, one for each card. traces: files\n"
        "of commands, doorbells, DMA and interrupts: .json a timeline for Perfetto, .jsonl JSON\n"
        "Lines, else text.\n"
        "Raises ConfigError, RuntimeError.")
        .def(py::init(&make_testbed),
             py::arg("cards") = std::vector<std::string>{"connectx5", "connectx5"},
             py::arg("wire") = "auto", py::kw_only(), py::arg("delay") = 10e-9,
             py::arg("bit_error_ratio") = 0.0, py::arg("host") = "broadwell_e5_2630v4",
             py::arg("seed") = 1, py::arg("switch") = py::none(),
             py::arg("impairments") = py::none(), py::arg("payload") = "real",
             py::arg("overrides") = std::map<std::string, std::string>{},
             py::arg("pcap") = "", py::arg("traces") = std::vector<std::string>{})
        .def_property_readonly("cards",
                               [](const TestbedHandle&) {
                                   std::vector<CardHandle> cards;
                                   for (const auto& station : current().stations()) {
                                       cards.push_back({station.get()});
                                   }
                                   return cards;
                               })
        .def_property_readonly(
            "now", [](const TestbedHandle&) { return to_seconds(current().kernel().now()); },
            "Simulated seconds since the start.")
        .def("open",
             [](const TestbedHandle&, double limit) {
                 time_may_pass();
                 current().open(to_time(limit));
             },
             py::arg("timeout") = 10.0,
             "Starts all drivers and waits for the links. Raises DriverTimeout.")
        .def_property_readonly("switch", [](const TestbedHandle&) { return live_switch(); },
                               "What lies in the switch. Raises RuntimeError without one.")
        .def("every",
             [](const TestbedHandle&, double period, const py::function& callback) {
                 return every(period, callback);
             },
             py::arg("period"), py::arg("callback"),
             "Calls callback() every `period` simulated seconds from now on, whatever lets time\n"
             "pass; a Ticker to stop it. It looks and changes nothing: Testbed.now, LiveSwitch,\n"
             "Qp.rate, Card.congestion_counters(), statistics(). What it raises stops it and is\n"
             "raised by the call that let time pass, or the next one.")
        .def("run", [](const TestbedHandle&, double time) { run(time); }, py::arg("seconds"),
             "Simulates on.")
        .def("run_until",
             [](const TestbedHandle&, const py::function& done, double timeout) {
                 return run_until(current(), done, timeout);
             },
             py::arg("done"), py::arg("timeout") = 1.0,
             "Simulates until done() is true, looked at after each event; False after `timeout`.")
        .def_property_readonly(
            "events", [](const TestbedHandle&) { return current().kernel().calendar().executed(); },
            "Events of the simulation so far.")
        .def("statistics",
             [](const TestbedHandle&) { return values_of(current().network().statistics()); },
             "What links and switch count: path to value.")
        .def("close", [](const TestbedHandle&) { close_testbed(); },
             "Stops the drivers and completes the trace files.")
        .def("__enter__", [](TestbedHandle& self) -> TestbedHandle& { return self; },
             py::return_value_policy::reference)
        .def("__exit__", [](const TestbedHandle&, const py::object& type, const py::object&,
                            const py::object&) {
            // After an error the card may not do as it is told: what is open stays open.
            stop_tickers();
            if (testbed && type.is_none()) testbed->close();
        });
}

PYBIND11_MODULE(cxsim, module) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
    module.doc() =
        "Simulated ConnectX cards: testbeds, RDMA objects, traffic, commands by field name.\n\n"
        "    bed = cxsim.Testbed(['connectx7', 'connectx7'])\n"
        "    bed.open()\n"
        "    a, b = bed.cards";
    static py::exception<DriverError> driver_error(module, "DriverError", PyExc_RuntimeError);
    static py::exception<DriverTimeout> timeout(module, "DriverTimeout", driver_error.ptr());
    static py::exception<CommandFailed> failed(module, "CommandFailed", driver_error.ptr());
    static py::exception<model::ConfigError> config_error(module, "ConfigError", PyExc_ValueError);
    py::register_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) std::rethrow_exception(pointer);
        } catch (const CommandFailed& error) {
            const py::object type = failed;
            const py::object raised = type(error.what());
            raised.attr("opcode") = command_name(error.opcode());
            raised.attr("status") = std::string(prm::status_name(error.status()));
            raised.attr("syndrome") = error.syndrome();
            PyErr_SetObject(failed.ptr(), raised.ptr());
        } catch (const DriverTimeout& error) {
            timeout(error.what());
        } catch (const DriverError& error) {
            driver_error(error.what());
        } catch (const model::ConfigError& error) {
            config_error(error.what());
        }
    });
    bind_objects(module);
    bind_queue_pairs(module);
    bind_network(module);
    bind_testbed(module);
    // Captures and traces are complete also when the script ends without close().
    py::module_::import("atexit").attr("register")(py::cpp_function([] {
        stop_tickers();
        testbed.reset();
    }));
}

}  // namespace cxsim::scenarios::python
