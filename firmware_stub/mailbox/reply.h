// SPDX-License-Identifier: Apache-2.0
// How a command ends: status and syndrome for the driver, a reason for our traces.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/prm/status.h"

namespace cxsim::firmware_stub {

/// Outcome of a command handler. A refusal leaves the rest of the output zero.
struct Reply {
    prm::Status status = prm::Status::OK;
    std::uint32_t syndrome = 0;
    std::string_view reason;  ///< static text: why it was refused

    bool ok() const { return status == prm::Status::OK; }
};

inline Reply accept() {
    return {};
}

/// A refusal whose syndrome real firmware keeps to itself (0) or that is known (syndromes.h).
inline Reply refuse(prm::Status status, std::uint32_t syndrome, std::string_view reason) {
    return {status, syndrome, reason};
}
inline Reply refuse(prm::Status status, std::string_view reason) {
    return {status, 0, reason};
}

}  // namespace cxsim::firmware_stub
