// SPDX-License-Identifier: Apache-2.0
#include "model/prm/event_type.h"
#include "model/prm/hca_cap.h"
#include "model/prm/register_id.h"
#include "model/prm/status.h"
#include "prm/layouts.h"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace cxsim::prm;

TEST_CASE("status values have names and others have none", "[prm]") {
    CHECK(status_name(Status::OK) == "OK");
    CHECK(status_name(static_cast<Status>(0x51)) == "BAD_OUTP_LEN");
    CHECK(status_name(static_cast<Status>(0x77)) == "");
    CHECK(delivery_status_name(DeliveryStatus::CMD_DESCR_ERR) == "CMD_DESCR_ERR");
    CHECK(delivery_status_name(static_cast<DeliveryStatus>(0x66)) == "");
    int named = 0;
    for (unsigned i = 0; i < 256; ++i) named += !status_name(static_cast<Status>(i)).empty();
    CHECK(named == 17);
}

TEST_CASE("each event type names a member of the event data", "[prm]") {
    std::set<std::uint8_t> seen;
    const LayoutInfo& data = layout_info<event_auto>();
    for (const EventTypeInfo& info : all_event_types()) {
        INFO(info.name);
        CHECK(seen.insert(static_cast<std::uint8_t>(info.type)).second);
        if (!info.data_member.empty()) {
            const FieldInfo* member = data.find(info.data_member);
            REQUIRE(member != nullptr);
            CHECK(member->nested != nullptr);
        }
    }
    CHECK(event_type_name(0x0b) == "PAGE_REQUEST");
    CHECK(event_type_name(0xff) == "");
    CHECK(find_event_type(0xff) == nullptr);
    CHECK(data.bits == 28 * 8);
}

TEST_CASE("each capability group has a layout that fits into 4 KiB", "[prm]") {
    const LayoutInfo& all = layout_info<hca_cap_union>();
    CHECK(all.bytes() == kHcaCapBytes);
    for (const HcaCapTypeInfo& info : all_hca_cap_types()) {
        INFO(info.name);
        const LayoutInfo* layout = hca_cap_layout(static_cast<std::uint16_t>(info.type));
        REQUIRE(layout != nullptr);
        CHECK(layout->bytes() <= kHcaCapBytes);
        CHECK(all.find(info.layout) != nullptr);
        CHECK(find_hca_cap_type(info.name) == &info);
    }
    CHECK(hca_cap_layout(0x0b)->name == "vector_calc_cap");
    CHECK(hca_cap_layout(0x77) == nullptr);
    CHECK(find_hca_cap_type("NOTHING") == nullptr);
    CHECK(hca_cap_op_mod(HcaCapType::GENERAL_2, HcaCapMode::CUR) == 0x41);
    CHECK(hca_cap_type_of(0x41) == 0x20);
    CHECK(hca_cap_mode_of(0x40) == HcaCapMode::MAX);
}

TEST_CASE("each register id is unique and its layout exists", "[prm]") {
    std::set<std::uint16_t> seen;
    std::size_t with_layout = 0;
    for (const RegisterInfo& info : all_registers()) {
        INFO(info.name);
        const auto id = static_cast<std::uint16_t>(info.id);
        CHECK(seen.insert(id).second);
        CHECK(find_register(id) == &info);
        CHECK(find_register(info.name) == &info);
        if (!info.layout.empty()) {
            REQUIRE(register_layout(id) != nullptr);
            ++with_layout;
        }
    }
    CHECK(with_layout >= 70);
    CHECK(register_layout(RegisterId::PPCNT)->name == "ppcnt_reg");
    CHECK(register_name(0x5003) == "PMTU");
    CHECK(register_name(0x1) == "");
    CHECK(register_layout(std::uint16_t{0x1}) == nullptr);
    CHECK(register_layout(RegisterId::MRSR) == nullptr);
    CHECK(find_register("NOTHING") == nullptr);
}
