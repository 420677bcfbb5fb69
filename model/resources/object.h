// SPDX-License-Identifier: Apache-2.0
// What all objects of the card have in common: a kind, a number, the objects they hold on to and
// how many hold on to them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cxsim::model {

enum class ObjectKind : std::uint8_t {
    uar,
    pd,
    transport_domain,
    xrcd,
    mkey,
    eq,
    cq,
    qp,
    srq,
    xrc_srq,
    rmp,
    rq,
    sq,
    tis,
    tir,
    rqt,
    q_counter,
    flow_table,
    flow_group,
    flow_counter,
    modify_header,
    packet_reformat,
    scheduling_element,
    vxlan_udp_dport,
    count,
};

/// PRM word for a kind, as in command names ("pd", "flow_table").
std::string_view to_string(ObjectKind kind);

struct ObjectId {
    ObjectKind kind = ObjectKind::count;
    std::uint32_t number = 0;
    friend constexpr auto operator<=>(ObjectId, ObjectId) = default;
};

/// Base of every table entry. Only Resources changes `users` and `holds`.
struct Object {
    ObjectId id;
    std::uint16_t uid = 0;           ///< user context that created it; 0 is the kernel's
    std::uint32_t users = 0;         ///< objects that hold on to this one
    std::vector<ObjectId> holds;     ///< objects that this one holds on to

    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;
};

}  // namespace cxsim::model
