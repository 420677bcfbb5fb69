// SPDX-License-Identifier: Apache-2.0
//
// Sockets and the clients that come and go.
#include "pcie/vfio_user/server.h"

#include "tests/unit/vfio_user/client.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

using namespace cxsim::vfio_user;
using namespace cxsim::vfio_user::test;

namespace {

void drain(Server& server) {
    for (int i = 0; i < 1000; ++i) {
        const Result<int> handled = server.dispatch();
        REQUIRE(handled.ok());
        if (handled.value() == 0) return;
    }
    FAIL("the server does not come to rest");
}

// What a QEMU does between its start and a driver's.
void work(Client& client, const UniqueFd& ram, const UniqueFd& event) {
    client.negotiate();
    CHECK(client.map(0, 1 << 20, 3, ram.get()).error() == 0);
    CHECK(client.map(0xfffc0000, 0x40000, 1).error() == 0);
    CHECK(client
              .set_irqs(kIrqSetDataEventfd | kIrqSetActionTrigger, 2, 0, 4,
                        std::vector<int>(4, event.get()))
              .error() == 0);
    CHECK(
        client.set_irqs(kIrqSetDataEventfd | kIrqSetActionUnmask, 0, 0, 1, {event.get()}).error() ==
        0);
    CHECK(client.write(0, 0, pattern(4)).error() == 0);
}

}  // namespace

TEST_CASE("a client that goes leaves nothing behind, any number of times", "[server]") {
    TempDir dir;
    TestDevice device;
    Server server;
    const Result<Endpoint*> endpoint = server.listen(dir.file("nic"), device);
    REQUIRE(endpoint.ok());
    const UniqueFd ram = make_memfd(1 << 20);
    const UniqueFd event = make_eventfd();
    const std::size_t before = open_fds();
    for (int round = 0; round < 50; ++round) {
        {
            Client client = Client::connect(dir.file("nic"), &server);
            work(client, ram, event);
            CHECK(endpoint.value()->memory().region_count() == 2);
            if (round % 2 == 1) client.send(Command::kRegionRead, Bytes(5));  // unread reply
        }
        drain(server);
        CHECK_FALSE(endpoint.value()->connected());
        CHECK(endpoint.value()->memory().region_count() == 0);
        CHECK_FALSE(endpoint.value()->interrupts().enabled(2, 0));
        CHECK(open_fds() == before);
    }
    CHECK(device.connects == 50);
    CHECK(device.disconnects == 50);
    CHECK(device.mapped.size() == 100);
    CHECK(device.unmapped.size() == 100);
    CHECK(endpoint.value()->stats().disconnections == 50);
}

TEST_CASE("a second client is answered EBUSY while the first goes on", "[server]") {
    TempDir dir;
    TestDevice device;
    Server server;
    const Result<Endpoint*> endpoint = server.listen(dir.file("nic"), device);
    REQUIRE(endpoint.ok());
    Client first = Client::connect(dir.file("nic"), &server);
    first.negotiate();
    Client second = Client::connect(dir.file("nic"), &server);
    CHECK(second.call(Command::kVersion, Client::version_body("{}")).error() == EBUSY);
    CHECK(second.at_end());
    CHECK(first.read(0, 0, 4).error() == 0);
    CHECK(endpoint.value()->stats().refused_connections == 1);
    CHECK(device.disconnects == 0);

    // Silent ones do not pile up.
    const std::size_t before = open_fds();
    std::vector<Client> silent;
    for (int i = 0; i < 20; ++i) {
        silent.push_back(Client::connect(dir.file("nic"), &server));
        drain(server);
    }
    CHECK(open_fds() <= before + 20 + 4);
    silent.clear();
    drain(server);
    CHECK(open_fds() == before);

    // When the first goes, the place is free.
    first.close();
    Client third = Client::connect(dir.file("nic"), &server);
    third.negotiate();
    CHECK(third.read(0, 0, 4).error() == 0);
}

TEST_CASE("a successor is taken although its predecessor's end was not seen yet", "[server]") {
    TempDir dir;
    TestDevice device;
    Server server;
    REQUIRE(server.listen(dir.file("nic"), device).ok());
    Client first = Client::connect(dir.file("nic"), &server);
    first.negotiate();
    Client second = Client::connect(dir.file("nic"), nullptr);
    first.send(Command::kRegionWrite, Client::write_body(0, 0, pattern(4)), kFlagNoReply);
    first.close();
    second.set_server(&server);
    second.negotiate();
    CHECK(device.writes == 1);  // the last words of the first were heard
    CHECK(device.connects == 2);
}

TEST_CASE("a stalled socket does not hold up another one", "[server]") {
    TempDir dir;
    TestDevice slow_device;
    TestDevice quick_device;
    ServerOptions options;
    options.output_high_water = 128 * 1024;
    Server server(options);
    REQUIRE(server.listen(dir.file("slow"), slow_device).ok());
    REQUIRE(server.listen(dir.file("quick"), quick_device).ok());
    Client slow = Client::connect(dir.file("slow"), &server);
    Client quick = Client::connect(dir.file("quick"), &server);
    slow.negotiate();
    quick.negotiate();
    // One never reads its replies, and leaves a message half sent, too.
    for (std::uint16_t i = 0; i < 32; ++i) {
        slow.send(Command::kRegionRead, bytes_of(RegionAccessPayload{0, 3, 64 * 1024}));
    }
    slow.send_raw(Bytes(3));
    for (std::uint32_t i = 0; i < 100; ++i) CHECK(quick.read(0, i * 4, 4).error() == 0);
    CHECK(slow_device.reads < 32);
    CHECK(quick_device.reads == 100);
}

TEST_CASE("a flood on one socket leaves the other its turn", "[server]") {
    TempDir dir;
    TestDevice flooded;
    TestDevice other;
    Server server;
    REQUIRE(server.listen(dir.file("a"), flooded).ok());
    REQUIRE(server.listen(dir.file("b"), other).ok());
    Client a = Client::connect(dir.file("a"), &server);
    Client b = Client::connect(dir.file("b"), &server);
    a.negotiate();
    b.negotiate();
    const Bytes posted =
        Client::frame(Command::kRegionWrite, Client::write_body(0, 0, pattern(4)), kFlagNoReply);
    for (int i = 0; i < 200; ++i) a.send_raw(posted);
    b.send_raw(posted);
    REQUIRE(server.dispatch(40).value() == 40);
    CHECK(other.writes == 1);
    CHECK(flooded.writes == 39);
    drain(server);
    CHECK(flooded.writes == 200);
}

TEST_CASE("the epoll descriptor is ready exactly when there is work", "[server]") {
    Bench bench;
    bench.client->negotiate();
    const auto ready = [&] {
        pollfd state{bench.server.epoll_fd(), POLLIN, 0};
        return ::poll(&state, 1, 0) == 1;
    };
    CHECK_FALSE(ready());
    bench.client->send(Command::kDeviceReset, {});
    CHECK(ready());
    CHECK(bench.server.poll_once(1000).value() == 1);
    CHECK_FALSE(ready());
    bench.endpoint->disconnect("test");  // announced by no socket
    CHECK(ready());
    bench.drain();
    CHECK_FALSE(ready());
    CHECK(bench.device.last_reason == "test");
    CHECK(bench.server.poll_once(1).value() == 0);
}

TEST_CASE("a device may drop its client inside a callback, but not call the server", "[server]") {
    Bench bench;
    bench.client->negotiate();
    int error = 0;
    bench.device.on_read = [&](auto, auto, auto) {
        error = bench.server.dispatch().error();
        CHECK(bench.server.remove(bench.endpoint).error() == EBUSY);
        bench.endpoint->disconnect("device has enough");
        return Status();
    };
    bench.client->send(Command::kRegionRead, bytes_of(RegionAccessPayload{0, 0, 4}));
    CHECK(bench.client->at_end());
    CHECK(error == EBUSY);
    CHECK(bench.device.disconnects == 1);
    CHECK(bench.device.last_reason == "device has enough");
}

TEST_CASE("a socket file nobody listens at is replaced, others are left alone", "[server]") {
    TempDir dir;
    TestDevice device;
    {
        const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = dir.file("stale");
        std::memcpy(address.sun_path, path.c_str(), path.size());
        REQUIRE(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    }
    Server server;
    CHECK(server.listen(dir.file("stale"), device).ok());
    Client client = Client::connect(dir.file("stale"), &server);
    client.negotiate();

    TestDevice other;
    Server second;
    CHECK(second.listen(dir.file("stale"), other).error() == EADDRINUSE);
    std::ofstream(dir.file("plain")) << "keep me";
    CHECK(second.listen(dir.file("plain"), other).error() == EEXIST);
    CHECK(std::filesystem::file_size(dir.file("plain")) == 7);
    CHECK(second.listen(dir.file(std::string(200, 'x')), other).error() == ENAMETOOLONG);
    CHECK(second.listen(dir.file("no/such/folder"), other).error() == ENOENT);
    CHECK(client.read(0, 0, 4).error() == 0);
}

TEST_CASE("a server's end disconnects, notifies and unlinks its own sockets only", "[server]") {
    TempDir dir;
    TestDevice device;
    const std::size_t before = open_fds();
    {
        Server server;
        REQUIRE(server.listen(dir.file("mine"), device).ok());
        REQUIRE(server.listen(dir.file("stolen"), device).ok());
        std::filesystem::remove(dir.file("stolen"));
        std::ofstream(dir.file("stolen")) << "somebody else's";
        Client client = Client::connect(dir.file("mine"), &server);
        client.negotiate();
        CHECK(client.map(0, 4096, 3).error() == 0);
    }
    CHECK(device.disconnects == 1);
    CHECK(device.unmapped.size() == 1);
    CHECK_FALSE(std::filesystem::exists(dir.file("mine")));
    CHECK(std::filesystem::exists(dir.file("stolen")));
    CHECK(open_fds() == before);
}

TEST_CASE("an endpoint can be removed and its path used again", "[server]") {
    TempDir dir;
    TestDevice device;
    Server server;
    const Result<Endpoint*> endpoint = server.listen(dir.file("nic"), device);
    REQUIRE(endpoint.ok());
    CHECK(server.remove(nullptr).error() == ENOENT);
    CHECK(server.remove(endpoint.value()).ok());
    CHECK(server.endpoints().empty());
    CHECK(server.listen(dir.file("nic"), device).ok());
}

TEST_CASE("a device with impossible mappable areas is refused", "[server]") {
    TempDir dir;
    TestDevice device;
    Server server;
    device.infos[0].mmap_areas[0] = {0xf000, 0x2000};
    CHECK(server.listen(dir.file("nic"), device).error() == EINVAL);
    device.infos[0].mmap_areas[0] = {0x1000, 0x1000};
    device.infos[0].fd = -1;
    CHECK(server.listen(dir.file("nic"), device).error() == EINVAL);
    CHECK(server.endpoints().empty());
}

TEST_CASE("without descriptors left a client is refused instead of waiting", "[server]") {
    TempDir dir;
    TestDevice device;
    Server server;
    const Result<Endpoint*> endpoint = server.listen(dir.file("nic"), device);
    REQUIRE(endpoint.ok());
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    Client client = Client::connect(dir.file("nic"), nullptr);
    // Lowered to what is in use, the process can open nothing more.
    std::vector<UniqueFd> fill;
    const rlimit tight{256, limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    for (;;) {
        UniqueFd more(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!more.valid()) break;
        fill.push_back(std::move(more));
    }
    const int handled = server.dispatch().value();
    const int again = server.dispatch().value();
    fill.clear();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(handled + again == 0);
    CHECK(endpoint.value()->stats().refused_connections == 1);
    CHECK(client.at_end());
    Client next = Client::connect(dir.file("nic"), &server);
    next.negotiate();
}
