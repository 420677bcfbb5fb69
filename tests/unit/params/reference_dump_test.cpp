// SPDX-License-Identifier: Apache-2.0
// Compares the cards' data with dumps of real cards, where the reference folder is at hand:
// environment variable CXSIM_REFERENCE, else ../shared beside the source tree.
#include "model/params/card_data.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

using namespace cxsim::model;

namespace {

/// The folder `shared` beside the source tree. A build may make __FILE__ relative to its own root,
/// which is then some folder above the one the test runs in.
std::filesystem::path beside_source_tree() {
    const std::filesystem::path here(__FILE__);  // <root>/tests/unit/params/<this>
    const std::filesystem::path up = here.parent_path() / "../../../..";
    auto base = std::filesystem::current_path();
    for (int i = 0; i < 4; ++i, base = base.parent_path()) {
        if (std::filesystem::exists(base / here)) return base / up / "shared";
    }
    return up / "shared";
}

std::string reference(const std::string& name) {
    const char* from = std::getenv("CXSIM_REFERENCE");
    const auto folder = from != nullptr ? std::filesystem::path(from) : beside_source_tree();
    const auto path = folder / "cards" / name;
    std::ifstream stream(path);
    if (!stream) {
        SKIP("no dump " << path << "; set CXSIM_REFERENCE to the folder that has cards/" << name);
    }
    std::ostringstream text;
    for (char c; stream.get(c);) {
        if (c != '\r') text << c;
    }
    return text.str();
}

/// "key:   value" lines of ibv_devinfo -v, first occurrence.
std::map<std::string, std::string> device_attributes(const std::string& dump) {
    std::map<std::string, std::string> values;
    static const std::regex kLine(R"(^\s*([A-Za-z_ ]+):\s+(\S+).*$)");
    std::istringstream stream(dump);
    for (std::string line; std::getline(stream, line);) {
        std::smatch match;
        if (std::regex_match(line, match, kLine)) values.emplace(match[1], match[2]);
    }
    return values;
}

struct Comparison {
    const CardData& card;
    std::map<std::string, std::string> attributes;

    std::uint64_t general(const char* field) const {
        return card.capabilities().max_value("cmd_hca_cap", field);
    }
    void equal(const char* attribute, std::uint64_t ours) const {
        CAPTURE(card.name(), attribute, ours);
        const auto found = attributes.find(attribute);
        if (found == attributes.end()) return;  // not every tool version prints every line
        CHECK(std::strtoull(found->second.c_str(), nullptr, 0) == ours);
    }
};

std::uint64_t two_to(std::uint64_t power) {
    return std::uint64_t{1} << power;
}

}  // namespace

// The formulas are those of mlx5_ib's query_device.
TEST_CASE("limits are those that ibv_devinfo -v shows of the real card", "[reference]") {
    struct Row {
        const char* card;
        const char* dump;
        bool other_firmware;  ///< an older firmware or driver profile: QP and PD counts differ
    };
    const auto row = GENERATE(Row{"connectx4lx", "cx4lx/ibv_devinfo_v-1.txt", true},
                              Row{"connectx5", "cx5/ibv_devinfo_v-1.txt", true},
                              Row{"connectx6dx", "cx6dx/ibv_devinfo_v-1.txt", false});
    const CardData card = load_card(row.card);
    const Comparison c{card, device_attributes(reference(row.dump))};
    REQUIRE(c.attributes.count("max_cq") == 1);

    c.equal("vendor_part_id", card.identity().device_id());
    c.equal("max_qp_wr", two_to(c.general("log_max_qp_sz")));
    c.equal("max_cq", two_to(c.general("log_max_cq")));
    c.equal("max_cqe", two_to(c.general("log_max_cq_sz")) - 1);
    c.equal("max_mr", two_to(c.general("log_max_mkey")));
    c.equal("max_mw", two_to(c.general("log_max_mkey")));
    c.equal("max_srq", two_to(c.general("log_max_srq")));
    c.equal("max_srq_wr", two_to(c.general("log_max_srq_sz")) - 1);
    c.equal("max_srq_sge", c.general("max_wqe_sz_rq") / 16 - 1);
    c.equal("max_sge", (std::min<std::uint64_t>(c.general("max_wqe_sz_sq"), 512) - 32) / 16);
    c.equal("max_qp_rd_atom", two_to(c.general("log_max_ra_req_qp")));
    c.equal("max_qp_init_rd_atom", two_to(c.general("log_max_ra_res_qp")));
    c.equal("max_mcast_grp", two_to(c.general("log_max_mcg")));
    c.equal("max_mcast_qp_attach", c.general("max_qp_mcg"));
    c.equal("local_ca_ack_delay", c.general("local_ca_ack_delay"));
    c.equal("max_pkeys", two_to(c.general("pkey_table_size")) * 128);
    c.equal("phys_port_cnt", c.general("num_ports"));
    c.equal("max_msg_sz", two_to(c.general("log_max_msg")));
    c.equal("max_tso", two_to(card.capabilities().max_value("per_protocol_networking_offload_caps",
                                                            "max_lso_cap")));
    if (!row.other_firmware) {
        c.equal("max_qp", two_to(c.general("log_max_qp")));
        c.equal("max_pd", two_to(c.general("log_max_pd")));
        c.equal("max_res_rd_atom",
                two_to(c.general("log_max_ra_req_qp") + c.general("log_max_qp")));
        c.equal("max_rwq_indirection_tables", two_to(c.general("log_max_rqt")));
        c.equal("max_rwq_indirection_table_size", two_to(c.general("log_max_rqt_size")));
        c.equal("max_wq_type_rq", two_to(c.general("log_max_rq")));
        c.equal("gid_tbl_len",
                card.capabilities().max_value("roce_cap", "roce_address_table_size"));
        CHECK(c.attributes.at("board_id") == card.identity().psid());
        CHECK(c.attributes.at("hca_core_clock") ==
              std::to_string(c.general("device_frequency_khz")) + "kHZ");
    }
}

TEST_CASE("PCI identity is that of lspci -vvv of the real card", "[reference]") {
    struct Row {
        const char* card;
        const char* dump;
    };
    const auto row =
        GENERATE(Row{"connectx6dx", "cx6dx/lspci-1.txt"}, Row{"connectx7", "cx7/lspci-1.txt"});
    const CardData card = load_card(row.card);
    const Identity& id = card.identity();
    const std::string dump = reference(row.dump);
    const auto has = [&](const std::string& text) { return dump.find(text) != std::string::npos; };
    CAPTURE(row.card);
    const unsigned rates[] = {0, 2, 5, 8, 16, 32};
    CHECK(has("Speed " + std::to_string(rates[id.link_generation()]) + "GT/s, Width x" +
              std::to_string(id.link_width())));
    CHECK(has("[size=" + std::to_string(id.bar0_size().value >> 20) + "M]"));
    CHECK(has("MaxPayload " + std::to_string(id.max_payload().value) + " bytes, PhantFunc"));
    CHECK(has("Count=" + std::to_string(id.msix_vectors())));
    CHECK(has("Vector table: BAR=0 offset=00002000") == (id.msix_table_offset() == 0x2000));
    CHECK(has("PBA: BAR=0 offset=00003000") == (id.msix_pba_offset() == 0x3000));
    CHECK(has("Advanced Error Reporting") == id.aer());
    CHECK(has("Alternative Routing-ID") == id.ari());
    CHECK(has("Secondary PCI Express") == id.secondary_pcie());
    CHECK(has("Lane Margining") == id.lane_margining());
    CHECK(has("Physical Layer 16.0 GT/s") == id.physical_layer_16gt());
    CHECK(has("Data Link Feature") == id.data_link_feature());
    CHECK(has("Total VFs: " + std::to_string(id.total_vfs())));
    CHECK(has("Precision Time Measurement") == id.ptm());
    CHECK(has("10BitTagComp+") == id.ten_bit_tag_completer());
    CHECK(has("10BitTagReq+") == id.ten_bit_tag_requester());
    CHECK(has("AtomicOpsCap: 32bit+ 64bit+") == id.atomic_completer());
}

TEST_CASE("capabilities agree with the published query, or are deliberately off", "[reference]") {
    const CardData card = load_card("connectx6dx");
    const std::string dump = reference("multi/mlx5ctl_caps_regs_rscdump-1.txt");
    const auto begin = dump.find("MLX5_CAP_GENERAL:");
    const auto end = dump.find("MLX5_CAP_GENERAL_2:");
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    std::map<std::string, std::uint64_t> real;
    static const std::regex kLine(R"(^\s+([a-z0-9_]+): (0x[0-9a-f]+|[0-9]+)$)");
    std::istringstream stream(dump.substr(begin, end - begin));
    for (std::string line; std::getline(stream, line);) {
        std::smatch match;
        if (std::regex_match(line, match, kLine)) {
            real[match[1]] = std::strtoull(match[2].str().c_str(), nullptr, 0);
        }
    }
    REQUIRE(real.size() > 200);
    const std::string prefix = "capabilities.cmd_hca_cap.";
    unsigned compared = 0;
    for (const ParameterRow& row : card.capabilities().rows()) {
        if (row.name.compare(0, prefix.size(), prefix) != 0) continue;
        const auto found = real.find(row.name.substr(prefix.size()));
        if (found == real.end() || row.note.compare(0, 15, "published query") != 0) continue;
        CAPTURE(row.name, row.note);
        CHECK(parse_unsigned(row.value, UINT64_MAX) == found->second);
        ++compared;
    }
    CHECK(compared > 80);
}
