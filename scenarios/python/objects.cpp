// SPDX-License-Identifier: Apache-2.0
// Protection domains, memory regions, completion queues, shared receive queues, in Python.
#include "scenarios/python/bindings.h"

#include <pybind11/stl.h>

#include <fmt/format.h>

namespace cxsim::scenarios::python {

namespace {

std::string_view name_of(SendOp op) {
    switch (op) {
        case SendOp::nop: return "nop";
        case SendOp::send_invalidate: return "send_invalidate";
        case SendOp::write: return "write";
        case SendOp::write_immediate: return "write_immediate";
        case SendOp::send: return "send";
        case SendOp::send_immediate: return "send_immediate";
        case SendOp::read: return "read";
        case SendOp::compare_swap: return "compare_swap";
        case SendOp::fetch_add: return "fetch_add";
        case SendOp::local_invalidate: return "local_invalidate";
        case SendOp::bind: return "bind";
    }
    return "unknown";
}

std::string_view name_of(const Completion& done) {
    if (!done.receive) return name_of(done.op);
    switch (done.kind) {
        case CompletionKind::received_write_immediate: return "receive_write_immediate";
        case CompletionKind::received_immediate: return "receive_immediate";
        case CompletionKind::received_invalidate: return "receive_invalidate";
        default: return "receive";
    }
}

std::string text_of(const Completion& done) {
    return fmt::format("<Completion id={} {} {} bytes={} qpn={:#x} time={:.9f}>", done.id,
                       name_of(done), to_string(done.status), done.bytes, done.qpn,
                       done.time.seconds());
}

std::vector<Completion> poll(const CqHandle& cq, std::size_t limit) {
    std::vector<Completion> result;
    for (Completion done; result.size() < limit && cq.get().poll(done);) result.push_back(done);
    return result;
}

std::vector<Completion> wait(const CqHandle& cq, std::size_t count, double timeout) {
    time_may_pass();
    const model::Picoseconds end = cq.station().host().now() + to_time(timeout);
    std::vector<Completion> result;
    while (result.size() < count) {
        Completion done;
        if (!cq.get().wait(done, end - cq.station().host().now())) {
            throw DriverTimeout(fmt::format("{} of {} completions after {} s of simulated time",
                                            result.size(), count, timeout));
        }
        result.push_back(done);
    }
    raise_pending();
    return result;
}

void bind_memory(py::module_& module) {
    py::class_<Memory>(module, "Memory", py::buffer_protocol(),
                       "Host memory in one piece, shape (bytes,), type uint8, writable: "
                       "memoryview(memory), numpy.asarray(memory). It stays valid after its "
                       "region is gone, but is then no longer what the card sees.")
        .def_buffer([](Memory& memory) {
            return py::buffer_info(reinterpret_cast<std::uint8_t*>(memory.bytes.data()),
                                   static_cast<py::ssize_t>(memory.bytes.size()));
        })
        .def("__len__", [](const Memory& memory) { return memory.bytes.size(); });
}

void bind_mr(py::module_& module) {
    py::class_<PdHandle>(module, "Pd", "A protection domain.")
        .def_property_readonly("number", [](const PdHandle& pd) { return pd.get().number(); })
        .def("destroy", &PdHandle::destroy, "Raises CommandFailed while objects use it.");
    py::class_<MrHandle>(module, "Mr", "A memory region over host memory of its own.")
        .def_property_readonly("lkey", [](const MrHandle& mr) { return mr.get().lkey(); })
        .def_property_readonly("rkey", [](const MrHandle& mr) { return mr.get().rkey(); })
        .def_property_readonly(
            "address", [](const MrHandle& mr) { return mr.get().address(); },
            "Of its first byte, as work requests name it.")
        .def("__len__", [](const MrHandle& mr) { return mr.get().bytes().size(); })
        .def_property_readonly(
            "memory",
            [](const MrHandle& mr) {
                const VerbsMr& region = mr.get();
                return Memory{mr.station().host().memory().block({region.address()}),
                              region.bytes()};
            },
            "Its bytes: a buffer of shape (len(mr),), uint8.")
        .def(
            "fill",
            [](const MrHandle& mr, std::uint64_t offset, const py::buffer& data) {
                const py::buffer_info from = data.request();
                const auto size = static_cast<std::uint64_t>(from.size * from.itemsize);
                const std::span<std::byte> bytes = mr.get().bytes();
                if (offset > bytes.size() || size > bytes.size() - offset) {
                    throw py::index_error("beyond the region");
                }
                std::memcpy(bytes.data() + offset, from.ptr, size);
            },
            py::arg("offset"), py::arg("data"),
            "Copies a contiguous buffer to `offset`. Raises IndexError beyond the region.")
        .def(
            "read",
            [](const MrHandle& mr, std::uint64_t offset, std::uint64_t size) {
                const std::span<std::byte> bytes = mr.get().bytes();
                if (offset > bytes.size() || size > bytes.size() - offset) {
                    throw py::index_error("beyond the region");
                }
                return py::bytes(reinterpret_cast<const char*>(bytes.data() + offset), size);
            },
            py::arg("offset"), py::arg("size"), "A copy of `size` bytes at `offset`.")
        .def("destroy", &MrHandle::destroy, "Takes the key back and frees the memory.");
}

void bind_cq(py::module_& module) {
    py::class_<Completion>(module, "Completion", "How a work request ended.")
        .def_readonly("id", &Completion::id, "As the request had it.")
        .def_property_readonly(
            "status", [](const Completion& done) { return std::string(to_string(done.status)); },
            "'success', or the IBTA's error: 'remote_access', 'rnr_retries_exceeded', ...")
        .def_property_readonly("ok", &Completion::ok)
        .def_property_readonly(
            "op", [](const Completion& done) { return std::string(name_of(done)); },
            "'send', 'write', 'read', ...; 'receive', 'receive_immediate', ... of receives.")
        .def_readonly("receive", &Completion::receive)
        .def_readonly("vendor_syndrome", &Completion::vendor_syndrome)
        .def_readonly("bytes", &Completion::bytes, "Received; of READs and atomics fetched.")
        .def_readonly("qpn", &Completion::qpn, "Number of the own queue pair.")
        .def_readonly("source_qpn", &Completion::source_qpn)
        .def_readonly("immediate", &Completion::immediate, "Or the key that was invalidated.")
        .def_readonly("priority", &Completion::priority)
        .def_readonly("solicited", &Completion::solicited)
        .def_readonly("grh", &Completion::grh, "40 bytes of network header precede the data.")
        .def_property_readonly(
            "time", [](const Completion& done) { return to_seconds(done.time); },
            "Simulated seconds at which the program could see it.")
        .def("__repr__", &text_of);
    py::class_<CqHandle>(module, "Cq", "A completion queue.")
        .def_property_readonly("number", [](const CqHandle& cq) { return cq.get().number(); })
        .def_property_readonly("entries", [](const CqHandle& cq) { return cq.get().entries(); })
        .def("poll", &poll, py::arg("limit") = 64,
             "Completions that can be seen now, `limit` at most, as a list. No time passes.")
        .def("wait", &wait, py::arg("count") = 1, py::arg("timeout") = 1.0,
             "Simulates until `count` completions have come; a list of them. Raises DriverTimeout "
             "after `timeout` simulated seconds; those that came are lost then.")
        .def(
            "arm", [](const CqHandle& cq, bool solicited) { cq.get().arm(solicited); },
            py::arg("solicited_only") = false, "Asks for one interrupt at the next completion.")
        .def("destroy", &CqHandle::destroy, "Raises CommandFailed while queue pairs use it.");
}

}  // namespace

void bind_objects(py::module_& module) {
    bind_memory(module);
    bind_mr(module);
    bind_cq(module);
}

}  // namespace cxsim::scenarios::python
