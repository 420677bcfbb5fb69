// SPDX-License-Identifier: Apache-2.0
// From a memory key and an address to host memory.
#pragma once

#include "model/memory/translation_origin.h"
#include "model/queues/queue_context.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cxsim::model {

enum class Access : std::uint8_t { local_read, local_write, remote_read, remote_write, atomic };

enum class TranslationError : std::uint8_t {
    none,
    unknown_key,       ///< no mkey of that index, other variant, or free
    wrong_domain,      ///< other protection domain, or bound to another QP
    no_permission,     ///< the key lacks the access flag
    out_of_range,      ///< not inside [start, start + length), or beyond the entries
    unmapped,          ///< an entry without present bits
    too_deep,          ///< nested beyond kMaxIndirection, or more entries than kMaxEntries
    unsupported_mode,  ///< access mode that is not modelled (MEMIC, SW ICM, crossing, stride block)
};

std::string_view to_string(TranslationError error);

struct HostRange {
    HostAddress address;
    std::uint64_t bytes = 0;
    bool zeros = false;  ///< null mkey: nothing behind it
    TranslationOrigin origin{};  ///< of the key that names memory, at the end of indirect ones
    /// The same memory, however it was found.
    friend constexpr bool operator==(const HostRange& a, const HostRange& b) {
        return a.address == b.address && a.bytes == b.bytes && a.zeros == b.zeros;
    }
};

struct TranslationRequest {
    std::uint32_t key = 0;
    std::uint32_t pd = 0;
    std::uint32_t queue_number = 0;  ///< QP or SQ that asks, for keys bound to one
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  ///< 0: only the key is checked
    Access access = Access::local_read;
    bool reserved_lkey = false;  ///< the queue may use the reserved lkey (rlky)
};

class Translator {
  public:
    static constexpr unsigned kMaxIndirection = 4;
    /// Entries looked at for one request: 2 GiB, the largest message, in pages of 4 KiB and then
    /// some. A guest's lists of empty or tiny entries end here.
    static constexpr std::uint32_t kMaxEntries = 600'000;

    explicit Translator(const QueueContext& context)
        : resources_(context.resources), keys_(context.keys) {}

    /// Appends the host ranges of the request to `out`, neighbours merged. On an error `out` is
    /// as long as before.
    TranslationError translate(const TranslationRequest& request,
                               std::vector<HostRange>& out) const;

    /// Whether the key serves for all of the request; its entries are not looked at.
    TranslationError check(const TranslationRequest& request) const;

    /// The living mkey of a 32-bit key; null if the index or the variant is wrong.
    Mkey* find(std::uint32_t key) const;

    /// What the owner of the memory behind an indirect key must be allowed, for peers to have
    /// `access` by that key: it answers for what they may do.
    static Access behind(Access access);

  private:
    struct Walk {
        std::vector<HostRange>& out;
        std::size_t first;  ///< ranges before it belong to earlier requests
        std::uint32_t entries_left = kMaxEntries;

        void append(const HostRange& range);
        bool exhausted() { return entries_left-- == 0; }
    };
    TranslationError resolve(const TranslationRequest& request, unsigned depth, Walk& walk) const;
    static TranslationError pages(const Mkey& mkey, const TranslationRequest& request, Walk& walk);
    TranslationError fixed_entries(const Mkey& mkey, const TranslationRequest& request,
                                   unsigned depth, Walk& walk) const;
    TranslationError list_entries(const Mkey& mkey, const TranslationRequest& request,
                                  unsigned depth, Walk& walk) const;

    Resources& resources_;
    SpecialKeys keys_;
};

}  // namespace cxsim::model
