// SPDX-License-Identifier: Apache-2.0
// Which entries of a table in host memory the card has at hand: the least recently used one makes
// room. Holds no contents, only when each entry arrived.
#pragma once

#include "model/base/units.h"

#include <cstdint>
#include <vector>

namespace cxsim::model {

/// Entries are named by an owner and an index; all of an owner can be removed at once. Lookup,
/// insertion and removal take constant time; nothing is allocated after construction.
class EntryCache {
  public:
    using Key = std::uint64_t;
    static constexpr Key key(std::uint32_t owner, std::uint32_t index = 0) {
        return std::uint64_t{owner} << 32 | index;
    }
    static constexpr std::uint32_t owner_of(Key key) {
        return static_cast<std::uint32_t>(key >> 32);
    }

    /// At least one entry.
    explicit EntryCache(std::uint32_t capacity);

    /// When the entry was or will be there; null if it is not known. It becomes the most recent.
    const Picoseconds* find(Key key) {
        if (key == newest_key_) return &entries_[newest_].ready;
        return search(key);
    }
    /// Of a key that is not there. True: the least recent entry made room.
    bool insert(Key key, Picoseconds ready);
    /// False: it was not there.
    bool remove(Key key);
    /// Returns how many entries of the owner there were.
    std::uint32_t remove_owner(std::uint32_t owner);
    void clear();

    std::uint32_t size() const { return size_; }
    std::uint32_t capacity() const { return capacity_; }

  private:
    static constexpr std::uint32_t kNone = 0xffff'ffff;
    static constexpr Key kNoKey = ~Key{0};  // of an owner that no table has

    struct Entry {
        Key key;
        Picoseconds ready;
        std::uint32_t newer;
        std::uint32_t older;
        std::uint32_t next_of_key;  ///< in the same bucket
        std::uint32_t previous_of_owner;
        std::uint32_t next_of_owner;
    };

    static std::uint64_t spread(std::uint64_t value) {
        return (value ^ (value >> 32)) * 0x9e37'79b9'7f4a'7c15;
    }
    std::uint32_t& key_bucket(Key key) { return by_key_[spread(key) >> shift_]; }
    std::uint32_t& owner_bucket(Key key) { return by_owner_[spread(owner_of(key)) >> shift_]; }

    const Picoseconds* search(Key key);
    void make_newest(std::uint32_t place);
    void unlink_age(const Entry& entry);
    void take_out(std::uint32_t place);

    std::uint32_t capacity_;
    std::uint32_t size_ = 0;
    unsigned shift_;  ///< of a hash, leaves the number of a bucket
    std::uint32_t newest_ = kNone;
    std::uint32_t oldest_ = kNone;
    Key newest_key_ = kNoKey;
    std::uint32_t free_ = kNone;  ///< places that were taken out, by next_of_key
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> by_key_;
    std::vector<std::uint32_t> by_owner_;
};

}  // namespace cxsim::model
