// SPDX-License-Identifier: Apache-2.0
// Unreliable datagrams: each work request has its own way and its own queue key.
#include "roce/requester/requester.h"

#include "model/prm/view.h"
#include "model/queues/wqe.h"
#include "prm/layouts.h"

namespace cxsim::roce {
namespace {

constexpr std::uint32_t kManagementQp = 1;
/// A work request with this bit takes the queue key of the QP (IBTA volume 1, section 10.2.5).
constexpr std::uint32_t kOwnKey = 0x8000'0000;

}  // namespace

/// Null: the address vector names no way; the request ends with an error.
const Path* Requester::path_at_cursor(Connection& connection) {
    RequesterState& s = connection.requester;
    if (connection.service != WireService::ud) return &connection.path;
    if (s.cursor == s.requests.end()) return nullptr;
    if (s.datagram_path_of == s.cursor) return &s.datagram_path;
    WorkRequest& request = s.requests[s.cursor];
    if (!request.status.ok()) return nullptr;
    const auto path = path_of(request.address_vector, connection.number, addresses_);
    if (!path) {
        request.status = model::wqe_status::kBadWqe;
        if (s.requests.begin() == s.cursor) {
            complete_at(connection, environment_.calendar.now());
        }
        return nullptr;
    }
    s.datagram_path = *path;
    s.datagram_path_of = s.cursor;
    return &s.datagram_path;
}

void Requester::datagram_headers(const Connection& connection, const WorkRequest& request,
                                 TransportHeaders& headers) {
    const prm::ConstView<prm::base_av> address(request.address_vector);
    const std::uint32_t key = address.get<prm::base_av::qkey>();
    headers.queue_key = (key & kOwnKey) != 0 ? connection.attributes.queue_key : key;
    headers.source_qp = connection.management ? kManagementQp : connection.number;
    headers.destination_qp = address.get<prm::base_av::dqp_dct>();
}

}  // namespace cxsim::roce
