// SPDX-License-Identifier: Apache-2.0
#include "model/queues/qp_counters.h"

#include "model/base/assert.h"
#include "model/prm/reflect.h"

#include <array>

namespace cxsim::model {
namespace {

struct SyndromeCounter {
    std::uint8_t syndrome;
    std::string_view requester;
    std::string_view responder;
};

// Those without a counter of their own stay empty.
constexpr std::array<SyndromeCounter, 11> kBySyndrome{{
    {0x01, "req_local_length_error", "resp_local_length_error"},
    {0x02, "local_operation_error", "resp_local_qp_error"},
    {0x04, "req_local_protection", "resp_local_protection"},
    {0x05, "req_cqe_flush_error", "resp_cqe_flush_error"},
    {0x06, "req_mw_binding", ""},
    {0x10, "req_bad_response", ""},
    {0x12, "req_remote_invalid_request", ""},
    {0x13, "req_remote_access_errors", ""},
    {0x14, "req_remote_operation_errors", ""},
    {0x15, "req_transport_retries_exceeded", ""},
    {0x16, "req_rnr_retries_exceeded", ""},
}};

}  // namespace

void count_for(const Resources& resources, const Qp& qp, std::string_view name, std::uint64_t n) {
    QCounter* counter = resources.q_counters.find(qp.view().get<prm::qpc::counter_set_id>());
    if (counter == nullptr) return;
    auto place = counter->values.find(name);
    if (place == counter->values.end()) {
        // The map keeps views: those of the layout's own names live as long as the program.
        const prm::FieldInfo* field = prm::layout_info<prm::query_q_counter_out>().find(name);
        CX_ASSERT(field != nullptr, "no queue counter is called {}", name);
        place = counter->values.emplace(field->name, 0).first;
    }
    place->second += n;
}

void count_error_cqe(const Resources& resources, const Qp& qp, const WqeStatus& status,
                     bool responder) {
    count_for(resources, qp, responder ? "resp_cqe_error" : "req_cqe_error");
    for (const SyndromeCounter& entry : kBySyndrome) {
        if (entry.syndrome != status.syndrome) continue;
        const std::string_view name = responder ? entry.responder : entry.requester;
        if (!name.empty()) count_for(resources, qp, name);
        return;
    }
}

}  // namespace cxsim::model
