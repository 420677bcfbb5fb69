// SPDX-License-Identifier: Apache-2.0
// A firmware bench with what Ethernet queues and flow steering need at hand, and good inputs of
// their commands to spoil.
#pragma once

#include "tests/support/firmware_bench.h"

#include <string_view>
#include <utility>
#include <vector>

namespace cxsim::test {

class EthernetBench : public FirmwareBench {
  public:
    explicit EthernetBench(std::vector<model::Override> overrides = {},
                           std::string_view card_name = "connectx5")
        : FirmwareBench(card_name, std::move(overrides)),
          uar(alloc_uar()),
          pd(alloc_pd()),
          eqn(create_eq(uar)),
          cqn(create_cq(uar, eqn)),
          domain(alloc_domain()) {}

    // ---- Queues ----

    /// 64 basic blocks: one page.
    prm::Buffer<prm::create_sq_in> sq_input(std::uint32_t tisn) const {
        using In = prm::create_sq_in;
        auto in = input<In>(prm::Opcode::CREATE_SQ, 0, 8);
        const auto sqc = in.view().nested<In::ctx>();
        sqc.set<prm::sqc::cqn>(cqn);
        if (tisn != 0) {
            sqc.set<prm::sqc::tis_lst_sz>(1U);
            sqc.set<prm::sqc::tis_num_0>(tisn);
        }
        sqc.set<prm::sqc::flush_in_error_en>(1U);
        const auto wq = sqc.nested<prm::sqc::wq>();
        wq.set<prm::wq::wq_type>(1U);
        wq.set<prm::wq::pd>(pd);
        wq.set<prm::wq::uar_page>(uar);
        wq.set<prm::wq::dbr_addr>(kQueueMemory + 0x8000);
        wq.set<prm::wq::log_wq_stride>(6U);
        wq.set<prm::wq::log_wq_sz>(6U);
        set_page(in, 0x9000);
        return in;
    }
    std::uint32_t create_sq(std::uint32_t tisn) {
        const auto answer = run<prm::create_sq_out>(sq_input(tisn));
        REQUIRE(answer.ok());
        return answer.get<prm::create_sq_out::sqn>();
    }
    static prm::Buffer<prm::modify_sq_in> modify_sq(std::uint32_t sqn, std::uint32_t from,
                                                    std::uint32_t to) {
        using In = prm::modify_sq_in;
        auto in = input<In>(prm::Opcode::MODIFY_SQ);
        in.view().set<In::sqn>(sqn);
        in.view().set<In::sq_state>(from);
        in.view().set<In::ctx, prm::sqc::state>(to);
        return in;
    }

    /// A cyclic queue of 64 WQEs of 16 bytes.
    prm::Buffer<prm::create_rq_in> rq_input() const {
        using In = prm::create_rq_in;
        auto in = input<In>(prm::Opcode::CREATE_RQ, 0, 8);
        const auto rqc = in.view().nested<In::ctx>();
        rqc.set<prm::rqc::cqn>(cqn);
        const auto wq = rqc.nested<prm::rqc::wq>();
        wq.set<prm::wq::wq_type>(1U);
        wq.set<prm::wq::pd>(pd);
        wq.set<prm::wq::dbr_addr>(kQueueMemory + 0xa000);
        wq.set<prm::wq::log_wq_stride>(4U);
        wq.set<prm::wq::log_wq_sz>(6U);
        set_page(in, 0xb000);
        return in;
    }
    std::uint32_t create_rq() {
        const auto answer = run<prm::create_rq_out>(rq_input());
        REQUIRE(answer.ok());
        return answer.get<prm::create_rq_out::rqn>();
    }

    prm::Buffer<prm::create_tis_in> tis_input() const {
        using In = prm::create_tis_in;
        auto in = input<In>(prm::Opcode::CREATE_TIS);
        in.view().set<In::ctx, prm::tisc::transport_domain>(domain);
        return in;
    }
    std::uint32_t create_tis() {
        const auto answer = run<prm::create_tis_out>(tis_input());
        REQUIRE(answer.ok());
        return answer.get<prm::create_tis_out::tisn>();
    }

    static prm::Buffer<prm::create_rqt_in> rqt_input(const std::vector<std::uint32_t>& queues,
                                                     std::uint32_t max_size) {
        using In = prm::create_rqt_in;
        auto in = input<In>(prm::Opcode::CREATE_RQT, 0, queues.size() * 4);
        const auto rqtc = in.view().nested<In::rqt_context>();
        rqtc.set<prm::rqtc::rqt_max_size>(max_size);
        rqtc.set<prm::rqtc::rqt_actual_size>(queues.size());
        for (std::size_t i = 0; i < queues.size(); ++i) {
            rqtc.at<prm::rqtc::rq_num>(i).set<prm::rq_num::rq_num_>(queues[i]);
        }
        return in;
    }
    std::uint32_t create_rqt(const std::vector<std::uint32_t>& queues, std::uint32_t max_size) {
        const auto answer = run<prm::create_rqt_out>(rqt_input(queues, max_size));
        REQUIRE(answer.ok());
        return answer.get<prm::create_rqt_out::rqtn>();
    }

    prm::Buffer<prm::create_tir_in> direct_tir_input(std::uint32_t rqn) const {
        using In = prm::create_tir_in;
        auto in = input<In>(prm::Opcode::CREATE_TIR);
        in.view().set<In::ctx, prm::tirc::inline_rqn>(rqn);
        in.view().set<In::ctx, prm::tirc::transport_domain>(domain);
        return in;
    }
    std::uint32_t create_tir(std::uint32_t rqn) {
        const auto answer = run<prm::create_tir_out>(direct_tir_input(rqn));
        REQUIRE(answer.ok());
        return answer.get<prm::create_tir_out::tirn>();
    }

    // ---- Steering ----

    static prm::Buffer<prm::create_flow_table_in> table_input(std::uint32_t level,
                                                              std::uint32_t log_size = 4) {
        using In = prm::create_flow_table_in;
        auto in = input<In>(prm::Opcode::CREATE_FLOW_TABLE);
        const auto context = in.view().nested<In::flow_table_context>();
        context.set<prm::flow_table_context::level>(level);
        context.set<prm::flow_table_context::log_size>(log_size);
        return in;
    }
    std::uint32_t create_table(std::uint32_t level) {
        const auto answer = run<prm::create_flow_table_out>(table_input(level));
        REQUIRE(answer.ok());
        return answer.get<prm::create_flow_table_out::table_id>();
    }
    /// Matches the whole destination MAC.
    static prm::Buffer<prm::create_flow_group_in> group_input(std::uint32_t table,
                                                              std::uint32_t start,
                                                              std::uint32_t end) {
        using In = prm::create_flow_group_in;
        auto in = input<In>(prm::Opcode::CREATE_FLOW_GROUP);
        in.view().set<In::table_id>(table);
        in.view().set<In::start_flow_index>(start);
        in.view().set<In::end_flow_index>(end);
        in.view().set<In::match_criteria_enable>(1U);
        const auto outer =
            in.view().nested<In::match_criteria>().nested<prm::fte_match_param::outer_headers>();
        outer.set<prm::fte_match_set_lyr_2_4::dmac_47_16>(0xffffffffU);
        outer.set<prm::fte_match_set_lyr_2_4::dmac_15_0>(0xffffU);
        return in;
    }
    std::uint32_t create_group(std::uint32_t table, std::uint32_t start, std::uint32_t end) {
        const auto answer = run<prm::create_flow_group_out>(group_input(table, start, end));
        REQUIRE(answer.ok());
        return answer.get<prm::create_flow_group_out::group_id>();
    }

    Answer<prm::destroy_flow_table_out> destroy_table(std::uint32_t table) {
        return by_number<prm::destroy_flow_table_in, prm::destroy_flow_table_out,
                         prm::destroy_flow_table_in::table_id>(prm::Opcode::DESTROY_FLOW_TABLE,
                                                               table);
    }
    Answer<prm::destroy_flow_group_out> destroy_group(std::uint32_t table, std::uint32_t group) {
        using In = prm::destroy_flow_group_in;
        auto in = input<In>(prm::Opcode::DESTROY_FLOW_GROUP);
        in.view().set<In::table_id>(table);
        in.view().set<In::group_id>(group);
        return run<prm::destroy_flow_group_out>(in);
    }

    struct Destination {
        std::uint32_t type;  ///< 1 flow table, 2 TIR
        std::uint32_t number;
    };
    static prm::Buffer<prm::set_fte_in> entry_input(
        std::uint32_t table, std::uint32_t group, std::uint32_t index, std::uint32_t action,
        const std::vector<Destination>& destinations,
        const std::vector<std::uint32_t>& counters = {}) {
        using In = prm::set_fte_in;
        using Context = prm::flow_context;
        auto in = input<In>(prm::Opcode::SET_FLOW_TABLE_ENTRY, 0,
                            (destinations.size() + counters.size()) * 8);
        in.view().set<In::table_id>(table);
        in.view().set<In::flow_index>(index);
        const auto context = in.view().nested<In::flow_context>();
        context.set<Context::group_id>(group);
        context.set<Context::action>(action);
        context.set<Context::destination_list_size>(destinations.size());
        context.set<Context::flow_counter_list_size>(counters.size());
        auto list = context.bytes().subspan(Context::kBytes);
        for (const Destination& destination : destinations) {
            const prm::View<prm::dest_format_struct> place(list.first(8));
            place.set<prm::dest_format_struct::destination_type>(destination.type);
            place.set<prm::dest_format_struct::destination_id>(destination.number);
            list = list.subspan(8);
        }
        for (const std::uint32_t counter : counters) {
            const prm::View<prm::flow_counter_list> place(list.first(8));
            place.set<prm::flow_counter_list::flow_counter_id>(counter);
            list = list.subspan(8);
        }
        return in;
    }

    std::uint32_t alloc_counter(std::uint32_t bulk = 0) {
        auto in = input<prm::alloc_flow_counter_in>(prm::Opcode::ALLOC_FLOW_COUNTER);
        in.view().set<prm::alloc_flow_counter_in::flow_counter_bulk>(bulk);
        const auto answer = run<prm::alloc_flow_counter_out>(in);
        REQUIRE(answer.ok());
        return answer.get<prm::alloc_flow_counter_out::flow_counter_id>();
    }

    /// Runs a command that names one object by `Field`.
    template <class In, class Out, class Field>
    Answer<Out> by_number(prm::Opcode opcode, std::uint32_t number,
                          std::size_t output_tail_bytes = 0) {
        auto in = input<In>(opcode);
        in.view().template set<Field>(number);
        return run<Out>(in, output_tail_bytes);
    }

    std::uint32_t uar;
    std::uint32_t pd;
    std::uint32_t eqn;
    std::uint32_t cqn;
    std::uint32_t domain;

  private:
    std::uint32_t alloc_domain() {
        const auto answer = run<prm::alloc_transport_domain_out>(
            input<prm::alloc_transport_domain_in>(prm::Opcode::ALLOC_TRANSPORT_DOMAIN));
        REQUIRE(answer.ok());
        return answer.get<prm::alloc_transport_domain_out::transport_domain>();
    }

    // The page list is the last eight bytes.
    template <class In>
    static void set_page(prm::Buffer<In>& in, std::uint64_t offset) {
        const auto bytes = in.bytes();
        model::store_be<std::uint64_t>(bytes.data() + bytes.size() - 8, kQueueMemory + offset);
    }
};

}  // namespace cxsim::test
