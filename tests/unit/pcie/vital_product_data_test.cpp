// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/vital_product_data.h"

#include "model/params/config_error.h"
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

/// As pci_vpd_read: address with the flag clear, wait for the flag, data.
std::uint32_t read_vpd(Bench& bench, std::uint16_t address) {
    bench.write(kVpd + 2, 2, address);
    CHECK((bench.read(kVpd + 2, 2) & 0x8000) != 0);
    return bench.read(kVpd + 4, 4);
}

void write_vpd(Bench& bench, std::uint16_t address, std::uint32_t value) {
    bench.write(kVpd + 4, 4, value);
    bench.write(kVpd + 2, 2, 0x8000u | address);
    CHECK((bench.read(kVpd + 2, 2) & 0x8000) == 0);
}

std::string text(const std::vector<std::uint8_t>& bytes, std::size_t from, std::size_t length) {
    return std::string(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                       bytes.begin() + static_cast<std::ptrdiff_t>(from + length));
}

}  // namespace

TEST_CASE("the VPD read through the handshake decodes as lspci decodes it", "[vpd]") {
    Bench bench;
    std::vector<std::uint8_t> bytes;
    for (std::uint16_t at = 0; at < 512; at = static_cast<std::uint16_t>(at + 4)) {
        const std::uint32_t value = read_vpd(bench, at);
        for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> 8 * i));
    }
    REQUIRE(bytes[0] == 0x82);
    const std::size_t name = bytes[1] | bytes[2] << 8;
    CHECK(text(bytes, 3, name) == "CX512A - ConnectX-5 SFP28");

    std::size_t at = 3 + name;
    REQUIRE(bytes[at] == 0x90);
    const std::size_t end = at + 3 + (bytes[at + 1] | static_cast<std::size_t>(bytes[at + 2]) << 8);
    at += 3;
    std::vector<std::pair<std::string, std::string>> fields;
    bool checksum_seen = false;
    while (at < end) {
        const std::string keyword = text(bytes, at, 2);
        const std::size_t length = bytes[at + 2];
        if (keyword == "RV") {
            unsigned sum = 0;
            for (std::size_t i = 0; i <= at + 3; ++i) sum += bytes[i];
            CHECK((sum & 0xff) == 0);
            CHECK(length == 1);
            checksum_seen = true;
        } else {
            fields.emplace_back(keyword, text(bytes, at + 3, length));
        }
        at += 3 + length;
    }
    CHECK(at == end);
    CHECK(checksum_seen);
    REQUIRE(fields.size() == 8);
    CHECK(fields[0] == std::pair<std::string, std::string>{"PN", "MCX512A-ACUT"});
    CHECK(fields[7].second == "MT0000X00000MLNXS0D0F0");
    REQUIRE(bytes[at] == 0x91);
    at += 3 + (bytes[at + 1] | static_cast<std::size_t>(bytes[at + 2]) << 8);
    CHECK(bytes[at] == 0x78);
}

TEST_CASE("each function names itself in VU", "[vpd]") {
    Bench bench;
    CHECK(bench.endpoint.function({1}).config().vpd.read_only[7].value == "MT0000X00000MLNXS0D0F1");
}

TEST_CASE("writes stay in the read-write area and survive resets", "[vpd]") {
    Bench bench;
    const auto& image = bench.endpoint.function({0}).vpd()->image();
    std::uint16_t rw = 0;  // first dword that lies wholly in the free bytes at the end
    rw = static_cast<std::uint16_t>((image.size() - 1 - 16) & ~3u);
    write_vpd(bench, rw, 0xdeadbeef);
    CHECK(read_vpd(bench, rw) == 0xdeadbeef);
    const std::uint32_t first = read_vpd(bench, 0);
    write_vpd(bench, 0, 0);
    CHECK(read_vpd(bench, 0) == first);
    // The end tag is not part of the area.
    write_vpd(bench, static_cast<std::uint16_t>((image.size() - 1) & ~3u), 0);
    CHECK(image.back() == std::byte{0x78});
    bench.endpoint.power_cycle();
    CHECK(read_vpd(bench, rw) == 0xdeadbeef);
}

TEST_CASE("addresses behind the image read zero", "[vpd]") {
    Bench bench;
    CHECK(read_vpd(bench, 0x7ffc) == 0);
    write_vpd(bench, 0x7ffc, 1);
    CHECK(read_vpd(bench, 0x7ffc) == 0);
}

TEST_CASE("a card without end tag and read-write area ends with RV", "[vpd]") {
    VpdConfig config;
    config.product_name = "x";
    config.read_only = {{"PN", "y"}};
    config.reserved_bytes = 2;
    config.end_tag = false;
    const VitalProductData vpd(config);
    // 3 + 1, 3 + (3 + 1) + (3 + 1 + 2)
    REQUIRE(vpd.image().size() == 17);
    CHECK(vpd.image()[13] == std::byte{3});  // RV: checksum and two reserved bytes
}

TEST_CASE("VPD that has no encoding is refused", "[vpd]") {
    const auto refused = [](auto&& change) {
        VpdConfig config;
        change(config);
        CHECK_THROWS_AS(VitalProductData(config), model::ConfigError);
    };
    refused([](VpdConfig& c) { c.read_only = {{"PNX", "1"}}; });
    refused([](VpdConfig& c) { c.read_only = {{"RV", "1"}}; });
    refused([](VpdConfig& c) { c.read_only = {{"PN", std::string(256, 'x')}}; });
    refused([](VpdConfig& c) { c.product_name = std::string(65536, 'x'); });
    refused([](VpdConfig& c) { c.reserved_bytes = 255; });
    refused([](VpdConfig& c) { c.writable_bytes = 256; });
}
