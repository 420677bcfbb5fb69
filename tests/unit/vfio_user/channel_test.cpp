// SPDX-License-Identifier: Apache-2.0
//
// Framing: what a stream socket may do to messages, and what a hostile client may put into headers.
#include "tests/unit/vfio_user/client.h"

using namespace cxsim::vfio_user;
using namespace cxsim::vfio_user::test;

namespace {

Bytes raw_header(std::uint32_t size, std::uint32_t flags = 0) {
    Header header;
    header.id = 7;
    header.command = static_cast<std::uint16_t>(Command::kRegionRead);
    header.size = size;
    header.flags = flags;
    return bytes_of(header);
}

Bytes read_frame(std::uint16_t id, std::uint64_t offset) {
    return Client::frame(Command::kRegionRead, bytes_of(RegionAccessPayload{offset, 0, 4}), 0, id);
}

}  // namespace

TEST_CASE("messages glued into one send are handled one by one, in order", "[channel]") {
    Bench bench;
    bench.client->negotiate();
    Bytes glued;
    for (std::uint16_t i = 0; i < 50; ++i) glued = glued + read_frame(i, i * 4u);
    bench.client->send_raw(glued);
    for (std::uint16_t i = 0; i < 50; ++i) {
        const auto reply = bench.client->receive();
        REQUIRE(reply.has_value());
        CHECK(reply->header.id == i);
        CHECK(reply->as<RegionAccessPayload>().offset == i * 4u);
    }
}

TEST_CASE("a message that trickles in byte by byte is handled once it is whole", "[channel]") {
    Bench bench;
    const Bytes version =
        Client::frame(Command::kVersion, Client::version_body(Client::kCapabilities));
    const Bytes stream = version + read_frame(9, 0x10);
    for (std::size_t i = 0; i < stream.size(); ++i) {
        CHECK(bench.device.reads == 0);
        bench.client->send_raw(std::span(stream).subspan(i, 1));
        bench.drain();
    }
    CHECK(bench.device.reads == 1);
    REQUIRE(bench.client->receive().has_value());
    const auto reply = bench.client->receive();
    REQUIRE(reply.has_value());
    CHECK(reply->header.id == 9);
}

TEST_CASE("pipelined maps each keep their own descriptor", "[channel]") {
    Bench bench;
    bench.client->negotiate();
    // All are in the socket before the server looks: the kernel would join them in a large read.
    std::vector<UniqueFd> files;
    for (std::uint64_t i = 0; i < 12; ++i) {
        std::vector<int> fds;
        if (i % 3 != 2) {
            files.push_back(make_memfd(4096));
            const std::uint64_t mark = 1000 + i;
            REQUIRE(::pwrite(files.back().get(), &mark, sizeof(mark), 0) == sizeof(mark));
            fds.push_back(files.back().get());
        }
        bench.client->send(Command::kDmaMap, bytes_of(DmaMapPayload{32, 3, 0, i * 4096, 4096}), 0,
                           fds);
    }
    for (int i = 0; i < 12; ++i) CHECK(bench.client->receive()->error() == 0);
    for (std::uint64_t i = 0; i < 12; ++i) {
        const auto view = bench.endpoint->memory().readable(i * 4096, 8);
        if (i % 3 == 2) {
            CHECK(view.empty());
            continue;
        }
        REQUIRE(view.size() == 8);
        std::uint64_t mark = 0;
        std::memcpy(&mark, view.data(), sizeof(mark));
        CHECK(mark == 1000 + i);
    }
}

TEST_CASE("a descriptor that comes with the body belongs to that message", "[channel]") {
    Bench bench;
    bench.client->negotiate();
    const UniqueFd file = make_memfd(8192);
    const Bytes whole =
        Client::frame(Command::kDmaMap, bytes_of(DmaMapPayload{32, 3, 4096, 0, 4096}));
    bench.client->send_raw(std::span(whole).subspan(0, 20));
    bench.drain();
    bench.client->send_raw(std::span(whole).subspan(20), {file.get()});
    CHECK(bench.client->receive()->error() == 0);
    CHECK(bench.endpoint->memory().writable(0, 4096).size() == 4096);
}

TEST_CASE("an impossible size or type ends the connection at once", "[channel]") {
    const std::vector<Bytes> headers = {raw_header(0),          raw_header(15),
                                        raw_header(0xffffffff), raw_header((1u << 20) + 4096),
                                        raw_header(32, 2),      raw_header(32, 0xf)};
    for (const Bytes& header : headers) {
        Bench bench;
        bench.client->negotiate();
        bench.client->send_raw(header);
        CHECK(bench.client->at_end());
        CHECK(bench.device.disconnects == 1);
        CHECK(bench.device.last_reason.find("impossible message header") == 0);
        CHECK(bench.endpoint->stats().protocol_drops == 1);
    }
}

TEST_CASE("a client that goes in the middle of a message is torn down", "[channel]") {
    for (const std::size_t cut : {1u, 15u, 16u, 20u}) {
        Bench bench;
        bench.client->negotiate();
        const Bytes whole = read_frame(1, 0);
        bench.client->send_raw(std::span(whole).subspan(0, cut));
        bench.drain();
        bench.client->close();
        bench.drain();
        CHECK(bench.device.disconnects == 1);
        CHECK(bench.device.reads == 0);
    }
}

TEST_CASE("an unasked reply is ignored and counted", "[channel]") {
    Bench bench;
    bench.client->negotiate();
    bench.client->send_raw(raw_header(16, kFlagTypeReply));
    bench.client->send_raw(raw_header(16, kFlagTypeReply | kFlagError));
    CHECK(bench.client->read(0, 0, 4).error() == 0);
    CHECK(bench.endpoint->stats().unexpected_replies == 2);
}

TEST_CASE("a command with the error flag is refused", "[channel]") {
    Bench bench;
    bench.client->negotiate();
    bench.client->send(Command::kDeviceReset, {}, kFlagError);
    CHECK(bench.client->receive()->error() == EINVAL);
    CHECK(bench.device.resets == 0);
}

TEST_CASE("a client that reads no replies is no longer read from, and nothing is lost",
          "[channel]") {
    ServerOptions options;
    options.output_high_water = 256 * 1024;
    Bench bench(options);
    bench.client->negotiate();
    constexpr std::uint16_t kReads = 64;
    bench.client->set_server(nullptr);
    for (std::uint16_t i = 0; i < kReads; ++i) {
        bench.client->send_raw(Client::frame(Command::kRegionRead,
                                             bytes_of(RegionAccessPayload{0, 3, 64 * 1024}), 0, i));
    }
    bench.drain();
    CHECK(bench.device.reads < kReads);
    CHECK(bench.endpoint->stats().output_stalls >= 1);
    // Nothing to do: the server sleeps instead of spinning.
    CHECK(bench.server.dispatch().value() == 0);
    pollfd idle{bench.server.epoll_fd(), POLLIN, 0};
    CHECK(::poll(&idle, 1, 0) == 0);

    bench.client->set_server(&bench.server);
    for (std::uint16_t i = 0; i < kReads; ++i) {
        const auto reply = bench.client->receive();
        REQUIRE(reply.has_value());
        CHECK(reply->header.id == i);
        CHECK(reply->body.size() == 16 + 64 * 1024);
    }
}

TEST_CASE("a stalled client that dies is torn down", "[channel]") {
    ServerOptions options;
    options.output_high_water = 64 * 1024;
    Bench bench(options);
    bench.client->negotiate();
    for (std::uint16_t i = 0; i < 64; ++i) {
        bench.client->send_raw(Client::frame(Command::kRegionRead,
                                             bytes_of(RegionAccessPayload{0, 3, 64 * 1024}), 0, i));
    }
    bench.drain();
    bench.client->close();
    bench.drain();
    CHECK_FALSE(bench.endpoint->connected());
    CHECK(bench.device.disconnects == 1);
}
