// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

#include <set>

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

// One of the four kinds that are nothing but a number.
template <class AllocIn, class AllocOut, class Number, class FreeIn, class FreeOut, class FreeNumber>
struct Kind {
    Opcode alloc;
    Opcode dealloc;

    Answer<AllocOut> allocate(FirmwareBench& bench) const {
        return bench.run<AllocOut>(FirmwareBench::input<AllocIn>(alloc));
    }
    static std::uint32_t number(const Answer<AllocOut>& answer) {
        return answer.template get<Number>();
    }
    Answer<FreeOut> free(FirmwareBench& bench, std::uint32_t wanted) const {
        auto in = FirmwareBench::input<FreeIn>(dealloc);
        in.view().template set<FreeNumber>(wanted);
        return bench.run<FreeOut>(in);
    }
};

const Kind<prm::alloc_uar_in, prm::alloc_uar_out, prm::alloc_uar_out::uar, prm::dealloc_uar_in,
           prm::dealloc_uar_out, prm::dealloc_uar_in::uar>
    kUar{Opcode::ALLOC_UAR, Opcode::DEALLOC_UAR};
const Kind<prm::alloc_pd_in, prm::alloc_pd_out, prm::alloc_pd_out::pd, prm::dealloc_pd_in,
           prm::dealloc_pd_out, prm::dealloc_pd_in::pd>
    kPd{Opcode::ALLOC_PD, Opcode::DEALLOC_PD};
const Kind<prm::alloc_transport_domain_in, prm::alloc_transport_domain_out,
           prm::alloc_transport_domain_out::transport_domain, prm::dealloc_transport_domain_in,
           prm::dealloc_transport_domain_out, prm::dealloc_transport_domain_in::transport_domain>
    kDomain{Opcode::ALLOC_TRANSPORT_DOMAIN, Opcode::DEALLOC_TRANSPORT_DOMAIN};
const Kind<prm::alloc_xrcd_in, prm::alloc_xrcd_out, prm::alloc_xrcd_out::xrcd, prm::dealloc_xrcd_in,
           prm::dealloc_xrcd_out, prm::dealloc_xrcd_in::xrcd>
    kXrcd{Opcode::ALLOC_XRCD, Opcode::DEALLOC_XRCD};

/// Good case and refusals of one kind. `in_use_syndrome`: of freeing it while it is held.
template <class K>
void check_kind(const K& kind, model::ObjectKind object, std::uint32_t in_use_syndrome = 0) {
    FirmwareBench bench;
    const auto initial = bench.digest();
    const auto first = kind.allocate(bench);
    const auto second = kind.allocate(bench);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    CHECK(K::number(first) != 0);
    CHECK(K::number(first) != K::number(second));
    CHECK(bench.resources().count(object) == 2);

    const auto before = bench.digest();
    CHECK(refused(kind.free(bench, K::number(second) + 1), Status::BAD_RES_STATE));
    CHECK(refused(kind.free(bench, 0), Status::BAD_RES_STATE));
    CHECK(refused(kind.free(bench, 0xffffff), Status::BAD_RES_STATE));
    bench.resources().pin({object, K::number(first)});
    CHECK(refused(kind.free(bench, K::number(first)), Status::BAD_RES_STATE, in_use_syndrome));
    bench.resources().unpin({object, K::number(first)});
    CHECK(bench.digest() == before);

    CHECK(kind.free(bench, K::number(first)).ok());
    CHECK(refused(kind.free(bench, K::number(first)), Status::BAD_RES_STATE));
    CHECK(K::number(kind.allocate(bench)) == K::number(first));  // the lowest number is reused
    CHECK(kind.free(bench, K::number(first)).ok());
    CHECK(kind.free(bench, K::number(second)).ok());
    CHECK(bench.digest() == initial);
}

template <class K>
void check_limit(const K& kind, FirmwareBench& bench, std::uint32_t limit) {
    std::set<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < limit; ++i) {
        const auto answer = kind.allocate(bench);
        REQUIRE(answer.ok());
        numbers.insert(K::number(answer));
    }
    CHECK(numbers.size() == limit);
    CHECK(refused(kind.allocate(bench), Status::LIM_ERR));
    REQUIRE(kind.free(bench, *numbers.begin()).ok());
    CHECK(K::number(kind.allocate(bench)) == *numbers.begin());
}

}  // namespace

TEST_CASE("UAR pages come and go", "[protection]") {
    check_kind(kUar, model::ObjectKind::uar);
}
TEST_CASE("protection domains come and go", "[protection]") {
    check_kind(kPd, model::ObjectKind::pd, 0x31b635);
}
TEST_CASE("transport domains come and go", "[protection]") {
    check_kind(kDomain, model::ObjectKind::transport_domain);
}
TEST_CASE("XRC domains come and go", "[protection]") {
    check_kind(kXrcd, model::ObjectKind::xrcd);
}

TEST_CASE("each kind ends where the card's capability says", "[protection]") {
    FirmwareBench bench("connectx5",
                        capability({{"cmd_hca_cap.log_max_pd", "3"},
                                    {"cmd_hca_cap.log_max_transport_domain", "2"},
                                    {"cmd_hca_cap.log_max_xrcd", "1"}}));
    SECTION("protection domains: one is the firmware's") { check_limit(kPd, bench, 7); }
    SECTION("transport domains") { check_limit(kDomain, bench, 4); }
    SECTION("XRC domains") { check_limit(kXrcd, bench, 2); }
}

TEST_CASE("UAR pages fill BAR0 behind the pages with other contents", "[protection]") {
    FirmwareBench bench;
    check_limit(kUar, bench, (32U << 20) / 4096 - 16);
}

TEST_CASE("objects that hold a domain keep it", "[protection]") {
    FirmwareBench bench;
    const auto uar = bench.alloc_uar();
    const auto eqn = bench.create_eq(uar);
    CHECK(refused(kUar.free(bench, uar), Status::BAD_RES_STATE));
    auto in = bench.input<prm::destroy_eq_in>(Opcode::DESTROY_EQ);
    in.view().set<prm::destroy_eq_in::eq_number>(eqn);
    REQUIRE(bench.run<prm::destroy_eq_out>(in).ok());
    CHECK(kUar.free(bench, uar).ok());
}
