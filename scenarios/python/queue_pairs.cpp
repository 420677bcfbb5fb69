// SPDX-License-Identifier: Apache-2.0
// Queue pairs, shared receive queues and work requests in Python.
#include "model/prm/decode.h"
#include "scenarios/python/bindings.h"

#include <pybind11/stl.h>

#include <array>
#include <map>

namespace cxsim::scenarios::python {

namespace {

constexpr std::size_t kMaxPieces = 32;

const std::map<std::string, SendOp, std::less<>> kOperations = {
    {"nop", SendOp::nop},
    {"send", SendOp::send},
    {"send_immediate", SendOp::send_immediate},
    {"send_invalidate", SendOp::send_invalidate},
    {"write", SendOp::write},
    {"write_immediate", SendOp::write_immediate},
    {"read", SendOp::read},
    {"compare_swap", SendOp::compare_swap},
    {"fetch_add", SendOp::fetch_add},
};

/// Pieces of a request: (mr, offset, bytes) or (address, bytes, lkey).
struct Pieces {
    std::array<Sge, kMaxPieces> list;
    std::size_t count = 0;

    explicit Pieces(const py::sequence& sequence) {
        if (sequence.size() > kMaxPieces) throw py::value_error("more than 32 pieces");
        for (const py::handle item : sequence) {
            const auto piece = py::cast<py::tuple>(item);
            if (piece.size() != 3) {
                throw py::value_error("a piece is (mr, offset, bytes) or (address, bytes, lkey)");
            }
            if (py::isinstance<MrHandle>(piece[0])) {
                const VerbsMr& mr = piece[0].cast<const MrHandle&>().get();
                list[count++] = {mr.address() + piece[1].cast<std::uint64_t>(),
                                 piece[2].cast<std::uint32_t>(), mr.lkey()};
            } else {
                list[count++] = {piece[0].cast<std::uint64_t>(), piece[1].cast<std::uint32_t>(),
                                 piece[2].cast<std::uint32_t>()};
            }
        }
    }
    std::span<const Sge> span() const { return std::span(list).first(count); }
};

bool post_send(const QpHandle& qp, const std::string& op, const py::sequence& pieces,
               const py::object& remote, std::uint64_t id, bool signaled, bool inlined,
               bool solicited, bool fence, std::uint32_t immediate, std::uint64_t compare,
               std::uint64_t swap_add, const AddressHandle* to, std::uint32_t remote_qpn,
               std::uint32_t queue_key, bool doorbell) {
    const auto operation = kOperations.find(op);
    if (operation == kOperations.end()) throw py::value_error("no operation '" + op + "'");
    const Pieces list(pieces);
    SendRequest request;
    request.id = id;
    request.op = operation->second;
    request.sges = list.span();
    request.inlined = inlined;
    request.signaled = signaled;
    request.solicited = solicited;
    request.fence = fence;
    request.immediate = immediate;
    request.compare = compare;
    request.swap_add = swap_add;
    request.to = to;
    request.remote_qpn = remote_qpn;
    request.queue_key = queue_key;
    if (!remote.is_none()) {
        const auto place = py::cast<py::tuple>(remote);
        if (place.size() != 2) throw py::value_error("remote is (mr, offset) or (address, rkey)");
        if (py::isinstance<MrHandle>(place[0])) {
            const VerbsMr& mr = place[0].cast<const MrHandle&>().get();
            request.remote_address = mr.address() + place[1].cast<std::uint64_t>();
            request.rkey = mr.rkey();
        } else {
            request.remote_address = place[0].cast<std::uint64_t>();
            request.rkey = place[1].cast<std::uint32_t>();
        }
    }
    return qp.get().post_send(request, doorbell);
}

const char* state_name(VerbsState state) {
    switch (state) {
        case VerbsState::reset: return "reset";
        case VerbsState::init: return "init";
        case VerbsState::rtr: return "rtr";
        case VerbsState::rts: return "rts";
        case VerbsState::send_error: return "sq_error";
        case VerbsState::drained: return "sq_drained";
        case VerbsState::error: return "error";
        case VerbsState::draining: return "sq_draining";
    }
    return "unknown";
}

ConnectionOptions connection(std::uint32_t mtu, unsigned ack_timeout, unsigned retry_count,
                             unsigned rnr_retry, unsigned min_rnr_timer, unsigned traffic_class,
                             unsigned priority, std::uint32_t queue_key) {
    if (ack_timeout > 31 || retry_count > 7 || rnr_retry > 7 || min_rnr_timer > 31 ||
        traffic_class > 255 || priority > 7) {
        throw py::value_error("an option of the connection beyond its field");
    }
    ConnectionOptions options;
    options.mtu = mtu;
    options.ack_timeout = static_cast<std::uint8_t>(ack_timeout);
    options.retry_count = static_cast<std::uint8_t>(retry_count);
    options.rnr_retry = static_cast<std::uint8_t>(rnr_retry);
    options.min_rnr_timer = static_cast<std::uint8_t>(min_rnr_timer);
    options.path.traffic_class = static_cast<std::uint8_t>(traffic_class);
    options.path.priority = static_cast<std::uint8_t>(priority);
    options.queue_key = queue_key;
    return options;
}

void bind_qp(py::class_<QpHandle>& type) {
    type.def_property_readonly("number", [](const QpHandle& qp) { return qp.get().number(); })
        .def_property_readonly(
            "state", [](const QpHandle& qp) { return state_name(qp.get().state()); },
            "'reset', 'init', 'rtr', 'rts', 'sq_error', 'error', ..., as QUERY_QP says.")
        .def_property_readonly(
            "rate",
            [](const QpHandle& qp) {
                const auto rate = qp.station().card().transport().rate_of(qp.get().number());
                if (!rate) throw py::value_error("only connected queue pairs have a rate");
                return rate->value;
            },
            "What congestion control lets it send now, bit/s: the port's speed if it is not\n"
            "limited. No time passes. Raises ValueError for datagrams and before it is connected.")
        .def_property_readonly("sends_outstanding",
                               [](const QpHandle& qp) { return qp.get().sends_outstanding(); })
        .def("post_send", &post_send, py::arg("op") = "send", py::arg("pieces") = py::tuple(),
             py::arg("remote") = py::none(), py::kw_only(), py::arg("id") = 0,
             py::arg("signaled") = true, py::arg("inline") = false, py::arg("solicited") = false,
             py::arg("fence") = false, py::arg("immediate") = 0, py::arg("compare") = 0,
             py::arg("swap_add") = 0, py::arg("to") = py::none(), py::arg("remote_qpn") = 0,
             py::arg("queue_key") = 0x11111111, py::arg("doorbell") = true,
             "Posts one request; False if the queue is full.\n\n"
             "op: 'send', 'send_immediate', 'send_invalidate' (immediate: the key), 'write',\n"
             "'write_immediate', 'read', 'compare_swap', 'fetch_add', 'nop'. pieces: list of\n"
             "(mr, offset, bytes) or (address, bytes, lkey). remote: (mr, offset) or\n"
             "(address, rkey). to: an AddressHandle, for datagrams. No time passes. Raises\n"
             "DriverError for a request that the queue was not made for.")
        .def(
            "ring_doorbell", [](const QpHandle& qp) { qp.get().ring_doorbell(); },
            "Tells the card of requests posted with doorbell=False.")
        .def(
            "post_receive",
            [](const QpHandle& qp, const py::sequence& pieces, std::uint64_t id) {
                return qp.get().post_receive(id, Pieces(pieces).span());
            },
            py::arg("pieces") = py::tuple(), py::arg("id") = 0,
            "Posts one receive; False if the queue is full.")
        .def(
            "to_ready",
            [](const QpHandle& qp, std::uint32_t queue_key) {
                ConnectionOptions options;
                options.queue_key = queue_key;
                qp.get().connect(options);
            },
            py::arg("queue_key") = 0x11111111, "A UD queue pair from reset to RTS.")
        .def("to_error", [](const QpHandle& qp) { qp.get().to_error(); })
        .def(
            "to_reset", [](const QpHandle& qp) { qp.get().to_reset(); },
            "Completions that were not polled are dropped.")
        .def(
            "query",
            [](const QpHandle& qp) {
                const auto answer = qp.get().query();
                const auto json =
                    prm::to_json(prm::layout_info<prm::query_qp_out>(), answer.bytes());
                return to_python(json.at("qpc"));
            },
            "The queue pair's context by field name; fields that are zero are left out.")
        .def("destroy", &QpHandle::destroy);
}

}  // namespace

void bind_queue_pairs(py::module_& module) {
    py::class_<SrqHandle>(module, "Srq", "A shared receive queue.")
        .def_property_readonly("number", [](const SrqHandle& srq) { return srq.get().number(); })
        .def_property_readonly("free_entries",
                               [](const SrqHandle& srq) { return srq.get().free_entries(); })
        .def(
            "post_receive",
            [](const SrqHandle& srq, const py::sequence& pieces, std::uint64_t id) {
                return srq.get().post_receive(id, Pieces(pieces).span());
            },
            py::arg("pieces"), py::arg("id") = 0, "Posts one receive; False if it is full.")
        .def(
            "set_limit",
            [](const SrqHandle& srq, std::uint32_t limit) { srq.get().set_limit(limit); },
            py::arg("limit"))
        .def("destroy", &SrqHandle::destroy);
    py::class_<AddressHandle>(module, "AddressHandle", "The way to a card: Card.path().")
        .def_readwrite("traffic_class", &AddressHandle::traffic_class)
        .def_readwrite("hop_limit", &AddressHandle::hop_limit)
        .def_readwrite("priority", &AddressHandle::priority)
        .def_readwrite("udp_source_port", &AddressHandle::udp_source_port);
    py::class_<QpHandle> qp(module, "Qp", "A queue pair.");
    bind_qp(qp);
    module.def(
        "connect",
        [](const QpHandle& a, const QpHandle& b, std::uint32_t mtu, unsigned ack_timeout,
           unsigned retry_count, unsigned rnr_retry, unsigned min_rnr_timer,
           unsigned traffic_class, unsigned priority, std::uint8_t address) {
            connect(a.get(), a.station().verbs(), b.get(), b.station().verbs(),
                    connection(mtu, ack_timeout, retry_count, rnr_retry, min_rnr_timer,
                               traffic_class, priority, 0),
                    address);
        },
        py::arg("a"), py::arg("b"), py::kw_only(), py::arg("mtu") = 1024,
        py::arg("ack_timeout") = 14, py::arg("retry_count") = 7, py::arg("rnr_retry") = 7,
        py::arg("min_rnr_timer") = 12, py::arg("traffic_class") = 0, py::arg("priority") = 0,
        py::arg("address") = VerbsDriver::kIpv4V2,
        "Connects two RC or UC queue pairs, of two cards or of one, from reset to RTS.\n\n"
        "mtu: bytes, 256 to 4096. ack_timeout: 4.096 us * 2^n. min_rnr_timer: the IBTA's code.\n"
        "address: 0 RoCEv1, 1 RoCEv2 with IPv6 link-local addresses, 2 RoCEv1, 3 RoCEv2 with\n"
        "IPv4. Raises CommandFailed, ValueError.");
}

}  // namespace cxsim::scenarios::python
