// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

#include <catch2/generators/catch_generators_range.hpp>

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::Phase;
using prm::HcaCapMode;
using prm::HcaCapType;
using prm::Opcode;
using prm::Status;

namespace {

template <class In, class Out>
Answer<Out> simple(FirmwareBench& bench, Opcode opcode, std::uint32_t op_mod = 0) {
    return bench.run<Out>(FirmwareBench::input<In>(opcode, op_mod));
}

Answer<prm::enable_hca_out> enable(FirmwareBench& bench) {
    return simple<prm::enable_hca_in, prm::enable_hca_out>(bench, Opcode::ENABLE_HCA);
}

// The function as a driver finds it after ENABLE_HCA.
struct EnabledBench : FirmwareBench {
    explicit EnabledBench(std::string_view card_name = "connectx5",
                          std::vector<model::Override> overrides = {})
        : FirmwareBench(card_name, std::move(overrides)) {
        REQUIRE(enable(*this).ok());
    }
};

using Set = prm::set_hca_cap_in;

// SET_HCA_CAP of the current values of a group.
prm::Buffer<Set> set_input(FirmwareBench& bench, HcaCapType type) {
    auto in = FirmwareBench::input<Set>(Opcode::SET_HCA_CAP,
                                        prm::hca_cap_op_mod(type, HcaCapMode::MAX));
    const auto current = bench.function().current_capability(static_cast<std::uint16_t>(type));
    std::copy(current.begin(), current.end(), in.bytes().begin() + 16);
    return in;
}
prm::View<prm::cmd_hca_cap> general(prm::Buffer<Set>& in) {
    return prm::View<prm::cmd_hca_cap>(in.bytes().subspan(16));
}

Answer<prm::query_hca_cap_out> query(FirmwareBench& bench, HcaCapType type, HcaCapMode mode) {
    return bench.run<prm::query_hca_cap_out>(FirmwareBench::input<prm::query_hca_cap_in>(
        Opcode::QUERY_HCA_CAP, prm::hca_cap_op_mod(type, mode)));
}

template <class In>
const std::initializer_list<Refusal<In>>& other_function_refusals() {
    static const std::initializer_list<Refusal<In>> rows = {
        {"embedded CPU", [](prm::View<In> in) { in.template set<typename In::embedded_cpu_function>(1); },
         Status::BAD_PARAM, 0x263211},
        {"another function", [](prm::View<In> in) { in.template set<typename In::function_id>(1); },
         Status::BAD_PARAM},
        {"the last function", [](prm::View<In> in) { in.template set<typename In::function_id>(0xffff); },
         Status::BAD_PARAM},
    };
    return rows;
}

}  // namespace

TEST_CASE("enabling names the own function", "[hca]") {
    FirmwareBench bench;
    check_refusals<prm::enable_hca_out>(bench,
                                        bench.input<prm::enable_hca_in>(Opcode::ENABLE_HCA),
                                        other_function_refusals<prm::enable_hca_in>());
    CHECK(bench.function().phase() == Phase::initialised);
}

TEST_CASE("enabling takes over from a driver that died", "[hca]") {
    FirmwareBench bench;
    bench.alloc_pd();
    bench.function().issi = 1;
    CHECK(enable(bench).ok());
    CHECK(bench.function().phase() == Phase::enabled);
    CHECK(bench.resources().total() == 0);
    CHECK(bench.function().pages().held() == 0);  // they lie in the old driver's memory
    CHECK(bench.function().issi == 0);
}

TEST_CASE("disabling ends everything and needs no earlier step", "[hca]") {
    FirmwareBench bench;
    const auto good = bench.input<prm::disable_hca_in>(Opcode::DISABLE_HCA);
    check_refusals<prm::disable_hca_out>(bench, good,
                                         other_function_refusals<prm::disable_hca_in>());
    bench.alloc_pd();
    CHECK(bench.run<prm::disable_hca_out>(good).ok());
    CHECK(bench.function().phase() == Phase::reset);
    CHECK(bench.resources().total() == 0);
    CHECK(bench.function().pages().held() == 0);
    CHECK(bench.run<prm::disable_hca_out>(good).ok());
}

TEST_CASE("initialising wants all pages and happens once", "[hca]") {
    EnabledBench bench;
    const auto init = [&] {
        return simple<prm::init_hca_in, prm::init_hca_out>(bench, Opcode::INIT_HCA);
    };
    CHECK(refused(init(), Status::BAD_RES));
    std::vector<std::uint64_t> pages;
    for (std::uint64_t i = 0; i < 7; ++i) pages.push_back((i + 1) * 4096);
    (void)bench.function().pages().give(pages);
    CHECK(refused(init(), Status::BAD_RES));
    CHECK(bench.function().phase() == Phase::enabled);
    (void)bench.function().pages().give(std::array<std::uint64_t, 1>{0x100000});
    CHECK(init().ok());
    CHECK(bench.function().phase() == Phase::initialised);
    CHECK(refused(init(), Status::BAD_SYS_STATE));
}

TEST_CASE("teardown stops the function and keeps what the driver forgot", "[hca]") {
    FirmwareBench bench;
    bench.alloc_pd();
    CHECK(simple<prm::teardown_hca_in, prm::teardown_hca_out>(bench, Opcode::TEARDOWN_HCA).ok());
    CHECK(bench.function().phase() == Phase::enabled);
    CHECK(bench.resources().total() == 1);
}

TEST_CASE("teardown by force and in preparation are offered by capability", "[hca]") {
    const bool offered = GENERATE(false, true);
    const std::string value = offered ? "1" : "0";
    FirmwareBench bench("connectx5", capability({{"cmd_hca_cap.force_teardown", value},
                                                 {"cmd_hca_cap.fast_teardown", value}}));
    bench.alloc_pd();
    auto in = bench.input<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA);
    using In = prm::teardown_hca_in;
    in.view().set<In::profile>(2U);
    const auto fast = bench.run<prm::teardown_hca_out>(in);
    in.view().set<In::profile>(1U);
    const auto force = bench.run<prm::teardown_hca_out>(in);
    if (offered) {
        CHECK(fast.ok());
        CHECK(force.ok());
        CHECK(force.get<prm::teardown_hca_out::state>() == 0);
        CHECK(bench.resources().total() == 0);
        CHECK(bench.function().phase() == Phase::enabled);
    } else {
        CHECK(refused(fast, Status::BAD_PARAM));
        CHECK(refused(force, Status::BAD_PARAM));
        CHECK(bench.resources().total() == 1);
    }
}

TEST_CASE("teardown by an unknown profile is refused", "[hca]") {
    FirmwareBench bench;
    check_refusals<prm::teardown_hca_out, prm::teardown_hca_in>(
        bench, bench.input<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA),
        {{"profile 3", [](auto in) { in.template set<prm::teardown_hca_in::profile>(3U); },
          Status::BAD_PARAM},
         {"profile 0xffff", [](auto in) { in.template set<prm::teardown_hca_in::profile>(0xffffU); },
          Status::BAD_PARAM}});
    CHECK(bench.function().phase() == Phase::initialised);
}

TEST_CASE("interface step sequence ids 0 and 1 are supported", "[hca]") {
    EnabledBench bench;
    const auto current = [&] {
        const auto answer =
            simple<prm::query_issi_in, prm::query_issi_out>(bench, Opcode::QUERY_ISSI);
        REQUIRE(answer.ok());
        CHECK(answer.get<prm::query_issi_out::supported_issi_dw0>() == 0b11);
        return answer.get<prm::query_issi_out::current_issi>();
    };
    CHECK(current() == 0);
    auto set = bench.input<prm::set_issi_in>(Opcode::SET_ISSI);
    set.view().set<prm::set_issi_in::current_issi>(1U);
    CHECK(bench.run<prm::set_issi_out>(set).ok());
    CHECK(current() == 1);
    check_refusals<prm::set_issi_out, prm::set_issi_in>(
        bench, set,
        {{"2", [](auto in) { in.template set<prm::set_issi_in::current_issi>(2U); },
          Status::BAD_PARAM},
         {"0xffff", [](auto in) { in.template set<prm::set_issi_in::current_issi>(0xffffU); },
          Status::BAD_PARAM}});
    CHECK(current() == 1);
}

TEST_CASE("capability queries answer maximum and current of each group of each card", "[hca]") {
    const auto name = GENERATE(from_range(model::card_names().begin(), model::card_names().end()));
    CAPTURE(name);
    EnabledBench bench(name);
    std::size_t answered = 0;
    for (const prm::HcaCapTypeInfo& info : prm::all_hca_cap_types()) {
        CAPTURE(info.name);
        const auto* image = bench.card->capabilities().max(info.layout);
        for (const HcaCapMode mode : {HcaCapMode::MAX, HcaCapMode::CUR}) {
            const auto answer = query(bench, info.type, mode);
            if (image == nullptr) {
                CHECK(refused(answer, Status::BAD_PARAM, 0x5add95));
                continue;
            }
            REQUIRE(answer.ok());
            ++answered;
            const auto* wanted =
                mode == HcaCapMode::MAX ? image : bench.card->capabilities().current(info.layout);
            const auto bytes = answer.out.bytes().subspan(16);
            CHECK(std::equal(wanted->bytes().begin(), wanted->bytes().end(), bytes.begin()));
        }
    }
    CHECK(answered >= 2 * 6);
}

TEST_CASE("capability queries of what there is not are refused", "[hca]") {
    EnabledBench bench;
    auto in = bench.input<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
    check_refusals<prm::query_hca_cap_out, prm::query_hca_cap_in>(
        bench, in,
        {{"group 0x3f", [](auto v) { v.template set<prm::query_hca_cap_in::op_mod>(0x7eU); },
          Status::BAD_PARAM, 0x5add95},
         {"group 0x7fff", [](auto v) { v.template set<prm::query_hca_cap_in::op_mod>(0xffffU); },
          Status::BAD_PARAM, 0x5add95},
         {"another function",
          [](auto v) { v.template set<prm::query_hca_cap_in::other_function>(1U); },
          Status::BAD_PARAM}});
}

TEST_CASE("what was set shows in the current capabilities only", "[hca]") {
    EnabledBench bench;
    auto in = set_input(bench, HcaCapType::GENERAL);
    general(in).set<prm::cmd_hca_cap::log_max_qp>(10U);
    general(in).set<prm::cmd_hca_cap::cmdif_checksum>(0U);
    REQUIRE(bench.run<prm::set_hca_cap_out>(in).ok());
    const auto log_max_qp = [&](HcaCapMode mode) {
        const auto answer = query(bench, HcaCapType::GENERAL, mode);
        return prm::ConstView<prm::cmd_hca_cap>(answer.out.bytes().subspan(16))
            .get<prm::cmd_hca_cap::log_max_qp>();
    };
    CHECK(log_max_qp(HcaCapMode::CUR) == 10);
    CHECK(log_max_qp(HcaCapMode::MAX) ==
          bench.card->capabilities().max_value("cmd_hca_cap", "log_max_qp"));
    CHECK(bench.resources().qps.limit() == 1U << 10);
    // The next driver starts from the power-on values again.
    REQUIRE(enable(bench).ok());
    CHECK(log_max_qp(HcaCapMode::CUR) ==
          bench.card->capabilities().current("cmd_hca_cap")->get("log_max_qp"));
}

TEST_CASE("of the atomic capabilities only the byte order is set, drivers send zeros for the rest",
          "[hca]") {
    EnabledBench bench;
    using Atomic = prm::atomic_caps;
    const auto current = [&] {
        return prm::ConstView<Atomic>(bench.function().current_capability(
            static_cast<std::uint16_t>(HcaCapType::ATOMIC)));
    };
    const auto operations = current().get<Atomic::atomic_operations>();
    REQUIRE(operations != 0);
    REQUIRE(current().get<Atomic::atomic_req_8B_endianness_mode>() == 0);
    auto in = FirmwareBench::input<Set>(
        Opcode::SET_HCA_CAP, prm::hca_cap_op_mod(HcaCapType::ATOMIC, HcaCapMode::MAX));
    prm::View<Atomic>(in.bytes().subspan(16)).set<Atomic::atomic_req_8B_endianness_mode>(1U);
    REQUIRE(bench.run<prm::set_hca_cap_out>(in).ok());
    CHECK(current().get<Atomic::atomic_operations>() == operations);
    CHECK(current().get<Atomic::atomic_req_8B_endianness_mode>() == 1);
}

TEST_CASE("each group can be written back as it is and as it can be at most", "[hca]") {
    const auto name = GENERATE(from_range(model::card_names().begin(), model::card_names().end()));
    CAPTURE(name);
    EnabledBench bench(name);
    for (const prm::HcaCapTypeInfo& info : prm::all_hca_cap_types()) {
        const auto* maximum = bench.card->capabilities().max(info.layout);
        if (maximum == nullptr) continue;
        CAPTURE(info.name);
        auto in = set_input(bench, info.type);
        CHECK(bench.run<prm::set_hca_cap_out>(in).ok());
        std::copy(maximum->bytes().begin(), maximum->bytes().end(), in.bytes().begin() + 16);
        CHECK(bench.run<prm::set_hca_cap_out>(in).ok());
        CHECK(std::ranges::equal(
            bench.function().current_capability(static_cast<std::uint16_t>(info.type)),
            maximum->bytes()));
    }
}

TEST_CASE("a capability above its maximum is refused, whichever it is", "[hca]") {
    EnabledBench bench;
    const auto& layout = *prm::find_layout("cmd_hca_cap");
    const auto& maximum = *bench.card->capabilities().max("cmd_hca_cap");
    const auto good = set_input(bench, HcaCapType::GENERAL);
    const std::vector<std::byte> before(bench.function().current_capability(0).begin(),
                                        bench.function().current_capability(0).end());
    std::size_t tried = 0;
    for (const prm::FieldInfo& field : layout.fields) {
        if (field.reserved || field.nested != nullptr || field.count != 1 || field.bit_width > 32) {
            continue;
        }
        const std::uint64_t limit =
            prm::get_bits(maximum.bytes(), field.bit_offset, field.bit_width);
        if (limit == prm::field_mask(field.bit_width)) continue;
        CAPTURE(field.name);
        auto in = good;
        prm::set_bits(in.bytes().subspan(16), field.bit_offset, field.bit_width, limit + 1);
        const auto answer = bench.run<prm::set_hca_cap_out>(in);
        const std::uint32_t syndrome =
            field.name == "log_max_current_uc_list" && limit == 0 ? 0x537801 : 0;
        CHECK(refused(answer, Status::BAD_PARAM, syndrome));
        ++tried;
    }
    CHECK(tried > 100);
    CHECK(std::ranges::equal(bench.function().current_capability(0), before));
}

TEST_CASE("what the card is cannot be set", "[hca]") {
    EnabledBench bench;
    const auto good = set_input(bench, HcaCapType::GENERAL);
    auto in = good;
    general(in).set<prm::cmd_hca_cap::num_ports>(0U);
    CHECK(refused(bench.run<prm::set_hca_cap_out>(in), Status::BAD_PARAM));
    in = good;
    general(in).set<prm::cmd_hca_cap::port_type>(0U);
    CHECK(refused(bench.run<prm::set_hca_cap_out>(in), Status::BAD_PARAM));
    in = good;
    std::fill(in.bytes().begin() + 16, in.bytes().end(), std::byte{0});  // a mostly-zero image
    CHECK(refused(bench.run<prm::set_hca_cap_out>(in), Status::BAD_PARAM));
}

TEST_CASE("capabilities are set before INIT_HCA, of the own function, of groups there are",
          "[hca]") {
    EnabledBench bench;
    const auto good = set_input(bench, HcaCapType::GENERAL);
    check_refusals<prm::set_hca_cap_out, Set>(
        bench, good,
        {{"another function", [](auto in) { in.template set<Set::other_function>(1U); },
          Status::BAD_PARAM},
         {"no such group", [](auto in) { in.template set<Set::op_mod>(0x7eU); }, Status::BAD_PARAM,
          0x5add95}});
    bench.function().set_phase(Phase::initialised);
    CHECK(refused(bench.run<prm::set_hca_cap_out>(good), Status::BAD_SYS_STATE));
    bench.function().set_phase(Phase::enabled);
    CHECK(bench.run<prm::set_hca_cap_out>(good).ok());
}

TEST_CASE("the adapter tells its board id", "[hca]") {
    FirmwareBench bench;
    const auto answer =
        simple<prm::query_adapter_in, prm::query_adapter_out>(bench, Opcode::QUERY_ADAPTER);
    REQUIRE(answer.ok());
    using Block = prm::query_adapter_param_block;
    const auto block = answer.out.view().nested<prm::query_adapter_out::query_adapter_struct>();
    CHECK(block.get<Block::ieee_vendor_id>() == 0x2c9);
    CHECK(block.get<Block::vsd_vendor_id>() == 0x15b3);
    const auto psid = block.bytes<Block::vsd_contd_psid>();
    CHECK(std::string(reinterpret_cast<const char*>(psid.data())) == "MT_0000000000");
}

TEST_CASE("the driver's version is kept up to its end", "[hca]") {
    FirmwareBench bench;
    auto in = bench.input<prm::set_driver_version_in>(Opcode::SET_DRIVER_VERSION);
    const auto text = in.view().bytes<prm::set_driver_version_in::driver_version>();
    const std::string version = "Linux,mlx5_core,6.12.117";
    std::transform(version.begin(), version.end(), text.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
    REQUIRE(bench.run<prm::set_driver_version_out>(in).ok());
    CHECK(bench.function().driver_version == version);
    std::fill(text.begin(), text.end(), std::byte{'x'});  // without an end
    REQUIRE(bench.run<prm::set_driver_version_out>(in).ok());
    CHECK(bench.function().driver_version.size() == text.size());
}

TEST_CASE("NOP is accepted and changes nothing", "[hca]") {
    FirmwareBench bench;
    const auto before = bench.digest();
    CHECK(simple<prm::nop_in, prm::nop_out>(bench, Opcode::NOP).ok());
    CHECK(bench.digest() == before);
}
