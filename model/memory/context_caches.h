// SPDX-License-Identifier: Apache-2.0
// What of its contexts, keys and translations a card has at hand. The others lie in host memory
// (interconnect context memory, the pages of MANAGE_PAGES): a miss is a PCIe read of the context.
#pragma once

#include "model/base/units.h"
#include "model/memory/entry_cache.h"
#include "model/memory/translation_origin.h"
#include "model/ports/host_bus.h"
#include "model/sim/timeline.h"
#include "model/stats/stats.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cxsim::model {

enum class ContextKind : std::uint8_t { qp, sq, rq, cq, mkey, translation };
inline constexpr std::size_t kContextKinds = 6;
/// Queue contexts share one cache: their numbers are of one space.
enum class ContextTable : std::uint8_t { queues, cqs, mkeys, translations };
inline constexpr std::size_t kContextTables = 4;

/// Where contexts lie in the host.
class ContextMemory {
  public:
    virtual ~ContextMemory() = default;
    /// Of entry `index` of `owner` (its number, or the key and its page), `bytes` long. Nothing:
    /// the driver has given no pages.
    virtual std::optional<HostAddress> context_address(ContextKind kind, std::uint32_t owner,
                                                       std::uint32_t index,
                                                       std::uint32_t bytes) const = 0;
};

struct ContextCacheConfig {
    std::array<std::uint32_t, kContextTables> entries{1, 1, 1, 1};
    std::uint32_t reads = 1;  ///< under way at once
    /// Bytes of a message behind the packet that is sent, for which translations are asked.
    std::uint64_t ahead = 0;
    std::array<std::uint32_t, kContextKinds> bytes{512, 256, 256, 64, 64, 8};  ///< of a context
};

struct ContextTableCounters : stats::Group {
    using Group::Group;
    stats::Counter hits{*this, "hits", stats::Unit::count,
                        "Lookups of entries at hand or being read"};
    stats::Counter misses{*this, "misses", stats::Unit::count, "Lookups of entries not at hand"};
    stats::Counter evictions{*this, "evictions", stats::Unit::count,
                             "Entries that made room for others"};
    stats::Counter invalidations{*this, "invalidations", stats::Unit::count,
                                 "Entries taken out as their object changed or went"};
    stats::Counter refused{*this, "refused", stats::Unit::count,
                           "Reads that the host refused; the card went on with what it knew"};
    stats::Counter read_time{*this, "read_time", stats::Unit::picoseconds,
                             "From misses until the entries were there, summed"};
};

struct ContextCacheCounters : stats::Group {
    using Group::Group;
    ContextTableCounters queues{*this, "queues"};
    ContextTableCounters cqs{*this, "cqs"};
    ContextTableCounters mkeys{*this, "mkeys"};
    ContextTableCounters translations{*this, "translations"};
};

/// Times may lie ahead of the calendar's now(), never before it.
class ContextCaches {
  public:
    /// All outlive the object. Counters become part `name` of `statistics`.
    ContextCaches(FunctionId function, HostBus& host, const ContextMemory& memory,
                  const ContextCacheConfig& config, stats::Group& statistics, std::string name);
    ContextCaches(const ContextCaches&) = delete;
    ContextCaches& operator=(const ContextCaches&) = delete;

    /// When the context is at hand for what is ready at `at`: then, or after its read.
    Picoseconds context(ContextKind kind, std::uint32_t number, Picoseconds at) {
        return at_hand(kind, EntryCache::key(number), at);
    }
    /// The same of the key and the translations of `bytes` bytes, `offset` behind `origin`.
    /// Translations are asked for once the key's context is there.
    Picoseconds memory(const TranslationOrigin& origin, std::uint64_t offset, std::uint64_t bytes,
                       Picoseconds at) {
        return origin.mkey == 0 || bytes == 0 ? at : look_up(origin, offset, bytes, at);
    }

    std::uint64_t ahead() const { return config_.ahead; }

    /// A command wrote the context: it passed through the cache.
    void written(ContextKind kind, std::uint32_t number);
    /// The object has gone, or its context was changed behind the cache. With a key go its
    /// translations.
    void invalidate(ContextKind kind, std::uint32_t number);
    /// The function was reset.
    void clear();

    /// The read that is being asked of the bus: for those who watch it.
    struct Fetch {
        ContextKind kind;
        std::uint32_t owner;  ///< number of the object; of a translation, of its key
    };
    const std::optional<Fetch>& fetching() const { return fetching_; }
    const ContextCacheCounters& counters() const { return counters_; }

  private:
    struct Table {
        EntryCache cache;
        ContextTableCounters& counters;
    };
    static constexpr ContextTable table_of(ContextKind kind) {
        switch (kind) {
            case ContextKind::cq: return ContextTable::cqs;
            case ContextKind::mkey: return ContextTable::mkeys;
            case ContextKind::translation: return ContextTable::translations;
            default: return ContextTable::queues;
        }
    }
    Table& table(ContextKind kind) { return tables_[static_cast<std::size_t>(table_of(kind))]; }

    Picoseconds at_hand(ContextKind kind, EntryCache::Key key, Picoseconds at) {
        Table& where = table(kind);
        if (const Picoseconds* ready = where.cache.find(key)) {
            ++where.counters.hits;
            return std::max(at, *ready);
        }
        return fetch(kind, key, at);
    }
    Picoseconds look_up(const TranslationOrigin& origin, std::uint64_t offset, std::uint64_t bytes,
                        Picoseconds at);
    Picoseconds fetch(ContextKind kind, EntryCache::Key key, Picoseconds at);
    static void insert(Table& where, EntryCache::Key key, Picoseconds ready);

    FunctionId function_;
    HostBus& host_;
    const ContextMemory& memory_;
    ContextCacheConfig config_;
    ContextCacheCounters counters_;
    std::array<Table, kContextTables> tables_;
    TimelinePool reads_;
    std::optional<Fetch> fetching_;
};

}  // namespace cxsim::model
