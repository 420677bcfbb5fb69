// SPDX-License-Identifier: Apache-2.0
// Tables behind status.h, event_type.h, register_id.h and hca_cap.h.
#include "model/prm/event_type.h"
#include "model/prm/hca_cap.h"
#include "model/prm/register_id.h"
#include "model/prm/status.h"

#include <algorithm>

namespace cxsim::prm {

namespace {

constexpr EventTypeInfo kEventTypes[] = {
#define CX_PRM_EVENT_TYPE(name, value, member) {EventType::name, #name, #member},
    CX_PRM_EVENT_TYPES(CX_PRM_EVENT_TYPE)
#undef CX_PRM_EVENT_TYPE
};

constexpr HcaCapTypeInfo kHcaCapTypes[] = {
#define CX_PRM_HCA_CAP_TYPE(name, value, layout) {HcaCapType::name, #name, #layout},
    CX_PRM_HCA_CAP_TYPES(CX_PRM_HCA_CAP_TYPE)
#undef CX_PRM_HCA_CAP_TYPE
};

constexpr RegisterInfo kRegisters[] = {
#define CX_PRM_REGISTER(name, value, layout) {RegisterId::name, #name, #layout},
    CX_PRM_REGISTERS(CX_PRM_REGISTER)
#undef CX_PRM_REGISTER
};

/// The entry for which `matches` holds, or null.
template <class Table, class Matches>
auto find_in(const Table& table, Matches matches) -> decltype(&table[0]) {
    const auto found = std::find_if(std::begin(table), std::end(table), matches);
    return found == std::end(table) ? nullptr : &*found;
}

}  // namespace

std::string_view status_name(Status status) {
    switch (status) {
        case Status::OK:
            return "OK";
        case Status::INT_ERR:
            return "INT_ERR";
        case Status::BAD_OP:
            return "BAD_OP";
        case Status::BAD_PARAM:
            return "BAD_PARAM";
        case Status::BAD_SYS_STATE:
            return "BAD_SYS_STATE";
        case Status::BAD_RES:
            return "BAD_RES";
        case Status::RES_BUSY:
            return "RES_BUSY";
        case Status::NOT_READY:
            return "NOT_READY";
        case Status::LIM_ERR:
            return "LIM_ERR";
        case Status::BAD_RES_STATE:
            return "BAD_RES_STATE";
        case Status::IX_ERR:
            return "IX_ERR";
        case Status::NO_RES:
            return "NO_RES";
        case Status::BAD_QP_STATE:
            return "BAD_QP_STATE";
        case Status::BAD_PKT:
            return "BAD_PKT";
        case Status::BAD_SIZE:
            return "BAD_SIZE";
        case Status::BAD_INP_LEN:
            return "BAD_INP_LEN";
        case Status::BAD_OUTP_LEN:
            return "BAD_OUTP_LEN";
    }
    return {};
}

std::string_view delivery_status_name(DeliveryStatus status) {
    switch (status) {
        case DeliveryStatus::OK:
            return "OK";
        case DeliveryStatus::SIGNAT_ERR:
            return "SIGNAT_ERR";
        case DeliveryStatus::TOK_ERR:
            return "TOK_ERR";
        case DeliveryStatus::BAD_BLK_NUM:
            return "BAD_BLK_NUM";
        case DeliveryStatus::OUT_PTR_ALIGN_ERR:
            return "OUT_PTR_ALIGN_ERR";
        case DeliveryStatus::IN_PTR_ALIGN_ERR:
            return "IN_PTR_ALIGN_ERR";
        case DeliveryStatus::FW_ERR:
            return "FW_ERR";
        case DeliveryStatus::IN_LENGTH_ERR:
            return "IN_LENGTH_ERR";
        case DeliveryStatus::OUT_LENGTH_ERR:
            return "OUT_LENGTH_ERR";
        case DeliveryStatus::RES_FLD_NOT_CLR_ERR:
            return "RES_FLD_NOT_CLR_ERR";
        case DeliveryStatus::CMD_DESCR_ERR:
            return "CMD_DESCR_ERR";
    }
    return {};
}

std::span<const EventTypeInfo> all_event_types() {
    return kEventTypes;
}

const EventTypeInfo* find_event_type(std::uint8_t type) {
    return find_in(kEventTypes, [&](const EventTypeInfo& info) {
        return static_cast<std::uint8_t>(info.type) == type;
    });
}

std::string_view event_type_name(std::uint8_t type) {
    const EventTypeInfo* info = find_event_type(type);
    return info != nullptr ? info->name : std::string_view{};
}

std::span<const HcaCapTypeInfo> all_hca_cap_types() {
    return kHcaCapTypes;
}

const HcaCapTypeInfo* find_hca_cap_type(std::uint16_t type) {
    return find_in(kHcaCapTypes, [&](const HcaCapTypeInfo& info) {
        return static_cast<std::uint16_t>(info.type) == type;
    });
}

const HcaCapTypeInfo* find_hca_cap_type(std::string_view name) {
    return find_in(kHcaCapTypes, [&](const HcaCapTypeInfo& info) { return info.name == name; });
}

const LayoutInfo* hca_cap_layout(std::uint16_t type) {
    const HcaCapTypeInfo* info = find_hca_cap_type(type);
    return info != nullptr ? find_layout(info->layout) : nullptr;
}

std::span<const RegisterInfo> all_registers() {
    return kRegisters;
}

const RegisterInfo* find_register(std::uint16_t id) {
    return find_in(kRegisters, [&](const RegisterInfo& info) {
        return static_cast<std::uint16_t>(info.id) == id;
    });
}

const RegisterInfo* find_register(std::string_view name) {
    return find_in(kRegisters, [&](const RegisterInfo& info) { return info.name == name; });
}

const LayoutInfo* register_layout(std::uint16_t id) {
    const RegisterInfo* info = find_register(id);
    return info != nullptr && !info->layout.empty() ? find_layout(info->layout) : nullptr;
}

std::string_view register_name(std::uint16_t id) {
    const RegisterInfo* info = find_register(id);
    return info != nullptr ? info->name : std::string_view{};
}

}  // namespace cxsim::prm
