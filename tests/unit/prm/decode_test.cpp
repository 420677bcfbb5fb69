// SPDX-License-Identifier: Apache-2.0
#include "model/prm/decode.h"

#include "model/prm/view.h"
#include "prm/layouts.h"
#include "prm/opcodes.h"

#include <catch2/catch_test_macros.hpp>

#include <random>

using namespace cxsim::prm;
using Json = nlohmann::ordered_json;

namespace {

Buffer<create_cq_in> example() {
    Buffer<create_cq_in> in(16);
    in.view().set<create_cq_in::opcode>(Opcode::CREATE_CQ);
    in.view().set<create_cq_in::cq_context, cqc::log_cq_size>(10);
    in.view().set<create_cq_in::cq_context, cqc::dbr_addr>(0xfedcba9876543210u);
    in.view().set_at<create_cq_in::pas>(0, 0x1000u);
    in.view().set_at<create_cq_in::pas>(1, 0x2000u);
    return in;
}

std::string encode_error(std::string_view layout, const char* json) {
    return encode(*find_layout(layout), Json::parse(json)).error;
}

}  // namespace

TEST_CASE("text shows members that are not zero, by name and indented", "[prm]") {
    const auto in = example();
    CHECK(to_text(layout_info<create_cq_in>(), in.bytes()) ==
          "opcode: 0x400\n"
          "cq_context:\n"
          "  log_cq_size: 0xa\n"
          "  dbr_addr: 0xfedcba9876543210\n"
          "pas[0]: 0x1000\n"
          "pas[1]: 0x2000\n");
}

TEST_CASE("text indents and cuts long arrays", "[prm]") {
    const auto in = example();
    DecodeOptions options;
    options.max_elements = 1;
    const std::string text = to_text(layout_info<create_cq_in>(), in.bytes(), options, 4);
    CHECK(text.starts_with("    opcode: 0x400\n"));
    CHECK(text.ends_with("    pas[0]: 0x1000\n    pas: 1 more\n"));
}

TEST_CASE("JSON has numbers, or hexadecimal strings if asked", "[prm]") {
    const auto in = example();
    const LayoutInfo& layout = layout_info<create_cq_in>();
    const Json json = to_json(layout, in.bytes());
    CHECK(json["opcode"] == 0x400);
    CHECK(json["cq_context"]["dbr_addr"] == 0xfedcba9876543210u);
    CHECK(json["pas"] == Json::array({0x1000, 0x2000}));
    CHECK_FALSE(json.contains("op_mod"));
    DecodeOptions all;
    all.omit_zero = false;
    all.hex = true;
    CHECK(to_json(layout, in.bytes(), all)["op_mod"] == "0x0");
    CHECK_FALSE(to_json(layout, in.bytes(), all).contains("reserved_at_20"));
}

TEST_CASE("reserved members show when a bit is set", "[prm]") {
    auto in = example();
    set_bits(in.bytes(), 32, 16, 5);
    CHECK(to_json(layout_info<create_cq_in>(), in.bytes())["reserved_at_20"] == 5);
}

TEST_CASE("data that ends early decodes as far as it goes", "[prm]") {
    const auto in = example();
    for (std::size_t size = 0; size <= in.bytes().size(); ++size) {
        DecodeOptions all;
        all.omit_zero = false;
        const Json json = to_json(layout_info<create_cq_in>(),
                                  std::span<const std::byte>(in.bytes()).first(size), all);
        CHECK(json.contains("opcode") == (size >= 2));
        CHECK(json.contains("op_mod") == (size >= 8));
        CHECK(json.contains("pas") == (size >= create_cq_in::kBytes + 8));
    }
}

TEST_CASE("of a union only the chosen member is shown", "[prm]") {
    Buffer<eqe> entry;
    entry.view().set<eqe::event_data, event_auto::comp_event, comp_event::cq_number>(0x42);
    const std::string_view chosen[] = {"comp_event"};
    DecodeOptions options;
    options.union_members = chosen;
    CHECK(to_json(layout_info<eqe>(), entry.bytes(), options)["event_data"] ==
          Json::parse(R"({"comp_event": {"cq_number": 66}})"));
    CHECK(to_json(layout_info<eqe>(), entry.bytes())["event_data"].size() > 1);
}

TEST_CASE("decode and encode are inverse for every layout and random bits", "[prm]") {
    std::mt19937_64 random(11);
    for (const LayoutInfo& layout : all_layouts()) {
        for (const bool hex : {false, true}) {
            for (const bool sparse : {false, true}) {
                // A tail of 192 bytes holds whole elements of all sizes that the header has.
                std::vector<std::byte> data(layout.bytes() + (layout.has_tail ? 192u : 0u));
                for (std::byte& x : data) {
                    if (!sparse || random() % 16 == 0) x = static_cast<std::byte>(random());
                }
                DecodeOptions options;
                options.hex = hex;
                options.omit_zero = sparse;
                const Json json = to_json(layout, data, options);
                const Encoded back = encode(layout, json);
                INFO(layout.name);
                REQUIRE(back.error == "");
                // Zero bytes at the end of a tail may be missing.
                auto padded = back.data;
                REQUIRE(padded.size() <= data.size());
                padded.resize(data.size());
                if (padded != data) {
                    // Only bytes of a tail that make no whole element may differ.
                    padded.resize(layout.bytes());
                    data.resize(layout.bytes());
                    REQUIRE(layout.has_tail);
                    REQUIRE(padded == data);
                }
            }
        }
    }
}

TEST_CASE("encode takes numbers, strings and booleans", "[prm]") {
    const auto result = encode(layout_info<create_cq_in>(), Json::parse(R"({
        "opcode": "0x400", "uid": "7", "cq_context": {"cc": true, "log_cq_size": 5},
        "pas": ["0xffffffffffffffff"]})"));
    REQUIRE(result);
    const ConstView<create_cq_in> view{std::span<const std::byte>(result.data)};
    CHECK(view.get<create_cq_in::opcode>() == 0x400);
    CHECK(view.get<create_cq_in::uid>() == 7);
    CHECK(view.get<create_cq_in::cq_context, cqc::cc>() == 1);
    CHECK(view.at<create_cq_in::pas>(0) == ~std::uint64_t{0});
}

TEST_CASE("encode names what is wrong", "[prm]") {
    CHECK(encode_error("create_cq_in", R"({"nothing": 1})") ==
          "nothing: unknown field of create_cq_in");
    CHECK(encode_error("create_cq_in", R"({"cq_context": {"nothing": 1}})") ==
          "cq_context.nothing: unknown field of cqc");
    CHECK(encode_error("create_cq_in", R"({"opcode": 65536})") ==
          "opcode: 0x10000 does not fit into 16 bits");
    CHECK(encode_error("create_cq_in", R"({"opcode": -1})") != "");
    CHECK(encode_error("create_cq_in", R"({"opcode": 1.5})") != "");
    CHECK(encode_error("create_cq_in", R"({"opcode": "0xg"})") != "");
    CHECK(encode_error("create_cq_in", R"({"opcode": "0x"})") != "");
    CHECK(encode_error("create_cq_in", R"({"opcode": ""})") != "");
    CHECK(encode_error("create_cq_in", R"({"opcode": {}})") != "");
    CHECK(encode_error("create_cq_in", R"({"cq_context": 1})") == "cq_context: is not an object");
    CHECK(encode_error("create_cq_in", R"({"pas": 1})") == "pas: is not an array");
    CHECK(encode_error("create_cq_in", R"({"pas": [1, {}]})").starts_with("pas[1]: "));
    CHECK(encode_error("create_cq_in", "[]") == "input: is not an object");
    CHECK(encode_error("cmd_queue_entry", R"({"command_input_inline_data": "0"})") != "");
    CHECK(encode_error("cmd_queue_entry",
                       R"({"command_input_inline_data": [1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7]})") ==
          "command_input_inline_data: has 17 elements, at most 16");
    CHECK(encode_error("wrapped_dek", R"({"auth_tag": 1})") ==
          "auth_tag: is not a \"0x...\" string");
    CHECK(encode_error("wrapped_dek", R"({"auth_tag": "0x100000000000000000000000000000000"})") ==
          "auth_tag: does not fit into 128 bits");
}

TEST_CASE("members of a union that contradict each other are refused", "[prm]") {
    CHECK(encode_error("cqe64", R"({"immediate": 5, "pkey": 5})") == "");
    CHECK(encode_error("cqe64", R"({"immediate": 5, "pkey": 6})") ==
          "pkey: contradicts another member of the same place");
}

TEST_CASE("encode_into keeps what is not given and does not grow", "[prm]") {
    auto in = example();
    const LayoutInfo& layout = layout_info<create_cq_in>();
    CHECK(encode_into(layout, Json::parse(R"({"uid": 3, "pas": [9]})"), in.bytes()) == "");
    CHECK(in.view().get<create_cq_in::uid>() == 3);
    CHECK(in.view().get<create_cq_in::opcode>() == 0x400);
    CHECK(in.view().at<create_cq_in::pas>(0) == 9);
    CHECK(in.view().at<create_cq_in::pas>(1) == 0x2000);
    const std::vector<std::byte> before(in.bytes().begin(), in.bytes().end());
    CHECK(encode_into(layout, Json::parse(R"({"uid": 4, "pas": [1, 2, 3]})"), in.bytes()) ==
          "pas[2]: does not fit into the buffer");
    CHECK(std::equal(before.begin(), before.end(), in.bytes().begin()));
}

TEST_CASE("wide numbers are right-aligned and replace the whole field", "[prm]") {
    Buffer<wrapped_dek> dek;
    for (std::byte& x : dek.view().bytes<wrapped_dek::auth_tag>()) x = std::byte{0xff};
    REQUIRE(encode_into(layout_info<wrapped_dek>(), Json::parse(R"({"auth_tag": "0x1f"})"),
                        dek.bytes()) == "");
    CHECK(to_json(layout_info<wrapped_dek>(), dek.bytes())["auth_tag"] ==
          "0x0000000000000000000000000000001f");
}
