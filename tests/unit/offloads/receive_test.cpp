// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/receive.h"

#include "eth/wire/pcap.h"
#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

class ReceiveBench {
  public:
    ReceiveReport examine(const Bytes& frame, const ReceiveOptions& options = {},
                          std::uint32_t synthetic = 0, bool damaged = false) {
        packet.drop();
        model::FramePtr made = make_frame(pool, frame, synthetic);
        made->damaged = damaged;
        packet.take(std::move(made));
        return eth::examine(packet, options);
    }
    model::FramePool pool;
    ParserConfig config;
    Packet packet{config};
};

TEST_CASE("kinds and checks of every kind of frame", "[receive]") {
    struct Case {
        const char* name;
        CqeL3 l3;
        CqeL4 l4;
        bool l3_ok, l4_ok, tunneled;
    };
    constexpr auto v4 = CqeL3::ipv4;
    constexpr auto v6 = CqeL3::ipv6;
    constexpr auto no3 = CqeL3::none;
    constexpr auto data = CqeL4::tcp_ack_and_data;
    constexpr auto udp4 = CqeL4::udp;
    constexpr auto no4 = CqeL4::none;
    ReceiveBench bench;
    for (const Case& c :
         std::initializer_list<Case>{{"arp", no3, no4, false, false, false},
                                     {"tcp over ipv4", v4, data, true, true, false},
                                     {"udp over ipv4", v4, udp4, true, true, false},
                                     {"icmp", v4, no4, true, false, false},
                                     {"ipv4 with options", v4, data, true, true, false},
                                     {"ipv4 fragment", v4, no4, true, false, false},
                                     {"tcp over ipv6", v6, data, true, true, false},
                                     {"udp over ipv6", v6, udp4, true, true, false},
                                     {"icmpv6", v6, no4, true, false, false},
                                     {"ipv6 with options", v6, data, true, true, false},
                                     {"ipv6 fragment", v6, no4, true, false, false},
                                     {"tagged", v4, data, true, true, false},
                                     {"tagged twice", v4, data, true, true, false},
                                     {"vxlan", v4, data, true, true, true},
                                     {"vxlan over ipv6 with tags", v6, udp4, true, true, true},
                                     {"geneve", v4, data, true, true, true},
                                     {"geneve with ipv6", v6, udp4, true, true, true},
                                     {"nvgre", v6, udp4, true, true, true},
                                     {"gre with ipv4", v4, data, true, true, true},
                                     {"ipv4 in ipv4", v4, data, true, true, true},
                                     {"ipv6 in ipv4", v6, udp4, true, true, true},
                                     {"ipv4 in ipv6", v4, data, true, true, true},
                                     {"mpls over udp", v4, data, true, true, true},
                                     {"mpls", no3, no4, false, false, false},
                                     {"roce v1", no3, no4, false, false, false},
                                     {"roce v2", v4, udp4, true, true, false}}) {
        INFO(c.name);
        const ReceiveReport report = bench.examine(named(c.name));
        CHECK(report.l2_ok);
        CHECK(report.l3_kind == c.l3);
        CHECK(report.l4_kind == c.l4);
        CHECK(report.l3_ok == c.l3_ok);
        CHECK(report.l4_ok == c.l4_ok);
        CHECK(report.tunneled == c.tunneled);
        CHECK_FALSE(report.has_vlan);
    }
    CHECK(bench.examine(named("roce v2")).roce == Roce::v2);
    CHECK(bench.examine(named("roce v1")).roce == Roce::v1);
    CHECK(bench.examine(named("ipv4 fragment")).ip_fragment);
    CHECK(bench.examine(named("ipv6 fragment")).ip_fragment);
    CHECK_FALSE(bench.examine(named("icmp")).ip_fragment);
    CHECK_FALSE(bench.examine(named("icmp"), {}, 0, true).l2_ok);
}

TEST_CASE("TCP without ACK, with ACK alone, with data", "[receive]") {
    ReceiveBench bench;
    const auto kind = [&](unsigned flags, const Bytes& payload) {
        const TcpFields fields{.flags = static_cast<std::uint16_t>(flags)};
        Bytes frame = ethernet(0x0800, ipv4({.protocol = 6}, tcp(fields, payload)));
        if (frame.size() < 60) frame.resize(60);  // padding is no data
        return bench.examine(frame).l4_kind;
    };
    CHECK(kind(0x02, {}) == CqeL4::tcp_no_ack);
    CHECK(kind(0x04, text("x")) == CqeL4::tcp_no_ack);
    CHECK(kind(0x10, {}) == CqeL4::tcp_ack_no_data);
    CHECK(kind(0x18, text("x")) == CqeL4::tcp_ack_and_data);
}

TEST_CASE("a flipped bit anywhere in headers or payload fails a check", "[receive]") {
    ReceiveBench bench;
    for (const char* name : {"tcp over ipv4", "udp over ipv6", "vxlan", "ipv4 with options"}) {
        const Bytes& good = named(name);
        for (std::size_t i = 14; i < good.size(); ++i) {
            Bytes bad = good;
            bad[i] ^= std::byte{0x04};
            const ReceiveReport report = bench.examine(bad);
            INFO(name << ", byte " << i);
            // What lies in no checksum: IPv6's first words (but the version), hop limit.
            const bool uncovered = std::string_view(name) == "udp over ipv6" && i < 22;
            if (!uncovered) CHECK_FALSE((report.l3_ok && report.l4_ok));
        }
    }
}

TEST_CASE("each layer of a tunnel must be right", "[receive]") {
    ReceiveBench bench;
    Bytes bad = named("vxlan");
    bad[24] ^= std::byte{1};  // outer IPv4 checksum
    CHECK_FALSE(bench.examine(bad).l3_ok);
    CHECK_FALSE(bench.examine(bad).l4_ok);
    bad = named("vxlan");
    bad[40] ^= std::byte{1};  // outer UDP checksum
    CHECK(bench.examine(bad).l3_ok);
    CHECK_FALSE(bench.examine(bad).l4_ok);
    put(bad, 40, 0, 2);  // none is right
    CHECK(bench.examine(bad).l4_ok);
    bad = named("gre with ipv4");
    bad[48] ^= std::byte{1};  // inner IPv4 checksum
    CHECK_FALSE(bench.examine(bad).l3_ok);
    // Without tunnel offload only the outer headers count.
    const ReceiveReport report = bench.examine(bad, {.tunneled = false});
    CHECK(report.l3_ok);
    CHECK_FALSE(report.tunneled);
    CHECK(report.l4_kind == CqeL4::none);
}

TEST_CASE("lengths that do not fit fail the check", "[receive]") {
    ReceiveBench bench;
    const Bytes frame = named("udp over ipv4");
    CHECK_FALSE(bench.examine(Bytes(frame.begin(), frame.end() - 1)).l3_ok);
    const Bytes six = named("udp over ipv6");
    CHECK_FALSE(bench.examine(Bytes(six.begin(), six.end() - 1)).l3_ok);
    // UDP: longer than its packet is wrong, shorter is allowed and summed as far as it goes.
    Bytes shorter =
        ethernet(0x0800, ipv4({.checksum_upper = false}, udp(1, 2, text("ab")) + text("tail")));
    put(shorter, 38, 10, 2);
    const std::uint32_t pseudo = naive_sum(View(shorter).subspan(26, 8)) + 17 + 10;
    put(shorter, 40, ~naive_sum(View(shorter).subspan(34, 10), pseudo) & 0xffff, 2);
    CHECK(bench.examine(shorter).l4_ok);
    put(shorter, 38, 15, 2);
    CHECK_FALSE(bench.examine(shorter).l4_ok);
    put(shorter, 38, 7, 2);
    CHECK_FALSE(bench.examine(shorter).l4_ok);
}

/// What the kernel driver does with the value until it covers all that follows the Ethernet
/// header: it adds the tags and the padding (en_rx.c, releases 6.1 and 6.12).
std::uint32_t as_the_driver_sums(const ReceiveReport& report, const Bytes& host_frame) {
    std::size_t depth = 14;
    std::uint64_t type = number(host_frame, 12, 2);
    while (type == 0x8100 || type == 0x88a8) {
        type = number(host_frame, depth + 2, 2);
        depth += 4;
    }
    const View all(host_frame);
    std::uint32_t sum = naive_sum(all.subspan(14, depth - 14), report.check_sum);
    const std::size_t end =
        type == 0x0800 ? depth + number(all, depth + 2, 2) : depth + 40 + number(all, depth + 4, 2);
    if (end < host_frame.size()) {
        std::uint32_t tail = naive_sum(all.subspan(end));
        if (end % 2 != 0) tail = (tail << 8 | tail >> 8) & 0xffff;
        sum = (sum + tail) % 0xffff;
    }
    return sum % 0xffff;
}

TEST_CASE("the complete checksum is what the driver adds up", "[receive]") {
    ReceiveBench bench;
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        for (const unsigned padding : {0U, 1U, 7U}) {
            for (const bool strip : {false, true}) {
                INFO(frame.name << ", padding " << padding << ", strip " << strip);
                Bytes padded = frame.bytes;
                padded.insert(padded.end(), padding, std::byte{0xa5});
                const ReceiveReport full =
                    bench.examine(padded, {.strip_vlan = strip, .full_checksum = true});
                const Bytes host = content_of(bench.packet.frame());
                const std::uint32_t expected = naive_sum(View(host).subspan(14)) % 0xffff;
                CHECK(full.check_sum % 0xffff == expected);
                const ReceiveReport report = bench.examine(padded, {.strip_vlan = strip});
                if (bench.packet.headers().outer.has_l3()) {
                    CHECK(as_the_driver_sums(report, host) == expected);
                } else {
                    CHECK(report.check_sum == 0);
                }
            }
        }
    }
}

TEST_CASE("a customer tag is stripped into the completion", "[receive]") {
    ReceiveBench bench;
    ReceiveReport report = bench.examine(named("tagged"), {.strip_vlan = true});
    CHECK(report.has_vlan);
    CHECK(report.vlan_info == 0x6064);
    CHECK(content_of(bench.packet.frame()) == named("tcp over ipv4"));
    CHECK(report.l4_ok);
    // A service tag stays: the driver would take it for a customer tag.
    report = bench.examine(named("tagged twice"), {.strip_vlan = true});
    CHECK_FALSE(report.has_vlan);
    CHECK(content_of(bench.packet.frame()) == named("tagged twice"));
    report = bench.examine(tagged(named("tagged"), 0x0007), {.strip_vlan = true});
    CHECK(report.has_vlan);
    CHECK(report.vlan_info == 7);
    CHECK(content_of(bench.packet.frame()) == named("tagged"));
    report = bench.examine(named("tagged"), {});
    CHECK_FALSE(report.has_vlan);
    CHECK(content_of(bench.packet.frame()) == named("tagged"));
}

TEST_CASE("synthetic payloads sent with zeros count as zeros on arrival", "[receive]") {
    ReceiveBench bench;
    const Bytes whole =
        ethernet(0x0800, ipv4({.protocol = 6, .fragment = 0}, tcp({}, Bytes(1001))));
    const Bytes headers(whole.begin(), whole.begin() + 54);
    const ReceiveReport report = bench.examine(headers, {}, 1001);
    CHECK(report.l3_ok);
    CHECK(report.l4_ok);
    CHECK(report.l4_kind == CqeL4::tcp_ack_and_data);
    CHECK(report.check_sum == bench.examine(whole).check_sum);
}

TEST_CASE("the report becomes a completion's bytes", "[receive]") {
    const ReceiveReport report{.l2_ok = true,
                               .l3_ok = true,
                               .l4_ok = true,
                               .l3_kind = CqeL3::ipv4,
                               .l4_kind = CqeL4::tcp_ack_and_data,
                               .ip_fragment = true,
                               .tunneled = true,
                               .has_vlan = true,
                               .vlan_info = 0x6064,
                               .check_sum = 0x1234};
    std::array<std::byte, 64> cqe{};
    report.write(prm::View<prm::cqe64>(cqe));
    // Offsets and bits of the driver's struct mlx5_cqe64.
    CHECK(cqe[0] == std::byte{0x01});
    CHECK(number(cqe, 20, 2) == 0x1234);
    CHECK(cqe[28] == std::byte{0x07});                // L4, L3, L2 ok
    CHECK(cqe[29] == std::byte{0x40 | 0x08 | 0x03});  // L4 type, L3 type, fragment, tag
    CHECK(number(cqe, 30, 2) == 0x6064);
    std::array<std::byte, 64> none{};
    ReceiveReport{}.write(prm::View<prm::cqe64>(cqe));
    CHECK(cqe == none);
}

/// CXSIM_REFERENCE, else ../shared beside the source tree; __FILE__ may be relative to a folder
/// above the one the test runs in.
std::filesystem::path reference_folder() {
    if (const char* from = std::getenv("CXSIM_REFERENCE")) return from;
    const std::filesystem::path here(__FILE__);
    const std::filesystem::path up = here.parent_path() / "../../../../shared";
    auto base = std::filesystem::current_path();
    for (int i = 0; i < 4; ++i, base = base.parent_path()) {
        if (std::filesystem::exists(base / here)) return base / up;
    }
    return up;
}

TEST_CASE("real captures of RoCE are recognised", "[receive]") {
    const std::filesystem::path folder = reference_folder() / "cards/multi/pcap";
    if (!std::filesystem::exists(folder)) SKIP("no captures in " << folder);
    ReceiveBench bench;
    for (const auto& [file, roce] : {std::pair{"mellanox_doc_rocev1_test.pcap", Roce::v1},
                                     std::pair{"mellanox_doc_rocev2_test.pcap", Roce::v2}}) {
        INFO(file);
        PcapReader reader((folder / file).string());
        REQUIRE(reader.ok());
        unsigned found = 0;
        while (const auto record = reader.next()) {
            const Bytes& bytes = record->bytes;
            REQUIRE(bytes.size() >= 54);
            const auto cut = record->wire_bytes - static_cast<std::uint32_t>(bytes.size());
            const ReceiveReport report = bench.examine(bytes, {}, cut);
            const bool by_type = number(bytes, 12, 2) == 0x8915;
            const bool by_port = number(bytes, 12, 2) == 0x0800 && number(bytes, 14, 1) == 0x45 &&
                                 number(bytes, 23, 1) == 17 && number(bytes, 36, 2) == 4791;
            CHECK((report.roce == Roce::v1) == by_type);
            CHECK((report.roce == Roce::v2) == by_port);
            if (report.roce == roce) ++found;
            if (report.l3_kind == CqeL3::ipv4) CHECK(report.l3_ok);
        }
        CHECK(found > 100);
    }
}

}  // namespace
}  // namespace cxsim::eth
