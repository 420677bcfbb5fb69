// SPDX-License-Identifier: Apache-2.0
// The rules of one flow group by what they match: a hash table over the 64-bit words of a packet's
// key that the group's mask covers. A lookup is one probe, however many rules there are.
#pragma once

#include "model/steering/compiled_rule.h"
#include "model/steering/flow_key.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace cxsim::model {

class GroupIndex {
  public:
    /// `mask`: fte_match_param, the group's match_criteria.
    explicit GroupIndex(std::span<const std::byte> mask);

    /// The rule for a packet: of several that match the same value the one of the lowest flow
    /// index. Null if none matches. Adds the number of values compared to `comparisons`.
    const CompiledRule* find(const FlowKey& key, std::uint64_t& comparisons) const;

    /// Adds a rule, or replaces the one of the same value and flow index. `value` (fte_match_param)
    /// lies within the mask. O(1) amortised, O(log n) among n rules of one value.
    void set(std::span<const std::byte> value, CompiledRule rule);
    /// The rule must be there.
    void remove(std::span<const std::byte> value, std::uint32_t flow_index);

    std::size_t rules() const { return rules_; }
    bool empty() const { return rules_ == 0; }

  private:
    /// A word of the key, by its place in bytes, and what the mask leaves of it.
    struct Word {
        std::uint32_t offset = 0;
        std::uint64_t mask = 0;
    };
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t value = 0;  ///< number of the value + 1; 0: empty
    };

    std::uint32_t hash_of(const std::byte* key) const;
    bool equals(std::uint32_t value, const std::byte* key) const;
    /// Slot of a value's words, or the empty slot where they would stand.
    std::size_t find_slot(const std::byte* key, std::uint32_t hash,
                          std::uint64_t& comparisons) const;
    void grow();
    std::uint32_t new_value(const std::byte* key);
    void erase_slot(std::size_t slot);

    std::vector<Word> words_;
    std::vector<Slot> slots_;  ///< linear probing, at most half full
    std::size_t used_ = 0;
    std::size_t rules_ = 0;
    // By value number: the words, and the rule of the lowest flow index.
    std::vector<std::uint64_t> values_;
    std::vector<CompiledRule> first_;
    std::vector<std::uint32_t> free_;
    /// The other rules of a value, by flow index. Drivers make one rule a value.
    std::map<std::uint32_t, std::map<std::uint32_t, CompiledRule>> others_;
};

}  // namespace cxsim::model
