// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/config_space.h"

#include "model/params/config_error.h"
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

void put(ConfigSpace& space, std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    space.write(offset, {reinterpret_cast<const std::byte*>(&value), bytes});
}

ConfigSpace one_register(const Register& row, std::uint32_t initial) {
    ConfigSpace space;
    space.declare(0x40, std::array{row});
    space.initialize(0x40, 4, initial);
    return space;
}

}  // namespace

TEST_CASE("bits without a declared access kind are read-only", "[config]") {
    ConfigSpace space = one_register({.offset = 0, .bytes = 4, .name = "r", .rw = 0x0ff0}, 0xa005);
    put(space, 0x40, 4, 0xffffffff);
    CHECK(space.get(0x40, 4) == 0xaff5);
    put(space, 0x44, 4, 0xffffffff);
    CHECK(space.get(0x44, 4) == 0);
}

TEST_CASE("writing one clears a RW1C bit and writing zero does not", "[config]") {
    ConfigSpace space = one_register({.offset = 0, .bytes = 4, .name = "r", .rw1c = 0xff}, 0);
    space.set(0x40, 4, 0xf0);
    put(space, 0x40, 4, 0x10);
    CHECK(space.get(0x40, 4) == 0xe0);
    put(space, 0x40, 4, 0x00);
    CHECK(space.get(0x40, 4) == 0xe0);
}

TEST_CASE("a byte write changes one byte of a register", "[config]") {
    ConfigSpace space =
        one_register({.offset = 0, .bytes = 4, .name = "r", .rw = 0xffffffff}, 0x11223344);
    put(space, 0x42, 1, 0xee);
    CHECK(space.get(0x40, 4) == 0x11ee3344);
}

TEST_CASE("sticky bits survive a conventional reset but no power cycle", "[config]") {
    const Register row{.offset = 0, .bytes = 4, .name = "r", .rw = 0xffff, .sticky = 0x00ff};
    ConfigSpace space = one_register(row, 0x1234);
    put(space, 0x40, 2, 0xffff);
    space.reset(ConfigReset::conventional);
    CHECK(space.get(0x40, 4) == 0x12ff);
    space.reset(ConfigReset::power_on);
    CHECK(space.get(0x40, 4) == 0x1234);
}

TEST_CASE("bits kept by FLR survive FLR and no conventional reset", "[config]") {
    const Register row{.offset = 0, .bytes = 4, .name = "r", .rw = 0xffff, .flr_keeps = 0xe0};
    ConfigSpace space = one_register(row, 0);
    put(space, 0x40, 2, 0xffff);
    space.reset(ConfigReset::function_level);
    CHECK(space.get(0x40, 4) == 0xe0);
    space.reset(ConfigReset::conventional);
    CHECK(space.get(0x40, 4) == 0);
}

TEST_CASE("the capability chain is the one of real ConnectX cards", "[config]") {
    Bench bench;
    // Dumps: pointer 0x60, then 0x48, 0x9c, 0xc0, 0x40; ids 10 03 11 09 01.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::uint32_t at = bench.read(0x34, 1); at != 0 && seen.size() < 48;
         at = bench.read(static_cast<std::uint16_t>(at + 1), 1)) {
        seen.emplace_back(at, bench.read(static_cast<std::uint16_t>(at), 1));
    }
    CHECK(seen == std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                      {0x60, 0x10}, {0x48, 0x03}, {0x9c, 0x11}, {0xc0, 0x09}, {0x40, 0x01}});
    CHECK((bench.read(0x06, 2) & 0x10) != 0);
}

TEST_CASE("the extended list holds what the data lists, per function", "[config]") {
    Bench bench;
    const auto list = [&](std::uint16_t function) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;
        for (std::uint32_t at = 0x100; at != 0 && seen.size() < 64;) {
            const std::uint32_t header = bench.read(static_cast<std::uint16_t>(at), 4, function);
            seen.emplace_back(at, header & 0xffff);
            at = header >> 20;
        }
        return seen;
    };
    using List = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    CHECK(list(0) ==
          List{{0x100, 1}, {0x150, 0xe}, {0x180, 0x10}, {0x1c0, 0x19}, {0x230, 0xd}, {0x250, 3}});
    // Secondary PCI Express is on the lowest function only.
    CHECK(list(1) == List{{0x100, 1}, {0x150, 0xe}, {0x180, 0x10}, {0x230, 0xd}, {0x250, 3}});
    CHECK(bench.read(0x254, 4) == 0x00a1b2c3);
    CHECK(bench.read(0x258, 4) == 0x0c42a103);
}

TEST_CASE("the link layer structures of a ConnectX-7 link into the list", "[config]") {
    using enum CapabilityKind;
    EndpointConfig config = connectx5(1);
    FunctionConfig& f = config.functions[0];
    f.link = {.max_generation = LinkGeneration::gen5,
              .max_width = 16,
              .generation = LinkGeneration::gen5,
              .width = 16,
              .retimer_presence_detect = true};
    f.extended_capabilities = {{advanced_error_reporting, 0x100},
                               {alternative_routing_id, 0x150},
                               {sriov, 0x180},
                               {secondary_pci_express, 0x1c0},
                               {precision_time_measurement, 0x240},
                               {lane_margining, 0x320},
                               {physical_layer_16gt, 0x370},
                               {physical_layer_32gt, 0x3b0},
                               {data_link_feature, 0x420}};
    Bench bench(config);
    CHECK((bench.read(0x240, 4) & 0xffff) == 0x1f);
    CHECK(bench.read(0x244, 4) == 1);  // requester
    CHECK((bench.read(0x320, 4) & 0xffff) == 0x27);
    CHECK((bench.read(0x370, 4) & 0xffff) == 0x26);
    CHECK((bench.read(0x3b0, 4) & 0xffff) == 0x2a);
    CHECK((bench.read(0x420, 4) & 0xffff) == 0x25);
    CHECK(bench.read(kExpress + 0x2c, 4) == (0x3e | 0x3u << 23));  // 2.5 to 32 GT/s, retimers
}

TEST_CASE("a first extended capability elsewhere than at 0x100 is refused", "[config]") {
    FunctionConfig f = connectx5_function();
    f.extended_capabilities = {{CapabilityKind::advanced_error_reporting, 0x110}};
    CHECK_THROWS_AS(check_function_config(f), model::ConfigError);
}

TEST_CASE("bad function data is refused with the key", "[config]") {
    const auto key_of = [](auto&& change) {
        FunctionConfig f = connectx5_function();
        change(f);
        try {
            check_function_config(f);
        } catch (const model::ConfigError& e) {
            return e.key();
        }
        return std::string("accepted");
    };
    CHECK(key_of([](FunctionConfig&) {}) == "accepted");
    CHECK(key_of([](FunctionConfig& f) { f.bar0_log2 = 11; }) == "bar0_log2");
    CHECK(key_of([](FunctionConfig& f) { f.rom_log2 = 10; }) == "rom_log2");
    CHECK(key_of([](FunctionConfig& f) { f.class_code = 0x1000000; }) == "class_code");
    CHECK(key_of([](FunctionConfig& f) { f.express.max_payload = 384; }) == "express.max_payload");
    CHECK(key_of([](FunctionConfig& f) { f.link.width = 16; }) == "link.width");
    CHECK(key_of([](FunctionConfig& f) { f.link.generation = LinkGeneration::gen4; }) ==
          "link.generation");
    CHECK(key_of([](FunctionConfig& f) { f.msix.vectors = 4096; }) == "msix.vectors");
    // 512 vectors of 16 bytes from 0x2000 reach to 0x4000, over the PBA at 0x3000.
    CHECK(key_of([](FunctionConfig& f) { f.msix.vectors = 512; }) == "msix");
    CHECK(key_of([](FunctionConfig& f) { f.capabilities[1].offset = 0x64; }) == "capabilities");
    CHECK(key_of([](FunctionConfig& f) { f.capabilities[1].offset = 0x42; }) == "capabilities");
    CHECK(key_of([](FunctionConfig& f) {
              f.capabilities.push_back({CapabilityKind::sriov, 0xe0});
          }) == "capabilities");
    CHECK(key_of([](FunctionConfig& f) { f.extended_capabilities[2].offset = 0x120; }) ==
          "extended_capabilities");
}

TEST_CASE("an endpoint needs its physical functions first", "[config]") {
    EndpointConfig config = connectx5(1);
    FunctionConfig vf = virtual_function(config.functions[0], {0}, 12);
    model::Calendar calendar;
    SECTION("none at all") {
        config.functions.clear();
        CHECK_THROWS_AS(Endpoint("e", calendar, config, ideal_host()), model::ConfigError);
    }
    SECTION("a VF at 0") {
        config.functions.insert(config.functions.begin(), vf);
        CHECK_THROWS_AS(Endpoint("e", calendar, config, ideal_host()), model::ConfigError);
    }
    SECTION("a VF of a VF") {
        config.functions.push_back(vf);
        vf.physical_function = {1};
        config.functions.push_back(vf);
        CHECK_THROWS_AS(Endpoint("e", calendar, config, ideal_host()), model::ConfigError);
    }
}
