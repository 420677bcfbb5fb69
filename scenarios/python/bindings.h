// SPDX-License-Identifier: Apache-2.0
// What the files of the Python module share: handles that notice when their object is gone, JSON,
// units.
#pragma once

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

void bind_objects(py::module_& module);
void bind_queue_pairs(py::module_& module);
void bind_testbed(py::module_& module);

}  // namespace cxsim::scenarios::python
