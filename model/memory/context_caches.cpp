// SPDX-License-Identifier: Apache-2.0
#include "model/memory/context_caches.h"

#include "model/base/assert.h"

#include <span>
#include <utility>

namespace cxsim::model {
namespace {

constexpr std::size_t kLargestContext = 512;

}  // namespace

ContextCaches::ContextCaches(FunctionId function, HostBus& host, const ContextMemory& memory,
                             const ContextCacheConfig& config, stats::Group& statistics,
                             std::string name)
    : function_(function),
      host_(host),
      memory_(memory),
      config_(config),
      counters_(statistics, std::move(name)),
      tables_{Table{EntryCache(config.entries[0]), counters_.queues},
              Table{EntryCache(config.entries[1]), counters_.cqs},
              Table{EntryCache(config.entries[2]), counters_.mkeys},
              Table{EntryCache(config.entries[3]), counters_.translations}},
      reads_(config.reads) {
    for (const std::uint32_t bytes : config.bytes) {
        CX_ASSERT(bytes > 0 && bytes <= kLargestContext, "a context of {} bytes", bytes);
    }
}

Picoseconds ContextCaches::look_up(const TranslationOrigin& origin, std::uint64_t offset,
                                   std::uint64_t bytes, Picoseconds at) {
    const Picoseconds known = context(ContextKind::mkey, origin.mkey, at);
    if (origin.log_page == 0) return known;
    const std::uint64_t first = origin.address + offset;
    const std::uint64_t last = (first + bytes - 1) >> origin.log_page;
    Picoseconds there = known;
    for (std::uint64_t page = first >> origin.log_page; page <= last; ++page) {
        // Beyond 32 bits page numbers of one key would meet only in regions of 16 TiB and more.
        const auto key = EntryCache::key(origin.mkey, static_cast<std::uint32_t>(page));
        there = std::max(there, at_hand(ContextKind::translation, key, known));
    }
    return there;
}

Picoseconds ContextCaches::fetch(ContextKind kind, EntryCache::Key key, Picoseconds at) {
    Table& where = table(kind);
    ++where.counters.misses;
    const std::uint32_t bytes = config_.bytes[static_cast<std::size_t>(kind)];
    const std::uint32_t owner = EntryCache::owner_of(key);
    const std::optional<HostAddress> address =
        memory_.context_address(kind, owner, static_cast<std::uint32_t>(key), bytes);
    Picoseconds ready = at;
    if (address) {
        // Contents are the model's own objects; what the pages hold is not looked at.
        std::array<std::byte, kLargestContext> contents;
        fetching_ = {kind, owner};
        const DmaResult read = host_.read(function_, reads_.available(at), *address,
                                          std::span(contents).first(bytes));
        fetching_.reset();
        ready = std::max(at, read.finish);
        reads_.occupy_until(ready);
        where.counters.read_time += static_cast<std::uint64_t>((ready - at).value);
        if (!read.ok()) {
            ++where.counters.refused;
            return ready;
        }
    }
    insert(where, key, ready);
    return ready;
}

void ContextCaches::insert(Table& where, EntryCache::Key key, Picoseconds ready) {
    if (where.cache.insert(key, ready)) ++where.counters.evictions;
}

void ContextCaches::written(ContextKind kind, std::uint32_t number) {
    Table& where = table(kind);
    const EntryCache::Key key = EntryCache::key(number);
    if (where.cache.find(key) == nullptr) insert(where, key, {});
}

void ContextCaches::invalidate(ContextKind kind, std::uint32_t number) {
    Table& where = table(kind);
    if (where.cache.remove(EntryCache::key(number))) ++where.counters.invalidations;
    if (kind != ContextKind::mkey) return;
    Table& translations = table(ContextKind::translation);
    translations.counters.invalidations += translations.cache.remove_owner(number);
}

void ContextCaches::clear() {
    for (Table& each : tables_) each.cache.clear();
    reads_.reset();
}

}  // namespace cxsim::model
