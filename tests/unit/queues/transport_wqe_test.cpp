// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/transport_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

std::vector<std::byte> address_vector(bool extended) {
    std::vector<std::byte> segment(extended ? 48 : 16);
    segment[9] = std::byte{0x12};
    if (extended) segment[8] = std::byte{0x80};
    return segment;
}

std::vector<std::byte> inline_data(std::string_view text) {
    std::vector<std::byte> segment((text.size() + 4 + 15) / 16 * 16);
    store_be<std::uint32_t>(segment.data(), static_cast<std::uint32_t>(text.size()) | 0x80000000U);
    std::ranges::transform(text, segment.begin() + 4, [](char c) { return std::byte(c); });
    return segment;
}

TEST_CASE("a SEND of an RC QP is handed over with its gathered payload", "[transport]") {
    for (const int opcode : {0x0a, 0x0b, 0x01}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        bench.send(driver, static_cast<std::uint8_t>(opcode),
                   bench.data(100) + data_segment(28, bench.pa_key, 0x9000) + inline_data("end"), 3,
                   0xabcd1234);
        REQUIRE(bench.transport.posts.size() == 1);
        const auto& post = bench.transport.posts[0];
        CHECK(post.qpn == qp.id.number);
        CHECK(int{post.control.opcode} == opcode);
        CHECK(post.control.immediate == 0xabcd1234);
        CHECK(post.control.signaled);
        CHECK(post.control.solicited);
        CHECK_FALSE(post.local);
        CHECK(post.payload_bytes == 131);
        REQUIRE(post.payload.size() == 3);
        CHECK(post.payload[0].address.value == 0x5000);
        CHECK(post.payload[1].address.value == 0x9000);
        REQUIRE(post.payload[2].in_wqe);
        CHECK(post.wqe[post.payload[2].wqe_offset] == std::byte{'e'});
        CHECK(bench.drain_cq(bench.send_cq).empty());  // not before it is reported
    }
}

TEST_CASE("the solicited-event bit and the fence mode are told", "[transport]") {
    for (const std::uint32_t fence : {0U, 1U, 2U, 3U, 4U, 5U}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        const auto doorbell = bench.post(driver, 0x0a, 0, bench.data());
        bench.host.fill(driver.ring + 11, 1, static_cast<std::uint8_t>(fence << 5 | 2 << 2 | 2));
        bench.ring(driver, doorbell);
        bench.run(microseconds(2));
        if (fence == 5) {
            CHECK(bench.transport.posts.empty());
            CHECK(bench.drain_cq(bench.send_cq).at(0).syndrome == 0x02);
            continue;
        }
        REQUIRE(bench.transport.posts.size() == 1);
        CHECK(static_cast<std::uint32_t>(bench.transport.posts[0].fence) == fence);
        CHECK(bench.transport.posts[0].control.solicits_peer);
    }
}

TEST_CASE("RDMA operations carry the peer's address and key", "[transport]") {
    for (const int opcode : {0x08, 0x09, 0x10}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        bench.send(driver, static_cast<std::uint8_t>(opcode),
                   remote_segment(0x1122334455667788, 0xcafe01) + bench.data(4096));
        REQUIRE(bench.transport.posts.size() == 1);
        CHECK(bench.transport.posts[0].remote_address == 0x1122334455667788);
        CHECK(bench.transport.posts[0].remote_key == 0xcafe01);
        CHECK(bench.transport.posts[0].payload_bytes == 4096);
    }
}

TEST_CASE("messages of no length have no segments", "[transport]") {
    for (const int opcode : {0x0a, 0x08, 0x10}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        bench.send(driver, static_cast<std::uint8_t>(opcode),
                   opcode == 0x0a ? std::vector<std::byte>{} : remote_segment(0, 0));
        REQUIRE(bench.transport.posts.size() == 1);
        CHECK(bench.transport.posts[0].payload_bytes == 0);
        CHECK(bench.transport.posts[0].payload.empty());
    }
}

struct AtomicCase {
    std::uint8_t opcode;
    std::uint8_t modifier;
    std::vector<std::byte> operands;
    std::uint32_t bytes;
    std::uint64_t swap_add;
    std::uint64_t compare;
    std::uint64_t swap_add_mask;
    std::uint64_t compare_mask;
};

TEST_CASE("atomics carry their operands", "[transport]") {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    const std::vector<AtomicCase> cases{
        {0x11, 0, words64({5, 6}), 8, 5, 6, kAll, kAll},
        {0x12, 0, words64({5, 0}), 8, 5, 0, 0, kAll},
        {0x14, 9, words64({5, 6, 7, 8}), 8, 5, 6, 7, 8},
        {0x14, 8, words32({5, 6, 7, 8}), 4, 5, 6, 7, 8},
        {0x15, 9, words64({5, 0x8080}), 8, 5, 0, 0x8080, kAll},
        {0x15, 8, words32({5, 0x8080, 0, 0}), 4, 5, 0, 0x8080, kAll},
    };
    for (const AtomicCase& c : cases) {
        CAPTURE(c.opcode, c.modifier);
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        const auto doorbell = bench.post(
            driver, c.opcode, 0, remote_segment(0x4000, 0x77) + c.operands + bench.data(c.bytes));
        bench.host.fill(driver.ring, 1, c.modifier);
        bench.ring(driver, doorbell);
        bench.run(microseconds(2));
        REQUIRE(bench.transport.posts.size() == 1);
        const auto& post = bench.transport.posts[0];
        CHECK(post.remote_address == 0x4000);
        CHECK(post.atomic_bytes == c.bytes);
        CHECK(post.swap_add == c.swap_add);
        if (c.compare != 0) CHECK(post.compare == c.compare);
        CHECK(post.swap_add_mask == c.swap_add_mask);
        CHECK(post.compare_mask == c.compare_mask);
        CHECK(post.payload_bytes == c.bytes);
    }
}

TEST_CASE("datagrams carry their address vector, long or short", "[transport]") {
    for (const std::uint32_t type : {kUd, kQp1}) {
        for (const bool extended : {true, false}) {
            TransportBench bench;
            Qp& qp = bench.make_qp(type);
            SqDriver driver = bench.driver(qp);
            bench.send(driver, 0x0b, address_vector(extended) + bench.data(256));
            REQUIRE(bench.transport.posts.size() == 1);
            CHECK(bench.transport.posts[0].address_vector == address_vector(extended));
            CHECK(bench.transport.posts[0].payload_bytes == 256);
            CHECK(bench.counters().tx_discards_no_link == 0);
        }
    }
}

TEST_CASE("a UD QP with offloads has its data behind an Ethernet segment", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp(kUd);
    qp.view().set<prm::qpc::ulp_stateless_offload_mode>(1U);
    SqDriver driver = bench.driver(qp);
    bench.send(driver, 0x0a, address_vector(true) + std::vector<std::byte>(32) + bench.data(99));
    REQUIRE(bench.transport.posts.size() == 1);
    CHECK(bench.transport.posts[0].payload_bytes == 99);
    bench.send(driver, 0x0e, address_vector(true) + std::vector<std::byte>(32) + bench.data(99));
    CHECK(bench.transport.posts.size() == 1);
    CHECK(bench.counters().unimplemented_opcodes[0x0e] == 1);
}

// Each WQE alone on a new QP: nothing is posted, and the error CQE says why.
struct Refusal {
    const char* what;
    std::uint32_t type;
    std::uint8_t opcode;
    std::vector<std::byte> (*segments)(TransportBench&);
    std::uint32_t syndrome;
    std::uint32_t vendor;
};

std::uint32_t read_only_key(TransportBench& bench) {
    Mkey& mkey = bench.create_mkey(kPd, 0, 0, 0x10000, 0, 0);
    mkey.view().set<prm::mkc::lw>(0U);
    return mkey.key();
}

TEST_CASE("what a WQE may not ask for is refused", "[transport]") {
    using Bytes = std::vector<std::byte>;
    const auto plain = [](TransportBench& b) { return b.data(); };
    const auto remote = [](TransportBench& b) { return remote_segment(0, 1) + b.data(8); };
    const auto atomic = [](TransportBench& b) {
        return remote_segment(0, 1) + words64({1, 2}) + b.data(8);
    };
    const auto datagram = [](TransportBench& b) { return address_vector(true) + b.data(8); };
    const auto nothing = [](TransportBench&) { return Bytes{}; };
    const std::vector<Refusal> refusals{
        {"READ over UC", kUc, 0x10, remote, 0x02, 0x68},
        {"atomic over UC", kUc, 0x11, atomic, 0x02, 0x68},
        {"fetch and add over UC", kUc, 0x12, atomic, 0x02, 0x68},
        {"SEND with invalidate over UC", kUc, 0x01, plain, 0x02, 0x68},
        {"WRITE over UD", kUd, 0x08, datagram, 0x02, 0x68},
        {"READ over UD", kUd, 0x10, datagram, 0x02, 0x68},
        {"SEND with invalidate over UD", kUd, 0x01, datagram, 0x02, 0x68},
        {"local invalidate over UD", kUd, 0x1b, nothing, 0x02, 0x68},
        {"UMR over UD", kUd, 0x25, nothing, 0x02, 0x68},
        {"WRITE over QP1", kQp1, 0x08, datagram, 0x02, 0x68},
        {"SEND over XRC", kXrc, 0x0a, plain, 0x02, 0x68},
        {"LSO over RC", kRc, 0x0e, plain, 0x02, 0x68},
        {"BIND_MW over RC", kRc, 0x18, plain, 0x02, 0x68},
        {"WRITE without an address", kRc, 0x08, nothing, 0x02, 0x68},
        {"atomic without operands", kRc, 0x11, [](TransportBench&) { return remote_segment(0, 1); },
         0x02, 0x68},
        {"datagram without an address", kUd, 0x0a, nothing, 0x02, 0x68},
        {"datagram with half an address", kUd, 0x0a,
         [](TransportBench&) {
             auto half = address_vector(true);
             half.resize(32);
             return half;
         },
         0x02, 0x68},
        {"READ into inline data", kRc, 0x10,
         [](TransportBench&) { return remote_segment(0, 1) + inline_data("x"); }, 0x02, 0x68},
        {"masked atomic of another size", kRc, 0x14,
         [](TransportBench& b) {
             return remote_segment(0, 1) + words64({1, 2, 3, 4}) + b.data(8);
         },
         0x02, 0x68},
        {"atomic into 4 bytes", kRc, 0x11,
         [](TransportBench& b) {
             return remote_segment(0, 1) + words64({1, 2}) + b.data(4);
         },
         0x01, 0x00},
        {"atomic into 16 bytes", kRc, 0x12,
         [](TransportBench& b) {
             return remote_segment(0, 1) + words64({1, 2}) + b.data(16);
         },
         0x01, 0x00},
        {"unknown lkey", kRc, 0x0a, [](TransportBench&) { return data_segment(8, 0x77700, 0); },
         0x04, 0x52},
        {"SEND beyond the region", kRc, 0x0a,
         [](TransportBench& b) { return data_segment(8, read_only_key(b), 0xffff); }, 0x04, 0x53},
        {"READ into a region without local write", kRc, 0x10,
         [](TransportBench& b) {
             return remote_segment(0, 1) + data_segment(8, read_only_key(b), 0);
         },
         0x04, 0x33},
        {"READ beyond the region", kRc, 0x10,
         [](TransportBench& b) {
             return remote_segment(0, 1) +
                    data_segment(8, b.create_mkey(kPd, 0, 0, 0x1000, 0, 0).key(), 0xffc);
         },
         0x04, 0x33},
        {"message above the QP's limit", kRc, 0x0a, [](TransportBench& b) { return b.data(4097); },
         0x01, 0x00},
    };
    for (const Refusal& refusal : refusals) {
        INFO(refusal.what);
        TransportBench bench;
        Qp& qp = bench.make_qp(refusal.type);
        qp.view().set<prm::qpc::log_msg_max>(12U);
        SqDriver driver = bench.driver(qp);
        bench.send(driver, refusal.opcode, refusal.segments(bench));
        CHECK(bench.transport.posts.empty());
        const auto seen = bench.drain_cq(bench.send_cq);
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].opcode == 13);
        CHECK(seen[0].syndrome == refusal.syndrome);
        CHECK(seen[0].vendor == refusal.vendor);
        CHECK(seen[0].send_opcode == refusal.opcode);
        const bool connected = refusal.type == kRc || refusal.type == kXrc;
        CHECK(qp.state == (connected ? QpState::error : QpState::sq_error));
        REQUIRE(bench.transport.changes.size() == 2);  // into RTS, into error
        CHECK(bench.transport.changes[1].to == qp.state);
        CHECK(bench.counted("req_cqe_error") == 1);
    }
}

TEST_CASE("without a transport RC operations are refused, UD sends lost at the port",
          "[transport]") {
    TransportBench bench;
    bench.engines.set_transport(nullptr);
    Qp& rc = bench.make_qp(kRc);
    Qp& ud = bench.make_qp(kUd);
    SqDriver rc_driver = bench.driver(rc);
    SqDriver ud_driver = bench.driver(ud);
    bench.send(rc_driver, 0x0a, bench.data());
    bench.send(ud_driver, 0x0a, address_vector(true) + bench.data());
    CHECK(rc.state == QpState::error);
    CHECK(ud.state == QpState::rts);
    CHECK(bench.counters().tx_discards_no_link == 1);
    CHECK(bench.transport.posts.empty());
}

}  // namespace
}  // namespace cxsim::test
