// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ethernet_bench.h"

namespace cxsim::test {
namespace {

using prm::Opcode;
using prm::rqc;
using prm::Status;
using prm::wq;
namespace syndrome = firmware_stub::syndrome;

enum State : std::uint32_t { kReset = 0, kReady = 1, kError = 3 };

prm::Buffer<prm::modify_rq_in> modify_input(std::uint32_t rqn, std::uint32_t from,
                                            std::uint32_t to) {
    using In = prm::modify_rq_in;
    auto in = FirmwareBench::input<In>(Opcode::MODIFY_RQ);
    in.view().set<In::rqn>(rqn);
    in.view().set<In::rq_state>(from);
    in.view().set<In::ctx, rqc::state>(to);
    return in;
}

Answer<prm::query_rq_out> query(EthernetBench& bench, std::uint32_t rqn) {
    return bench.by_number<prm::query_rq_in, prm::query_rq_out, prm::query_rq_in::rqn>(
        Opcode::QUERY_RQ, rqn);
}

Answer<prm::destroy_rq_out> destroy(EthernetBench& bench, std::uint32_t rqn) {
    return bench.by_number<prm::destroy_rq_in, prm::destroy_rq_out, prm::destroy_rq_in::rqn>(
        Opcode::DESTROY_RQ, rqn);
}

std::uint32_t alloc_counter_set(EthernetBench& bench) {
    const auto answer = bench.run<prm::alloc_q_counter_out>(
        FirmwareBench::input<prm::alloc_q_counter_in>(Opcode::ALLOC_Q_COUNTER));
    REQUIRE(answer.ok());
    return answer.get<prm::alloc_q_counter_out::counter_set_id>();
}

TEST_CASE("a receive queue lives through its states and leaves nothing behind", "[rq]") {
    EthernetBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t rqn = bench.create_rq();
    const model::Rq* rq = bench.resources().rqs.find(rqn);
    REQUIRE(rq != nullptr);
    CHECK(rq->wq.stride() == 16);
    CHECK(rq->wq.entries() == 64);
    for (const auto& [from, to] : std::initializer_list<std::pair<State, State>>{
             {kReset, kReady}, {kReady, kError}, {kError, kReset}, {kReset, kReady}}) {
        CHECK(bench.run<prm::modify_rq_out>(modify_input(rqn, from, to)).ok());
        CHECK(query(bench, rqn).get<prm::query_rq_out::rq_context, rqc::state>() == to);
    }
    CHECK(destroy(bench, rqn).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(destroy(bench, rqn), Status::BAD_RES_STATE));
    CHECK(refused(query(bench, rqn), Status::BAD_RES_STATE));
}

TEST_CASE("the driver's drop queue names no PD and holds one WQE", "[rq]") {
    EthernetBench bench;
    auto in = bench.rq_input();
    in.view().set<prm::create_rq_in::ctx, rqc::wq, wq::pd>(0U);
    in.view().set<prm::create_rq_in::ctx, rqc::wq, wq::log_wq_sz>(0U);
    CHECK(bench.run<prm::create_rq_out>(in).ok());
}

TEST_CASE("a striding receive queue keeps to the strides of the card", "[rq]") {
    EthernetBench bench;
    using In = prm::create_rq_in;
    using V = prm::View<In>;
    auto in = bench.rq_input();
    in.view().set<In::ctx, rqc::wq, wq::wq_type>(2U);
    in.view().set<In::ctx, rqc::wq, wq::log_wqe_num_of_strides>(2U);
    in.view().set<In::ctx, rqc::wq, wq::log_wqe_stride_size>(5U);
    REQUIRE(bench.run<prm::create_rq_out>(in).ok());
    EthernetBench narrow(capability(
        {{"cmd_hca_cap.log_max_stride_sz_rq", "10"}, {"cmd_hca_cap.ext_stride_num_range", "0"}}));
    check_refusals<prm::create_rq_out>(
        narrow, in,
        {
            {"stride", [](V) {}, Status::BAD_PARAM},
            {"few strides",
             [](V v) {
                 v.set<In::ctx, rqc::wq, wq::log_wqe_stride_size>(0U);
                 v.set<In::ctx, rqc::wq, wq::log_wqe_num_of_strides>(0xfU);
             },
             Status::BAD_PARAM},
        });
    EthernetBench plain(capability({{"cmd_hca_cap.striding_rq", "0"}}));
    CHECK(refused(plain.run<prm::create_rq_out>(in), Status::BAD_PARAM));
}

TEST_CASE("CREATE_RQ refuses what the card cannot do", "[rq]") {
    EthernetBench bench;
    using In = prm::create_rq_in;
    using V = prm::View<In>;
    check_refusals<prm::create_rq_out>(
        bench, bench.rq_input(),
        {
            {"state", [](V in) { in.set<In::ctx, rqc::state>(1U); }, Status::BAD_PARAM},
            {"memory", [](V in) { in.set<In::ctx, rqc::mem_rq_type>(2U); }, Status::BAD_PARAM},
            {"hairpin", [](V in) { in.set<In::ctx, rqc::hairpin>(1U); }, Status::BAD_PARAM},
            {"delay drop", [](V in) { in.set<In::ctx, rqc::delay_drop_en>(1U); },
             Status::BAD_PARAM},
            {"merging", [](V in) { in.set<In::ctx, rqc::shampo_match_criteria_type>(1U); },
             Status::BAD_PARAM},
            {"real time", [](V in) { in.set<In::ctx, rqc::ts_format>(2U); }, Status::BAD_PARAM},
            {"CQ", [](V in) { in.set<In::ctx, rqc::cqn>(0xffff0U); }, Status::BAD_PARAM},
            {"counters", [](V in) { in.set<In::ctx, rqc::counter_set_id>(99U); },
             Status::BAD_PARAM},
            {"pool",
             [](V in) {
                 in.set<In::ctx, rqc::mem_rq_type>(1U);
                 in.set<In::ctx, rqc::rmpn>(7U);
             },
             Status::BAD_PARAM},
            {"PD", [](V in) { in.set<In::ctx, rqc::wq, wq::pd>(0xfffffU); }, Status::BAD_PARAM},
            {"type", [](V in) { in.set<In::ctx, rqc::wq, wq::wq_type>(4U); }, Status::BAD_PARAM},
            {"small WQE", [](V in) { in.set<In::ctx, rqc::wq, wq::log_wq_stride>(3U); },
             Status::BAD_PARAM},
            {"large WQE", [](V in) { in.set<In::ctx, rqc::wq, wq::log_wq_stride>(10U); },
             Status::BAD_PARAM},
            {"size", [](V in) { in.set<In::ctx, rqc::wq, wq::log_wq_sz>(16U); }, Status::BAD_PARAM},
            {"pages", [](V in) { in.set<In::ctx, rqc::wq, wq::log_wq_sz>(9U); },
             Status::BAD_INP_LEN},
            {"shampo", [](V in) { in.set<In::ctx, rqc::wq, wq::shampo_enable>(1U); },
             Status::BAD_PARAM},
            {"doorbell", [](V in) { in.set<In::ctx, rqc::wq, wq::dbr_addr>(4U); },
             Status::BAD_PARAM},
        });
}

TEST_CASE("CREATE_RQ asks the capabilities for VLAN, FCS and cyclic queues", "[rq]") {
    EthernetBench bench(capability({{"per_protocol_networking_offload_caps.vlan_cap", "0"},
                                    {"per_protocol_networking_offload_caps.scatter_fcs", "0"}}));
    using In = prm::create_rq_in;
    using V = prm::View<In>;
    check_refusals<prm::create_rq_out>(
        bench, bench.rq_input(),
        {
            {"vsd", [](V in) { in.set<In::ctx, rqc::vsd>(1U); }, Status::BAD_PARAM},
            {"fcs", [](V in) { in.set<In::ctx, rqc::scatter_fcs>(1U); }, Status::BAD_PARAM},
        });
    EthernetBench linked(capability({{"cmd_hca_cap.basic_cyclic_rcv_wqe", "0"}}));
    CHECK(refused(linked.run<prm::create_rq_out>(linked.rq_input()), Status::BAD_PARAM));
}

TEST_CASE("MODIFY_RQ changes VLAN stripping and the counter set", "[rq]") {
    EthernetBench bench;
    using In = prm::modify_rq_in;
    const std::uint32_t set = alloc_counter_set(bench);
    const std::uint32_t rqn = bench.create_rq();
    auto in = modify_input(rqn, kReset, kReady);
    in.view().set<In::modify_bitmask>(0b1010U);
    in.view().set<In::ctx, rqc::vsd>(1U);
    in.view().set<In::ctx, rqc::counter_set_id>(set);
    REQUIRE(bench.run<prm::modify_rq_out>(in).ok());
    CHECK(query(bench, rqn).get<prm::query_rq_out::rq_context, rqc::vsd>() == 1);
    CHECK(bench.resources().q_counters.find(set)->users == 1);
    REQUIRE(destroy(bench, rqn).ok());
    CHECK(bench.resources().q_counters.find(set)->users == 0);
}

TEST_CASE("MODIFY_RQ refuses states and fields that do not fit", "[rq]") {
    EthernetBench bench;
    using In = prm::modify_rq_in;
    using V = prm::View<In>;
    const std::uint32_t rqn = bench.create_rq();
    check_refusals<prm::modify_rq_out>(
        bench, modify_input(rqn, kReset, kReady),
        {
            {"number", [](V in) { in.set<In::rqn>(0x1fffffU); }, Status::BAD_RES_STATE},
            {"current", [](V in) { in.set<In::rq_state>(3U); }, Status::BAD_RES_STATE},
            {"undefined", [](V in) { in.set<In::ctx, rqc::state>(2U); }, Status::BAD_PARAM},
            {"watermark", [](V in) { in.set<In::modify_bitmask>(1U); }, Status::BAD_PARAM},
            {"counters",
             [](V in) {
                 in.set<In::modify_bitmask>(8U);
                 in.set<In::ctx, rqc::counter_set_id>(99U);
             },
             Status::BAD_PARAM},
        });
    REQUIRE(bench.run<prm::modify_rq_out>(modify_input(rqn, kReset, kError)).ok());
    CHECK(refused(bench.run<prm::modify_rq_out>(modify_input(rqn, kError, kReady)),
                  Status::BAD_RES_STATE));
}

TEST_CASE("delay drop is refused where it is not offered and kept where it is", "[rq]") {
    auto in = FirmwareBench::input<prm::set_delay_drop_params_in>(Opcode::SET_DELAY_DROP_PARAMS);
    in.view().set<prm::set_delay_drop_params_in::delay_drop_timeout>(5U);
    EthernetBench plain;
    CHECK(refused(plain.run<prm::set_delay_drop_params_out>(in), Status::BAD_PARAM));
    EthernetBench bench(capability({{"cmd_hca_cap.rq_delay_drop", "1"}}));
    CHECK(bench.run<prm::set_delay_drop_params_out>(in).ok());
    CHECK(bench.function().delay_drop_timeout == 5);
}

// ---- Tables of receive queues ----

Answer<prm::query_rqt_out> query_rqt(EthernetBench& bench, std::uint32_t rqtn,
                                     std::size_t entries) {
    return bench.by_number<prm::query_rqt_in, prm::query_rqt_out, prm::query_rqt_in::rqtn>(
        Opcode::QUERY_RQT, rqtn, entries * 4);
}

prm::Buffer<prm::modify_rqt_in> modify_rqt_input(std::uint32_t rqtn,
                                                 const std::vector<std::uint32_t>& queues) {
    using In = prm::modify_rqt_in;
    auto in = FirmwareBench::input<In>(Opcode::MODIFY_RQT, 0, queues.size() * 4);
    in.view().set<In::rqtn>(rqtn);
    in.view().set<In::bitmask, prm::rqt_bitmask::rqn_list>(1U);
    const auto rqtc = in.view().nested<In::ctx>();
    rqtc.set<prm::rqtc::rqt_actual_size>(queues.size());
    for (std::size_t i = 0; i < queues.size(); ++i) {
        rqtc.at<prm::rqtc::rq_num>(i).set<prm::rq_num::rq_num_>(queues[i]);
    }
    return in;
}

TEST_CASE("a receive queue table holds each of its queues", "[rqt]") {
    EthernetBench bench;
    const std::uint32_t drop = bench.create_rq();
    const std::uint32_t other = bench.create_rq();
    const std::uint64_t before = bench.digest();
    const std::uint32_t rqtn = bench.create_rqt({drop, drop}, 4);
    CHECK(bench.resources().rqs.find(drop)->users == 2);
    CHECK(refused(destroy(bench, drop), Status::BAD_RES_STATE));
    REQUIRE(bench.run<prm::modify_rqt_out>(modify_rqt_input(rqtn, {drop, other, other})).ok());
    CHECK(bench.resources().rqs.find(drop)->users == 1);
    CHECK(bench.resources().rqs.find(other)->users == 2);
    const auto answer = query_rqt(bench, rqtn, 4);
    REQUIRE(answer.ok());
    const auto context = answer.out.view().nested<prm::query_rqt_out::rqt_context>();
    CHECK(context.get<prm::rqtc::rqt_actual_size>() == 3);
    CHECK(context.get<prm::rqtc::rqt_max_size>() == 4);
    CHECK(context.at<prm::rqtc::rq_num>(2).get<prm::rq_num::rq_num_>() == other);
    CHECK(refused(query_rqt(bench, rqtn, 2), Status::BAD_OUTP_LEN));
    CHECK(bench
              .by_number<prm::destroy_rqt_in, prm::destroy_rqt_out, prm::destroy_rqt_in::rqtn>(
                  Opcode::DESTROY_RQT, rqtn)
              .ok());
    CHECK(bench.digest() == before);
    CHECK(refused(query_rqt(bench, rqtn, 4), Status::BAD_RES_STATE));
}

TEST_CASE("MODIFY_RQT without rqn_list changes nothing", "[rqt]") {
    EthernetBench bench;
    const std::uint32_t rqtn = bench.create_rqt({bench.create_rq()}, 2);
    const std::uint64_t before = bench.digest();
    auto in = modify_rqt_input(rqtn, {});
    in.view().set<prm::modify_rqt_in::bitmask, prm::rqt_bitmask::rqn_list>(0U);
    CHECK(bench.run<prm::modify_rqt_out>(in).ok());
    CHECK(bench.digest() == before);
}

TEST_CASE("receive queue tables refuse sizes and queues that do not fit", "[rqt]") {
    EthernetBench bench;
    const std::uint32_t rqn = bench.create_rq();
    using In = prm::create_rqt_in;
    using V = prm::View<In>;
    using prm::rqtc;
    check_refusals<prm::create_rqt_out>(
        bench, EthernetBench::rqt_input({rqn, rqn}, 4),
        {
            {"actual", [](V in) { in.set<In::rqt_context, rqtc::rqt_max_size>(1U); },
             Status::BAD_PARAM, syndrome::kRqtActualSize},
            {"empty", [](V in) { in.set<In::rqt_context, rqtc::rqt_actual_size>(0U); },
             Status::BAD_PARAM},
            {"no size", [](V in) { in.set<In::rqt_context, rqtc::rqt_max_size>(0U); },
             Status::BAD_PARAM},
            {"max", [](V in) { in.set<In::rqt_context, rqtc::rqt_max_size>(4096U); },
             Status::BAD_PARAM},
            {"list", [](V in) { in.set<In::rqt_context, rqtc::rqt_actual_size>(3U); },
             Status::BAD_INP_LEN},
            {"virtqueues", [](V in) { in.set<In::rqt_context, rqtc::list_q_type>(1U); },
             Status::BAD_PARAM},
            {"functions", [](V in) { in.set<In::rqt_context, rqtc::rq_vhca_id_format>(1U); },
             Status::BAD_PARAM},
            {"queue",
             [](V in) {
                 in.nested<In::rqt_context>().at<rqtc::rq_num>(1).set<prm::rq_num::rq_num_>(9U);
             },
             Status::BAD_PARAM},
        });
    const std::uint32_t rqtn = bench.create_rqt({rqn}, 1);
    using Modify = prm::modify_rqt_in;
    using M = prm::View<Modify>;
    check_refusals<prm::modify_rqt_out>(
        bench, modify_rqt_input(rqtn, {rqn, rqn}),
        {
            {"actual", [](M) {}, Status::BAD_PARAM, syndrome::kRqtActualSize},
            {"number", [](M in) { in.set<Modify::rqtn>(0xfffffU); }, Status::BAD_RES_STATE},
        });
}

// ---- TIRs ----

prm::Buffer<prm::create_tir_in> indirect_input(EthernetBench& bench, std::uint32_t rqtn) {
    using In = prm::create_tir_in;
    auto in = FirmwareBench::input<In>(Opcode::CREATE_TIR);
    const auto tirc = in.view().nested<In::ctx>();
    tirc.set<prm::tirc::disp_type>(1U);
    tirc.set<prm::tirc::indirect_table>(rqtn);
    tirc.set<prm::tirc::transport_domain>(bench.domain);
    tirc.set<prm::tirc::rx_hash_fn>(2U);
    tirc.set<prm::tirc::rx_hash_field_selector_outer, prm::rx_hash_field_select::selected_fields>(
        3U);
    return in;
}

TEST_CASE("direct and indirect TIRs hold what they point to", "[tir]") {
    EthernetBench bench;
    const std::uint32_t rqn = bench.create_rq();
    const std::uint32_t rqtn = bench.create_rqt({rqn}, 1);
    const std::uint64_t before = bench.digest();
    const std::uint32_t direct = bench.create_tir(rqn);
    const auto created = bench.run<prm::create_tir_out>(indirect_input(bench, rqtn));
    REQUIRE(created.ok());
    const auto indirect = created.get<prm::create_tir_out::tirn>();
    CHECK(bench.resources().rqs.find(rqn)->users == 2);
    CHECK(bench.resources().rqts.find(rqtn)->users == 1);
    const auto destroy_tir = [&](std::uint32_t tirn) {
        return bench
            .by_number<prm::destroy_tir_in, prm::destroy_tir_out, prm::destroy_tir_in::tirn>(
                Opcode::DESTROY_TIR, tirn);
    };
    CHECK(destroy_tir(direct).ok());
    CHECK(destroy_tir(indirect).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(destroy_tir(direct), Status::BAD_RES_STATE));
}

TEST_CASE("CREATE_TIR refuses what the card cannot do", "[tir]") {
    EthernetBench bench;
    using In = prm::create_tir_in;
    using V = prm::View<In>;
    using prm::tirc;
    const std::uint32_t rqn = bench.create_rq();
    check_refusals<prm::create_tir_out>(
        bench, bench.direct_tir_input(rqn),
        {
            {"queue", [](V in) { in.set<In::ctx, tirc::inline_rqn>(1U); }, Status::BAD_PARAM},
            {"hash of one", [](V in) { in.set<In::ctx, tirc::rx_hash_fn>(1U); }, Status::BAD_PARAM},
            {"dispatch", [](V in) { in.set<In::ctx, tirc::disp_type>(2U); }, Status::BAD_PARAM},
            {"table", [](V in) { in.set<In::ctx, tirc::disp_type>(1U); }, Status::BAD_PARAM},
            {"hash", [](V in) { in.set<In::ctx, tirc::rx_hash_fn>(3U); }, Status::BAD_PARAM},
            {"fields",
             [](V in) {
                 in.set<In::ctx, tirc::rx_hash_field_selector_inner,
                        prm::rx_hash_field_select::selected_fields>(0x20U);
             },
             Status::BAD_PARAM},
            {"domain", [](V in) { in.set<In::ctx, tirc::transport_domain>(0U); },
             Status::BAD_PARAM},
            {"tls", [](V in) { in.set<In::ctx, tirc::tls_en>(1U); }, Status::BAD_PARAM},
            {"merge", [](V in) { in.set<In::ctx, tirc::packet_merge_mask>(4U); },
             Status::BAD_PARAM},
            {"merge size",
             [](V in) {
                 in.set<In::ctx, tirc::packet_merge_mask>(1U);
                 in.set<In::ctx, tirc::lro_timeout_period_usecs>(32U);
             },
             Status::BAD_PARAM},
            {"merge period",
             [](V in) {
                 in.set<In::ctx, tirc::packet_merge_mask>(1U);
                 in.set<In::ctx, tirc::lro_max_ip_payload_size>(16U);
                 in.set<In::ctx, tirc::lro_timeout_period_usecs>(31U);
             },
             Status::BAD_PARAM},
        });
    EthernetBench plain(
        capability({{"per_protocol_networking_offload_caps.lro_cap", "0"},
                    {"per_protocol_networking_offload_caps.tunnel_stateless_gre", "0"},
                    {"per_protocol_networking_offload_caps.tunnel_stateless_vxlan", "0"},
                    {"per_protocol_networking_offload_caps.tunnel_stateless_ip_over_ip", "0"},
                    {"per_protocol_networking_offload_caps.tunnel_stateless_geneve_rx", "0"}}));
    check_refusals<prm::create_tir_out>(
        plain, plain.direct_tir_input(plain.create_rq()),
        {
            {"merge",
             [](V in) {
                 in.set<In::ctx, tirc::packet_merge_mask>(1U);
                 in.set<In::ctx, tirc::lro_max_ip_payload_size>(16U);
                 in.set<In::ctx, tirc::lro_timeout_period_usecs>(32U);
             },
             Status::BAD_PARAM},
            {"inner headers", [](V in) { in.set<In::ctx, tirc::tunneled_offload_en>(1U); },
             Status::BAD_PARAM, syndrome::kTirInnerParsing},
        });
}

TEST_CASE("MODIFY_TIR changes the selected fields only", "[tir]") {
    EthernetBench bench;
    using In = prm::modify_tir_in;
    using Mask = prm::modify_tir_bitmask;
    using prm::tirc;
    const std::uint32_t rqtn = bench.create_rqt({bench.create_rq()}, 1);
    const auto created = bench.run<prm::create_tir_out>(indirect_input(bench, rqtn));
    REQUIRE(created.ok());
    auto in = FirmwareBench::input<In>(Opcode::MODIFY_TIR);
    in.view().set<In::tirn>(created.get<prm::create_tir_out::tirn>());
    in.view().set<In::bitmask, Mask::self_lb_en>(1U);
    in.view().set<In::bitmask, Mask::packet_merge>(1U);
    in.view().set<In::ctx, tirc::self_lb_block>(2U);
    in.view().set<In::ctx, tirc::packet_merge_mask>(3U);
    in.view().set<In::ctx, tirc::lro_max_ip_payload_size>(16U);
    in.view().set<In::ctx, tirc::lro_timeout_period_usecs>(32U);
    in.view().set<In::ctx, tirc::rx_hash_fn>(1U);
    REQUIRE(bench.run<prm::modify_tir_out>(in).ok());
    const auto query = [&] {
        return bench.by_number<prm::query_tir_in, prm::query_tir_out, prm::query_tir_in::tirn>(
            Opcode::QUERY_TIR, created.get<prm::create_tir_out::tirn>());
    };
    CHECK(query().get<prm::query_tir_out::tir_context, tirc::self_lb_block>() == 2);
    CHECK(query().get<prm::query_tir_out::tir_context, tirc::packet_merge_mask>() == 3);
    CHECK(query().get<prm::query_tir_out::tir_context, tirc::rx_hash_fn>() == 2);
    in.view().set<In::bitmask, Mask::hash>(1U);
    REQUIRE(bench.run<prm::modify_tir_out>(in).ok());
    CHECK(query().get<prm::query_tir_out::tir_context, tirc::rx_hash_fn>() == 1);
    using V = prm::View<In>;
    check_refusals<prm::modify_tir_out>(
        bench, in,
        {
            {"number", [](V v) { v.set<In::tirn>(0xffffU); }, Status::BAD_RES_STATE},
            {"hash", [](V v) { v.set<In::ctx, tirc::rx_hash_fn>(7U); }, Status::BAD_PARAM},
            {"merge", [](V v) { v.set<In::ctx, tirc::packet_merge_mask>(8U); }, Status::BAD_PARAM},
        });
    EthernetBench fixed(
        capability({{"per_protocol_networking_offload_caps.self_lb_en_modifiable", "0"}}));
    const std::uint32_t tirn = fixed.create_tir(fixed.create_rq());
    auto loopback = FirmwareBench::input<In>(Opcode::MODIFY_TIR);
    loopback.view().set<In::tirn>(tirn);
    loopback.view().set<In::bitmask, Mask::self_lb_en>(1U);
    CHECK(refused(fixed.run<prm::modify_tir_out>(loopback), Status::BAD_PARAM));
    auto hash = FirmwareBench::input<In>(Opcode::MODIFY_TIR);
    hash.view().set<In::tirn>(tirn);
    hash.view().set<In::bitmask, Mask::hash>(1U);
    hash.view().set<In::ctx, tirc::rx_hash_fn>(1U);
    CHECK(refused(fixed.run<prm::modify_tir_out>(hash), Status::BAD_PARAM));
}

}  // namespace
}  // namespace cxsim::test
