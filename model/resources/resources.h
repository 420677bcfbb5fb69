// SPDX-License-Identifier: Apache-2.0
// All objects of one function, their references, and the host pages that hold their contexts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/resources/object_table.h"
#include "model/resources/objects.h"

namespace cxsim::model {

/// How many objects of each kind a function may have (from the card's capabilities).
struct ResourceLimits {
    std::array<std::uint32_t, static_cast<std::size_t>(ObjectKind::count)> of{};
    std::uint32_t& operator[](ObjectKind kind) { return of[static_cast<std::size_t>(kind)]; }
    std::uint32_t operator[](ObjectKind kind) const { return of[static_cast<std::size_t>(kind)]; }
};

/// Bytes of interconnect context memory (host pages) that one object of `kind` takes. The entry
/// sizes are those of the PRM's contexts rounded to a power of two.
Bytes context_bytes(ObjectKind kind);

class Resources {
    // Bytes of flow entries and translation tables. First, so that it outlives what is charged.
    std::uint64_t variable_memory_ = 0;

  public:
    explicit Resources(const ResourceLimits& limits);
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;

    ObjectTable<Uar> uars;
    ObjectTable<Pd> pds;
    ObjectTable<TransportDomain> transport_domains;
    ObjectTable<Xrcd> xrcds;
    ObjectTable<Mkey> mkeys;
    ObjectTable<Eq> eqs;
    ObjectTable<Cq> cqs;
    ObjectTable<Qp> qps;
    ObjectTable<Srq> srqs;
    ObjectTable<XrcSrq> xrc_srqs;
    ObjectTable<Rmp> rmps;
    ObjectTable<Rq> rqs;
    ObjectTable<Sq> sqs;
    ObjectTable<Tis> tises;
    ObjectTable<Tir> tirs;
    ObjectTable<Rqt> rqts;
    ObjectTable<QCounter> q_counters;
    ObjectTable<FlowTable> flow_tables;
    ObjectTable<FlowGroup> flow_groups;
    ObjectTable<FlowCounter> flow_counters;
    ObjectTable<ModifyHeader> modify_headers;
    ObjectTable<PacketReformat> packet_reformats;
    ObjectTable<SchedulingElement> scheduling_elements;
    ObjectTable<VxlanUdpDport> vxlan_udp_dports;

    /// Null if no such object lives.
    Object* find(ObjectId id) const;

    /// `user` holds on to `used` from now on; both must live. The same object may be held twice.
    void hold(Object& user, ObjectId used);
    /// Lets go of one hold of `used` by `user`; it must exist.
    void release(Object& user, ObjectId used);

    /// For users that are no objects and keep their own list of holds (rules of a flow group).
    void pin(ObjectId used);
    void unpin(ObjectId used);

    /// Removes an object, letting go of all that it holds. It must live and have no users.
    void destroy(ObjectId id);

    /// Removes everything: the function was reset or torn down.
    void clear();

    std::uint32_t count(ObjectKind kind) const;
    std::uint64_t total() const;
    /// Host memory for the contexts of all living objects. In constant time: asked at each command.
    Bytes context_memory() const;

    /// "pd 2, cq 5, …": kinds with living objects, for status output and leak reports.
    std::string census() const;
    /// Hash over kinds, numbers, holds and contexts: equal states give equal digests.
    std::uint64_t digest() const;

  private:
    template <class Visit>
    void for_each_table(Visit&& visit);
    template <class Visit>
    void for_each_table(Visit&& visit) const;
};

}  // namespace cxsim::model
