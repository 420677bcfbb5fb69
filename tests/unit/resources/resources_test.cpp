// SPDX-License-Identifier: Apache-2.0
#include "model/resources/resources.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

namespace cxsim::model {
namespace {

ResourceLimits limits(std::uint32_t each = 100) {
    ResourceLimits l;
    l.of.fill(each);
    return l;
}

TEST_CASE("a table gives out the lowest free number", "[resources]") {
    ObjectTable<Pd> table(ObjectKind::pd, 10, 4);
    for (std::uint32_t n = 10; n < 14; ++n) CHECK(table.create()->id.number == n);
    CHECK(table.create() == nullptr);
    table.erase(12);
    table.erase(10);
    CHECK(table.create()->id.number == 10);
    CHECK(table.create()->id.number == 12);
    CHECK(table.create() == nullptr);
    CHECK(table.size() == 4);
}

TEST_CASE("a lookup outside the table's numbers finds nothing", "[resources]") {
    ObjectTable<Pd> table(ObjectKind::pd, 10, 4);
    Pd* pd = table.create();
    CHECK(table.find(10) == pd);
    CHECK(table.find(9) == nullptr);
    CHECK(table.find(11) == nullptr);
    CHECK(table.find(0xffffffff) == nullptr);
    table.erase(10);
    CHECK(table.find(10) == nullptr);
}

TEST_CASE("a new object of an old number starts empty", "[resources]") {
    Resources resources(limits());
    Cq* cq = resources.cqs.create();
    cq->producer = 5;
    cq->view().set<prm::cqc::log_cq_size>(7U);
    const ObjectId id = cq->id;
    resources.destroy(id);
    Cq* next = resources.cqs.create();
    REQUIRE(next->id == id);
    CHECK(next->producer == 0);
    CHECK(next->view().get<prm::cqc::log_cq_size>() == 0);
}

TEST_CASE("a raised limit lets a full table go on", "[resources]") {
    ObjectTable<Pd> table(ObjectKind::pd, 1, 1);
    table.create();
    CHECK(table.create() == nullptr);
    table.set_limit(2);
    CHECK(table.create() != nullptr);
}

TEST_CASE("holds count users, also twice the same object", "[resources]") {
    Resources resources(limits());
    Pd* pd = resources.pds.create();
    Mkey* mkey = resources.mkeys.create();
    Qp* qp = resources.qps.create();
    resources.hold(*mkey, pd->id);
    resources.hold(*qp, pd->id);
    resources.hold(*qp, pd->id);
    CHECK(pd->users == 3);
    resources.release(*qp, pd->id);
    CHECK(pd->users == 2);
    resources.destroy(qp->id);
    CHECK(pd->users == 1);
    resources.destroy(mkey->id);
    CHECK(pd->users == 0);
    resources.destroy(pd->id);
    CHECK(resources.total() == 0);
}

TEST_CASE("objects are found by kind and number together", "[resources]") {
    Resources resources(limits());
    Object* pd = resources.pds.create();
    Object* srq = resources.srqs.create();
    REQUIRE(pd->id.number == srq->id.number);
    CHECK(resources.find(pd->id) == pd);
    CHECK(resources.find(srq->id) == srq);
    CHECK(resources.find({ObjectKind::eq, pd->id.number}) == nullptr);
    CHECK(resources.find({}) == nullptr);
}

TEST_CASE("send and receive queues and QPs never share a number", "[resources]") {
    // A doorbell names any of them in one field.
    Resources resources(limits());
    CHECK(resources.qps.create()->id.number + 100 < resources.rqs.create()->id.number);
    CHECK(resources.rqs.create()->id.number + 100 < resources.sqs.create()->id.number);
}

TEST_CASE("census and context memory follow the objects", "[resources]") {
    Resources resources(limits());
    CHECK(resources.census() == "none");
    CHECK(resources.context_memory() == Bytes{0});
    resources.pds.create();
    Qp* qp = resources.qps.create();
    resources.qps.create();
    Mkey* mkey = resources.mkeys.create();
    mkey->translations.resize(4096);
    CHECK(resources.census() == "pd 1, mkey 1, qp 2");
    CHECK(resources.count(ObjectKind::qp) == 2);
    CHECK(resources.context_memory() ==
          context_bytes(ObjectKind::qp) * 2 + context_bytes(ObjectKind::mkey) + Bytes{4096});
    resources.destroy(qp->id);
    CHECK(resources.census() == "pd 1, mkey 1, qp 1");
    resources.clear();
    CHECK(resources.census() == "none");
    CHECK(resources.total() == 0);
}

/// Context memory as a walk over everything that lives finds it.
Bytes walked_memory(const Resources& resources) {
    Bytes sum;
    for (unsigned kind = 0; kind < static_cast<unsigned>(ObjectKind::count); ++kind) {
        sum += context_bytes(ObjectKind{static_cast<std::uint8_t>(kind)}) *
               resources.count(ObjectKind{static_cast<std::uint8_t>(kind)});
    }
    resources.mkeys.for_each([&](const Mkey& mkey) { sum += Bytes{mkey.translations.size()}; });
    resources.flow_groups.for_each([&](const FlowGroup& group) {
        for (const auto& entry : group.entries) {
            (void)entry;
            sum += Bytes{FlowEntry::kContextBytes};
        }
    });
    return sum;
}

TEST_CASE("context memory is what a walk finds, whatever was done", "[resources]") {
    Resources resources(limits(40));
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same operations each time
    std::vector<ObjectId> living;
    const auto below = [&](std::size_t bound) { return random() % bound; };
    const auto keep = [&](const Object* object) {
        if (object != nullptr) living.push_back(object->id);
    };
    bool grew_and_shrank[2] = {false, false};
    for (int step = 0; step < 20000; ++step) {
        const Bytes before = resources.context_memory();
        const auto what = below(1000);
        if (what == 0) {
            resources.clear();
            living.clear();
            REQUIRE(resources.context_memory() == Bytes{0});
        } else if (what < 100) {
            keep(resources.mkeys.create());
        } else if (what < 200) {
            keep(resources.flow_groups.create());
        } else if (what < 250) {
            keep(resources.rqts.create());
        } else if (what < 270) {
            if (const FlowCounter* first = resources.flow_counters.create_block(3)) {
                for (std::uint32_t i = 0; i < 3; ++i) {
                    living.push_back({ObjectKind::flow_counter, first->id.number + i});
                }
            }
        } else if (!living.empty()) {
            const std::size_t place = below(living.size());
            const ObjectId id = living[place];
            if (what < 500) {
                resources.destroy(id);
                living.erase(living.begin() + static_cast<std::ptrdiff_t>(place));
            } else if (id.kind == ObjectKind::mkey) {
                ChargedBytes& translations = resources.mkeys.find(id.number)->translations;
                const std::vector<std::byte> bytes(below(5) * 16);
                if (what % 2 == 0) {
                    translations.assign(bytes.begin(), bytes.end());
                } else {
                    translations.resize(below(4096));
                }
            } else if (id.kind == ObjectKind::flow_group) {
                auto& entries = resources.flow_groups.find(id.number)->entries;
                const auto index = static_cast<std::uint32_t>(below(8));
                const auto entry = entries.find(index);
                if (entry == entries.end() || what % 4 == 0) {
                    entries[index] = {};
                } else {
                    entries.erase(entry);
                }
            }
        }
        REQUIRE(resources.context_memory() == walked_memory(resources));
        grew_and_shrank[0] |= before < resources.context_memory();
        grew_and_shrank[1] |= resources.context_memory() < before;
    }
    CHECK(grew_and_shrank[0]);
    CHECK(grew_and_shrank[1]);
}

TEST_CASE("the digest sees numbers, holds and contexts, and nothing else", "[resources]") {
    const auto build = [](Resources& resources) {
        Pd* pd = resources.pds.create();
        Qp* qp = resources.qps.create();
        resources.hold(*qp, pd->id);
        return qp;
    };
    Resources a(limits());
    Resources b(limits());
    const std::uint64_t empty = a.digest();
    build(a);
    Qp* qp = build(b);
    CHECK(a.digest() == b.digest());
    CHECK(a.digest() != empty);
    qp->view().set<prm::qpc::pd>(1U);
    CHECK(a.digest() != b.digest());
    qp->view().set<prm::qpc::pd>(0U);
    CHECK(a.digest() == b.digest());
    b.release(*qp, {ObjectKind::pd, 1});
    CHECK(a.digest() != b.digest());
    a.clear();
    CHECK(a.digest() == empty);
}

TEST_CASE("every kind has a name of its own", "[resources]") {
    std::vector<std::string_view> names;
    for (std::size_t k = 0; k < static_cast<std::size_t>(ObjectKind::count); ++k) {
        names.push_back(to_string(static_cast<ObjectKind>(k)));
    }
    std::ranges::sort(names);
    CHECK(std::ranges::adjacent_find(names) == names.end());
    CHECK(to_string(ObjectKind::count) == "none");
}

}  // namespace
}  // namespace cxsim::model
