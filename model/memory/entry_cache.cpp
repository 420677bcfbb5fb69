// SPDX-License-Identifier: Apache-2.0
#include "model/memory/entry_cache.h"

#include "model/base/assert.h"

#include <algorithm>
#include <bit>

namespace cxsim::model {

EntryCache::EntryCache(std::uint32_t capacity) : capacity_(capacity) {
    CX_ASSERT(capacity > 0 && capacity < kNone / 4, "a cache of {} entries", capacity);
    const std::uint32_t buckets = std::bit_ceil(std::max(2 * capacity, 2U));
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets));
    entries_.reserve(capacity);
    by_key_.assign(buckets, kNone);
    by_owner_.assign(buckets, kNone);
}

const Picoseconds* EntryCache::search(Key key) {
    for (std::uint32_t place = key_bucket(key); place != kNone;
         place = entries_[place].next_of_key) {
        if (entries_[place].key != key) continue;
        unlink_age(entries_[place]);
        make_newest(place);
        return &entries_[place].ready;
    }
    return nullptr;
}

void EntryCache::make_newest(std::uint32_t place) {
    Entry& entry = entries_[place];
    entry.newer = kNone;
    entry.older = newest_;
    if (newest_ != kNone) entries_[newest_].newer = place;
    newest_ = place;
    newest_key_ = entry.key;
    if (oldest_ == kNone) oldest_ = place;
}

void EntryCache::unlink_age(const Entry& entry) {
    if (entry.newer != kNone) {
        entries_[entry.newer].older = entry.older;
    } else {
        newest_ = entry.older;
        newest_key_ = newest_ == kNone ? kNoKey : entries_[newest_].key;
    }
    if (entry.older != kNone) {
        entries_[entry.older].newer = entry.newer;
    } else {
        oldest_ = entry.newer;
    }
}

bool EntryCache::insert(Key key, Picoseconds ready) {
    const bool full = size_ == capacity_;
    if (full) take_out(oldest_);
    std::uint32_t place = free_;
    if (place != kNone) {
        free_ = entries_[place].next_of_key;
    } else {
        place = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    }
    Entry& entry = entries_[place];
    entry.key = key;
    entry.ready = ready;
    std::uint32_t& bucket = key_bucket(key);
    entry.next_of_key = bucket;
    bucket = place;
    std::uint32_t& owners = owner_bucket(key);
    entry.previous_of_owner = kNone;
    entry.next_of_owner = owners;
    if (owners != kNone) entries_[owners].previous_of_owner = place;
    owners = place;
    make_newest(place);
    ++size_;
    return full;
}

void EntryCache::take_out(std::uint32_t place) {
    Entry& entry = entries_[place];
    unlink_age(entry);
    std::uint32_t* link = &key_bucket(entry.key);
    while (*link != place) link = &entries_[*link].next_of_key;
    *link = entry.next_of_key;
    if (entry.next_of_owner != kNone) {
        entries_[entry.next_of_owner].previous_of_owner = entry.previous_of_owner;
    }
    if (entry.previous_of_owner != kNone) {
        entries_[entry.previous_of_owner].next_of_owner = entry.next_of_owner;
    } else {
        owner_bucket(entry.key) = entry.next_of_owner;
    }
    entry.key = kNoKey;
    entry.next_of_key = free_;
    free_ = place;
    --size_;
}

bool EntryCache::remove(Key key) {
    if (search(key) == nullptr) return false;
    take_out(newest_);
    return true;
}

std::uint32_t EntryCache::remove_owner(std::uint32_t owner) {
    std::uint32_t removed = 0;
    for (std::uint32_t place = owner_bucket(key(owner)); place != kNone;) {
        const std::uint32_t next = entries_[place].next_of_owner;
        if (owner_of(entries_[place].key) == owner) {
            take_out(place);
            ++removed;
        }
        place = next;
    }
    return removed;
}

void EntryCache::clear() {
    entries_.clear();
    std::ranges::fill(by_key_, kNone);
    std::ranges::fill(by_owner_, kNone);
    size_ = 0;
    newest_ = oldest_ = free_ = kNone;
    newest_key_ = kNoKey;
}

}  // namespace cxsim::model
