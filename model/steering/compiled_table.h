// SPDX-License-Identifier: Apache-2.0
// Tables and groups in the form that the packet path walks.
#pragma once

#include "model/resources/resources.h"
#include "model/steering/group_index.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cxsim::model {

struct CompiledGroup {
    CompiledGroup(const FlowGroup& group, std::uint32_t table_number)
        : start(group.start_index), table(table_number), index(group.match_criteria) {}

    std::uint32_t start;
    std::uint32_t table;
    GroupIndex index;
};

struct CompiledTable {
    /// Where misses go; null: what the namespace does with them.
    const CompiledTable* miss = nullptr;
    /// Those with rules, by start index.
    std::vector<const CompiledGroup*> groups;
};

/// All tables of a function. Addresses stay while a table or group lives.
class CompiledTables {
  public:
    explicit CompiledTables(Resources& resources) : resources_(resources) {}

    /// Null if there is none.
    const CompiledTable* find(std::uint32_t number) const;

    void create_table(const FlowTable& table);
    void modify_table(const FlowTable& table);
    void destroy_table(std::uint32_t number);
    void create_group(const FlowGroup& group);
    void destroy_group(std::uint32_t number);
    void set_rule(const FlowGroup& group, std::uint32_t index);
    void remove_rule(const FlowGroup& group, std::uint32_t index);
    void clear();

  private:
    CompiledRule compile(const FlowEntry& entry, std::uint32_t index) const;
    void enlist(const CompiledGroup& group);
    void delist(const CompiledGroup& group);
    CompiledTable& table_of(std::uint32_t number);
    CompiledGroup& group_of(std::uint32_t number);

    Resources& resources_;
    std::unordered_map<std::uint32_t, std::unique_ptr<CompiledTable>> tables_;
    std::unordered_map<std::uint32_t, std::unique_ptr<CompiledGroup>> groups_;
};

}  // namespace cxsim::model
