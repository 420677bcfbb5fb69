// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ethernet_bench.h"

namespace cxsim::test {
namespace {

using prm::Opcode;
using prm::sqc;
using prm::Status;
using prm::wq;
namespace syndrome = firmware_stub::syndrome;

enum State : std::uint32_t { kReset = 0, kReady = 1, kError = 3 };

Answer<prm::destroy_sq_out> destroy(EthernetBench& bench, std::uint32_t sqn) {
    return bench.by_number<prm::destroy_sq_in, prm::destroy_sq_out, prm::destroy_sq_in::sqn>(
        Opcode::DESTROY_SQ, sqn);
}

std::uint32_t state_of(EthernetBench& bench, std::uint32_t sqn) {
    const auto answer = bench.by_number<prm::query_sq_in, prm::query_sq_out, prm::query_sq_in::sqn>(
        Opcode::QUERY_SQ, sqn);
    REQUIRE(answer.ok());
    return answer.get<prm::query_sq_out::sq_context, sqc::state>();
}

TEST_CASE("a send queue lives through its states and leaves nothing behind", "[sq]") {
    EthernetBench bench;
    const std::uint32_t tisn = bench.create_tis();
    const std::uint64_t before = bench.digest();
    const std::uint32_t sqn = bench.create_sq(tisn);
    const model::Sq* sq = bench.resources().sqs.find(sqn);
    REQUIRE(sq != nullptr);
    CHECK(sq->wq.entries() == 64);
    CHECK(sq->wq.ring.address(64).value == FirmwareBench::kQueueMemory + 0x9000 + 64);
    CHECK(sq->cqn == bench.cqn);
    CHECK(state_of(bench, sqn) == kReset);
    for (const auto& [from, to] :
         std::initializer_list<std::pair<State, State>>{{kReset, kReady},
                                                        {kReady, kError},
                                                        {kError, kReset},
                                                        {kReset, kReady},
                                                        {kReady, kReady},
                                                        {kReady, kReset},
                                                        {kReset, kError}}) {
        CHECK(bench.run<prm::modify_sq_out>(EthernetBench::modify_sq(sqn, from, to)).ok());
        CHECK(state_of(bench, sqn) == to);
    }
    CHECK(destroy(bench, sqn).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(destroy(bench, sqn), Status::BAD_RES_STATE));
}

TEST_CASE("QUERY_SQ returns what CREATE_SQ was given", "[sq]") {
    EthernetBench bench;
    auto in = bench.sq_input(bench.create_tis());
    in.view().set<prm::create_sq_in::ctx, sqc::user_index>(0x123456U);
    const auto created = bench.run<prm::create_sq_out>(in);
    REQUIRE(created.ok());
    const auto answer = bench.by_number<prm::query_sq_in, prm::query_sq_out, prm::query_sq_in::sqn>(
        Opcode::QUERY_SQ, created.get<prm::create_sq_out::sqn>());
    REQUIRE(answer.ok());
    CHECK(answer.get<prm::query_sq_out::sq_context, sqc::user_index>() == 0x123456);
    CHECK(answer.get<prm::query_sq_out::sq_context, sqc::cqn>() == bench.cqn);
    CHECK(answer.get<prm::query_sq_out::sq_context, sqc::wq, wq::log_wq_sz>() == 6);
    CHECK(refused(bench.by_number<prm::query_sq_in, prm::query_sq_out, prm::query_sq_in::sqn>(
                      Opcode::QUERY_SQ, 0x3fffff),
                  Status::BAD_RES_STATE));
}

TEST_CASE("a control queue needs no TIS", "[sq]") {
    EthernetBench bench;
    auto in = bench.sq_input(0);
    in.view().set<prm::create_sq_in::ctx, sqc::reg_umr>(1U);
    const auto created = bench.run<prm::create_sq_out>(in);
    REQUIRE(created.ok());
    const auto sqn = created.get<prm::create_sq_out::sqn>();
    CHECK(bench.run<prm::modify_sq_out>(EthernetBench::modify_sq(sqn, kReset, kReady)).ok());
}

TEST_CASE("CREATE_SQ refuses what the card cannot do", "[sq]") {
    EthernetBench bench;
    using In = prm::create_sq_in;
    using V = prm::View<In>;
    check_refusals<prm::create_sq_out>(
        bench, bench.sq_input(bench.create_tis()),
        {
            {"state", [](V in) { in.set<In::ctx, sqc::state>(1U); }, Status::BAD_PARAM},
            {"hairpin", [](V in) { in.set<In::ctx, sqc::hairpin>(1U); }, Status::BAD_PARAM},
            {"non wire", [](V in) { in.set<In::ctx, sqc::non_wire>(1U); }, Status::BAD_PARAM},
            {"master", [](V in) { in.set<In::ctx, sqc::cd_master>(1U); }, Status::BAD_PARAM},
            {"inline mode", [](V in) { in.set<In::ctx, sqc::min_wqe_inline_mode>(4U); },
             Status::BAD_PARAM},
            {"real time", [](V in) { in.set<In::ctx, sqc::ts_format>(2U); }, Status::BAD_PARAM,
             syndrome::kSqTimestampFormat},
            {"time stamp CQ", [](V in) { in.set<In::ctx, sqc::ts_cqe_to_dest_cqn>(0x40U); },
             Status::BAD_PARAM},
            {"CQ", [](V in) { in.set<In::ctx, sqc::cqn>(0xffff0U); }, Status::BAD_PARAM},
            {"TIS", [](V in) { in.set<In::ctx, sqc::tis_num_0>(0xffff0U); }, Status::BAD_PARAM},
            {"TIS list", [](V in) { in.set<In::ctx, sqc::tis_lst_sz>(9U); }, Status::BAD_PARAM},
            {"rate", [](V in) { in.set<In::ctx, sqc::packet_pacing_rate_limit_index>(1U); },
             Status::BAD_PARAM},
            {"queue group", [](V in) { in.set<In::ctx, sqc::qos_queue_group_id>(1U); },
             Status::BAD_PARAM},
            {"PD", [](V in) { in.set<In::ctx, sqc::wq, wq::pd>(0U); }, Status::BAD_PARAM},
            {"UAR", [](V in) { in.set<In::ctx, sqc::wq, wq::uar_page>(0U); }, Status::BAD_PARAM},
            {"linked", [](V in) { in.set<In::ctx, sqc::wq, wq::wq_type>(0U); }, Status::BAD_PARAM},
            {"stride", [](V in) { in.set<In::ctx, sqc::wq, wq::log_wq_stride>(7U); },
             Status::BAD_PARAM},
            {"size", [](V in) { in.set<In::ctx, sqc::wq, wq::log_wq_sz>(16U); }, Status::BAD_PARAM},
            {"pages", [](V in) { in.set<In::ctx, sqc::wq, wq::log_wq_sz>(7U); },
             Status::BAD_INP_LEN},
            {"doorbell", [](V in) { in.set<In::ctx, sqc::wq, wq::dbr_addr>(0x1004U); },
             Status::BAD_PARAM},
            {"user memory", [](V in) { in.set<In::ctx, sqc::wq, wq::wq_umem_valid>(1U); },
             Status::BAD_PARAM},
            {"signature", [](V in) { in.set<In::ctx, sqc::wq, wq::wq_signature>(1U); },
             Status::BAD_PARAM},
            {"slave", [](V in) { in.set<In::ctx, sqc::wq, wq::cd_slave>(1U); }, Status::BAD_PARAM},
            {"padding", [](V in) { in.set<In::ctx, sqc::wq, wq::end_padding_mode>(2U); },
             Status::BAD_PARAM},
            {"op_mod", [](V in) { in.set<In::op_mod>(1U); }, Status::BAD_PARAM},
            {"uid", [](V in) { in.set<In::uid>(2U); }, Status::BAD_PARAM,
             syndrome::kUidNotRegistered},
        });
}

TEST_CASE("CREATE_SQ asks the Ethernet capabilities", "[sq]") {
    EthernetBench bench(
        capability({{"per_protocol_networking_offload_caps.swp", "0"},
                    {"per_protocol_networking_offload_caps.reg_umr_sq", "0"},
                    {"per_protocol_networking_offload_caps.multi_pkt_send_wqe", "0"},
                    {"per_protocol_networking_offload_caps."
                     "enhanced_multi_pkt_send_wqe",
                     "0"}}));
    using In = prm::create_sq_in;
    using V = prm::View<In>;
    check_refusals<prm::create_sq_out>(
        bench, bench.sq_input(bench.create_tis()),
        {
            {"swp", [](V in) { in.set<In::ctx, sqc::allow_swp>(1U); }, Status::BAD_PARAM},
            {"umr", [](V in) { in.set<In::ctx, sqc::reg_umr>(1U); }, Status::BAD_PARAM},
            {"multi packet", [](V in) { in.set<In::ctx, sqc::allow_multi_pkt_send_wqe>(1U); },
             Status::BAD_PARAM},
        });
}

TEST_CASE("MODIFY_SQ refuses states that do not fit", "[sq]") {
    EthernetBench bench;
    using In = prm::modify_sq_in;
    using V = prm::View<In>;
    const std::uint32_t sqn = bench.create_sq(bench.create_tis());
    check_refusals<prm::modify_sq_out>(
        bench, EthernetBench::modify_sq(sqn, kReset, kReady),
        {
            {"number", [](V in) { in.set<In::sqn>(0x3fffffU); }, Status::BAD_RES_STATE},
            {"current", [](V in) { in.set<In::sq_state>(1U); }, Status::BAD_RES_STATE},
            {"undefined", [](V in) { in.set<In::ctx, sqc::state>(2U); }, Status::BAD_PARAM},
            {"mask", [](V in) { in.set<In::modify_bitmask>(2U); }, Status::BAD_PARAM},
            {"rate",
             [](V in) {
                 in.set<In::modify_bitmask>(1U);
                 in.set<In::ctx, sqc::packet_pacing_rate_limit_index>(3U);
             },
             Status::BAD_PARAM},
            {"queue group",
             [](V in) {
                 in.set<In::modify_bitmask>(4U);
                 in.set<In::ctx, sqc::qos_queue_group_id>(3U);
             },
             Status::BAD_PARAM},
        });
    REQUIRE(bench.run<prm::modify_sq_out>(EthernetBench::modify_sq(sqn, kReset, kError)).ok());
    CHECK(refused(bench.run<prm::modify_sq_out>(EthernetBench::modify_sq(sqn, kError, kReady)),
                  Status::BAD_RES_STATE));
}

TEST_CASE("what a send queue uses cannot be destroyed before it", "[sq]") {
    EthernetBench bench;
    const std::uint32_t tisn = bench.create_tis();
    const std::uint32_t sqn = bench.create_sq(tisn);
    const auto destroy_tis = [&] {
        return bench
            .by_number<prm::destroy_tis_in, prm::destroy_tis_out, prm::destroy_tis_in::tisn>(
                Opcode::DESTROY_TIS, tisn);
    };
    const auto dealloc_pd = [&] {
        return bench.by_number<prm::dealloc_pd_in, prm::dealloc_pd_out, prm::dealloc_pd_in::pd>(
            Opcode::DEALLOC_PD, bench.pd);
    };
    CHECK(refused(destroy_tis(), Status::BAD_RES_STATE));
    CHECK(refused(dealloc_pd(), Status::BAD_RES_STATE, syndrome::kPdInUse));
    REQUIRE(destroy(bench, sqn).ok());
    CHECK(destroy_tis().ok());
    CHECK(dealloc_pd().ok());
}

prm::Buffer<prm::set_pp_rate_limit_in> rate_input(std::uint32_t index, std::uint32_t rate) {
    using In = prm::set_pp_rate_limit_in;
    auto in = FirmwareBench::input<In>(Opcode::SET_PP_RATE_LIMIT);
    in.view().set<In::rate_limit_index>(index);
    in.view().set<In::ctx, prm::set_pp_rate_limit_context::rate_limit>(rate);
    return in;
}

TEST_CASE("a rate limit is set, used by a queue and given back", "[rate_limit]") {
    EthernetBench bench;
    REQUIRE(bench.run<prm::set_pp_rate_limit_out>(rate_input(1, 1000)).ok());
    const std::uint32_t sqn = bench.create_sq(bench.create_tis());
    auto modify = EthernetBench::modify_sq(sqn, kReset, kReady);
    modify.view().set<prm::modify_sq_in::modify_bitmask>(1U);
    modify.view().set<prm::modify_sq_in::ctx, sqc::packet_pacing_rate_limit_index>(1U);
    REQUIRE(bench.run<prm::modify_sq_out>(modify).ok());
    CHECK(refused(bench.run<prm::set_pp_rate_limit_out>(rate_input(1, 0)), Status::BAD_RES_STATE));
    REQUIRE(destroy(bench, sqn).ok());
    CHECK(bench.run<prm::set_pp_rate_limit_out>(rate_input(1, 0)).ok());
    CHECK(bench.function().rate_limits.empty());
}

TEST_CASE("SET_PP_RATE_LIMIT refuses rates and indices beyond the table", "[rate_limit]") {
    EthernetBench bench;
    using In = prm::set_pp_rate_limit_in;
    using V = prm::View<In>;
    using Context = prm::set_pp_rate_limit_context;
    check_refusals<prm::set_pp_rate_limit_out>(
        bench, rate_input(1, 1000),
        {
            {"index 0", [](V in) { in.set<In::rate_limit_index>(0U); }, Status::BAD_PARAM},
            {"index", [](V in) { in.set<In::rate_limit_index>(128U); }, Status::BAD_PARAM},
            {"rate", [](V in) { in.set<In::ctx, Context::rate_limit>(0xffffffffU); },
             Status::BAD_PARAM},
        });
    CHECK(bench.function().rate_limits.empty());
    EthernetBench plain(capability({{"qos_cap.packet_pacing", "0"}}));
    CHECK(refused(plain.run<prm::set_pp_rate_limit_out>(rate_input(1, 1000)), Status::BAD_PARAM));
    EthernetBench simple(capability(
        {{"qos_cap.packet_pacing_burst_bound", "0"}, {"qos_cap.packet_pacing_typical_size", "0"}}));
    check_refusals<prm::set_pp_rate_limit_out>(
        simple, rate_input(1, 1000),
        {
            {"burst", [](V in) { in.set<In::ctx, Context::burst_upper_bound>(1U); },
             Status::BAD_PARAM},
            {"size", [](V in) { in.set<In::ctx, Context::typical_packet_size>(1U); },
             Status::BAD_PARAM},
        });
}

TEST_CASE("a TIS keeps its context and may change its priority", "[tis]") {
    EthernetBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t tisn = bench.create_tis();
    auto modify = FirmwareBench::input<prm::modify_tis_in>(Opcode::MODIFY_TIS);
    modify.view().set<prm::modify_tis_in::tisn>(tisn);
    modify.view().set<prm::modify_tis_in::bitmask, prm::modify_tis_bitmask::prio>(1U);
    modify.view().set<prm::modify_tis_in::ctx, prm::tisc::prio>(6U);
    CHECK(bench.run<prm::modify_tis_out>(modify).ok());
    const auto query = [&] {
        return bench.by_number<prm::query_tis_in, prm::query_tis_out, prm::query_tis_in::tisn>(
            Opcode::QUERY_TIS, tisn);
    };
    REQUIRE(query().ok());
    CHECK(query().get<prm::query_tis_out::tis_context, prm::tisc::prio>() == 6);
    CHECK(query().get<prm::query_tis_out::tis_context, prm::tisc::transport_domain>() ==
          bench.domain);
    using In = prm::modify_tis_in;
    using Mask = prm::modify_tis_bitmask;
    using V = prm::View<In>;
    check_refusals<prm::modify_tis_out>(
        bench, modify,
        {
            {"number", [](V in) { in.set<In::tisn>(0xffffffU); }, Status::BAD_RES_STATE},
            {"affinity",
             [](V in) {
                 in.set<In::bitmask, Mask::lag_tx_port_affinity>(1U);
                 in.set<In::ctx, prm::tisc::lag_tx_port_affinity>(1U);
             },
             Status::BAD_PARAM, syndrome::kTisLagAffinity},
            {"strict",
             [](V in) {
                 in.set<In::bitmask, Mask::strict_lag_tx_port_affinity>(1U);
                 in.set<In::ctx, prm::tisc::strict_lag_tx_port_affinity>(1U);
             },
             Status::BAD_PARAM},
        });
    CHECK(bench
              .by_number<prm::destroy_tis_in, prm::destroy_tis_out, prm::destroy_tis_in::tisn>(
                  Opcode::DESTROY_TIS, tisn)
              .ok());
    CHECK(bench.digest() == before);
    CHECK(refused(query(), Status::BAD_RES_STATE));
}

TEST_CASE("CREATE_TIS refuses ports and objects that are not there", "[tis]") {
    EthernetBench bench;
    using In = prm::create_tis_in;
    using V = prm::View<In>;
    using prm::tisc;
    check_refusals<prm::create_tis_out>(
        bench, bench.tis_input(),
        {
            {"affinity", [](V in) { in.set<In::ctx, tisc::lag_tx_port_affinity>(1U); },
             Status::BAD_PARAM, syndrome::kTisLagAffinity},
            {"strict", [](V in) { in.set<In::ctx, tisc::strict_lag_tx_port_affinity>(1U); },
             Status::BAD_PARAM},
            {"tls", [](V in) { in.set<In::ctx, tisc::tls_en>(1U); }, Status::BAD_PARAM},
            {"domain", [](V in) { in.set<In::ctx, tisc::transport_domain>(0U); },
             Status::BAD_PARAM},
            {"underlay", [](V in) { in.set<In::ctx, tisc::underlay_qpn>(0xfffffU); },
             Status::BAD_PARAM},
            {"pd", [](V in) { in.set<In::ctx, tisc::pd>(0xfffffU); }, Status::BAD_PARAM},
        });
}

}  // namespace
}  // namespace cxsim::test
