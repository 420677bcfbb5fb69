// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/version.h"

#include "tests/unit/vfio_user/client.h"

#include <nlohmann/json.hpp>

using namespace cxsim::vfio_user;
using namespace cxsim::vfio_user::test;

namespace {

Result<ClientCapabilities> parse(const std::string& json) {
    return parse_capabilities(std::as_bytes(std::span(json.c_str(), json.size() + 1)));
}

nlohmann::json reply_json(const Reply& reply) {
    REQUIRE(reply.body.size() > sizeof(VersionPayload));
    REQUIRE(reply.body.back() == std::byte{0});
    return nlohmann::json::parse(reinterpret_cast<const char*>(reply.body.data()) +
                                 sizeof(VersionPayload));
}

}  // namespace

TEST_CASE("a client that names no capability gets the defaults", "[version]") {
    for (const char* json : {"{}", R"({"capabilities": {}})", R"({"other": 1})"}) {
        const auto client = parse(json);
        REQUIRE(client.ok());
        CHECK(client.value().max_msg_fds == 1);
        CHECK(client.value().max_data_xfer_size == 1048576);
        CHECK(client.value().max_dma_maps == 65535);
        CHECK(client.value().pgsizes == 4096);
        CHECK_FALSE(client.value().write_multiple);
    }
    CHECK(parse_capabilities({}).ok());
}

TEST_CASE("malformed capabilities are refused", "[version]") {
    for (const char* json :
         {"", "{", "[]", "7", R"({"capabilities": 3})", R"({"capabilities": {"max_msg_fds": -1}})",
          R"({"capabilities": {"max_msg_fds": "16"}})", R"({"capabilities": {"pgsizes": 0}})",
          R"({"capabilities": {"pgsizes": 4097}})",
          R"({"capabilities": {"max_data_xfer_size": 0}})",
          R"({"capabilities": {"max_data_xfer_size": 1.5}})",
          R"({"capabilities": {"write_multiple": 1}})"}) {
        INFO(json);
        CHECK(parse(json).error() == EINVAL);
    }
    const std::string unterminated = "{}";
    CHECK(parse_capabilities(std::as_bytes(std::span(unterminated))).error() == EINVAL);
    CHECK(parse(std::string("{}\0{}", 5)).error() == EINVAL);
    CHECK(parse(std::string(20000, ' ') + "{}").error() == EINVAL);
    CHECK(parse(std::string(8000, '[')).error() == EINVAL);
}

TEST_CASE("the reply to VERSION names only what the client named", "[version]") {
    Bench bench;
    const Reply reply =
        bench.client->call(Command::kVersion, Client::version_body(Client::kCapabilities, 0, 3));
    REQUIRE(reply.error() == 0);
    CHECK(reply.as<VersionPayload>().major == 0);
    CHECK(reply.as<VersionPayload>().minor == 0);
    const auto capabilities = reply_json(reply).at("capabilities");
    CHECK(capabilities.at("max_msg_fds") == 16);
    CHECK(capabilities.at("max_data_xfer_size") == 1048576);
    CHECK(capabilities.at("max_dma_maps") == 65535);
    CHECK(capabilities.at("pgsizes") == 4096);
    CHECK(capabilities.at("write_multiple") == true);
    CHECK(capabilities.size() == 5);  // no migration
    CHECK(bench.device.connects == 1);

    Bench silent;
    const Reply short_reply =
        silent.client->call(Command::kVersion, bytes_of(VersionPayload{0, 0}));
    CHECK(reply_json(short_reply).at("capabilities").empty());
}

TEST_CASE("a limit below the default is told to a client that did not ask", "[version]") {
    ServerOptions options;
    options.max_data_xfer_size = 65536;
    options.max_dma_maps = 16;
    Bench bench(options);
    const auto json = reply_json(bench.client->call(Command::kVersion, Client::version_body("{}")));
    CHECK(json.at("capabilities").at("max_data_xfer_size") == 65536);
    CHECK(json.at("capabilities").at("max_dma_maps") == 16);
}

TEST_CASE("without agreement the client gets an errno and is dropped", "[version]") {
    struct Case {
        Bytes body;
        int error;
    };
    const std::vector<Case> cases = {
        {Client::version_body("{}", 1, 0), ENOTSUP},
        {Client::version_body(R"({"capabilities": {"pgsizes": 65536}})"), ENOTSUP},
        {Client::version_body("nonsense"), EINVAL},
        {Bytes(3), EINVAL},
        {Bytes(), EINVAL},
    };
    for (const Case& item : cases) {
        Bench bench;
        CHECK(bench.client->call(Command::kVersion, item.body).error() == item.error);
        CHECK(bench.client->at_end());
        CHECK(bench.device.connects == 0);
        CHECK(bench.device.disconnects == 1);
        CHECK(bench.endpoint->stats().protocol_drops == 1);
        CHECK_FALSE(bench.endpoint->connected());
    }
}

TEST_CASE("a command before VERSION is refused and ends the connection", "[version]") {
    Bench bench;
    CHECK(bench.client->read(0, 0, 4).error() == EINVAL);
    CHECK(bench.client->at_end());
    CHECK(bench.device.reads == 0);
}

TEST_CASE("a second VERSION is refused and changes nothing", "[version]") {
    Bench bench;
    bench.client->negotiate();
    CHECK(bench.client->call(Command::kVersion, Client::version_body("{}")).error() == EINVAL);
    CHECK(bench.client->read(0, 0, 4).error() == 0);
    CHECK(bench.device.connects == 1);
}

TEST_CASE("impossible server options are refused", "[version]") {
    TestDevice device;
    const auto refused = [&](auto change) {
        ServerOptions options;
        change(options);
        Server server(options);
        TempDir dir;
        return server.listen(dir.file("s"), device).error() == EINVAL &&
               server.dispatch().error() == EINVAL;
    };
    CHECK(refused([](ServerOptions& o) { o.max_msg_fds = 0; }));
    CHECK(refused([](ServerOptions& o) { o.max_msg_fds = 254; }));
    CHECK(refused([](ServerOptions& o) { o.max_data_xfer_size = 100; }));
    CHECK(refused([](ServerOptions& o) { o.pgsizes = 512; }));
    CHECK(refused([](ServerOptions& o) { o.dma_timeout = std::chrono::milliseconds(0); }));
}
