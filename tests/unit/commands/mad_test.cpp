// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_port.h"
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

using In = prm::mad_ifc_in;
using Out = prm::mad_ifc_out;

// Places in a MAD.
constexpr std::size_t kClass = 1;
constexpr std::size_t kMethod = 3;
constexpr std::size_t kStatus = 4;
constexpr std::size_t kTransaction = 8;
constexpr std::size_t kAttribute = 16;
constexpr std::size_t kModifier = 20;
constexpr std::size_t kData = 64;

constexpr std::uint16_t kNodeDescription = 0x10;
constexpr std::uint16_t kNodeInfo = 0x11;
constexpr std::uint16_t kGuidInfo = 0x14;
constexpr std::uint16_t kPortInfo = 0x15;
constexpr std::uint16_t kPkeyTable = 0x16;

// Get by the LID-routed class, keys ignored.
prm::Buffer<In> mad_input(std::uint16_t attribute, std::uint32_t modifier = 0) {
    auto in = FirmwareBench::input<In>(Opcode::MAD_IFC, 3);
    in.view().set<In::port>(1U);
    const auto mad = in.view().bytes<In::mad>();
    mad[0] = std::byte{1};
    mad[kClass] = std::byte{1};
    mad[2] = std::byte{1};
    mad[kMethod] = std::byte{1};
    model::store_be<std::uint64_t>(mad.data() + kTransaction, 0x1122334455667788U);
    model::store_be<std::uint16_t>(mad.data() + kAttribute, attribute);
    model::store_be<std::uint32_t>(mad.data() + kModifier, modifier);
    return in;
}

template <class T>
T field(const Answer<Out>& answer, std::size_t offset) {
    return model::load_be<T>(answer.out.view().bytes<Out::response_mad_packet>().data() + offset);
}

}  // namespace

TEST_CASE("the agent answers queries of subnet attributes", "[mad]") {
    FakePort port;
    FirmwareBench bench;
    SECTION("NodeInfo") {
        const auto answer = bench.run<Out>(mad_input(kNodeInfo));
        REQUIRE(answer.ok());
        CHECK(field<std::uint8_t>(answer, kMethod) == 0x81);
        CHECK(field<std::uint16_t>(answer, kStatus) == 0);
        CHECK(field<std::uint64_t>(answer, kTransaction) == 0x1122334455667788U);
        CHECK(field<std::uint8_t>(answer, kData + 2) == 1);
        CHECK(field<std::uint64_t>(answer, kData + 4) == bench.config.system_image_guid);
        CHECK(field<std::uint64_t>(answer, kData + 12) == bench.config.node_guid);
        CHECK(field<std::uint16_t>(answer, kData + 28) == 128);
        CHECK(field<std::uint16_t>(answer, kData + 30) == 0x1017);
        CHECK((field<std::uint32_t>(answer, kData + 36) & 0xffffff) == 0x2c9);
    }
    SECTION("PortInfo follows the port") {
        const auto down = bench.run<Out>(mad_input(kPortInfo, 1));
        REQUIRE(down.ok());
        CHECK(field<std::uint8_t>(down, kData + 32) == 1);
        CHECK(field<std::uint8_t>(down, kData + 33) >> 4 == 2);
        port.plug(true);
        bench.firmware.attach_port(port);
        const auto up = bench.run<Out>(mad_input(kPortInfo, 1));
        CHECK(field<std::uint8_t>(up, kData + 32) == 4);
        CHECK(field<std::uint8_t>(up, kData + 33) >> 4 == 5);
        CHECK(field<std::uint64_t>(up, kData + 8) == 0xfe80000000000000U);
        CHECK(field<std::uint8_t>(up, kData + 36) >> 4 == 5);
    }
    SECTION("GUIDInfo and the partition table") {
        const auto guid = bench.run<Out>(mad_input(kGuidInfo));
        CHECK(field<std::uint64_t>(guid, kData) == bench.config.node_guid);
        const auto first = bench.run<Out>(mad_input(kPkeyTable));
        CHECK(field<std::uint16_t>(first, kData) == 0xffff);
        CHECK(field<std::uint16_t>(first, kData + 2) == 0);
        const auto second = bench.run<Out>(mad_input(kPkeyTable, 1));
        CHECK(field<std::uint16_t>(second, kData) == 0);
    }
    SECTION("the node description is set and shown") {
        auto set = mad_input(kNodeDescription);
        set.view().bytes<In::mad>()[kMethod] = std::byte{2};
        set.view().bytes<In::mad>()[kData] = std::byte{'x'};
        const auto answer = bench.run<Out>(set);
        REQUIRE(answer.ok());
        CHECK(field<std::uint16_t>(answer, kStatus) == 0);
        CHECK(field<std::uint8_t>(bench.run<Out>(mad_input(kNodeDescription)), kData) == 'x');
    }
    SECTION("directed-route responses carry the direction bit") {
        auto in = mad_input(kNodeInfo);
        in.view().bytes<In::mad>()[kClass] = std::byte{0x81};
        CHECK(field<std::uint16_t>(bench.run<Out>(in), kStatus) == 0x8000);
    }
}

TEST_CASE("what the agent cannot do is refused inside the MAD", "[mad]") {
    FirmwareBench bench;
    struct Case {
        const char* name;
        std::uint16_t attribute;
        std::uint32_t modifier;
        std::uint8_t management_class;
        std::uint8_t method;
        std::uint16_t status;
    };
    for (const Case& c : std::initializer_list<Case>{
             {"vendor attribute of the driver", 0xff90, 1, 0x01, 0x01, 0x0c},
             {"subnet manager info", 0x20, 0, 0x01, 0x01, 0x0c},
             {"set of port info", kPortInfo, 1, 0x01, 0x02, 0x0c},
             {"trap repress", kNodeInfo, 0, 0x01, 0x07, 0x08},
             {"performance class", 0x12, 0, 0x04, 0x01, 0x04},
             {"port that does not exist", kPortInfo, 2, 0x01, 0x01, 0x1c},
             {"GUID block", kGuidInfo, 1, 0x01, 0x01, 0x1c},
             {"partition block", kPkeyTable, 4, 0x01, 0x01, 0x1c}}) {
        INFO(c.name);
        auto in = mad_input(c.attribute, c.modifier);
        in.view().bytes<In::mad>()[kClass] = std::byte{c.management_class};
        in.view().bytes<In::mad>()[kMethod] = std::byte{c.method};
        const auto answer = bench.run<Out>(in);
        CHECK(answer.ok());
        CHECK(field<std::uint16_t>(answer, kStatus) == c.status);
        CHECK(field<std::uint8_t>(answer, kMethod) == 0x81);
    }
}

TEST_CASE("MAD_IFC itself is refused for port, version and op_mod", "[mad]") {
    FirmwareBench bench;
    using View = prm::View<In>;
    check_refusals<Out>(
        bench, mad_input(kNodeInfo),
        {{"no port", [](View v) { v.set<In::port>(0U); }, Status::BAD_PARAM},
         {"other port", [](View v) { v.set<In::port>(2U); }, Status::BAD_PARAM},
         {"version", [](View v) { v.bytes<In::mad>()[0] = std::byte{2}; }, Status::BAD_PKT},
         {"op_mod", [](View v) { v.set<In::op_mod>(4U); }, Status::BAD_PARAM}});
}
