// SPDX-License-Identifier: Apache-2.0
//
// Memory without a file: the server asks the client. The client runs on a thread of its own here,
// since the server waits for it.
#include "tests/unit/vfio_user/client.h"

#include <atomic>

using namespace cxsim::vfio_user;
using namespace cxsim::vfio_user::test;

namespace {

constexpr std::uint64_t kBase = 0xfffc0000;
constexpr std::uint64_t kSize = 0x40000;

struct RemoteBench : Bench {
    explicit RemoteBench(std::chrono::milliseconds timeout = std::chrono::milliseconds(3000),
                         const char* json = Client::kCapabilities)
        : Bench(options(timeout)), guest(pattern(kSize)) {
        client->negotiate(json);
        REQUIRE(client->map(kBase, kSize, 3).error() == 0);
        client->set_server(nullptr);
    }
    static ServerOptions options(std::chrono::milliseconds timeout) {
        ServerOptions out;
        out.dma_timeout = timeout;
        return out;
    }
    // Answers one DMA request as a client should.
    void answer() { answer(take()); }
    Reply take() {
        auto request = client->receive();
        return request ? std::move(*request) : Reply{};
    }
    void answer(const Reply& request, std::uint32_t error = 0, std::uint64_t count_lie = 0) {
        if (request.body.size() < sizeof(DmaAccessPayload)) return;
        DmaAccessPayload access;
        std::memcpy(&access, request.body.data(), sizeof(access));
        Header header = request.header;
        header.flags = kFlagTypeReply | (error != 0 ? kFlagError : 0);
        header.error = error;
        Bytes body;
        if (error == 0) {
            const std::size_t at = static_cast<std::size_t>(access.address - kBase);
            body = bytes_of(DmaAccessPayload{access.address, access.count + count_lie});
            if (header.command == static_cast<std::uint16_t>(Command::kDmaRead)) {
                body.insert(body.end(), guest.begin() + static_cast<long>(at),
                            guest.begin() + static_cast<long>(at + access.count));
            } else {
                std::memcpy(guest.data() + at, request.body.data() + sizeof(access),
                            static_cast<std::size_t>(access.count));
            }
        }
        header.size = static_cast<std::uint32_t>(sizeof(header) + body.size());
        client->send_raw(bytes_of(header) + body);
        ++answered;
    }
    GuestMemory& memory() { return endpoint->memory(); }

    Bytes guest;
    std::atomic<int> answered{0};
};

// Runs the client's part beside the test and waits for its end.
class Beside {
  public:
    explicit Beside(std::function<void()> work) : thread_(std::move(work)) {}
    ~Beside() { thread_.join(); }

  private:
    std::thread thread_;
};

}  // namespace

TEST_CASE("memory without a file is read and written by messages", "[remote]") {
    RemoteBench bench;
    Bytes seen(100);
    {
        const Beside client([&] {
            bench.answer();
            bench.answer();
        });
        CHECK(bench.memory().read(kBase + 0x123, seen).ok());
        CHECK(bench.memory().write(kBase + 0x2000, pattern(100, 9)).ok());
    }
    CHECK(std::memcmp(seen.data(), pattern(kSize).data() + 0x123, 100) == 0);
    CHECK(std::memcmp(bench.guest.data() + 0x2000, pattern(100, 9).data(), 100) == 0);
    CHECK(bench.memory().readable(kBase, 4).empty());
    CHECK(bench.endpoint->stats().remote_reads == 1);
    CHECK(bench.endpoint->stats().remote_writes == 1);
    CHECK(bench.endpoint->stats().remote_failures == 0);
}

TEST_CASE("a transfer is cut to the client's largest message", "[remote]") {
    RemoteBench bench(std::chrono::milliseconds(3000),
                      R"({"capabilities": {"max_data_xfer_size": 4096}})");
    Bytes seen(10000);
    {
        const Beside client([&] {
            for (int i = 0; i < 3; ++i) bench.answer();
        });
        CHECK(bench.memory().read(kBase, seen).ok());
    }
    CHECK(std::memcmp(seen.data(), bench.guest.data(), seen.size()) == 0);
    CHECK(bench.endpoint->stats().remote_reads == 3);
}

TEST_CASE("an access may cross from a file to messages", "[remote]") {
    RemoteBench bench;
    const UniqueFd ram = make_memfd(4096);
    const Bytes low = pattern(4096, 50);
    REQUIRE(::pwrite(ram.get(), low.data(), low.size(), 0) == 4096);
    bench.client->set_server(&bench.server);
    REQUIRE(bench.client->map(kBase - 4096, 4096, 3, ram.get()).error() == 0);
    bench.client->set_server(nullptr);
    Bytes seen(64);
    {
        const Beside client([&] { bench.answer(); });
        CHECK(bench.memory().read(kBase - 32, seen).ok());
    }
    CHECK(std::memcmp(seen.data(), low.data() + 4064, 32) == 0);
    CHECK(std::memcmp(seen.data() + 32, bench.guest.data(), 32) == 0);
}

TEST_CASE("commands that come during a DMA are kept in order, an unmap of its memory included",
          "[remote]") {
    RemoteBench bench;
    Bytes seen(16);
    {
        const Beside client([&] {
            const Reply request = bench.take();
            bench.client->send(Command::kRegionWrite, Client::write_body(0, 8, pattern(4)),
                               kFlagNoReply);
            bench.client->send(Command::kDmaUnmap, bytes_of(DmaUnmapPayload{24, 0, kBase, kSize}));
            bench.client->send(Command::kRegionWrite, Client::write_body(0, 16, pattern(4)),
                               kFlagNoReply);
            bench.answer(request);
        });
        CHECK(bench.memory().read(kBase, seen).ok());
    }
    CHECK(std::memcmp(seen.data(), bench.guest.data(), 16) == 0);
    CHECK(bench.device.writes == 0);
    CHECK(bench.memory().region_count() == 1);
    pollfd ready{bench.server.epoll_fd(), POLLIN, 0};
    CHECK(::poll(&ready, 1, 0) == 1);  // no socket says so, but there is work
    bench.drain();
    CHECK(bench.device.write_order == std::vector<std::uint64_t>{8, 16});
    CHECK(bench.memory().region_count() == 0);
    CHECK(bench.memory().read(kBase, seen).error() == EFAULT);
    CHECK(bench.client->receive()->header.command ==
          static_cast<std::uint16_t>(Command::kDmaUnmap));
    CHECK(bench.endpoint->stats().deferred_messages == 3);
}

TEST_CASE("a device may use such memory inside a region access", "[remote]") {
    RemoteBench bench;
    Status inner(EIO);
    bench.device.on_read = [&](auto, auto, std::span<std::byte>) {
        Bytes buffer(8);
        inner = bench.memory().read(kBase, buffer);
        return inner;
    };
    bench.client->send(Command::kRegionRead, bytes_of(RegionAccessPayload{0, 0, 4}));
    {
        const Beside client([&] { bench.answer(); });
        bench.drain();
    }
    CHECK(inner.ok());
    CHECK(bench.client->receive()->error() == 0);
}

TEST_CASE("a client that does not answer costs one bounded wait", "[remote]") {
    RemoteBench bench(std::chrono::milliseconds(60));
    Bytes seen(16);
    const auto start = std::chrono::steady_clock::now();
    CHECK(bench.memory().read(kBase, seen).error() == ETIMEDOUT);
    const auto waited = std::chrono::steady_clock::now() - start;
    CHECK(waited >= std::chrono::milliseconds(60));
    CHECK(waited < std::chrono::seconds(2));
    // While that answer is missing, nothing more is asked.
    CHECK(bench.memory().read(kBase, seen).error() == EBUSY);
    CHECK(bench.endpoint->stats().remote_timeouts == 1);
    // The late answer clears the way, and is not taken for another one's.
    bench.answer();
    bench.drain();
    {
        const Beside client([&] { bench.answer(); });
        CHECK(bench.memory().read(kBase + 64, seen).ok());
    }
    CHECK(std::memcmp(seen.data(), bench.guest.data() + 64, 16) == 0);
    CHECK(bench.endpoint->stats().unexpected_replies == 0);
}

TEST_CASE("a client that talks of everything else does not stretch the wait", "[remote]") {
    RemoteBench bench(std::chrono::milliseconds(100));
    Bytes seen(16);
    std::atomic<bool> stop{false};
    const auto start = std::chrono::steady_clock::now();
    Status status;
    {
        const Beside client([&] {
            Header header;
            header.size = sizeof(header);
            header.id = 60000;
            header.flags = kFlagTypeReply;
            // Below the socket buffer, so that the sender never blocks after the reader stopped.
            for (int i = 0; i < 200 && !stop; ++i) {
                bench.client->send_raw(bytes_of(header));
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        status = bench.memory().read(kBase, seen);
        stop = true;
    }
    CHECK(status.error() == ETIMEDOUT);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
    CHECK(bench.endpoint->stats().unexpected_replies > 0);
}

TEST_CASE("what may pile up during a DMA is limited", "[remote]") {
    ServerOptions options;
    options.max_deferred_messages = 8;
    Bench bench(options);
    bench.client->negotiate();
    REQUIRE(bench.client->map(kBase, kSize, 3).error() == 0);
    for (int i = 0; i < 20; ++i) {
        bench.client->send(Command::kRegionWrite, Client::write_body(0, 0, pattern(4)),
                           kFlagNoReply);
    }
    Bytes seen(4);
    CHECK(bench.endpoint->memory().read(kBase, seen).error() == EBUSY);
    CHECK(bench.endpoint->stats().deferred_messages == 8);
    bench.drain();
    CHECK(bench.device.writes == 20);
}

TEST_CASE("wrong answers are errors", "[remote]") {
    RemoteBench bench;
    Bytes seen(16);
    const auto read_with = [&](std::uint32_t error, std::uint64_t lie) {
        const Beside client([&] { bench.answer(bench.take(), error, lie); });
        return bench.memory().read(kBase, seen).error();
    };
    CHECK(read_with(EPERM, 0) == EPERM);
    CHECK(read_with(0xffffffff, 0) == EIO);
    CHECK(read_with(0, 1) == EIO);
    {
        const Beside client([&] { bench.answer(bench.take(), 0, 4); });
        CHECK(bench.memory().write(kBase, seen).error() == EIO);
    }
    CHECK(bench.endpoint->stats().remote_failures == 4);
    CHECK(bench.endpoint->connected());
}

TEST_CASE("a client that goes during a DMA ends it, and is torn down afterwards", "[remote]") {
    RemoteBench bench;
    Bytes seen(16);
    {
        const Beside client([&] {
            bench.take();
            bench.client->close();
        });
        CHECK(bench.memory().read(kBase, seen).error() == ECONNRESET);
    }
    CHECK(bench.device.disconnects == 0);  // not inside the caller's access
    CHECK(bench.memory().read(kBase, seen).error() == ECONNRESET);
    bench.drain();
    CHECK(bench.device.disconnects == 1);
    CHECK(bench.memory().read(kBase, seen).error() == EFAULT);
}
