// SPDX-License-Identifier: Apache-2.0
// From a memory key and an address to host memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/queues/queue_context.h"

namespace cxsim::model {

enum class Access : std::uint8_t { local_read, local_write, remote_read, remote_write, atomic };

enum class TranslationError : std::uint8_t {
    none,
    unknown_key,       ///< no mkey of that index, other variant, or free
    wrong_domain,      ///< other protection domain, or bound to another QP
    no_permission,     ///< the key lacks the access flag
    out_of_range,      ///< not inside [start, start + length), or beyond the entries
    unmapped,          ///< an entry without present bits
    too_deep,          ///< indirect keys nested beyond kMaxIndirection
    unsupported_mode,  ///< access mode that is not modelled (MEMIC, SW ICM, crossing, stride block)
};

std::string_view to_string(TranslationError error);

struct HostRange {
    HostAddress address;
    std::uint64_t bytes = 0;
    bool zeros = false;  ///< null mkey: nothing behind it
    friend constexpr bool operator==(const HostRange&, const HostRange&) = default;
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

    explicit Translator(const QueueContext& context)
        : resources_(context.resources), keys_(context.keys) {}

    /// Appends the host ranges of the request to `out`, neighbours merged. On an error `out` is
    /// as long as before.
    TranslationError translate(const TranslationRequest& request,
                               std::vector<HostRange>& out) const;

    /// The living mkey of a 32-bit key; null if the index or the variant is wrong.
    Mkey* find(std::uint32_t key) const;

  private:
    TranslationError walk(const TranslationRequest& request, unsigned depth,
                          std::vector<HostRange>& out) const;
    TranslationError walk_pages(const Mkey& mkey, const TranslationRequest& request,
                                std::vector<HostRange>& out) const;
    TranslationError walk_fixed(const Mkey& mkey, const TranslationRequest& request,
                                unsigned depth, std::vector<HostRange>& out) const;
    TranslationError walk_list(const Mkey& mkey, const TranslationRequest& request,
                               unsigned depth, std::vector<HostRange>& out) const;

    Resources& resources_;
    SpecialKeys keys_;
};

}  // namespace cxsim::model
