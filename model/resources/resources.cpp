// SPDX-License-Identifier: Apache-2.0
#include "model/resources/resources.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "model/base/assert.h"

namespace cxsim::model {
namespace {

struct KindFacts {
    std::string_view name;
    std::uint64_t context_bytes;
};

// In the order of ObjectKind.
constexpr std::array<KindFacts, static_cast<std::size_t>(ObjectKind::count)> kKinds{{
    {"uar", 0},
    {"pd", 0},
    {"transport_domain", 0},
    {"xrcd", 0},
    {"mkey", 64},
    {"eq", 64},
    {"cq", 64},
    {"qp", 512},
    {"srq", 64},
    {"xrc_srq", 64},
    {"rmp", 64},
    {"rq", 256},
    {"sq", 256},
    {"tis", 64},
    {"tir", 256},
    {"rqt", 2048},
    {"q_counter", 256},
    {"flow_table", 1024},
    {"flow_group", 512},
    {"flow_counter", 32},
    {"modify_header", 256},
    {"packet_reformat", 256},
    {"scheduling_element", 64},
    {"vxlan_udp_dport", 0},
}};

std::uint32_t limit(const ResourceLimits& limits, ObjectKind kind) {
    return limits[kind];
}

}  // namespace

std::string_view to_string(ObjectKind kind) {
    return kind < ObjectKind::count ? kKinds[static_cast<std::size_t>(kind)].name : "none";
}

Bytes context_bytes(ObjectKind kind) {
    return {kKinds[static_cast<std::size_t>(kind)].context_bytes};
}

// First numbers: 0 is kept free where the PRM or a driver gives it a meaning (PD 0 does not
// occur on cards either, EQ 0 and QP 0/1 are special); UAR pages below 16 hold the initialization
// segment, the MSI-X table and its PBA. SRQs, XRC SRQs and RMPs share one space of 24-bit numbers:
// a QP names any of them in one field, and the driver keeps them in one table.
Resources::Resources(const ResourceLimits& l)
    : uars(ObjectKind::uar, 16, limit(l, ObjectKind::uar)),
      pds(ObjectKind::pd, 1, limit(l, ObjectKind::pd)),
      transport_domains(ObjectKind::transport_domain, 1, limit(l, ObjectKind::transport_domain)),
      xrcds(ObjectKind::xrcd, 1, limit(l, ObjectKind::xrcd)),
      mkeys(ObjectKind::mkey, 16, limit(l, ObjectKind::mkey), &variable_memory_),
      eqs(ObjectKind::eq, 4, limit(l, ObjectKind::eq)),
      cqs(ObjectKind::cq, 64, limit(l, ObjectKind::cq)),
      qps(ObjectKind::qp, 0x40, limit(l, ObjectKind::qp)),
      srqs(ObjectKind::srq, 1, limit(l, ObjectKind::srq)),
      xrc_srqs(ObjectKind::xrc_srq, 0x400000, limit(l, ObjectKind::xrc_srq)),
      rmps(ObjectKind::rmp, 0x800000, limit(l, ObjectKind::rmp)),
      rqs(ObjectKind::rq, 0x100000, limit(l, ObjectKind::rq)),
      sqs(ObjectKind::sq, 0x200000, limit(l, ObjectKind::sq)),
      tises(ObjectKind::tis, 1, limit(l, ObjectKind::tis)),
      tirs(ObjectKind::tir, 1, limit(l, ObjectKind::tir)),
      rqts(ObjectKind::rqt, 1, limit(l, ObjectKind::rqt)),
      q_counters(ObjectKind::q_counter, 1, limit(l, ObjectKind::q_counter)),
      flow_tables(ObjectKind::flow_table, 1, limit(l, ObjectKind::flow_table)),
      flow_groups(ObjectKind::flow_group, 1, limit(l, ObjectKind::flow_group),
                  &variable_memory_),
      flow_counters(ObjectKind::flow_counter, 1, limit(l, ObjectKind::flow_counter)),
      modify_headers(ObjectKind::modify_header, 1, limit(l, ObjectKind::modify_header)),
      packet_reformats(ObjectKind::packet_reformat, 1, limit(l, ObjectKind::packet_reformat)),
      scheduling_elements(ObjectKind::scheduling_element, 1,
                          limit(l, ObjectKind::scheduling_element)),
      vxlan_udp_dports(ObjectKind::vxlan_udp_dport, 1, limit(l, ObjectKind::vxlan_udp_dport)) {}

template <class Visit>
void Resources::for_each_table(Visit&& visit) const {
    visit(ObjectKind::uar, uars);
    visit(ObjectKind::pd, pds);
    visit(ObjectKind::transport_domain, transport_domains);
    visit(ObjectKind::xrcd, xrcds);
    visit(ObjectKind::mkey, mkeys);
    visit(ObjectKind::eq, eqs);
    visit(ObjectKind::cq, cqs);
    visit(ObjectKind::qp, qps);
    visit(ObjectKind::srq, srqs);
    visit(ObjectKind::xrc_srq, xrc_srqs);
    visit(ObjectKind::rmp, rmps);
    visit(ObjectKind::rq, rqs);
    visit(ObjectKind::sq, sqs);
    visit(ObjectKind::tis, tises);
    visit(ObjectKind::tir, tirs);
    visit(ObjectKind::rqt, rqts);
    visit(ObjectKind::q_counter, q_counters);
    visit(ObjectKind::flow_table, flow_tables);
    visit(ObjectKind::flow_group, flow_groups);
    visit(ObjectKind::flow_counter, flow_counters);
    visit(ObjectKind::modify_header, modify_headers);
    visit(ObjectKind::packet_reformat, packet_reformats);
    visit(ObjectKind::scheduling_element, scheduling_elements);
    visit(ObjectKind::vxlan_udp_dport, vxlan_udp_dports);
}

template <class Visit>
void Resources::for_each_table(Visit&& visit) {
    static_cast<const Resources*>(this)->for_each_table([&](ObjectKind kind, const auto& table) {
        visit(kind, const_cast<std::remove_cvref_t<decltype(table)>&>(table));
    });
}

Object* Resources::find(ObjectId id) const {
    Object* found = nullptr;
    for_each_table([&](ObjectKind kind, const auto& table) {
        if (kind == id.kind) found = table.find(id.number);
    });
    return found;
}

void Resources::hold(Object& user, ObjectId used) {
    Object* object = find(used);
    CX_ASSERT(object != nullptr, "{} {:#x} does not live", to_string(used.kind), used.number);
    ++object->users;
    user.holds.push_back(used);
}

void Resources::release(Object& user, ObjectId used) {
    const auto place = std::find(user.holds.begin(), user.holds.end(), used);
    CX_ASSERT(place != user.holds.end(), "{} {:#x} is not held", to_string(used.kind),
              used.number);
    user.holds.erase(place);
    Object* object = find(used);
    CX_ASSERT(object != nullptr && object->users > 0, "{} {:#x} lost its users",
              to_string(used.kind), used.number);
    --object->users;
}

void Resources::pin(ObjectId used) {
    Object* object = find(used);
    CX_ASSERT(object != nullptr, "{} {:#x} does not live", to_string(used.kind), used.number);
    ++object->users;
}

void Resources::unpin(ObjectId used) {
    Object* object = find(used);
    CX_ASSERT(object != nullptr && object->users > 0, "{} {:#x} lost its users",
              to_string(used.kind), used.number);
    --object->users;
}

void Resources::destroy(ObjectId id) {
    Object* object = find(id);
    CX_ASSERT(object != nullptr && object->users == 0, "{} {:#x} is in use or gone",
              to_string(id.kind), id.number);
    for (const ObjectId used : object->holds) --find(used)->users;
    for_each_table([&](ObjectKind kind, auto& table) {
        if (kind == id.kind) table.erase(id.number);
    });
}

void Resources::clear() {
    for_each_table([](ObjectKind, auto& table) { table.clear(); });
}

std::uint32_t Resources::count(ObjectKind kind) const {
    std::uint32_t n = 0;
    for_each_table([&](ObjectKind k, const auto& table) {
        if (k == kind) n = table.size();
    });
    return n;
}

std::uint64_t Resources::total() const {
    std::uint64_t n = 0;
    for_each_table([&](ObjectKind, const auto& table) { n += table.size(); });
    return n;
}

Bytes Resources::context_memory() const {
    Bytes sum;
    for_each_table([&](ObjectKind kind, const auto& table) {
        sum += context_bytes(kind) * table.size();
    });
    // Flow entries and translation tables live there too.
    return sum + Bytes{variable_memory_};
}

std::string Resources::census() const {
    std::string text;
    for_each_table([&](ObjectKind kind, const auto& table) {
        if (table.size() == 0) return;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(kind), table.size());
    });
    return text.empty() ? "none" : text;
}

std::uint64_t Resources::digest() const {
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    const auto mix = [&](std::uint64_t value) {
        for (int i = 0; i < 8; ++i) hash = (hash ^ ((value >> (8 * i)) & 0xff)) * 0x100000001b3U;
    };
    for_each_table([&](ObjectKind kind, const auto& table) {
        table.for_each([&](const auto& object) {
            mix(static_cast<std::uint64_t>(kind));
            mix(object.id.number);
            mix(object.users);
            for (const ObjectId held : object.holds) {
                mix((static_cast<std::uint64_t>(held.kind) << 32) | held.number);
            }
            if constexpr (requires { object.context; }) {
                for (const std::byte b : object.context) mix(std::to_integer<std::uint64_t>(b));
            }
            using Table = std::remove_cvref_t<decltype(object)>;
            if constexpr (std::is_same_v<Table, Rqt>) {
                for (const std::uint32_t rqn : object.entries) mix(rqn);
            } else if constexpr (std::is_same_v<Table, FlowGroup>) {
                for (const auto& [index, entry] : object.entries) {
                    mix(index);
                    for (const std::byte b : entry.context) {
                        mix(std::to_integer<std::uint64_t>(b));
                    }
                }
            }
        });
    });
    return hash;
}

}  // namespace cxsim::model
