// SPDX-License-Identifier: Apache-2.0
#include "model/steering/group_index.h"

#include "model/base/assert.h"
#include "model/base/endian.h"

#include <utility>

namespace cxsim::model {
namespace {

constexpr std::size_t kFirstSlots = 4;
constexpr std::uint64_t kSeed = 0x9e3779b97f4a7c15;

// Both halves of a 128-bit product: each bit of the input reaches each of the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

GroupIndex::GroupIndex(std::span<const std::byte> mask) {
    CX_ASSERT(mask.size() <= prm::fte_match_param::kBytes && mask.size() % 8 == 0,
              "match_criteria of {} bytes", mask.size());
    for (std::uint32_t offset = 0; offset < mask.size(); offset += 8) {
        const auto word = load_le<std::uint64_t>(mask.data() + offset);
        if (word != 0) words_.push_back({offset, word});
    }
}

std::uint32_t GroupIndex::hash_of(const std::byte* key) const {
    std::uint64_t hash = kSeed;
    for (const Word& word : words_) {
        // Without the odd constants a word of zeros would wipe out what came before it.
        hash = mix((load_le<std::uint64_t>(key + word.offset) & word.mask) ^ hash,
                   kSeed + 2 * word.offset);
    }
    return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

bool GroupIndex::equals(std::uint32_t value, const std::byte* key) const {
    const std::uint64_t* stored = values_.data() + std::size_t{value} * words_.size();
    for (const Word& word : words_) {
        if ((load_le<std::uint64_t>(key + word.offset) & word.mask) != *stored++) return false;
    }
    return true;
}

std::size_t GroupIndex::find_slot(const std::byte* key, std::uint32_t hash,
                                  std::uint64_t& comparisons) const {
    const std::size_t wrap = slots_.size() - 1;
    for (std::size_t slot = hash & wrap;; slot = (slot + 1) & wrap) {
        if (slots_[slot].value == 0) return slot;
        if (slots_[slot].hash != hash) continue;
        ++comparisons;
        if (equals(slots_[slot].value - 1, key)) return slot;
    }
}

const CompiledRule* GroupIndex::find(const FlowKey& key, std::uint64_t& comparisons) const {
    if (rules_ == 0) return nullptr;
    const std::byte* bytes = key.bytes.data();
    const std::size_t slot = find_slot(bytes, hash_of(bytes), comparisons);
    const std::uint32_t value = slots_[slot].value;
    return value == 0 ? nullptr : &first_[value - 1];
}

void GroupIndex::grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? kFirstSlots : old.size() * 2, Slot{});
    const std::size_t wrap = slots_.size() - 1;
    for (const Slot& entry : old) {
        if (entry.value == 0) continue;
        std::size_t slot = entry.hash & wrap;
        while (slots_[slot].value != 0) slot = (slot + 1) & wrap;
        slots_[slot] = entry;
    }
}

std::uint32_t GroupIndex::new_value(const std::byte* key) {
    std::uint32_t value = 0;
    if (!free_.empty()) {
        value = free_.back();
        free_.pop_back();
    } else {
        value = static_cast<std::uint32_t>(first_.size());
        first_.emplace_back();
        values_.resize(values_.size() + words_.size());
    }
    std::uint64_t* stored = values_.data() + std::size_t{value} * words_.size();
    for (const Word& word : words_) {
        *stored++ = load_le<std::uint64_t>(key + word.offset) & word.mask;
    }
    return value;
}

void GroupIndex::set(std::span<const std::byte> value, CompiledRule rule) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    const std::uint32_t hash = hash_of(value.data());
    std::uint64_t unused = 0;
    Slot& slot = slots_[find_slot(value.data(), hash, unused)];
    if (slot.value == 0) {
        const std::uint32_t number = new_value(value.data());
        slot = {hash, number + 1};
        first_[number] = std::move(rule);
        ++used_;
        ++rules_;
        return;
    }
    const std::uint32_t number = slot.value - 1;
    CompiledRule& first = first_[number];
    if (rule.index == first.index) {
        first = std::move(rule);
        return;
    }
    if (rule.index < first.index) std::swap(rule, first);
    auto& others = others_[number];
    const std::uint32_t index = rule.index;
    rules_ += others.insert_or_assign(index, std::move(rule)).second ? 1 : 0;
}

void GroupIndex::erase_slot(std::size_t slot) {
    // Entries behind the gap move up, unless that would put them in front of their first slot.
    const std::size_t wrap = slots_.size() - 1;
    std::size_t next = slot;
    while (true) {
        next = (next + 1) & wrap;
        if (slots_[next].value == 0) break;
        const std::size_t home = slots_[next].hash & wrap;
        if (((next - home) & wrap) >= ((next - slot) & wrap)) {
            slots_[slot] = slots_[next];
            slot = next;
        }
    }
    slots_[slot] = {};
    --used_;
}

void GroupIndex::remove(std::span<const std::byte> value, std::uint32_t flow_index) {
    CX_ASSERT(rules_ > 0, "no rule {} to remove", flow_index);
    std::uint64_t unused = 0;
    const std::size_t slot = find_slot(value.data(), hash_of(value.data()), unused);
    CX_ASSERT(slots_[slot].value != 0, "no rule {} of this value", flow_index);
    const std::uint32_t number = slots_[slot].value - 1;
    const auto others = others_.find(number);
    if (first_[number].index != flow_index) {
        CX_ASSERT(others != others_.end() && others->second.erase(flow_index) == 1,
                  "no rule {} of this value", flow_index);
    } else if (others != others_.end()) {
        const auto lowest = others->second.begin();
        first_[number] = std::move(lowest->second);
        others->second.erase(lowest);
    } else {
        first_[number] = {};
        free_.push_back(number);
        erase_slot(slot);
    }
    if (others != others_.end() && others->second.empty()) others_.erase(others);
    --rules_;
}

}  // namespace cxsim::model
