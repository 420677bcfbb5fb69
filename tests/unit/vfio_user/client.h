// SPDX-License-Identifier: Apache-2.0
//
// The client's side of the protocol for tests: it builds messages byte by byte and shares no code
// with the server except the structures of the wire format.
#pragma once

#include "pcie/vfio_user/server.h"

#include <catch2/catch_test_macros.hpp>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cxsim::vfio_user::test {

using Bytes = std::vector<std::byte>;

inline Bytes operator+(Bytes left, const Bytes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

template <typename T>
Bytes bytes_of(const T& value) {
    const auto view = std::as_bytes(std::span(&value, 1));
    return Bytes(view.begin(), view.end());
}

inline Bytes pattern(std::size_t size, unsigned seed = 1) {
    Bytes out(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = std::byte((i * 7 + seed) & 0xff);
    return out;
}

inline UniqueFd make_memfd(std::size_t size) {
    UniqueFd fd(::memfd_create("guest", MFD_CLOEXEC));
    REQUIRE(fd.valid());
    REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(size)) == 0);
    return fd;
}

inline UniqueFd make_eventfd() {
    return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

// How often the eventfd was written since last asked.
inline std::uint64_t signals(const UniqueFd& fd) {
    std::uint64_t count = 0;
    return ::read(fd.get(), &count, sizeof(count)) == sizeof(count) ? count : 0;
}

inline std::size_t open_fds() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

class TempDir {
  public:
    TempDir() {
        std::string name = (std::filesystem::temp_directory_path() / "vfio_user_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

// Memory behind every region, and a record of what the server told it.
class TestDevice : public Device {
  public:
    static constexpr std::size_t kBarSize = 64 * 1024;

    TestDevice() : bar_file(make_memfd(kBarSize)), memory(kPciRegionCount) {
        infos.resize(kPciRegionCount);
        infos[0] = {.size = kBarSize,
                    .fd = bar_file.get(),
                    .fd_offset = 0,
                    .mmap_areas = {{0x4000, 0x2000}, {0x8000, 0x1000}}};
        infos[2] = {.size = 4096, .writable = false, .fd = -1, .fd_offset = 0, .mmap_areas = {}};
        infos[3] = {.size = std::size_t{2} << 20, .fd = -1, .fd_offset = 0, .mmap_areas = {}};
        infos[kPciConfigRegion] = {.size = 4096, .fd = -1, .fd_offset = 0, .mmap_areas = {}};
        for (std::size_t i = 0; i < infos.size(); ++i) {
            memory[i].resize(static_cast<std::size_t>(infos[i].size));
        }
        irq_infos = {{.count = 1, .maskable = true, .automasked = true},
                     {.count = 0},
                     {.count = 64},
                     {.count = 1},
                     {.count = 1}};
    }

    std::span<const RegionInfo> regions() const override { return infos; }
    std::span<const IrqInfo> irqs() const override { return irq_infos; }
    Status read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> out) override {
        ++reads;
        if (on_read) {
            if (const Status status = on_read(region, offset, out); !status.ok()) return status;
        }
        std::memcpy(out.data(), memory[region].data() + offset, out.size());
        return Status();
    }
    Status write(std::uint32_t region, std::uint64_t offset,
                 std::span<const std::byte> in) override {
        ++writes;
        write_order.push_back(offset);
        if (on_write) {
            if (const Status status = on_write(region, offset, in); !status.ok()) return status;
        }
        std::memcpy(memory[region].data() + offset, in.data(), in.size());
        return Status();
    }
    Status reset() override {
        ++resets;
        return reset_status;
    }
    void client_connected() override { ++connects; }
    void client_disconnected(std::string_view reason) override {
        ++disconnects;
        last_reason = reason;
    }
    void irqs_changed(std::uint32_t index, std::uint32_t start, std::uint32_t count) override {
        irq_changes.push_back({index, start, count});
    }
    void dma_mapped(const DmaRegion& region) override { mapped.push_back(region); }
    void dma_unmapped(const DmaRegion& region) override {
        if (on_unmap) on_unmap(region);
        unmapped.push_back(region);
    }

    UniqueFd bar_file;
    std::vector<RegionInfo> infos;
    std::vector<IrqInfo> irq_infos;
    std::vector<Bytes> memory;
    std::function<Status(std::uint32_t, std::uint64_t, std::span<std::byte>)> on_read;
    std::function<Status(std::uint32_t, std::uint64_t, std::span<const std::byte>)> on_write;
    std::function<void(const DmaRegion&)> on_unmap;
    Status reset_status;
    int reads = 0, writes = 0, resets = 0, connects = 0, disconnects = 0;
    std::string last_reason;
    std::vector<std::uint64_t> write_order;
    std::vector<std::array<std::uint32_t, 3>> irq_changes;
    std::vector<DmaRegion> mapped, unmapped;
};

struct Reply {
    Header header;
    Bytes body;
    std::vector<UniqueFd> fds;

    bool failed() const { return (header.flags & kFlagError) != 0; }
    int error() const { return failed() ? static_cast<int>(header.error) : 0; }
    template <typename T>
    T as(std::size_t offset = 0) const {
        REQUIRE(body.size() >= offset + sizeof(T));
        T value;
        std::memcpy(&value, body.data() + offset, sizeof(T));
        return value;
    }
};

class Client {
  public:
    Client(UniqueFd socket, Server* server) : socket_(std::move(socket)), server_(server) {}

    static Client connect(const std::string& path, Server* server) {
        UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        REQUIRE(path.size() < sizeof(address.sun_path));
        std::memcpy(address.sun_path, path.c_str(), path.size());
        REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) ==
                0);
        return Client(std::move(socket), server);
    }

    static Bytes frame(Command command, const Bytes& body, std::uint32_t flags = 0,
                       std::uint16_t id = 1) {
        Header header;
        header.id = id;
        header.command = static_cast<std::uint16_t>(command);
        header.size = static_cast<std::uint32_t>(sizeof(Header) + body.size());
        header.flags = flags;
        return bytes_of(header) + body;
    }

    void send_raw(std::span<const std::byte> data, const std::vector<int>& fds = {}) {
        iovec vector{const_cast<std::byte*>(data.data()), data.size()};
        msghdr message{};
        message.msg_iov = &vector;
        message.msg_iovlen = 1;
        std::vector<std::byte> control(CMSG_SPACE(sizeof(int) * fds.size()));
        if (!fds.empty()) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
            std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
        }
        // No assertion here: some tests send from a second thread. call() looks at it.
        const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(data.size())) send_failed_ = true;
    }
    void send(Command command, const Bytes& body, std::uint32_t flags = 0,
              const std::vector<int>& fds = {}) {
        last_id_ = next_id_++;
        send_raw(frame(command, body, flags, last_id_), fds);
    }

    // Lets the server run until the stream has `size` more bytes; false at its end or after 5 s.
    bool receive_bytes(std::byte* into, std::size_t size, std::vector<UniqueFd>& fds) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (size > 0) {
            if (server_ != nullptr) REQUIRE(server_->dispatch().ok());
            iovec vector{into, size};
            std::array<std::byte, 1024> control;
            msghdr message{};
            message.msg_iov = &vector;
            message.msg_iovlen = 1;
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
            if (got < 0 && errno != EAGAIN) return false;
            if (got == 0) return false;
            if (got < 0) {
                if (std::chrono::steady_clock::now() > deadline) return false;
                pollfd ready{socket_.get(), POLLIN, 0};
                ::poll(&ready, 1, server_ != nullptr ? 1 : 50);
                continue;
            }
            for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
                const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (std::size_t i = 0; i < count; ++i) {
                    int fd;
                    std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                    fds.emplace_back(fd);
                }
            }
            into += got;
            size -= static_cast<std::size_t>(got);
        }
        return true;
    }
    std::optional<Reply> receive() {
        Reply reply;
        std::array<std::byte, sizeof(Header)> header;
        if (!receive_bytes(header.data(), header.size(), reply.fds)) return std::nullopt;
        std::memcpy(&reply.header, header.data(), header.size());
        reply.body.resize(reply.header.size - sizeof(Header));
        if (!receive_bytes(reply.body.data(), reply.body.size(), reply.fds)) return std::nullopt;
        return reply;
    }
    Reply call(Command command, const Bytes& body, const std::vector<int>& fds = {}) {
        send(command, body, 0, fds);
        REQUIRE_FALSE(send_failed_);
        std::optional<Reply> reply = receive();
        REQUIRE(reply.has_value());
        CHECK(reply->header.id == last_id_);
        CHECK(reply->header.command == static_cast<std::uint16_t>(command));
        CHECK((reply->header.flags & kFlagTypeMask) == kFlagTypeReply);
        if (reply->failed()) CHECK(reply->body.empty());
        return std::move(*reply);
    }
    bool at_end() {
        std::byte byte;
        std::vector<UniqueFd> fds;
        return !receive_bytes(&byte, 1, fds);
    }

    static Bytes version_body(const std::string& json, std::uint16_t major = 0,
                              std::uint16_t minor = 0) {
        const auto text = std::as_bytes(std::span(json.c_str(), json.size() + 1));
        return bytes_of(VersionPayload{major, minor}) + Bytes(text.begin(), text.end());
    }
    // What QEMU says.
    static constexpr const char* kCapabilities =
        R"({"capabilities": {"migration": {"max_bitmap_size": 268435456, "pgsize": 4096},
            "max_msg_fds": 16, "max_data_xfer_size": 1048576, "max_dma_maps": 65535,
            "pgsizes": 4096, "write_multiple": true}})";
    void negotiate(const std::string& json = kCapabilities) {
        REQUIRE(call(Command::kVersion, version_body(json)).error() == 0);
    }

    Reply map(std::uint64_t address, std::uint64_t size, std::uint32_t flags, int fd = -1,
              std::uint64_t offset = 0) {
        return call(Command::kDmaMap, bytes_of(DmaMapPayload{32, flags, offset, address, size}),
                    fd < 0 ? std::vector<int>{} : std::vector<int>{fd});
    }
    Reply unmap(std::uint64_t address, std::uint64_t size, std::uint32_t flags = 0) {
        return call(Command::kDmaUnmap, bytes_of(DmaUnmapPayload{24, flags, address, size}));
    }
    Reply read(std::uint32_t region, std::uint64_t offset, std::uint32_t count) {
        return call(Command::kRegionRead, bytes_of(RegionAccessPayload{offset, region, count}));
    }
    static Bytes write_body(std::uint32_t region, std::uint64_t offset, const Bytes& data) {
        return bytes_of(
                   RegionAccessPayload{offset, region, static_cast<std::uint32_t>(data.size())}) +
               data;
    }
    Reply write(std::uint32_t region, std::uint64_t offset, const Bytes& data) {
        return call(Command::kRegionWrite, write_body(region, offset, data));
    }
    Reply set_irqs(std::uint32_t flags, std::uint32_t index, std::uint32_t start,
                   std::uint32_t count, const std::vector<int>& fds = {}, const Bytes& bools = {}) {
        return call(Command::kDeviceSetIrqs,
                    bytes_of(IrqSetPayload{static_cast<std::uint32_t>(20 + bools.size()), flags,
                                           index, start, count}) +
                        bools,
                    fds);
    }

    int fd() const { return socket_.get(); }
    void close() { socket_.reset(); }
    void set_server(Server* server) { server_ = server; }

  private:
    UniqueFd socket_;
    Server* server_;
    bool send_failed_ = false;
    std::uint16_t next_id_ = 100;
    std::uint16_t last_id_ = 0;
};

// A server with one device and a client connected by a socket pair.
struct Bench {
    explicit Bench(ServerOptions options = {}) : server(std::move(options)) {
        std::array<int, 2> pair;
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
        const Result<Endpoint*> added = server.adopt(pair[0], "pair", device);
        REQUIRE(added.ok());
        endpoint = added.value();
        client.emplace(UniqueFd(pair[1]), &server);
    }
    void drain() {
        for (int i = 0; i < 1000; ++i) {
            const Result<int> handled = server.dispatch();
            REQUIRE(handled.ok());
            if (handled.value() == 0) return;
        }
        FAIL("the server does not come to rest");
    }

    TestDevice device;
    Server server;
    Endpoint* endpoint;
    std::optional<Client> client;
};

}  // namespace cxsim::vfio_user::test
