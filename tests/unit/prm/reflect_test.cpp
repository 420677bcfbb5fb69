// SPDX-License-Identifier: Apache-2.0
#include "model/prm/reflect.h"

#include "model/prm/view.h"
#include "prm/layouts.h"
#include "prm/opcodes.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim::prm;

TEST_CASE("layouts are found by name, sorted and unique", "[prm]") {
    const auto layouts = all_layouts();
    for (std::size_t i = 1; i < layouts.size(); ++i) {
        CHECK(layouts[i - 1].name < layouts[i].name);
    }
    for (const LayoutInfo& layout : layouts) CHECK(find_layout(layout.name) == &layout);
    CHECK(find_layout("no_such_layout") == nullptr);
    CHECK(find_layout("") == nullptr);
    CHECK(layout_info<qpc>().name == "qpc");
    CHECK(kHeaderVersion.find("linux-headers-") == 0);
}

TEST_CASE("fields lie inside their layout", "[prm]") {
    for (const LayoutInfo& layout : all_layouts()) {
        for (const FieldInfo& f : layout.fields) {
            INFO(layout.name << "." << f.name);
            CHECK(f.bit_offset + f.bit_width * f.count <= layout.bits);
            if (f.nested != nullptr) CHECK(f.nested->bits == f.bit_width);
            if (f.count == 0) CHECK((f.open && layout.has_tail));
        }
    }
}

TEST_CASE("the fields of a structure cover every bit once", "[prm]") {
    // Structures with unnamed unions have several members at a place; they cover at least.
    for (const LayoutInfo& layout : all_layouts()) {
        std::uint64_t sum = 0;
        for (const FieldInfo& f : layout.fields) sum += std::uint64_t{f.bit_width} * f.count;
        INFO(layout.name);
        CHECK(sum >= layout.bits);
    }
}

TEST_CASE("paths lead to absolute places", "[prm]") {
    const LayoutInfo& layout = layout_info<create_cq_in>();
    const auto size = find_path(layout, "cq_context.log_cq_size");
    REQUIRE(size);
    CHECK(size->bit_offset == create_cq_in::cq_context::kOffset + cqc::log_cq_size::kOffset);
    CHECK(size->bit_width == cqc::log_cq_size::kWidth);
    CHECK(find_path(layout, "pas[3]")->bit_offset == create_cq_in::kBits + 3 * 64);
    CHECK(find_path(layout, "cq_context")->bit_width == cqc::kBits);
    CHECK(find_path(layout_info<set_fte_in>(), "flow_context.destination[1]")->bit_width == 128);
    CHECK(find_path(layout_info<uar_page>(), "blueflame[2].data[1]")->bit_offset ==
          (0x800 + 2 * 256 + 1) * 8);
}

TEST_CASE("paths that lead nowhere are empty", "[prm]") {
    const LayoutInfo& layout = layout_info<create_cq_in>();
    for (const char* path :
         {"", "nothing", "cq_context.nothing", "opcode.bit", "opcode[0]", "pas[", "pas[x]", "pas[1",
          "pas[1]x", "cq_context.", ".opcode", "pas.x", "pas[99999999999999]", "pas[4294967295]"}) {
        INFO(path);
        CHECK_FALSE(find_path(layout, path));
    }
    CHECK_FALSE(find_path(layout_info<uar_page>(), "blueflame[8]"));
    CHECK_FALSE(find_path(layout_info<uar_page>(), "blueflame.data"));
}

TEST_CASE("reserved bits that are set are named with their path", "[prm]") {
    Buffer<create_cq_in> in(8);
    auto view = in.view();
    view.set<create_cq_in::opcode>(Opcode::CREATE_CQ);
    view.set<create_cq_in::cq_context, cqc::log_cq_size>(31);
    view.set_at<create_cq_in::pas>(0, ~std::uint64_t{0});
    const LayoutInfo& layout = layout_info<create_cq_in>();
    CHECK(reserved_bits_set(layout, in.bytes()).empty());

    set_bits(in.bytes(), find_path(layout, "reserved_at_20")->bit_offset, 1, 1);
    const auto hidden = find_path(layout, "cq_context.reserved_at_12")
                            .value_or(*find_path(layout, "cq_context.reserved_at_80"));
    set_bits(in.bytes(), hidden.bit_offset, 1, 1);
    const auto found = reserved_bits_set(layout, in.bytes());
    REQUIRE(found.size() == 2);
    CHECK(found[0] == "reserved_at_20");
    CHECK(found[1].starts_with("cq_context.reserved_at_"));
    CHECK(reserved_bits_set(layout, in.bytes(), 1).size() == 1);
    CHECK(reserved_bits_set(layout, std::span<const std::byte>(in.bytes()).first(4)).empty());
}

TEST_CASE("what one member of a union defines is not reserved in another", "[prm]") {
    Buffer<eqe> entry;
    // page request's num_pages lies where the completion event has reserved bits
    entry.view().set<eqe::event_data, event_auto::pages_req_event, pages_req_event::num_pages>(7);
    CHECK(reserved_bits_set(layout_info<eqe>(), entry.bytes()).empty());
    set_bits(entry.bytes(), eqe::event_type::kOffset - 1, 1, 1);
    CHECK(reserved_bits_set(layout_info<eqe>(), entry.bytes()) ==
          std::vector<std::string>{"reserved_at_0"});
}
