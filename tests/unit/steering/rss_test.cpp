// SPDX-License-Identifier: Apache-2.0
#include "model/steering/rss.h"

#include "model/base/endian.h"
#include "model/base/random.h"
#include "tests/support/steering_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cxsim::test {
namespace {

using model::FlowKey;
using Headers = prm::fte_match_set_lyr_2_4;
using Selector = prm::rx_hash_field_select;
using prm::tirc;

enum Fields : std::uint32_t { kAddresses = 3, kPorts = 0xc, kAll = 0xf, kSpi = 0x10 };
enum Function : std::uint32_t { kNone = 0, kXor = 1, kToeplitz = 2 };

// The key of Microsoft's published verification suite for RSS hashes.
constexpr std::array<std::uint8_t, 40> kSecret{
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

struct TirSpec {
    std::uint32_t function = kToeplitz;
    bool ipv6 = false;
    bool udp = false;
    std::uint32_t fields = kAll;
    bool symmetric = false;
    bool inner = false;
};

prm::Buffer<tirc> tir_context(const TirSpec& spec) {
    prm::Buffer<tirc> buffer;
    const auto tir = buffer.view();
    tir.set<tirc::disp_type>(1U);
    tir.set<tirc::rx_hash_fn>(spec.function);
    tir.set<tirc::rx_hash_symmetric>(spec.symmetric);
    tir.set<tirc::tunneled_offload_en>(spec.inner);
    for (std::size_t i = 0; i < kSecret.size(); ++i) {
        tir.bytes<tirc::rx_hash_toeplitz_key>()[i] = static_cast<std::byte>(kSecret[i]);
    }
    const auto selector = spec.inner ? tir.nested<tirc::rx_hash_field_selector_inner>()
                                     : tir.nested<tirc::rx_hash_field_selector_outer>();
    selector.set<Selector::l3_prot_type>(spec.ipv6);
    selector.set<Selector::l4_prot_type>(spec.udp);
    selector.set<Selector::selected_fields>(spec.fields);
    return buffer;
}

struct Flow {
    std::array<std::uint8_t, 16> source{};
    std::array<std::uint8_t, 16> destination{};
    std::uint32_t source_port = 0;
    std::uint32_t destination_port = 0;
    bool ipv6 = false;

    Flow reversed() const { return {destination, source, destination_port, source_port, ipv6}; }
};

Flow ipv4(std::array<std::uint8_t, 4> source, std::uint32_t source_port,
          std::array<std::uint8_t, 4> destination, std::uint32_t destination_port) {
    Flow flow;
    std::copy(source.begin(), source.end(), flow.source.begin() + 12);
    std::copy(destination.begin(), destination.end(), flow.destination.begin() + 12);
    flow.source_port = source_port;
    flow.destination_port = destination_port;
    return flow;
}

std::array<std::uint8_t, 16> words(std::array<std::uint16_t, 8> groups) {
    std::array<std::uint8_t, 16> address{};
    for (std::size_t i = 0; i < 8; ++i) {
        address[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
        address[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xff);
    }
    return address;
}

FlowKey key_of(const Flow& flow, std::uint32_t protocol, bool inner = false) {
    FlowKey key;
    const auto headers = inner ? key.view().nested<prm::fte_match_param::inner_headers>()
                               : key.view().nested<prm::fte_match_param::outer_headers>();
    headers.set<Headers::ip_version>(flow.ipv6 ? 6U : 4U);
    headers.set<Headers::ip_protocol>(protocol);
    for (std::size_t i = 0; i < 16; ++i) {
        headers.bytes<Headers::src_ipv4_src_ipv6>()[i] = static_cast<std::byte>(flow.source[i]);
        headers.bytes<Headers::dst_ipv4_dst_ipv6>()[i] =
            static_cast<std::byte>(flow.destination[i]);
    }
    if (protocol == 6) {
        headers.set<Headers::tcp_sport>(flow.source_port);
        headers.set<Headers::tcp_dport>(flow.destination_port);
    } else if (protocol == 17) {
        headers.set<Headers::udp_sport>(flow.source_port);
        headers.set<Headers::udp_dport>(flow.destination_port);
    }
    return key;
}

struct Vector {
    Flow flow;
    std::uint32_t with_ports;
    std::uint32_t addresses_only;
};

// The suite's table: source first, as the input of the hash has it.
std::vector<Vector> published() {
    const auto v6 = [](auto source, std::uint32_t source_port, auto destination,
                       std::uint32_t destination_port) {
        return Flow{words(source), words(destination), source_port, destination_port, true};
    };
    using A = std::array<std::uint16_t, 8>;
    return {
        {ipv4({66, 9, 149, 187}, 2794, {161, 142, 100, 80}, 1766), 0x51ccc178, 0x323e8fc2},
        {ipv4({199, 92, 111, 2}, 14230, {65, 69, 140, 83}, 4739), 0xc626b0ea, 0xd718262a},
        {ipv4({24, 19, 198, 95}, 12898, {12, 22, 207, 184}, 38024), 0x5c2b394a, 0xd2d0a5de},
        {ipv4({38, 27, 205, 30}, 48228, {209, 142, 163, 6}, 2217), 0xafc7327f, 0x82989176},
        {ipv4({153, 39, 163, 191}, 44251, {202, 188, 127, 2}, 1303), 0x10e828a2, 0x5d1809c5},
        {v6(A{0x3ffe, 0x2501, 0x200, 0x1fff, 0, 0, 0, 7}, 2794,
            A{0x3ffe, 0x2501, 0x200, 3, 0, 0, 0, 1}, 1766),
         0x40207d3d, 0x2cc18cd5},
        {v6(A{0x3ffe, 0x501, 8, 0, 0x260, 0x97ff, 0xfe40, 0xefab}, 14230,
            A{0xff02, 0, 0, 0, 0, 0, 0, 1}, 4739),
         0xdde51bbf, 0x0f0c461c},
        {v6(A{0x3ffe, 0x1900, 0x4545, 3, 0x200, 0xf8ff, 0xfe21, 0x67cf}, 44251,
            A{0xfe80, 0, 0, 0, 0x200, 0xf8ff, 0xfe21, 0x67cf}, 38024),
         0x02d1feef, 0x4b61e985},
    };
}

model::RssHash hash(const TirSpec& spec, const FlowKey& key) {
    model::RssHasher hasher;
    const auto context = tir_context(spec);
    return hasher.hash(context.view(), key);
}

TEST_CASE("Toeplitz hashes are those of the published verification suite", "[rss]") {
    for (const Vector& vector : published()) {
        const bool ipv6 = vector.flow.ipv6;
        const std::uint8_t ip = ipv6 ? 2 : 1;
        const auto tcp = hash({.ipv6 = ipv6}, key_of(vector.flow, 6));
        CHECK(tcp.value == vector.with_ports);
        CHECK(tcp.type_ip == ip);
        CHECK(tcp.type_l4 == 1);
        const auto udp = hash({.ipv6 = ipv6, .udp = true}, key_of(vector.flow, 17));
        CHECK(udp.value == vector.with_ports);
        CHECK(udp.type_l4 == 2);
        const auto plain = hash({.ipv6 = ipv6, .fields = kAddresses}, key_of(vector.flow, 6));
        CHECK(plain.value == vector.addresses_only);
        CHECK(plain.type_ip == ip);
        CHECK(plain.type_l4 == 0);
    }
}

TEST_CASE("a packet without the ports is hashed by its addresses", "[rss]") {
    const Vector vector = published()[0];
    // UDP at a TIR for TCP, and a fragment: its ports may stand in another packet.
    CHECK(hash({}, key_of(vector.flow, 17)).value == vector.addresses_only);
    FlowKey fragment = key_of(vector.flow, 6);
    fragment.view().set<prm::fte_match_param::outer_headers, Headers::frag>(1U);
    const auto result = hash({}, fragment);
    CHECK(result.value == vector.addresses_only);
    CHECK(result.type_l4 == 0);
}

TEST_CASE("a packet of the other IP version, or of none, is not hashed", "[rss]") {
    const Vector vector = published()[0];
    for (const model::RssHash& result :
         {hash({.ipv6 = true}, key_of(vector.flow, 6)), hash({}, FlowKey{}),
          hash({.function = kNone}, key_of(vector.flow, 6)),
          hash({.fields = 0}, key_of(vector.flow, 6)),
          hash({.inner = true}, key_of(vector.flow, 6))}) {
        CHECK(result.value == 0);
        CHECK(result.type_ip == 0);
        CHECK(result.type_l4 == 0);
    }
}

TEST_CASE("a tunnelled TIR hashes the inner headers", "[rss]") {
    const Vector vector = published()[1];
    FlowKey key = key_of(vector.flow, 6, true);
    const FlowKey outside = key_of(published()[2].flow, 17);
    std::copy_n(outside.bytes.begin(), Headers::kBytes, key.bytes.begin());
    CHECK(hash({.inner = true}, key).value == vector.with_ports);
}

TEST_CASE("single fields are hashed alone", "[rss]") {
    const Flow flow = published()[0].flow;
    std::set<std::uint32_t> values;
    for (const std::uint32_t fields : {1U, 2U, 4U, 8U, 3U, 5U, 0xfU}) {
        values.insert(hash({.fields = fields}, key_of(flow, 6)).value);
    }
    CHECK(values.size() == 7);
    const auto secret = std::as_bytes(std::span(kSecret));
    std::array<std::byte, 2> port{};
    model::store_be<std::uint16_t>(port.data(), 1766);
    CHECK(hash({.fields = 8}, key_of(flow, 6)).value == model::toeplitz(secret, port));
}

TEST_CASE("an IPsec packet is hashed by its SPI", "[rss]") {
    const Flow flow = published()[0].flow;
    FlowKey key = key_of(flow, 50);
    key.view().set<prm::fte_match_param::misc_parameters, prm::fte_match_set_misc::outer_esp_spi>(
        0x12345678U);
    const auto result = hash({.fields = kAddresses | kSpi}, key);
    CHECK(result.type_l4 == 3);
    CHECK(result.value != published()[0].addresses_only);
    CHECK(hash({.fields = kAddresses | kSpi}, key_of(flow, 6)).value ==
          published()[0].addresses_only);
}

TEST_CASE("the symmetric hash is the same for both directions", "[rss]") {
    for (const Vector& vector : published()) {
        const bool ipv6 = vector.flow.ipv6;
        const TirSpec spec{.ipv6 = ipv6, .symmetric = true};
        const auto there = hash(spec, key_of(vector.flow, 6));
        CHECK(there.value == hash(spec, key_of(vector.flow.reversed(), 6)).value);
        CHECK(there.value != vector.with_ports);
        CHECK(hash({.ipv6 = ipv6}, key_of(vector.flow.reversed(), 6)).value != vector.with_ports);
    }
    // Or, then exclusive or, of addresses and ports: 10.0.0.1:1 to 10.0.0.2:3.
    const auto secret = std::as_bytes(std::span(kSecret));
    const std::array<std::uint8_t, 12> input{10, 0, 0, 3, 0, 0, 0, 3, 0, 3, 0, 2};
    CHECK(hash({.symmetric = true}, key_of(ipv4({10, 0, 0, 1}, 1, {10, 0, 0, 2}, 3), 6)).value ==
          model::toeplitz(secret, std::as_bytes(std::span(input))));
}

TEST_CASE("the XOR hash is the bytes' sum, bits in reverse", "[rss]") {
    // 1 ^ 2 ^ 0x10 = 0x13 = 00010011, in reverse 11001000.
    const auto result = hash({.function = kXor, .fields = kAll},
                             key_of(ipv4({0, 0, 0, 1}, 0x10, {0, 0, 0, 2}, 0), 6));
    CHECK(result.value == 0xc8);
    CHECK(result.type_l4 == 1);
}

TEST_CASE("the table gives the hash of the definition for any key", "[rss]") {
    model::RandomStream random(7, "toeplitz");
    for (int round = 0; round < 20; ++round) {
        std::array<std::byte, model::kToeplitzKeyBytes> key{};
        std::array<std::byte, model::kRssInputBytes> input{};
        for (auto& byte : key) byte = static_cast<std::byte>(random.below(256));
        for (auto& byte : input) byte = static_cast<std::byte>(random.below(256));
        model::ToeplitzTable table;
        CHECK_FALSE(table.has_key(key));
        table.set_key(key);
        CHECK(table.has_key(key));
        for (const std::size_t size : {0U, 4U, 8U, 12U, 32U, 36U}) {
            const auto part = std::span<const std::byte>(input).first(size);
            CHECK(table.hash(part) == model::toeplitz(key, part));
        }
    }
}

struct QueueBench : SteeringBench {
    std::uint32_t rq() { return resources.rqs.create()->id.number; }
    std::uint32_t rqt(std::vector<std::uint32_t> entries, std::uint32_t actual) {
        model::Rqt* made = resources.rqts.create();
        made->entries = std::move(entries);
        made->view().set<prm::rqtc::rqt_actual_size>(actual);
        return made->id.number;
    }
    model::Tir& tir(const TirSpec& spec, std::uint32_t table) {
        model::Tir* made = resources.tirs.create();
        const auto context = tir_context(spec);
        std::copy(context.bytes().begin(), context.bytes().end(), made->context.begin());
        made->view().set<tirc::indirect_table>(table);
        return *made;
    }
};

TEST_CASE("a direct TIR has one queue", "[rss]") {
    QueueBench bench;
    model::Tir& tir = *bench.resources.tirs.create();
    const std::uint32_t rqn = bench.rq();
    tir.view().set<tirc::inline_rqn>(rqn);
    const auto choice = bench.steering.choose_rq(tir, key_of(published()[0].flow, 6));
    CHECK(choice.found);
    CHECK(choice.rqn == rqn);
    CHECK(choice.hash == 0);
    CHECK(choice.cqe_hash_type() == 0);
    bench.resources.destroy({model::ObjectKind::rq, rqn});
    CHECK_FALSE(bench.steering.choose_rq(tir, {}).found);
    CHECK(bench.counted().no_receive_queue == 1);
}

TEST_CASE("an indirect TIR chooses by hash from the entries in use", "[rss]") {
    QueueBench bench;
    std::vector<std::uint32_t> queues;
    for (int i = 0; i < 8; ++i) queues.push_back(bench.rq());
    const std::uint32_t table = bench.rqt(queues, 4);
    model::Tir& tir = bench.tir({}, table);
    for (const Vector& vector : published()) {
        if (vector.flow.ipv6) continue;
        const auto choice = bench.steering.choose_rq(tir, key_of(vector.flow, 6));
        CHECK(choice.hash == vector.with_ports);
        CHECK(choice.rqn == queues[vector.with_ports % 4]);
        CHECK(choice.cqe_hash_type() == (1 << 2 | 1 << 6));
    }
    CHECK(bench.counted().hashed == 5);
    const auto other = bench.steering.choose_rq(tir, FlowKey{});
    CHECK(other.rqn == queues[0]);
    CHECK(bench.counted().not_hashed == 1);
    // The driver changes key and table while packets come.
    tir.view().bytes<tirc::rx_hash_toeplitz_key>()[0] = std::byte{1};
    CHECK(bench.steering.choose_rq(tir, key_of(published()[0].flow, 6)).hash !=
          published()[0].with_ports);
    bench.resources.rqts.find(table)->entries.assign(8, queues[7]);
    CHECK(bench.steering.choose_rq(tir, FlowKey{}).rqn == queues[7]);
    bench.resources.rqts.find(table)->view().set<prm::rqtc::rqt_actual_size>(0U);
    CHECK_FALSE(bench.steering.choose_rq(tir, FlowKey{}).found);
}

}  // namespace
}  // namespace cxsim::test
