// SPDX-License-Identifier: Apache-2.0
//
// A hostile client: the input is a list of steps, each of which puts bytes (with or without
// descriptors) into a socket pair whose other end a small device is served at. Nothing may crash,
// hang, or stay behind.
#include "pcie/vfio_user/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace cxsim::vfio_user;

constexpr std::size_t kFileSize = 16384;

// Reads the fuzzer's bytes; zeroes when they are used up.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
    bool empty() const { return size_ == 0; }
    std::uint8_t byte() {
        if (size_ == 0) return 0;
        --size_;
        return *data_++;
    }
    std::span<const std::uint8_t> take(std::size_t count) {
        count = std::min(count, size_);
        const std::span<const std::uint8_t> out(data_, count);
        data_ += count;
        size_ -= count;
        return out;
    }

  private:
    const std::uint8_t* data_;
    std::size_t size_;
};

class FuzzDevice : public Device {
  public:
    explicit FuzzDevice(int fd) {
        regions_.resize(kPciRegionCount);
        regions_[0] = {.size = kFileSize, .fd = fd, .fd_offset = 0, .mmap_areas = {{4096, 4096}}};
        regions_[2] = {.size = 64, .writable = false, .fd = -1, .fd_offset = 0, .mmap_areas = {}};
        regions_[kPciConfigRegion] = {.size = 4096, .fd = -1, .fd_offset = 0, .mmap_areas = {}};
    }
    std::span<const RegionInfo> regions() const override { return regions_; }
    std::span<const IrqInfo> irqs() const override { return irqs_; }
    Status read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> out) override {
        check(region, offset, out.size());
        // A register access that does DMA and interrupts, as a doorbell would.
        if (region == 0 && endpoint != nullptr) {
            std::array<std::byte, 64> buffer{};
            const std::uint64_t address = offset << 8;
            (void)endpoint->memory().read(address, buffer);
            (void)endpoint->memory().write(address + 4000, buffer);
            endpoint->interrupts().trigger(offset & 3, static_cast<std::uint32_t>(offset >> 2 & 7));
        }
        std::memset(out.data(), 0x5a, out.size());
        return Status();
    }
    Status write(std::uint32_t region, std::uint64_t offset,
                 std::span<const std::byte> in) override {
        check(region, offset, in.size());
        sum_ += static_cast<unsigned>(in.front()) + static_cast<unsigned>(in.back());
        if (endpoint != nullptr && offset == 0x20) endpoint->disconnect("asked to");
        return Status();
    }
    Status reset() override { return Status(); }
    void dma_mapped(const DmaRegion& region) override {
        ++maps_;
        touch(region);
    }
    void dma_unmapped(const DmaRegion& region) override {
        --maps_;
        touch(region);
    }
    void client_disconnected(std::string_view) override {
        if (maps_ != 0) std::abort();
    }

    Endpoint* endpoint = nullptr;

  private:
    void check(std::uint32_t region, std::uint64_t offset, std::uint64_t size) const {
        if (region >= regions_.size() || size == 0 || offset > regions_[region].size ||
            size > regions_[region].size - offset) {
            std::abort();
        }
    }
    void touch(const DmaRegion& region) {
        if (region.data == nullptr) return;
        const std::size_t last = static_cast<std::size_t>(region.size - 1);
        if (region.writable) region.data[last] = std::byte{1};
        sum_ += static_cast<unsigned>(region.data[0]) + static_cast<unsigned>(region.data[last]);
    }

    std::vector<RegionInfo> regions_;
    std::vector<IrqInfo> irqs_ = {{.count = 1, .maskable = true, .automasked = true},
                                  {.count = 0},
                                  {.count = 8, .maskable = true},
                                  {.count = 1}};
    int maps_ = 0;
    unsigned sum_ = 0;
};

void send_bytes(int socket, std::span<const std::uint8_t> bytes, std::span<const int> fds) {
    if (bytes.empty()) return;
    iovec piece{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * 32)> control{};
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    (void)::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Reads what the server sent and closes what came with it.
void drain_replies(int socket) {
    std::array<std::byte, 4096> bytes;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * 32)> control;
    for (int i = 0; i < 64; ++i) {
        iovec piece{bytes.data(), bytes.size()};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        if (::recvmsg(socket, &message, MSG_DONTWAIT) <= 0) return;
        for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(c), sizeof(fd));
            ::close(fd);
        }
    }
}

// A message with a sound header around the fuzzer's body, so that inputs get past the framing.
std::vector<std::uint8_t> framed(std::uint8_t command, std::uint8_t flags, std::uint8_t id,
                                 std::span<const std::uint8_t> body) {
    Header header;
    header.id = id;
    header.command = command & 31;
    header.flags = flags;
    header.size = static_cast<std::uint32_t>(sizeof(header) + body.size());
    std::vector<std::uint8_t> out(sizeof(header));
    std::memcpy(out.data(), &header, sizeof(header));
    out.insert(out.end(), body.begin(), body.end());
    return out;
}

std::vector<std::uint8_t> version_message() {
    constexpr char kJson[] =
        R"({"capabilities": {"max_msg_fds": 16, "max_data_xfer_size": 4096, "write_multiple": true}})";
    std::vector<std::uint8_t> body(4 + sizeof(kJson));
    std::memcpy(body.data() + 4, kJson, sizeof(kJson));
    return framed(1, 0, 0, body);
}

template <typename T>
std::vector<std::uint8_t> payload(const T& value) {
    std::vector<std::uint8_t> out(sizeof(T));
    std::memcpy(out.data(), &value, sizeof(T));
    return out;
}

// A request of sound form with small numbers, so that maps, vectors and accesses meet each other,
// which random bytes rarely bring about.
std::vector<std::uint8_t> sensible(Input& input) {
    const std::uint8_t what = input.byte();
    const std::uint8_t a = input.byte();
    const std::uint8_t b = input.byte();
    const std::uint32_t no_reply = (what & 0x80) != 0 ? kFlagNoReply : 0;
    const auto flags = static_cast<std::uint8_t>(no_reply);
    switch (what & 7) {
        case 0:
            return framed(2, flags, a,
                          payload(DmaMapPayload{32, a & 3u, (a >> 2 & 3u) * 4096u,
                                                (b & 15u) * 4096u, ((b >> 4) & 3u) * 4096u}));
        case 1:
            return framed(3, flags, a,
                          payload(DmaUnmapPayload{24, (a & 0x3fu) == 0 ? kDmaUnmapAll : 0,
                                                  (a & 0x3fu) == 0 ? 0 : (b & 15u) * 4096u,
                                                  (a & 0x3fu) == 0 ? 0 : ((b >> 4) & 3u) * 4096u}));
        case 2:
            return framed(8, flags, a,
                          payload(IrqSetPayload{20, a & 0x3fu, b & 3u, b >> 2 & 7u, b >> 5 & 3u}));
        case 3:
            return framed(9, flags, a, payload(RegionAccessPayload{b, a & 1u, a >> 1 & 15u}));
        case 4: {
            auto body = payload(RegionAccessPayload{b, a & 7u, 4});
            body.resize(body.size() + 4, b);
            return framed(10, flags, a, body);
        }
        case 5: {
            // The answer to a DMA_READ or DMA_WRITE: ids count up from 1.
            auto body = payload(DmaAccessPayload{a * 256u + (b & 1u) * 4000u, 64});
            if ((b & 1) == 0) body.resize(body.size() + 64, b);
            return framed((b & 1) == 0 ? 11 : 12, (b & 2) == 0 ? 0x01 : 0x21,
                          static_cast<std::uint8_t>(b >> 2), body);
        }
        case 6: {
            auto body = payload(std::uint64_t{2});
            for (int i = 0; i < 2; ++i) {
                const auto entry = payload(
                    WriteMultiEntry{static_cast<std::uint64_t>(b + i), a & 7u, a >> 4 & 15u, {}});
                body.insert(body.end(), entry.begin(), entry.end());
            }
            return framed(15, flags, a, body);
        }
        default:
            return framed(5, flags, a, payload(RegionInfoPayload{b, 0, a & 15u, 0, 0, 0}));
    }
}

// The lowest free number: grows when something is not closed.
int next_fd() {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(fd);
    return fd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    const int fd_before = next_fd();
    {
        UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
        if (!file.valid() || ::ftruncate(file.get(), kFileSize) != 0) return 0;
        const UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        std::array<int, 2> pair;
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return 0;
        UniqueFd client(pair[1]);
        FuzzDevice device(file.get());
        ServerOptions options;
        options.max_data_xfer_size = 8192;
        options.output_high_water = 16384;
        options.max_deferred_messages = 16;
        options.max_dma_maps = 32;
        options.dma_timeout = std::chrono::milliseconds(1);
        options.log = [](LogLevel, std::string_view line) {
            if (line.empty()) std::abort();
        };
        Server server(options);
        const Result<Endpoint*> endpoint = server.adopt(pair[0], "fuzz", device);
        if (!endpoint.ok()) return 0;
        device.endpoint = endpoint.value();

        if ((input.byte() & 1) == 0) send_bytes(client.get(), version_message(), {});
        for (int step = 0; step < 64 && !input.empty(); ++step) {
            const std::uint8_t kind = input.byte();
            std::array<int, 20> fds;
            const std::size_t fd_count = std::min<std::size_t>(
                (kind & 0x30) == 0x30 ? input.byte() % fds.size() : (kind & 0x30) >> 4, fds.size());
            fds.fill((kind & 0x40) != 0 ? event.get() : file.get());
            switch (kind & 7) {
                case 0:
                    send_bytes(client.get(), input.take(input.byte()),
                               std::span(fds).subspan(0, fd_count));
                    break;
                case 1:
                    (void)::ftruncate(file.get(), (input.byte() & 7) * 4096);
                    break;
                case 2:
                    drain_replies(client.get());
                    break;
                case 3:
                    (void)::eventfd_write(event.get(), 1);
                    break;
                case 4:
                case 5:
                case 6:
                    send_bytes(client.get(), sensible(input), std::span(fds).subspan(0, fd_count));
                    break;
                default: {
                    const std::uint8_t command = input.byte();
                    const std::uint8_t flags = input.byte();
                    const std::uint8_t id = input.byte();
                    const auto message =
                        framed(command, flags & 0x31, id, input.take(input.byte()));
                    send_bytes(client.get(), message, std::span(fds).subspan(0, fd_count));
                }
            }
            if ((kind & 8) == 0) (void)server.dispatch(64);
        }
        drain_replies(client.get());
        (void)server.dispatch(256);
        client.reset();
        for (int i = 0; i < 256 && endpoint.value()->connected(); ++i) (void)server.dispatch();
        if (endpoint.value()->connected()) std::abort();
    }
    if (next_fd() != fd_before) std::abort();
    return 0;
}
