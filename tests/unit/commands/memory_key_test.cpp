// SPDX-License-Identifier: Apache-2.0
#include "model/queues/translation.h"
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::mkc;
using prm::Opcode;
using prm::Status;

namespace {

using In = prm::create_mkey_in;
using Key = In::memory_key_mkey_entry;

// Two pages of 4 KiB behind one octword.
prm::Buffer<In> mtt_input(std::uint32_t pd) {
    auto in = FirmwareBench::input<In>(Opcode::CREATE_MKEY, 0, 16);
    const auto key = in.view().nested<Key>();
    key.set<mkc::access_mode_1_0>(1U);
    key.set<mkc::lr>(1U);
    key.set<mkc::qpn>(0xffffffU);
    key.set<mkc::mkey_7_0>(0x5aU);
    key.set<mkc::pd>(pd);
    key.set<mkc::start_addr>(0x7000U);
    key.set<mkc::len>(0x2000U);
    key.set<mkc::log_page_size>(12U);
    key.set<mkc::translations_octword_size>(1U);
    in.view().set<In::translations_octword_actual_size>(1U);
    model::store_be<std::uint64_t>(in.view().tail<In::klm_pas_mtt>().data(), 0x10000);
    model::store_be<std::uint64_t>(in.view().tail<In::klm_pas_mtt>().data() + 8, 0x30000);
    return in;
}

struct MkeyBench : FirmwareBench {
    using FirmwareBench::FirmwareBench;
    std::uint32_t pd = alloc_pd();

    std::uint32_t create(const prm::Buffer<In>& in) {
        const auto answer = run<prm::create_mkey_out>(in);
        CAPTURE(answer.reply.reason);
        REQUIRE(answer.ok());
        return answer.get<prm::create_mkey_out::mkey_index>();
    }
    Answer<prm::destroy_mkey_out> destroy(std::uint32_t index) {
        auto in = input<prm::destroy_mkey_in>(Opcode::DESTROY_MKEY);
        in.view().set<prm::destroy_mkey_in::mkey_index>(index);
        return run<prm::destroy_mkey_out>(in);
    }
    Answer<prm::query_mkey_out> query(std::uint32_t index) {
        auto in = input<prm::query_mkey_in>(Opcode::QUERY_MKEY);
        in.view().set<prm::query_mkey_in::mkey_index>(index);
        return run<prm::query_mkey_out>(in);
    }
    Answer<prm::dealloc_pd_out> dealloc_pd() {
        auto in = input<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
        in.view().set<prm::dealloc_pd_in::pd>(pd);
        return run<prm::dealloc_pd_out>(in);
    }
};

}  // namespace

TEST_CASE("a memory key translates as created, holds its PD and can be queried", "[memory_key]") {
    MkeyBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t index = bench.create(mtt_input(bench.pd));
    const model::Mkey* mkey = bench.resources().mkeys.find(index);
    REQUIRE(mkey != nullptr);
    CHECK(mkey->key() == (index << 8 | 0x5a));
    CHECK(mkey->translations.size() == 16);
    model::TranslationRequest request;
    request.key = mkey->key();
    request.pd = bench.pd;
    request.address = 0x8800;
    request.bytes = 0x100;
    std::vector<model::HostRange> ranges;
    REQUIRE(bench.function().queues().translator().translate(request, ranges) ==
            model::TranslationError::none);
    REQUIRE(ranges.size() == 1);
    CHECK(ranges[0].address.value == 0x30800);

    const auto shown = bench.query(index);
    REQUIRE(shown.ok());
    CHECK(shown.get<prm::query_mkey_out::memory_key_mkey_entry, mkc::len>() == 0x2000);
    const auto first = shown.out.view().bytes<prm::query_mkey_out::bsf0_klm0_pas_mtt0_1>();
    CHECK(model::load_be<std::uint64_t>(first.data() + 8) == 0x30000);

    CHECK(refused(bench.dealloc_pd(), Status::BAD_RES_STATE, 0x31b635));
    CHECK(bench.destroy(index).ok());
    CHECK(bench.digest() == before);
    CHECK(bench.dealloc_pd().ok());
}

TEST_CASE("a key of a PD that does not live is accepted, as real firmware does", "[memory_key]") {
    MkeyBench bench;
    const std::uint32_t index = bench.create(mtt_input(0x7777));
    CHECK(bench.resources().mkeys.find(index)->holds.empty());
    CHECK(bench.destroy(index).ok());
}

TEST_CASE("creating a memory key is refused for each thing that is wrong", "[memory_key]") {
    MkeyBench bench;
    using View = prm::View<In>;
    check_refusals<prm::create_mkey_out>(
        bench, mtt_input(bench.pd),
        {{"no entries", [](View v) { v.set<Key, mkc::translations_octword_size>(0U); },
          Status::BAD_PARAM, 0x3bf6f},
         {"page size", [](View v) { v.set<Key, mkc::log_page_size>(32U); }, Status::BAD_PARAM,
          0x38a711},
         {"small page", [](View v) { v.set<Key, mkc::log_page_size>(11U); }, Status::BAD_PARAM},
         {"access mode", [](View v) { v.set<Key, mkc::access_mode_4_2>(1U); }, Status::BAD_PARAM},
         {"entries given", [](View v) { v.set<In::translations_octword_actual_size>(2U); },
          Status::BAD_PARAM},
         {"list too short",
          [](View v) {
              v.set<Key, mkc::translations_octword_size>(2U);
              v.set<In::translations_octword_actual_size>(2U);
          },
          Status::BAD_INP_LEN},
         {"KLM list",
          [](View v) {
              v.set<Key, mkc::access_mode_1_0>(2U);
              v.set<Key, mkc::translations_octword_size>(0x10001U);
          },
          Status::BAD_PARAM},
         {"signature", [](View v) { v.set<Key, mkc::bsf_en>(1U); }, Status::BAD_PARAM},
         {"signature size", [](View v) { v.set<Key, mkc::bsf_octword_size>(4U); },
          Status::BAD_PARAM},
         {"ATS", [](View v) { v.set<Key, mkc::ma_translation_mode>(1U); }, Status::BAD_PARAM},
         {"page access", [](View v) { v.set<In::pg_access>(1U); }, Status::BAD_PARAM},
         {"user memory", [](View v) { v.set<In::mkey_umem_valid>(1U); }, Status::BAD_PARAM},
         {"data direct", [](View v) { v.set<In::data_direct>(1U); }, Status::BAD_PARAM},
         {"user before all else", [](View v) { v.set<In::uid>(3U); }, Status::BAD_PARAM,
          0x76555f}});
}

TEST_CASE("flags of a memory key need their capabilities", "[memory_key]") {
    MkeyBench bench("connectx5", capability({{"cmd_hca_cap.relaxed_ordering_write", "0"},
                                             {"cmd_hca_cap.relaxed_ordering_read", "0"},
                                             {"cmd_hca_cap.relaxed_ordering_read_pci_enabled", "0"},
                                             {"cmd_hca_cap.imaicl", "0"}}));
    using View = prm::View<In>;
    check_refusals<prm::create_mkey_out>(
        bench, mtt_input(bench.pd),
        {{"writes", [](View v) { v.set<Key, mkc::relaxed_ordering_write>(1U); }, Status::BAD_PARAM},
         {"reads", [](View v) { v.set<Key, mkc::relaxed_ordering_read>(1U); }, Status::BAD_PARAM},
         {"invalidation", [](View v) { v.set<Key, mkc::en_rinval>(1U); }, Status::BAD_PARAM}});
}

TEST_CASE("keys as drivers make them are accepted", "[memory_key]") {
    MkeyBench bench;
    SECTION("physical addresses") {
        auto in = FirmwareBench::input<In>(Opcode::CREATE_MKEY);
        const auto key = in.view().nested<Key>();
        key.set<mkc::length64>(1U);
        key.set<mkc::lw>(1U);
        key.set<mkc::lr>(1U);
        key.set<mkc::qpn>(0xffffffU);
        key.set<mkc::pd>(bench.pd);
        CHECK(bench.resources().mkeys.find(bench.create(in)) != nullptr);
    }
    SECTION("a free key of the driver's cache takes no memory for entries") {
        auto in = FirmwareBench::input<In>(Opcode::CREATE_MKEY);
        const auto key = in.view().nested<Key>();
        key.set<mkc::free>(1U);
        key.set<mkc::umr_en>(1U);
        key.set<mkc::access_mode_1_0>(1U);
        key.set<mkc::translations_octword_size>(1U << 16);
        key.set<mkc::log_page_size>(12U);
        CHECK(bench.resources().mkeys.find(bench.create(in))->translations.empty());
    }
    SECTION("entries of 256 bytes in a KSM") {
        auto in = FirmwareBench::input<In>(Opcode::CREATE_MKEY);
        const auto key = in.view().nested<Key>();
        key.set<mkc::free>(1U);
        key.set<mkc::umr_en>(1U);
        key.set<mkc::access_mode_1_0>(3U);
        key.set<mkc::translations_octword_size>(64U);
        key.set<mkc::log_page_size>(8U);
        CHECK(bench.resources().mkeys.find(bench.create(in)) != nullptr);
    }
}

TEST_CASE("a full key table and unknown or held keys are refused", "[memory_key]") {
    MkeyBench bench;
    CHECK(refused(bench.destroy(0x1234), Status::BAD_RES_STATE));
    CHECK(refused(bench.query(0x1234), Status::BAD_RES_STATE));
    const std::uint32_t index = bench.create(mtt_input(bench.pd));
    bench.resources().mkeys.set_limit(1);
    CHECK(refused(bench.run<prm::create_mkey_out>(mtt_input(bench.pd)), Status::LIM_ERR, 0x59c8a4));
    model::Mkey& mkey = *bench.resources().mkeys.find(index);
    ++mkey.users;
    CHECK(refused(bench.destroy(index), Status::BAD_RES_STATE));
    --mkey.users;
    CHECK(bench.destroy(index).ok());
}

TEST_CASE("special contexts tell of the keys that the card offers", "[memory_key]") {
    using Out = prm::query_special_contexts_out;
    const auto in =
        FirmwareBench::input<prm::query_special_contexts_in>(Opcode::QUERY_SPECIAL_CONTEXTS);
    MkeyBench plain;
    const auto answer = plain.run<Out>(in);
    REQUIRE(answer.ok());
    CHECK(answer.get<Out::resd_lkey>() == firmware_stub::kSpecialKeys.reserved_lkey);
    CHECK(answer.get<Out::null_mkey>() == 0);
    MkeyBench with("connectx5", capability({{"cmd_hca_cap.null_mkey", "1"},
                                            {"cmd_hca_cap.terminate_scatter_list_mkey", "1"}}));
    const auto both = with.run<Out>(in);
    CHECK(both.get<Out::null_mkey>() == firmware_stub::kSpecialKeys.null_mkey);
    CHECK(both.get<Out::terminate_scatter_list_mkey>() == 0x100);
}
