// SPDX-License-Identifier: Apache-2.0
// What the responder remembers of one connection.
#pragma once

namespace cxsim::roce {

struct ResponderState {};

}  // namespace cxsim::roce
