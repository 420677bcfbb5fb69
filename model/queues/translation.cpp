// SPDX-License-Identifier: Apache-2.0
#include "model/queues/translation.h"

#include "model/base/endian.h"
#include "prm/layouts.h"

#include <algorithm>

namespace cxsim::model {
namespace {

constexpr std::size_t kMttBytes = 8;
constexpr std::size_t kIndirectBytes = 16;  // KLM and KSM
constexpr std::uint32_t kAnyQueue = 0xffffff;

enum class AccessMode : std::uint32_t { physical = 0, mtt = 1, klm = 2, ksm = 3 };

AccessMode access_mode(const Mkey& mkey) {
    const auto view = mkey.view();
    return static_cast<AccessMode>(view.get<prm::mkc::access_mode_1_0>() |
                                   view.get<prm::mkc::access_mode_4_2>() << 2);
}

bool permits(const Mkey& mkey, Access access) {
    const auto view = mkey.view();
    switch (access) {
        case Access::local_read:
            return view.get<prm::mkc::lr>() != 0;
        case Access::local_write:
            return view.get<prm::mkc::lw>() != 0;
        case Access::remote_read:
            return view.get<prm::mkc::rr>() != 0;
        case Access::remote_write:
            return view.get<prm::mkc::rw>() != 0;
        case Access::atomic:
            return view.get<prm::mkc::a>() != 0;
    }
    return false;
}

bool is_remote(Access access) {
    return access != Access::local_read && access != Access::local_write;
}

bool writes(Access access) {
    return access == Access::local_write || access == Access::remote_write ||
           access == Access::atomic;
}

// Byte `request.address` lies inside [start, start + length) with all that follows it.
bool inside(const Mkey& mkey, const TranslationRequest& request) {
    const auto view = mkey.view();
    const std::uint64_t last = request.address + (request.bytes - 1);
    if (last < request.address) return false;
    const auto start = view.get<prm::mkc::start_addr>();
    if (request.address < start) return false;
    if (view.get<prm::mkc::length64>() != 0) return true;
    const auto length = view.get<prm::mkc::len>();
    const std::uint64_t offset = request.address - start;
    return offset <= length && request.bytes <= length - offset;
}

// What the key itself says to the request.
TranslationError admits(const Mkey* mkey, const TranslationRequest& request) {
    if (mkey == nullptr) return TranslationError::unknown_key;
    const auto view = mkey->view();
    if (view.get<prm::mkc::free>() != 0) return TranslationError::unknown_key;
    if (view.get<prm::mkc::pd>() != request.pd) return TranslationError::wrong_domain;
    const auto bound_to = view.get<prm::mkc::qpn>();
    if (bound_to != kAnyQueue && bound_to != request.queue_number) {
        return TranslationError::wrong_domain;
    }
    if (!permits(*mkey, request.access)) return TranslationError::no_permission;
    if (request.bytes != 0 && !inside(*mkey, request)) return TranslationError::out_of_range;
    return TranslationError::none;
}

}  // namespace

std::string_view to_string(TranslationError error) {
    switch (error) {
        case TranslationError::none:
            return "none";
        case TranslationError::unknown_key:
            return "unknown key";
        case TranslationError::wrong_domain:
            return "wrong protection domain";
        case TranslationError::no_permission:
            return "no permission";
        case TranslationError::out_of_range:
            return "out of range";
        case TranslationError::unmapped:
            return "unmapped";
        case TranslationError::too_deep:
            return "too deep";
        case TranslationError::unsupported_mode:
            return "unsupported access mode";
    }
    return "?";
}

Access Translator::behind(Access access) {
    if (!is_remote(access)) return access;
    return access == Access::remote_read ? Access::local_read : Access::local_write;
}

TranslationError Translator::check(const TranslationRequest& request) const {
    if (keys_.null_mkey != 0 && request.key == keys_.null_mkey) {
        return is_remote(request.access) ? TranslationError::no_permission : TranslationError::none;
    }
    if (keys_.reserved_lkey != 0 && request.key == keys_.reserved_lkey) {
        return request.reserved_lkey ? TranslationError::none : TranslationError::no_permission;
    }
    return admits(find(request.key), request);
}

Mkey* Translator::find(std::uint32_t key) const {
    Mkey* mkey = resources_.mkeys.find(key >> 8);
    return mkey != nullptr && mkey->variant == (key & 0xff) ? mkey : nullptr;
}

void Translator::Walk::append(const HostRange& range) {
    if (out.size() > first) {
        HostRange& last = out.back();
        if (last.zeros == range.zeros && continues(last.origin, last.bytes, range.origin) &&
            (range.zeros || last.address.value + last.bytes == range.address.value)) {
            last.bytes += range.bytes;
            return;
        }
    }
    out.push_back(range);
}

TranslationError Translator::translate(const TranslationRequest& request,
                                       std::vector<HostRange>& out) const {
    const std::size_t before = out.size();
    Walk walk{out, before};
    const TranslationError error = resolve(request, 0, walk);
    if (error != TranslationError::none) out.resize(before);
    return error;
}

TranslationError Translator::resolve(const TranslationRequest& request, unsigned depth,
                                     Walk& walk) const {
    if (keys_.null_mkey != 0 && request.key == keys_.null_mkey) {
        if (is_remote(request.access)) return TranslationError::no_permission;
        if (request.bytes != 0) walk.append({{}, request.bytes, true});
        return TranslationError::none;
    }
    if (keys_.reserved_lkey != 0 && request.key == keys_.reserved_lkey) {
        if (!request.reserved_lkey) return TranslationError::no_permission;
        if (request.bytes != 0) walk.append({{request.address}, request.bytes, false});
        return TranslationError::none;
    }
    const Mkey* mkey = find(request.key);
    if (const auto error = admits(mkey, request); error != TranslationError::none) return error;
    if (request.bytes == 0) return TranslationError::none;
    switch (access_mode(*mkey)) {
        case AccessMode::physical:
            walk.append({{request.address}, request.bytes, false,
                         {request.address, mkey->id.number, 0}});
            return TranslationError::none;
        case AccessMode::mtt:
            return pages(*mkey, request, walk);
        case AccessMode::ksm:
            return fixed_entries(*mkey, request, depth, walk);
        case AccessMode::klm:
            return list_entries(*mkey, request, depth, walk);
    }
    return TranslationError::unsupported_mode;
}

// Entry 0 is the page of the start address; the offset inside a page is the address's own.
TranslationError Translator::pages(const Mkey& mkey, const TranslationRequest& request,
                                   Walk& walk) {
    const auto view = mkey.view();
    const unsigned shift = view.get<prm::mkc::log_page_size>();
    const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
    const std::uint64_t first_page = view.get<prm::mkc::start_addr>() >> shift;
    const std::uint64_t entries = mkey.translations.size() / kMttBytes;
    std::uint64_t address = request.address;
    std::uint64_t left = request.bytes;
    while (left != 0) {
        const std::uint64_t index = (address >> shift) - first_page;
        if (index >= entries) return TranslationError::out_of_range;
        if (walk.exhausted()) return TranslationError::too_deep;
        const auto entry = load_be<std::uint64_t>(mkey.translations.data() + index * kMttBytes);
        if (mkey.page_access) {
            const std::uint64_t needed = writes(request.access) ? 2 : 1;
            if ((entry & needed) == 0) return TranslationError::unmapped;
        }
        const std::uint64_t base = entry & ~std::uint64_t{0xff} & ~mask;
        const std::uint64_t bytes = std::min(left, mask + 1 - (address & mask));
        walk.append({{base + (address & mask)}, bytes, false,
                     {address, mkey.id.number, static_cast<std::uint8_t>(shift)}});
        address += bytes;
        left -= bytes;
    }
    return TranslationError::none;
}

TranslationError Translator::fixed_entries(const Mkey& mkey, const TranslationRequest& request,
                                           unsigned depth, Walk& walk) const {
    if (depth == kMaxIndirection) return TranslationError::too_deep;
    const auto view = mkey.view();
    const unsigned shift = view.get<prm::mkc::log_page_size>();
    const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
    const std::uint64_t first = view.get<prm::mkc::start_addr>() >> shift;
    const std::uint64_t entries = mkey.translations.size() / kIndirectBytes;
    TranslationRequest part = request;
    part.access = behind(request.access);
    std::uint64_t left = request.bytes;
    std::uint64_t address = request.address;
    while (left != 0) {
        const std::uint64_t index = (address >> shift) - first;
        if (index >= entries) return TranslationError::out_of_range;
        if (walk.exhausted()) return TranslationError::too_deep;
        const prm::ConstView<prm::ksm> entry(
            std::span(mkey.translations).subspan(index * kIndirectBytes, kIndirectBytes));
        part.key = entry.get<prm::ksm::mkey>();
        part.address = entry.get<prm::ksm::va>() + (address & mask);
        part.bytes = std::min(left, mask + 1 - (address & mask));
        if (const auto error = resolve(part, depth + 1, walk); error != TranslationError::none) {
            return error;
        }
        address += part.bytes;
        left -= part.bytes;
    }
    return TranslationError::none;
}

TranslationError Translator::list_entries(const Mkey& mkey, const TranslationRequest& request,
                                          unsigned depth, Walk& walk) const {
    if (depth == kMaxIndirection) return TranslationError::too_deep;
    const std::uint64_t entries = mkey.translations.size() / kIndirectBytes;
    std::uint64_t skip = request.address - mkey.view().get<prm::mkc::start_addr>();
    std::uint64_t left = request.bytes;
    TranslationRequest part = request;
    part.access = behind(request.access);
    for (std::uint64_t index = 0; left != 0; ++index) {
        if (index >= entries) return TranslationError::out_of_range;
        if (walk.exhausted()) return TranslationError::too_deep;
        const prm::ConstView<prm::klm> entry(
            std::span(mkey.translations).subspan(index * kIndirectBytes, kIndirectBytes));
        const std::uint64_t bytes = entry.get<prm::klm::byte_count>();
        // Signature keys keep a stride block here: its operation stands where the key would.
        if (index == 0 && entry.get<prm::klm::mkey>() == 0x400) {
            return TranslationError::unsupported_mode;
        }
        if (skip >= bytes) {
            skip -= bytes;
            continue;
        }
        part.key = entry.get<prm::klm::mkey>();
        part.address = entry.get<prm::klm::va>() + skip;
        part.bytes = std::min(left, bytes - skip);
        if (const auto error = resolve(part, depth + 1, walk); error != TranslationError::none) {
            return error;
        }
        skip = 0;
        left -= part.bytes;
    }
    return TranslationError::none;
}

}  // namespace cxsim::model
