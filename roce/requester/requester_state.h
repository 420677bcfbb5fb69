// SPDX-License-Identifier: Apache-2.0
// What the requester remembers of one connection.
#pragma once

namespace cxsim::roce {

struct RequesterState {};

}  // namespace cxsim::roce
