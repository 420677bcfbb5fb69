// SPDX-License-Identifier: Apache-2.0
// What the files of the Python module share: handles that notice when their object is gone, JSON,
// units.
#pragma once

#include "eth/link/switch.h"
#include "scenarios/python/testbed.h"

#include <pybind11/pybind11.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>

namespace cxsim::scenarios::python {

namespace py = pybind11;

/// An object of a station's driver as Python holds it. Using it after destroy() or after the
/// driver was closed raises RuntimeError.
template <class Object>
class Handle {
  public:
    Handle(Station& station, Object& object)
        : station_(&station), object_(&object), session_(station.session()) {}

    Object& get() const {
        if (object_ == nullptr || !station_->verbs().is_open() || session_ != station_->session()) {
            throw std::runtime_error("the object was destroyed or its driver closed");
        }
        return *object_;
    }
    Station& station() const { return *station_; }
    /// Throws CommandFailed while others use it; it lives on then.
    void destroy() {
        station_->verbs().destroy(get());
        object_ = nullptr;
    }

  private:
    Station* station_;
    Object* object_;
    std::uint64_t session_;
};

using PdHandle = Handle<VerbsPd>;
using MrHandle = Handle<VerbsMr>;
using CqHandle = Handle<VerbsCq>;
using SrqHandle = Handle<VerbsSrq>;
using QpHandle = Handle<VerbsQp>;

/// Host memory of a region; keeps its bytes alive for arrays that were made of it.
struct Memory {
    std::shared_ptr<std::byte> block;
    std::span<std::byte> bytes;
};

inline model::Picoseconds to_time(double seconds) {
    constexpr double kLongest = 9e6;  // seconds; 64 bits of picoseconds
    if (!(seconds >= 0) || seconds > kLongest) {
        throw py::value_error("a duration in seconds, 0 to 9e6");
    }
    return {static_cast<std::int64_t>(std::llround(seconds * 1e12))};
}
inline double to_seconds(model::Picoseconds time) {
    return time.seconds();
}

inline py::object to_python(const nlohmann::ordered_json& json) {
    return py::module_::import("json").attr("loads")(json.dump());
}
inline nlohmann::ordered_json from_python(const py::object& object) {
    const auto text = py::module_::import("json").attr("dumps")(object).cast<std::string>();
    return nlohmann::ordered_json::parse(text);
}

/// The options of a switch as Python gives them.
struct SwitchOptions {
    eth::SwitchSettings settings;
    model::Bytes queue_limit = eth::SwitchConfig{}.queue_limit;
    model::Picoseconds latency = eth::SwitchConfig{}.latency;
};

/// A station as Python holds it: stations live as long as the process.
struct CardHandle {
    Station* station;
    /// Starts the driver at the first use. Throws RuntimeError when the testbed is closed.
    VerbsDriver& verbs() const;
};

/// The process's testbed. Throws RuntimeError when it is closed.
Testbed& current();
/// Throws what a callback of Testbed.every() raised since the last call.
void raise_pending();
/// For whatever lets time pass: throws RuntimeError inside a callback of Testbed.every(), and
/// raise_pending().
void time_may_pass();

/// Called again and again in simulated time, between events of the simulation.
class Ticker {
  public:
    Ticker(model::Calendar& calendar, model::Picoseconds period, py::function callback);
    ~Ticker() { stop(); }
    Ticker(const Ticker&) = delete;
    Ticker& operator=(const Ticker&) = delete;
    void stop();
    bool running() const { return running_; }

  private:
    void tick(const model::EventArguments& arguments);

    model::Calendar& calendar_;
    model::Picoseconds period_;
    py::function callback_;
    model::EventHandle event_;
    bool running_ = true;
};

/// Testbed.switch. Throws RuntimeError without one.
py::object live_switch();

void bind_network(py::module_& module);
void bind_congestion(py::class_<CardHandle>& card);
void bind_objects(py::module_& module);
void bind_queue_pairs(py::module_& module);
void bind_testbed(py::module_& module);

}  // namespace cxsim::scenarios::python
