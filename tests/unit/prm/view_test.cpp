// SPDX-License-Identifier: Apache-2.0
#include "model/prm/view.h"

#include "prm/layouts.h"
#include "prm/opcodes.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <random>

using namespace cxsim::prm;

namespace {

std::byte b(unsigned value) {
    return static_cast<std::byte>(value);
}

/// A field's value bit by bit, as the definition of the PRM's numbering says.
std::uint64_t slow_get(std::span<const std::byte> data, std::size_t offset, std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t i = offset; i < offset + width; ++i) {
        value = value << 1 | (std::to_integer<unsigned>(data[i / 8]) >> (7 - i % 8) & 1);
    }
    return value;
}

}  // namespace

TEST_CASE("bit 0 is the most significant bit of the first byte", "[prm]") {
    Buffer<create_cq_in> in;
    in.view().set<create_cq_in::opcode>(0x400);
    in.view().set<create_cq_in::uid>(0x1234);
    REQUIRE(in.bytes()[0] == b(0x04));
    REQUIRE(in.bytes()[1] == b(0x00));
    REQUIRE(in.bytes()[2] == b(0x12));
    REQUIRE(in.bytes()[3] == b(0x34));
}

TEST_CASE("set of one field leaves its neighbours in the dword alone", "[prm]") {
    Buffer<cqc> context;
    for (std::byte& x : context.bytes()) x = b(0xff);
    auto view = context.view();
    view.set<cqc::status>(0);
    REQUIRE(view.get<cqc::status>() == 0);
    REQUIRE(context.bytes()[0] == b(0x0f));
    view.set<cqc::log_cq_size>(3);
    REQUIRE(view.get<cqc::log_cq_size>() == 3);
    REQUIRE(view.get<cqc::uar_page>() == 0xffffff);
}

TEST_CASE("a field of 32 bits gives uint32_t and one of 64 bits uint64_t", "[prm]") {
    Buffer<cqc> context;
    static_assert(std::is_same_v<decltype(context.view().get<cqc::dbr_addr>()), std::uint64_t>);
    static_assert(std::is_same_v<decltype(context.view().get<cqc::status>()), std::uint32_t>);
    context.view().set<cqc::dbr_addr>(0x1122334455667788u);
    REQUIRE(context.view().get<cqc::dbr_addr>() == 0x1122334455667788u);
    const auto place = context.view().bytes<cqc::dbr_addr>();
    REQUIRE(place.front() == b(0x11));
    REQUIRE(place.back() == b(0x88));
}

TEST_CASE("a path reaches a field of a nested layout", "[prm]") {
    Buffer<create_cq_in> in;
    auto view = in.view();
    view.set<create_cq_in::cq_context, cqc::log_cq_size>(9);
    REQUIRE(view.nested<create_cq_in::cq_context>().get<cqc::log_cq_size>() == 9);
    view.nested<create_cq_in::cq_context>().set<cqc::uar_page>(0xabcdef);
    const ConstView<create_cq_in> read = view;
    REQUIRE(read.get<create_cq_in::cq_context, cqc::uar_page>() == 0xabcdef);
    REQUIRE(slow_get(read.bytes(), create_cq_in::cq_context::kOffset + cqc::uar_page::kOffset,
                     24) == 0xabcdef);
}

TEST_CASE("members of unnamed unions are members of the structure, named ones are nested",
          "[prm]") {
    Buffer<general_obj_in_cmd_hdr> header;
    using create = general_obj_create_param;
    header.view()
        .set<general_obj_in_cmd_hdr::op_param, general_obj_in_cmd_hdr_op_param::create,
             create::log_obj_range>(5);
    REQUIRE(header.bytes()[12] == b(5));
    Buffer<cqe64> cqe;
    cqe.view().set<cqe64::immediate>(0xcafe);
    REQUIRE(cqe.view().get<cqe64::inval_rkey>() == 0xcafe);
}

TEST_CASE("C++ keywords and the layout's own name get an underscore", "[prm]") {
    static_assert(std::is_same_v<pkey::pkey_::Layout, pkey>);
    static_assert(cqe128::cqe64::kOffset == 512, "cqe128.cqe64 does not hide the layout cqe64");
}

TEST_CASE("a variable tail is as long as the buffer", "[prm]") {
    Buffer<create_cq_in> in(3 * 8);
    auto view = in.view();
    REQUIRE(view.size<create_cq_in::pas>() == 3);
    REQUIRE(view.tail<create_cq_in::pas>().size() == 24);
    view.set_at<create_cq_in::pas>(2, 0xfffff000u);
    REQUIRE(view.at<create_cq_in::pas>(2) == 0xfffff000u);
    REQUIRE(view.at<create_cq_in::pas>(1) == 0);
    REQUIRE(in.bytes()[create_cq_in::kBytes + 20] == b(0xff));
    Buffer<create_cq_in> empty;
    REQUIRE(empty.view().size<create_cq_in::pas>() == 0);
}

TEST_CASE("a tail inside a nested layout at the end reaches to the end of the buffer", "[prm]") {
    Buffer<set_fte_in> in(2 * dest_format_flow_counter_list_auto::kBytes);
    auto flow = in.view().nested<set_fte_in::flow_context>();
    REQUIRE(flow.size<flow_context::destination>() == 2);
    using dest = dest_format_flow_counter_list_auto;
    flow.at<flow_context::destination>(1)
        .set<dest::extended_dest_format, extended_dest_format::packet_reformat_id>(0x77);
    REQUIRE(in.bytes().data() + set_fte_in::kBytes ==
            flow.tail<flow_context::destination>().data());
    REQUIRE(in.view()
                .at<set_fte_in::flow_context, flow_context::destination>(1)
                .get<dest::extended_dest_format, extended_dest_format::packet_reformat_id>() ==
            0x77);
}

TEST_CASE("a path reaches a tail through two nested layouts", "[prm]") {
    Buffer<create_sq_in> in(4 * 8);
    auto view = in.view();
    view.at<create_sq_in::ctx, sqc::wq, wq::pas>(3).set<cmd_pas::pa_l>(0x123);
    REQUIRE(view.size<create_sq_in::ctx, sqc::wq, wq::pas>() == 4);
    const auto pas = view.nested<create_sq_in::ctx>().nested<sqc::wq>().tail<wq::pas>();
    REQUIRE(get_bits(pas, 3 * 64, 64) == 0x123000);
    REQUIRE(view.tail<create_sq_in::ctx, sqc::wq, wq::pas>().size() == 32);
}

TEST_CASE("a nested layout in the middle ends where it ends", "[prm]") {
    Buffer<create_cq_in> in(64);
    REQUIRE(in.view().nested<create_cq_in::cq_context>().bytes().size() == cqc::kBytes);
}

TEST_CASE("byte arrays and fields wider than 64 bits are spans of bytes", "[prm]") {
    Buffer<query_adapter_out> out;
    using block = query_adapter_param_block;
    const auto psid =
        out.view().nested<query_adapter_out::query_adapter_struct>().bytes<block::vsd_contd_psid>();
    REQUIRE(psid.size() == 16);
    psid[0] = b('M');
    REQUIRE(out.view().at<query_adapter_out::query_adapter_struct, block::vsd_contd_psid>(0) ==
            'M');
    Buffer<mcia_reg> mcia;
    REQUIRE(mcia.view().bytes<mcia_reg::dwords>().size() == 128);
    REQUIRE(mcia.view().bytes<mcia_reg::dwords>().data() ==
            mcia.bytes().data() + mcia_reg::dwords::kOffset / 8);
}

TEST_CASE("a field that crosses a dword is read and written whole", "[prm]") {
    // None of the header's plain fields does; our tail of 24 bits at bit 20 is such a one.
    using Odd = Field<cqc, 20, 24>;
    using Wide = Field<cqc, 3, 64>;
    Buffer<cqc> buffer;
    auto view = buffer.view();
    view.set<Odd>(0xabcdef);
    REQUIRE(view.get<Odd>() == 0xabcdef);
    REQUIRE(slow_get(buffer.bytes(), 20, 24) == 0xabcdef);
    view.set<Wide>(0x8123456789abcdefu);
    REQUIRE(view.get<Wide>() == 0x8123456789abcdefu);
    REQUIRE(slow_get(buffer.bytes(), 3, 64) == 0x8123456789abcdefu);
}

TEST_CASE("a layout that is no multiple of a dword is not read beyond its end", "[prm]") {
    static_assert(qpdpm_dscp_reg::kBytes == 2);
    std::array<std::byte, 2> exact{b(0x80), b(0x0f)};
    const ConstView<qpdpm_dscp_reg> view{std::span<const std::byte>(exact)};
    REQUIRE(view.get<qpdpm_dscp_reg::e>() == 1);
    REQUIRE(view.get<qpdpm_dscp_reg::prio>() == 0xf);
}

TEST_CASE("get_bits and set_bits agree with bit by bit for every offset and width", "[prm]") {
    std::mt19937_64 random(7);
    std::array<std::byte, 24> data{};
    for (std::uint32_t width = 1; width <= 64; ++width) {
        for (std::size_t offset = 0; offset + width <= data.size() * 8; ++offset) {
            for (std::byte& x : data) x = static_cast<std::byte>(random());
            REQUIRE(get_bits(data, offset, width) == slow_get(data, offset, width));
            const auto before = data;
            const std::uint64_t value = random() & field_mask(width);
            set_bits(data, offset, width, value);
            REQUIRE(slow_get(data, offset, width) == value);
            for (std::size_t i = 0; i < data.size() * 8; ++i) {
                if (i >= offset && i < offset + width) continue;
                if (slow_get(data, i, 1) != slow_get(before, i, 1)) FAIL("neighbour changed");
            }
        }
    }
}

TEST_CASE("clear zeroes the tail as well", "[prm]") {
    Buffer<create_cq_in> in(8);
    in.view().set_at<create_cq_in::pas>(0, 1u);
    in.view().set<create_cq_in::opcode>(Opcode::CREATE_CQ);
    in.view().clear();
    REQUIRE(
        std::all_of(in.bytes().begin(), in.bytes().end(), [](std::byte x) { return x == b(0); }));
}
