// SPDX-License-Identifier: Apache-2.0
// Counters of a QP's queue counter set, by the names of QUERY_Q_COUNTER. Set 0 is no object: what
// belongs to it is not counted.
#pragma once

#include "model/queues/engine_state.h"

#include <cstdint>
#include <string_view>

namespace cxsim::model {

/// Adds `n` to a counter; a name that the query does not have is a bug of ours.
void count_for(const Resources& resources, const Qp& qp, std::string_view name,
               std::uint64_t n = 1);

/// What an error CQE of the QP counts: by its syndrome, and in general.
void count_error_cqe(const Resources& resources, const Qp& qp, const WqeStatus& status,
                     bool responder);

}  // namespace cxsim::model
