// SPDX-License-Identifier: Apache-2.0
// A card's firmware on a fake host, brought up as a driver does, and commands run against it
// directly: without command queue, mailboxes or time.
#pragma once

#include "firmware_stub/boot/firmware.h"
#include "firmware_stub/commands/common.h"
#include "model/params/card_data.h"
#include "tests/support/fake_host_bus.h"

#include <catch2/catch_test_macros.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::test {

/// What a command answered.
template <class Out>
struct Answer {
    firmware_stub::Reply reply;
    prm::Buffer<Out> out;

    bool ok() const { return reply.ok(); }
    template <class... Path>
    auto get() const {
        return out.view().template get<Path...>();
    }
};

/// True if a command was refused so, in its output too, and with nothing else in it.
template <class Out>
bool refused(const Answer<Out>& answer, prm::Status status, std::uint32_t syndrome = 0) {
    const auto bytes = answer.out.bytes();
    bool rest_zero = true;
    for (std::size_t i = 8; i < bytes.size(); ++i) rest_zero &= bytes[i] == std::byte{0};
    return status != prm::Status::OK && answer.reply.status == status &&
           answer.reply.syndrome == syndrome && !answer.reply.reason.empty() &&
           bytes[0] == static_cast<std::byte>(status) &&
           model::load_be<std::uint32_t>(bytes.data() + 4) == syndrome && rest_zero;
}

/// "capabilities.<layout>.<member>=<value>" for a card with another capability.
inline std::vector<model::Override> capability(
    std::initializer_list<std::pair<std::string, std::string>> values) {
    std::vector<model::Override> overrides;
    for (const auto& [path, value] : values) overrides.push_back({"capabilities." + path, value});
    return overrides;
}

class FirmwareBench {
  public:
    static constexpr std::uint64_t kQueueMemory = 0x10000000;  ///< page lists of helpers start here

    explicit FirmwareBench(std::string_view card_name = "connectx5",
                           std::vector<model::Override> overrides = {})
        : card(model::load_shared_card(card_name, {{}, std::move(overrides)})),
          config(make_config(*card)),
          firmware(config, host, calendar) {
        using prm::Opcode;
        auto enable = input<prm::enable_hca_in>(Opcode::ENABLE_HCA);
        REQUIRE(run<prm::enable_hca_out>(enable).ok());
        const std::uint32_t pages = config.pages.boot + config.pages.init;
        auto give = input<prm::manage_pages_in>(Opcode::MANAGE_PAGES, 1, pages * 8);
        give.view().set<prm::manage_pages_in::input_num_entries>(pages);
        for (std::uint32_t i = 0; i < pages; ++i) {
            give.view().set_at<prm::manage_pages_in::pas>(i, (i + 1) * 4096ULL);
        }
        REQUIRE(run<prm::manage_pages_out>(give).ok());
        auto init = input<prm::init_hca_in>(Opcode::INIT_HCA);
        REQUIRE(run<prm::init_hca_out>(init).ok());
    }

    firmware_stub::FunctionState& function() { return firmware.function(model::FunctionId{0}); }
    model::Resources& resources() { return function().resources(); }
    /// Equal when no object came, went or changed.
    std::uint64_t digest() { return resources().digest(); }

    /// An input with opcode and op_mod filled in.
    template <class In>
    static prm::Buffer<In> input(prm::Opcode opcode, std::uint32_t op_mod = 0,
                                 std::size_t tail_bytes = 0) {
        prm::Buffer<In> in(tail_bytes);
        in.view().template set<typename In::opcode>(opcode);
        in.view().template set<typename In::op_mod>(op_mod);
        return in;
    }

    template <class Out, class In>
    Answer<Out> run(const prm::Buffer<In>& in, std::size_t output_tail_bytes = 0) {
        Answer<Out> answer{{}, prm::Buffer<Out>(output_tail_bytes)};
        firmware_stub::CommandContext context{firmware, function(), calendar.now()};
        answer.reply = firmware_stub::run_command(context, in.bytes(), answer.out.bytes());
        return answer;
    }

    // ---- The objects that most commands refer to; each must succeed ----

    std::uint32_t alloc_uar() {
        const auto answer =
            run<prm::alloc_uar_out>(input<prm::alloc_uar_in>(prm::Opcode::ALLOC_UAR));
        REQUIRE(answer.ok());
        return answer.get<prm::alloc_uar_out::uar>();
    }
    std::uint32_t alloc_pd() {
        const auto answer = run<prm::alloc_pd_out>(input<prm::alloc_pd_in>(prm::Opcode::ALLOC_PD));
        REQUIRE(answer.ok());
        return answer.get<prm::alloc_pd_out::pd>();
    }
    std::uint32_t alloc_xrcd() {
        const auto answer =
            run<prm::alloc_xrcd_out>(input<prm::alloc_xrcd_in>(prm::Opcode::ALLOC_XRCD));
        REQUIRE(answer.ok());
        return answer.get<prm::alloc_xrcd_out::xrcd>();
    }
    std::uint32_t create_eq(std::uint32_t uar) {
        using In = prm::create_eq_in;
        auto in = input<In>(prm::Opcode::CREATE_EQ, 0, 8);
        in.view().set<In::eq_context_entry, prm::eqc::log_eq_size>(6U);
        in.view().set<In::eq_context_entry, prm::eqc::uar_page>(uar);
        in.view().set_at<In::pas>(0, kQueueMemory);
        const auto answer = run<prm::create_eq_out>(in);
        REQUIRE(answer.ok());
        return answer.get<prm::create_eq_out::eq_number>();
    }
    /// 64 CQEs of 64 bytes.
    static prm::Buffer<prm::create_cq_in> cq_input(std::uint32_t uar, std::uint32_t eqn) {
        using In = prm::create_cq_in;
        auto in = input<In>(prm::Opcode::CREATE_CQ, 0, 8);
        const auto context = in.view().nested<In::cq_context>();
        context.set<prm::cqc::log_cq_size>(6U);
        context.set<prm::cqc::uar_page>(uar);
        context.set<prm::cqc::c_eqn_or_apu_element>(eqn);
        context.set<prm::cqc::dbr_addr>(kQueueMemory + 0x1000);
        in.view().set_at<In::pas>(0, kQueueMemory + 0x2000);
        return in;
    }
    std::uint32_t create_cq(std::uint32_t uar, std::uint32_t eqn) {
        const auto answer = run<prm::create_cq_out>(cq_input(uar, eqn));
        REQUIRE(answer.ok());
        return answer.get<prm::create_cq_out::cqn>();
    }

    /// As MODIFY_NIC_VPORT_CONTEXT does.
    void set_roce_enabled(bool enabled) {
        function().vport().context.view().set<prm::nic_vport_context::roce_en>(enabled);
    }

    model::Calendar calendar;
    FakeHostBus host;
    std::shared_ptr<const model::CardData> card;
    firmware_stub::FirmwareConfig config;
    firmware_stub::Firmware firmware;

  private:
    static firmware_stub::FirmwareConfig make_config(const model::CardData& card) {
        constexpr std::uint64_t kBarBytes = 32ULL << 20;
        firmware_stub::FirmwareConfig config;
        config.psid = "MT_0000000000";
        config.device_id = 0x1017;
        config.node_guid = 0x0c42a10300123456;
        config.system_image_guid = 0x0c42a10300123456;
        config.base_mac = {0x0c, 0x42, 0xa1, 0x12, 0x34, 0x56};
        config.capabilities = &card.capabilities();
        config.limits = firmware_stub::limits_from(card.capabilities(), kBarBytes);
        config.interrupt_vectors = 64;
        config.pages = {4, 4, 0, 1U << 20};
        return config;
    }
};

/// One way to spoil a good input, and how it is refused.
template <class In>
struct Refusal {
    const char* name;
    void (*spoil)(prm::View<In>);
    prm::Status status;
    std::uint32_t syndrome = 0;
};

/// Each spoilt copy of `good` is refused as told and leaves no trace; `good` itself is not run.
template <class Out, class In>
void check_refusals(FirmwareBench& bench, const prm::Buffer<In>& good,
                    std::initializer_list<Refusal<In>> refusals) {
    const std::uint64_t before = bench.digest();
    for (const Refusal<In>& refusal : refusals) {
        INFO(refusal.name);
        prm::Buffer<In> spoilt = good;
        refusal.spoil(spoilt.view());
        const auto answer = bench.run<Out>(spoilt);
        CAPTURE(answer.reply.status, answer.reply.syndrome, answer.reply.reason);
        CHECK(refused(answer, refusal.status, refusal.syndrome));
        CHECK(bench.digest() == before);
    }
}

}  // namespace cxsim::test
