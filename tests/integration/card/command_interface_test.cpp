// SPDX-License-Identifier: Apache-2.0
#include "model/base/endian.h"
#include "tests/integration/card/card_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace cxsim;
using namespace cxsim::test;
using prm::DeliveryStatus;
using prm::Opcode;
using scenarios::PreparedCommand;

namespace {

template <class In>
std::vector<std::byte> input(Opcode opcode, std::uint32_t op_mod = 0) {
    prm::Buffer<In> in;
    in.view().template set<typename In::opcode>(opcode);
    in.view().template set<typename In::op_mod>(op_mod);
    return {in.bytes().begin(), in.bytes().end()};
}

void poke(const PreparedCommand& command, model::HostAddress base, std::uint64_t offset,
          std::initializer_list<unsigned> bytes) {
    std::vector<std::byte> data;
    for (const unsigned byte : bytes) data.push_back(static_cast<std::byte>(byte));
    command.memory.store(base + offset, data);
}

struct SlotOrder : scenarios::TapListener {
    void command_ended(const firmware_stub::CommandReport& report, std::uint32_t) override {
        slots.push_back(report.slot);
    }
    std::vector<std::uint32_t> slots;
};

/// A command with an input and an output mailbox, spoilt; how it was delivered.
DeliveryStatus delivery_of(CardBench& bench, const scenarios::Spoil& spoil) {
    std::vector<std::byte> in(64);
    model::store_be<std::uint16_t>(in.data(), static_cast<std::uint16_t>(Opcode::QUERY_ADAPTER));
    auto& port = bench.driver.commands();
    return port.wait(port.submit(in, prm::query_adapter_out::kBytes, spoil)).delivery;
}

}  // namespace

TEST_CASE("many commands run at once and end out of order, each with its own answer", "[card]") {
    CardBench bench;
    bench.driver.start();
    bench.driver.open_events();
    SlotOrder order;
    bench.tap.add(order);
    auto& port = bench.driver.commands();
    std::uint32_t vector = 0;
    for (std::uint32_t slot = 0; slot < 16; ++slot) {
        switch (slot % 4) {
            case 0:
                port.prepare(slot, input<prm::alloc_pd_in>(Opcode::ALLOC_PD), 16);
                break;
            case 1:
                port.prepare(slot, input<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP, 1), 4112);
                break;
            case 2:
                port.prepare(slot, input<prm::query_issi_in>(Opcode::QUERY_ISSI), 112);
                break;
            default:  // no such opcode: refused at once
                port.prepare(slot, std::vector<std::byte>(16, std::byte{0x7f}), 16);
                break;
        }
        vector |= 1U << slot;
    }
    port.ring(vector);
    bench.host.wait_for(model::microseconds(2));
    CHECK(bench.function().commands().in_flight() == 16);
    std::vector<std::uint32_t> domains;
    for (std::uint32_t slot = 0; slot < 16; ++slot) {
        const scenarios::CommandResult result = port.wait(slot);
        CHECK(result.delivery == DeliveryStatus::OK);
        switch (slot % 4) {
            case 0:
                REQUIRE(result.ok());
                domains.push_back(
                    prm::ConstView<prm::alloc_pd_out>(result.output).get<prm::alloc_pd_out::pd>());
                break;
            case 1:
                REQUIRE(result.ok());
                CHECK(prm::ConstView<prm::cmd_hca_cap>(std::span(result.output).subspan(16))
                          .get<prm::cmd_hca_cap::log_max_qp>() > 0);
                break;
            case 2:
                REQUIRE(result.ok());
                CHECK(prm::ConstView<prm::query_issi_out>(result.output)
                          .get<prm::query_issi_out::supported_issi_dw0>() == 3);
                break;
            default:
                CHECK(result.status() == prm::Status::BAD_OP);
                break;
        }
    }
    std::ranges::sort(domains);
    CHECK(std::ranges::adjacent_find(domains) == domains.end());
    REQUIRE(order.slots.size() == 16);
    CHECK_FALSE(std::ranges::is_sorted(order.slots));
}

TEST_CASE("every slot is used and one more command is refused by the driver", "[card]") {
    CardBench bench;
    bench.driver.start();
    auto& port = bench.driver.commands();
    REQUIRE(port.slots() == 32);
    for (int i = 0; i < 32; ++i) port.submit(input<prm::alloc_pd_in>(Opcode::ALLOC_PD), 16);
    CHECK_THROWS_AS(port.submit(input<prm::alloc_pd_in>(Opcode::ALLOC_PD), 16),
                    scenarios::DriverError);
    for (std::uint32_t slot = 0; slot < 32; ++slot) CHECK(port.wait(slot).ok());
    CHECK(bench.function().resources().pds.size() == 32);
}

TEST_CASE("a malformed command is not delivered and says why", "[card]") {
    CardBench bench;
    bench.driver.start();
    using Command = PreparedCommand;
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.entry, 0, {0x6}); }) ==
          DeliveryStatus::CMD_DESCR_ERR);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.entry, 1, {0x1}); }) ==
          DeliveryStatus::RES_FLD_NOT_CLR_ERR);
    CHECK(delivery_of(bench, [](const Command& c) {
              poke(c, c.entry, 4, {0, 0, 0, 4});
          }) == DeliveryStatus::IN_LENGTH_ERR);
    CHECK(delivery_of(bench, [](const Command& c) {
              poke(c, c.entry, 4, {0xff, 0, 0, 0});
          }) == DeliveryStatus::IN_LENGTH_ERR);
    CHECK(delivery_of(bench, [](const Command& c) {
              poke(c, c.entry, 56, {0, 0, 0, 4});
          }) == DeliveryStatus::OUT_LENGTH_ERR);
    CHECK(delivery_of(bench, [](const Command& c) {
              poke(c, c.entry, 8, {0, 0, 0, 0, 0, 0, 0, 0});  // no input mailbox
          }) == DeliveryStatus::IN_PTR_ALIGN_ERR);
    CHECK(delivery_of(bench, [](const Command& c) {
              poke(c, c.entry, 48, {0, 0, 0, 0, 0, 0, 0, 0});  // no output mailbox
          }) == DeliveryStatus::OUT_PTR_ALIGN_ERR);
    CHECK(delivery_of(bench, [](const Command& c) {
              poke(c, c.entry, 8, {0, 0, 0, 0, 0, 0, 0x10, 0});  // where no memory is
          }) == DeliveryStatus::IN_PTR_ALIGN_ERR);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.input_boxes[0], 573, {0xee}); }) ==
          DeliveryStatus::TOK_ERR);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.output_boxes[0], 573, {0xee}); }) ==
          DeliveryStatus::TOK_ERR);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.input_boxes[0], 571, {9}); }) ==
          DeliveryStatus::BAD_BLK_NUM);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.output_boxes[0], 571, {9}); }) ==
          DeliveryStatus::BAD_BLK_NUM);
    CHECK(bench.function().commands().counters().delivery_errors == 12);
    // Nothing of it stays: the next one is delivered.
    CHECK(delivery_of(bench, {}) == DeliveryStatus::OK);
}

TEST_CASE("a chain that ends too early is an error of its pointer", "[card]") {
    CardBench bench;
    bench.driver.start();
    std::vector<std::byte> in(2000);
    model::store_be<std::uint16_t>(in.data(), static_cast<std::uint16_t>(Opcode::MANAGE_PAGES));
    auto& port = bench.driver.commands();
    const auto result = port.wait(port.submit(in, 16, [](const PreparedCommand& c) {
        REQUIRE(c.input_boxes.size() == 4);
        poke(c, c.input_boxes[1], 560, {0, 0, 0, 0, 0, 0, 0, 0});
    }));
    CHECK(result.delivery == DeliveryStatus::IN_PTR_ALIGN_ERR);
}

TEST_CASE("signatures are made and checked once the driver has switched them on", "[card]") {
    CardBench bench("connectx5", {}, {.signatures = true});
    bench.bring_up.up();  // every answer's signatures are checked by the driver
    using Command = PreparedCommand;
    CHECK(delivery_of(bench, {}) == DeliveryStatus::OK);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.entry, 61, {0x5a}); }) ==
          DeliveryStatus::SIGNAT_ERR);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.input_boxes[0], 0, {0x5a}); }) ==
          DeliveryStatus::SIGNAT_ERR);
    CHECK(delivery_of(bench, [](const Command& c) { poke(c, c.input_boxes[0], 574, {0x5a}); }) ==
          DeliveryStatus::SIGNAT_ERR);
    CHECK(delivery_of(bench, {}) == DeliveryStatus::OK);
    bench.bring_up.down();
    CHECK(bench.objects() == 0);
}

TEST_CASE("the card asks for pages when it runs low and the driver gives them", "[card]") {
    // Boot and init pages leave less than a handful above the low water mark.
    CardBench bench("connectx5", {{"timing.pages.boot", "4"},
                                  {"timing.pages.init", "8"},
                                  {"timing.pages.low_water", "6"},
                                  {"timing.pages.high_water", "10"}});
    bench.driver.start();
    bench.driver.open_events();
    const std::uint32_t before = bench.pages();
    std::vector<std::uint32_t> keys;
    for (int i = 0; i < 400; ++i) {
        const auto out = bench.driver.run<prm::create_mkey_in, prm::create_mkey_out>(
            Opcode::CREATE_MKEY, [](auto in) {
                in.template set<prm::create_mkey_in::memory_key_mkey_entry, prm::mkc::length64>(1U);
            });
        keys.push_back(out.view().get<prm::create_mkey_out::mkey_index>());
    }
    CHECK(bench.driver.page_requests() > 0);
    CHECK(bench.pages() > before);
    CHECK(bench.pages() == bench.driver.pages().held());
    const std::uint32_t most = bench.pages();
    for (const std::uint32_t key : keys) {
        bench.driver.run<prm::destroy_mkey_in, prm::destroy_mkey_out>(
            Opcode::DESTROY_MKEY,
            [&](auto in) { in.template set<prm::destroy_mkey_in::mkey_index>(key); });
    }
    CHECK(bench.pages() < most);  // the surplus was offered and taken back
    CHECK(bench.pages() == bench.driver.pages().held());
    bench.driver.close_events();
    bench.driver.stop();
    CHECK(bench.pages() == 0);
    CHECK(bench.driver.pages().held() == 0);
}
