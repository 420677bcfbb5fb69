// SPDX-License-Identifier: Apache-2.0
#include "model/queues/umr.h"

#include <algorithm>

namespace cxsim::model {
namespace {

constexpr std::uint64_t kOctoword = 16;
// The device moves translation entries in lines of 64 bytes: sizes and offsets of a UMR are
// multiples of it, and an mkey owns whole lines whatever its translations_octword_size.
constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kMaxTranslationBytes = std::uint64_t{64} << 20;
constexpr std::size_t kListOffset =
    prm::wqe_ctrl_seg::kBytes + prm::wqe_umr_ctrl_seg::kBytes + prm::wqe_mkey_context_seg::kBytes;

// wqe_umr_ctrl_seg.mkey_mask, as the driver's MLX5_MKEY_MASK_* name them.
enum MaskBit : std::uint32_t {
    kLength = 0,
    kPageSize = 1,
    kStartAddress = 6,
    kPd = 7,
    kRemoteInvalidate = 8,
    kSignatureErrors = 9,
    kSignature = 12,
    kKey = 13,
    kQueue = 14,
    kLocalRead = 17,
    kLocalWrite = 18,
    kRemoteRead = 19,
    kRemoteWrite = 20,
    kAtomic = 21,
    kSmallFence = 23,
    kRelaxedWrite = 25,
    kFree = 29,
    kPageSizeBit5 = 42,
    kRelaxedRead = 47,
};

constexpr std::uint64_t bit(MaskBit b) {
    return std::uint64_t{1} << b;
}

constexpr std::uint64_t kKnownMask =
    bit(kLength) | bit(kPageSize) | bit(kStartAddress) | bit(kPd) | bit(kRemoteInvalidate) |
    bit(kSignatureErrors) | bit(kSignature) | bit(kKey) | bit(kQueue) | bit(kLocalRead) |
    bit(kLocalWrite) | bit(kRemoteRead) | bit(kRemoteWrite) | bit(kAtomic) | bit(kSmallFence) |
    bit(kRelaxedWrite) | bit(kFree) | bit(kPageSizeBit5) | bit(kRelaxedRead);

template <class... Fields>
void copy_fields(prm::View<prm::mkc> to, prm::ConstView<prm::mkc> from) {
    (to.set<Fields>(from.get<Fields>()), ...);
}

void apply(Mkey& mkey, prm::ConstView<prm::mkc> from, std::uint64_t mask) {
    using prm::mkc;
    const auto to = mkey.view();
    const auto asked = [mask](MaskBit b) { return (mask & bit(b)) != 0; };
    if (asked(kLength)) copy_fields<mkc::len, mkc::length64>(to, from);
    if (asked(kStartAddress)) copy_fields<mkc::start_addr>(to, from);
    if (asked(kPd)) copy_fields<mkc::pd>(to, from);
    if (asked(kRemoteInvalidate)) copy_fields<mkc::en_rinval>(to, from);
    if (asked(kSignatureErrors)) copy_fields<mkc::expected_sigerr_count>(to, from);
    if (asked(kSignature)) copy_fields<mkc::bsf_en>(to, from);
    if (asked(kQueue)) copy_fields<mkc::qpn>(to, from);
    if (asked(kLocalRead)) copy_fields<mkc::lr>(to, from);
    if (asked(kLocalWrite)) copy_fields<mkc::lw>(to, from);
    if (asked(kRemoteRead)) copy_fields<mkc::rr>(to, from);
    if (asked(kRemoteWrite)) copy_fields<mkc::rw>(to, from);
    if (asked(kAtomic)) copy_fields<mkc::a>(to, from);
    if (asked(kSmallFence)) copy_fields<mkc::small_fence_on_rdma_read_response>(to, from);
    if (asked(kRelaxedWrite)) copy_fields<mkc::relaxed_ordering_write>(to, from);
    if (asked(kRelaxedRead)) copy_fields<mkc::relaxed_ordering_read>(to, from);
    if (asked(kFree)) copy_fields<mkc::free>(to, from);
    if (asked(kKey)) {
        copy_fields<mkc::mkey_7_0>(to, from);
        mkey.variant = static_cast<std::uint8_t>(from.get<mkc::mkey_7_0>());
    }
    // The low five bits and the sixth have mask bits of their own.
    std::uint32_t chosen = asked(kPageSize) ? 0x1fU : 0U;
    if (asked(kPageSizeBit5)) chosen |= 0x20U;
    chosen &= static_cast<std::uint32_t>(prm::field_mask(mkc::log_page_size::kWidth));
    to.set<mkc::log_page_size>((to.get<mkc::log_page_size>() & ~chosen) |
                               (from.get<mkc::log_page_size>() & chosen));
}

// To this queue, or to none.
bool bound_to(const Mkey& mkey, std::uint32_t queue) {
    constexpr std::uint32_t kAnyQueue = 0xffffff;
    const auto number = mkey.view().get<prm::mkc::qpn>();
    return number == kAnyQueue || number == queue;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Limited, so that a guest cannot make us allocate what its context merely claims.
std::uint64_t translation_capacity(const Mkey& mkey) {
    const std::uint64_t octowords = mkey.view().get<prm::mkc::translations_octword_size>();
    return std::min(round_up(octowords * kOctoword, kLine), kMaxTranslationBytes);
}

// Whether the mkey has a translation entry for every page of the region it would describe.
bool region_fits(const Mkey& mkey, prm::ConstView<prm::mkc> from, std::uint64_t mask) {
    using prm::mkc;
    constexpr std::uint32_t kMtt = 1;
    constexpr std::uint64_t kMttBytes = 8;
    const auto now = mkey.view();
    const auto asked = [mask](MaskBit b) { return (mask & bit(b)) != 0; };
    if (!asked(kLength) || from.get<mkc::length64>() != 0 || from.get<mkc::len>() == 0) return true;
    if (now.get<mkc::access_mode_1_0>() != kMtt || now.get<mkc::access_mode_4_2>() != 0) {
        return true;
    }
    const std::uint64_t start =
        asked(kStartAddress) ? from.get<mkc::start_addr>() : now.get<mkc::start_addr>();
    const std::uint32_t shift =
        asked(kPageSize) ? from.get<mkc::log_page_size>() : now.get<mkc::log_page_size>();
    const std::uint64_t last = start + (from.get<mkc::len>() - 1);
    if (last < start) return false;
    const std::uint64_t pages = (last >> shift) - (start >> shift) + 1;
    return pages <= translation_capacity(mkey) / kMttBytes;
}

}  // namespace

// IBTA volume 1, section 10.6.7: what a window opens lies inside regions of its own domain, and
// its peers may not do more than the region's owner. Entries by pointer are not looked at: they are
// those of kernels, and known only later.
bool UmrExecutor::memory_serves(const Mkey& mkey, prm::ConstView<prm::mkc> from, std::uint64_t mask,
                                std::span<const std::byte> entries,
                                const UmrRequester& requester) const {
    using prm::mkc;
    constexpr std::uint32_t kKlm = 2;
    constexpr std::uint32_t kStrideBlock = 0x400;
    const auto now = mkey.view();
    const bool is_list =
        now.get<mkc::access_mode_1_0>() == kKlm && now.get<mkc::access_mode_4_2>() == 0;
    if (!is_list) return true;
    const auto later = [&](MaskBit b) { return (mask & bit(b)) != 0 ? from : now; };
    const bool writes = later(kLocalWrite).get<mkc::lw>() != 0 ||
                        later(kRemoteWrite).get<mkc::rw>() != 0 ||
                        later(kAtomic).get<mkc::a>() != 0;
    TranslationRequest request;
    request.pd = later(kPd).get<mkc::pd>();
    request.queue_number = requester.queue;
    request.access = Translator::behind(writes ? Access::remote_write : Access::remote_read);
    request.reserved_lkey = requester.reserved_lkey;
    for (; entries.size() >= prm::klm::kBytes; entries = entries.subspan(prm::klm::kBytes)) {
        const prm::ConstView<prm::klm> entry(entries);
        request.key = entry.get<prm::klm::mkey>();
        request.address = entry.get<prm::klm::va>();
        request.bytes = entry.get<prm::klm::byte_count>();
        if (request.key == kStrideBlock) return true;  // of signatures, refused at its use
        if (request.bytes == 0) continue;
        if (state_.translator.check(request) != TranslationError::none) return false;
    }
    return true;
}

UmrOutcome UmrExecutor::execute(Picoseconds at, const WqeControl& control,
                                std::span<const std::byte> wqe, const UmrRequester& requester) {
    if (wqe.size() < kListOffset) return {wqe_status::kBadWqe, at};
    const prm::ConstView<prm::wqe_umr_ctrl_seg> umr(wqe.subspan(prm::wqe_ctrl_seg::kBytes));
    const prm::ConstView<prm::wqe_mkey_context_seg> context(
        wqe.subspan(prm::wqe_ctrl_seg::kBytes + prm::wqe_umr_ctrl_seg::kBytes));
    const auto mask = umr.get<prm::wqe_umr_ctrl_seg::mkey_mask>();
    const bool offset_given = umr.get<prm::wqe_umr_ctrl_seg::translation_offset_en>() != 0;
    // Without offset the place holds the size of a signature's byte stream format.
    if ((mask & ~kKnownMask) != 0 ||
        (!offset_given && umr.get<prm::wqe_umr_ctrl_seg::bsf_octowords>() != 0)) {
        ++state_.counters.unimplemented_wqes;
        return {wqe_status::kBadWqe, at};
    }

    // A WQE that sets the key's variant names the key as it will be (the kernel's registrations) or
    // as it was (windows). One that ends a window of a QP names the window that lives.
    const bool ends_window = umr.get<prm::wqe_umr_ctrl_seg::check_qpn>() != 0;
    Mkey* mkey = (mask & bit(kKey)) != 0 && !ends_window
                     ? state_.context.resources.mkeys.find(control.immediate >> 8)
                     : state_.translator.find(control.immediate);
    if (mkey == nullptr) return {wqe_status::kBindRefused, at};
    const auto mkc = mkey->view();
    if (!requester.any_pd && mkc.get<prm::mkc::pd>() != requester.pd) {
        return {wqe_status::kBindRefused, at};
    }
    if (mkc.get<prm::mkc::umr_en>() == 0) return {wqe_status::kUmrTooLarge, at};
    const auto check = umr.get<prm::wqe_umr_ctrl_seg::check_free>();
    const bool is_free = mkc.get<prm::mkc::free>() != 0;
    // 1: fail if not free (registration of a free key), 2: fail if free (change of one in use).
    if ((check == 1 && !is_free) || (check == 2 && is_free)) {
        return {wqe_status::kBindRefused, at};
    }
    if (ends_window && mkc.get<prm::mkc::qpn>() != requester.queue) {
        return {wqe_status::kBindRefused, at};
    }

    const std::uint64_t bytes =
        std::uint64_t{umr.get<prm::wqe_umr_ctrl_seg::xlt_octowords>()} * kOctoword;
    std::uint64_t offset = 0;
    if (offset_given) {
        offset = (std::uint64_t{umr.get<prm::wqe_umr_ctrl_seg::xlt_offset_47_16>()} << 16 |
                  umr.get<prm::wqe_umr_ctrl_seg::xlt_offset_15_0>()) *
                 kOctoword;
    }
    const auto new_context = context.nested<prm::wqe_mkey_context_seg::mkc>();
    if (!region_fits(*mkey, new_context, mask)) return {wqe_status::kUmrTooLarge, at};
    UmrOutcome outcome{wqe_status::kSuccess, at};
    if (bytes != 0) {
        const bool is_inline = umr.get<prm::wqe_umr_ctrl_seg::is_inline>() != 0;
        const auto list = wqe.subspan(kListOffset);
        if (is_inline &&
            !memory_serves(*mkey, new_context, mask,
                           list.first(std::min(bytes, std::uint64_t{list.size()})), requester)) {
            return {wqe_status::kBindRefused, at};
        }
        outcome = load_translations(at, *mkey, offset, bytes, is_inline, list, requester);
        if (!outcome.status.ok()) return outcome;
    }
    apply(*mkey, new_context, mask);
    state_.key_changed(mkey->key());
    return outcome;
}

WqeStatus UmrExecutor::invalidate(const WqeControl& control, const UmrRequester& requester) {
    Mkey* mkey = state_.translator.find(control.immediate);
    if (mkey == nullptr) return wqe_status::kBindRefused;
    const auto mkc = mkey->view();
    if (mkc.get<prm::mkc::pd>() != requester.pd) return wqe_status::kBindRefused;
    if (mkc.get<prm::mkc::umr_en>() == 0 || mkc.get<prm::mkc::free>() != 0 ||
        !bound_to(*mkey, requester.queue)) {
        return wqe_status::kBindRefused;
    }
    mkc.set<prm::mkc::free>(1U);
    state_.key_changed(control.immediate);
    return wqe_status::kSuccess;
}

bool invalidate_remotely(const Translator& translator, std::uint32_t key, std::uint32_t pd,
                         std::uint32_t queue) {
    Mkey* mkey = translator.find(key);
    if (mkey == nullptr) return false;
    const auto mkc = mkey->view();
    if (mkc.get<prm::mkc::free>() != 0 || mkc.get<prm::mkc::en_rinval>() == 0 ||
        mkc.get<prm::mkc::pd>() != pd || !bound_to(*mkey, queue)) {
        return false;
    }
    mkc.set<prm::mkc::free>(1U);
    return true;
}

// `segments` is what follows the mkey segment: the entries themselves, or a pointer to them.
UmrOutcome UmrExecutor::load_translations(Picoseconds at, Mkey& mkey, std::uint64_t offset,
                                          std::uint64_t bytes, bool is_inline,
                                          std::span<const std::byte> segments,
                                          const UmrRequester& requester) {
    if (offset % kLine != 0 || bytes % kLine != 0) return {wqe_status::kBadWqe, at};
    const std::uint64_t capacity = translation_capacity(mkey);
    if (bytes > capacity || offset > capacity - bytes) return {wqe_status::kUmrTooLarge, at};

    if (is_inline) {
        // The driver pads the list in size but not always in the WQE: what is missing is zero.
        const std::uint64_t given = std::min<std::uint64_t>(bytes, segments.size());
        if (given == 0) return {wqe_status::kBadWqe, at};
        if (mkey.translations.size() < offset + bytes) mkey.translations.resize(offset + bytes);
        const auto target = std::span(mkey.translations).subspan(offset, bytes);
        std::ranges::copy(segments.first(given), target.begin());
        std::ranges::fill(target.subspan(given), std::byte{0});
        return {wqe_status::kSuccess, at};
    }

    if (segments.size() < prm::wqe_data_seg::kBytes) return {wqe_status::kBadWqe, at};
    const prm::ConstView<prm::wqe_data_seg> pointer(segments);
    if (pointer.get<prm::wqe_data_seg::byte_count>() < bytes) return {wqe_status::kBadWqe, at};
    TranslationRequest request;
    request.key = pointer.get<prm::wqe_data_seg::lkey>();
    request.pd = requester.pd;
    request.queue_number = requester.queue;
    request.address = pointer.get<prm::wqe_data_seg::addr>();
    request.bytes = bytes;
    request.reserved_lkey = requester.reserved_lkey;
    ranges_.clear();
    if (state_.translator.translate(request, ranges_) != TranslationError::none) {
        return {wqe_status::kUmrListUnreadable, at};
    }
    if (mkey.translations.size() < offset + bytes) mkey.translations.resize(offset + bytes);
    auto target = std::span(mkey.translations).subspan(offset, bytes);
    Picoseconds finish = at;
    for (const HostRange& range : ranges_) {
        const auto piece = target.first(range.bytes);
        target = target.subspan(range.bytes);
        if (range.zeros) {
            std::ranges::fill(piece, std::byte{0});
            continue;
        }
        const Picoseconds start = state_.translations_of(range.origin, 0, range.bytes, at);
        const DmaResult result =
            state_.context.host.read(state_.context.function, start, range.address, piece);
        if (!result.ok()) return {wqe_status::kUmrListUnreadable, std::max(finish, at)};
        finish = std::max(finish, result.finish);
    }
    return {wqe_status::kSuccess, finish};
}

}  // namespace cxsim::model
