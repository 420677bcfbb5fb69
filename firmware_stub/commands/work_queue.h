// SPDX-License-Identifier: Apache-2.0
// The work queue inside the contexts of send and receive queues: its checks, its ring, and the
// states that both kinds of queues share.
#pragma once

#include "firmware_stub/boot/function_state.h"
#include "firmware_stub/mailbox/reply.h"
#include "model/prm/view.h"
#include "model/resources/objects.h"
#include "prm/layouts.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cxsim::firmware_stub {

enum class Direction : std::uint8_t { send, receive };

/// wq.wq_type
enum class WqType : std::uint32_t {
    linked_list = 0,
    cyclic = 1,
    linked_list_striding = 2,
    cyclic_striding = 3,
};

/// Fills `wq` with the geometry, the ring and the doorbell record that `context` describes, or
/// says why not. `context` reaches to the end of the input: the page list follows it.
Reply make_work_queue(FunctionState& function, prm::ConstView<prm::wq> context, Direction direction,
                      model::WorkQueue& wq);

/// Empty for numbers that the PRM does not define.
std::optional<model::QueueState> queue_state(std::uint32_t prm_state);
std::uint32_t prm_state(model::QueueState state);

/// May MODIFY_SQ or MODIFY_RQ go from `from` to `to`? A queue leaves the error state through
/// reset only.
bool transition_allowed(model::QueueState from, model::QueueState to);

/// timestamp format of a queue against the card's: 0 free running, 1 default, 2 real time.
bool timestamp_format_allowed(std::uint32_t format, std::uint32_t capability);

/// Keeps the fixed part of a context as CREATE gave it.
template <class Layout>
void store_context(model::ContextObject<Layout>& object, std::span<const std::byte> context) {
    std::copy_n(context.begin(), object.context.size(), object.context.begin());
}

/// Holds `kind` number `number` unless it is 0.
inline void hold_if_named(FunctionState& function, model::Object& user, model::ObjectKind kind,
                          std::uint32_t number) {
    if (number != 0) function.resources().hold(user, {kind, number});
}

}  // namespace cxsim::firmware_stub
