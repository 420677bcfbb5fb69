// SPDX-License-Identifier: Apache-2.0
#include "model/trace/kinds.h"

#include <utility>

namespace cxsim::model::trace {
namespace {

template <class T>
constexpr auto kFieldsOf = T::fields();

template <std::size_t... I>
constexpr std::array<KindInfo, sizeof...(I)> make_table(std::index_sequence<I...>) {
    return {KindInfo{
        std::tuple_element_t<I, Kinds>::kName, kFieldsOf<std::tuple_element_t<I, Kinds>>,
        std::tuple_element_t<I, Kinds>::kSpan, std::tuple_element_t<I, Kinds>::kByDefault}...};
}

constexpr auto kTable = make_table(std::make_index_sequence<kKindCount>{});

constexpr std::array<std::string_view, 6> kDoorbellTypes = {"command",   "send",   "receive",
                                                            "blueflame", "cq_arm", "eq_arm"};
constexpr std::array<std::string_view, 3> kLogClasses = {"info", "guest", "unimplemented"};
constexpr std::array<std::string_view, kStageCount> kStages = {
    "doorbell", "wqe_fetch", "packetize",     "payload_read", "transmit", "link",  "forward",
    "receive",  "payload_write", "acknowledge", "report",   "completion", "event", "interrupt",
    "context_fetch", "translation_fetch"};

}  // namespace

const KindInfo& kind_info(std::uint16_t number) {
    return kTable[number];
}

std::string_view doorbell_type_name(std::uint8_t type) {
    return type < kDoorbellTypes.size() ? kDoorbellTypes[type] : std::string_view{};
}

std::string_view stage_name(std::uint8_t stage) {
    return stage < kStages.size() ? kStages[stage] : std::string_view{};
}

std::string_view log_class_name(std::uint8_t log_class) {
    return log_class < kLogClasses.size() ? kLogClasses[log_class] : std::string_view{};
}

}  // namespace cxsim::model::trace
