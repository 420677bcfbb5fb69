// SPDX-License-Identifier: Apache-2.0
// Memory keys: what they allow and the translation entries (MTT, KLM, KSM) behind them, as given
// with the command or later by UMR work requests. Drivers keep thousands of free keys at hand, so
// a key takes memory for entries only once it has some.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::mkc;
using prm::Status;
using prm::View;

constexpr std::uint64_t kOctoword = 16;
constexpr std::uint32_t kAdapterPageShift = 12;
/// log_page_size has 5 usable bits unless the card announces the sixth.
constexpr std::uint32_t kMaxLogPageSize = 31;
constexpr std::uint32_t kMaxLogPageSizeWide = 54;

enum AccessMode : std::uint32_t { kPhysical = 0, kMtt = 1, kKlm = 2, kKsm = 3 };

std::uint32_t access_mode(ConstView<mkc> key) {
    return key.get<mkc::access_mode_1_0>() | key.get<mkc::access_mode_4_2>() << 2;
}

std::uint32_t card_value(CommandContext& context, std::string_view path) {
    return static_cast<std::uint32_t>(
        context.firmware.config().capabilities->max_value("cmd_hca_cap_2", path));
}

Reply check_flags(FunctionState& function, ConstView<mkc> key) {
    using Cap = prm::cmd_hca_cap;
    if ((key.get<mkc::bsf_en>() != 0 || key.get<mkc::bsf_octword_size>() != 0) &&
        function.general<Cap::sho>() == 0) {
        return refuse(Status::BAD_PARAM, "signature handover not supported");
    }
    if (key.get<mkc::relaxed_ordering_write>() != 0 &&
        function.general<Cap::relaxed_ordering_write>() == 0) {
        return refuse(Status::BAD_PARAM, "relaxed ordering of writes not supported");
    }
    if (key.get<mkc::relaxed_ordering_read>() != 0 &&
        function.general<Cap::relaxed_ordering_read>() == 0 &&
        function.general<Cap::relaxed_ordering_read_pci_enabled>() == 0) {
        return refuse(Status::BAD_PARAM, "relaxed ordering of reads not supported");
    }
    if (key.get<mkc::ma_translation_mode>() != 0 && function.general<Cap::ats>() == 0) {
        return refuse(Status::BAD_PARAM, "address translation services not supported");
    }
    if (key.get<mkc::en_rinval>() != 0 && function.general<Cap::imaicl>() == 0) {
        return refuse(Status::BAD_PARAM, "remote invalidation not supported");
    }
    return accept();
}

Reply check_translation(CommandContext& context, ConstView<mkc> key) {
    FunctionState& function = context.function;
    const std::uint32_t mode = access_mode(key);
    if (mode > kKsm) return refuse(Status::BAD_PARAM, "access mode not supported");
    const auto octwords = key.get<mkc::translations_octword_size>();
    const auto log_page_size = key.get<mkc::log_page_size>();
    if (mode == kPhysical) return accept();
    if (octwords == 0) {
        return refuse(Status::BAD_PARAM, syndrome::kMkeyNoTranslations,
                      "no translation entries");
    }
    const bool wide = card_value(context, "umr_log_entity_size_5") != 0;
    if (mode != kKlm && log_page_size > (wide ? kMaxLogPageSizeWide : kMaxLogPageSize)) {
        return refuse(Status::BAD_PARAM, syndrome::kMkeyLogPageSize,
                      "log_page_size above the card's bound");
    }
    const std::uint32_t least = card_value(context, "log_min_mkey_entity_size");
    if (mode == kMtt && log_page_size < (least != 0 ? least : kAdapterPageShift)) {
        return refuse(Status::BAD_PARAM, "log_page_size below the card's bound");
    }
    if (mode == kKlm &&
        octwords > std::uint64_t{1}
                       << function.general<prm::cmd_hca_cap::log_max_klm_list_size>()) {
        return refuse(Status::BAD_PARAM, "more entries than log_max_klm_list_size");
    }
    return accept();
}

Reply check_entries(FunctionState& function, ConstView<prm::create_mkey_in> in) {
    using In = prm::create_mkey_in;
    if (in.get<In::mkey_umem_valid>() != 0 || in.get<In::data_direct>() != 0) {
        return refuse(Status::BAD_PARAM, "no user memory objects, no data direct");
    }
    if (in.get<In::pg_access>() != 0 && function.general<prm::cmd_hca_cap::pg>() == 0) {
        return refuse(Status::BAD_PARAM, "access flags in entries need on-demand paging");
    }
    const auto actual = in.get<In::translations_octword_actual_size>();
    const auto key = in.nested<In::memory_key_mkey_entry>();
    if (actual > key.get<mkc::translations_octword_size>()) {
        return refuse(Status::BAD_PARAM, "more entries given than the key has");
    }
    if (in.tail<In::klm_pas_mtt>().size() < actual * kOctoword) {
        return refuse(Status::BAD_INP_LEN, "fewer entries than translations_octword_actual_size");
    }
    return accept();
}

// A protection domain that does not live is accepted here: real firmware does not look at it on
// the kernel's own commands; the key then fails at its first use.
Reply create_mkey(CommandContext& context, ConstView<prm::create_mkey_in> in,
                  View<prm::create_mkey_out> out) {
    using In = prm::create_mkey_in;
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    const auto wanted = in.nested<In::memory_key_mkey_entry>();
    Reply check = check_flags(function, wanted);
    if (check.ok()) check = check_translation(context, wanted);
    if (check.ok()) check = check_entries(function, in);
    if (!check.ok()) return check;

    model::Mkey* mkey = resources.mkeys.create();
    if (mkey == nullptr) return table_full(syndrome::kMkeyTableFull);
    keep_context(*mkey, wanted);
    mkey->variant = static_cast<std::uint8_t>(wanted.get<mkc::mkey_7_0>());
    mkey->page_access = in.get<In::pg_access>() != 0;
    mkey->uid = static_cast<std::uint16_t>(in.get<In::uid>());
    const auto entries =
        in.tail<In::klm_pas_mtt>().first(in.get<In::translations_octword_actual_size>() *
                                         kOctoword);
    mkey->translations.assign(entries.begin(), entries.end());
    const auto pd = wanted.get<mkc::pd>();
    if (resources.pds.find(pd) != nullptr) resources.hold(*mkey, {ObjectKind::pd, pd});
    function.queues().context_written(mkey->id);
    out.set<prm::create_mkey_out::mkey_index>(mkey->id.number);
    return accept();
}

Reply query_mkey(CommandContext& context, ConstView<prm::query_mkey_in> in,
                 View<prm::query_mkey_out> out) {
    using Out = prm::query_mkey_out;
    const model::Mkey* mkey =
        context.function.resources().mkeys.find(in.get<prm::query_mkey_in::mkey_index>());
    if (mkey == nullptr) return no_such_object();
    show_context(*mkey, out.nested<Out::memory_key_mkey_entry>());
    // The first two octowords of entries.
    const std::span<const std::byte> entries(mkey->translations);
    const auto first = entries.first(std::min<std::size_t>(entries.size(), kOctoword));
    const auto second = entries.subspan(first.size());
    std::copy(first.begin(), first.end(), out.bytes<Out::bsf0_klm0_pas_mtt0_1>().begin());
    std::copy_n(second.begin(), std::min<std::size_t>(second.size(), kOctoword),
                out.bytes<Out::bsf1_klm1_pas_mtt2_3>().begin());
    return accept();
}

Reply destroy_mkey(CommandContext& context, ConstView<prm::destroy_mkey_in> in,
                   View<prm::destroy_mkey_out>) {
    return destroy_object(context.function, context.function.resources().mkeys,
                          in.get<prm::destroy_mkey_in::mkey_index>());
}

Reply query_special_contexts(CommandContext& context,
                             ConstView<prm::query_special_contexts_in>,
                             View<prm::query_special_contexts_out> out) {
    using Cap = prm::cmd_hca_cap;
    using Out = prm::query_special_contexts_out;
    FunctionState& function = context.function;
    out.set<Out::resd_lkey>(kSpecialKeys.reserved_lkey);
    if (function.general<Cap::null_mkey>() != 0) out.set<Out::null_mkey>(kSpecialKeys.null_mkey);
    if (function.general<Cap::terminate_scatter_list_mkey>() != 0) {
        out.set<Out::terminate_scatter_list_mkey>(kSpecialKeys.terminate_scatter_list);
    }
    return accept();
}

}  // namespace

std::vector<CommandRow> memory_key_commands() {
    using prm::Opcode;
    return {
        command_row<&create_mkey>(Opcode::CREATE_MKEY, Cost::create_object),
        command_row<&query_mkey>(Opcode::QUERY_MKEY, Cost::query),
        command_row<&destroy_mkey>(Opcode::DESTROY_MKEY, Cost::destroy_object),
        command_row<&query_special_contexts>(Opcode::QUERY_SPECIAL_CONTEXTS, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
