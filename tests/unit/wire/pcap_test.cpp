// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/pcap.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

/// A file that goes with its test.
class TemporaryFile {
  public:
    TemporaryFile() {
        path_ = std::filesystem::temp_directory_path() / ("pcap-test-XXXXXX");
        std::string name = path_.string();
        const int file = ::mkstemp(name.data());
        REQUIRE(file >= 0);
        ::close(file);
        path_ = name;
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    std::string path() const { return path_.string(); }
    /// Makes it a FIFO; its reading end, which does not block and is the caller's to close.
    int read_as_fifo() const {
        std::filesystem::remove(path_);
        REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
        const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        REQUIRE(reader >= 0);
        return reader;
    }
    Bytes content() const {
        std::ifstream file(path_, std::ios::binary);
        const std::string data{std::istreambuf_iterator<char>(file), {}};
        return text(data);
    }
    void set(const Bytes& bytes) const {
        std::ofstream file(path_, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }

  private:
    std::filesystem::path path_;
};

TEST_CASE("a capture has libpcap's header and nanoseconds", "[pcap]") {
    const TemporaryFile file;
    PcapWriter writer(file.path(), 65'535);
    const Bytes frame = text("0123456789abcdef");
    writer.write(model::Picoseconds{3'000'000'005'999}, frame, 16);
    const Bytes expected = bytes_of({0x4d, 0x3c, 0xb2, 0xa1, 2,    0,    4, 0, 0, 0, 0, 0,
                                     0,    0,    0,    0,    0xff, 0xff, 0, 0, 1, 0, 0, 0}) +
                           bytes_of({3, 0, 0, 0, 5, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0}) + frame;
    // The writer is still open: a reader that follows the file sees the frame.
    writer.flush();
    CHECK(file.content() == expected);
    CHECK(writer.frames() == 1);
    CHECK_FALSE(writer.failed());
}

TEST_CASE("what was written is read, cut-off and synthetic frames with their true length",
          "[pcap]") {
    const TemporaryFile file;
    std::mt19937 random(1);
    model::FramePool pool;
    const Bytes large = random_bytes(random, 500);
    {
        PcapWriter writer(file.path(), 200);
        writer.write(model::nanoseconds(7), large, 500);
        writer.write(model::nanoseconds(8), *make_frame(pool, View(large).first(60), 1440));
        writer.write(model::nanoseconds(9), {}, 0);
    }
    PcapReader reader(file.path());
    REQUIRE(reader.ok());
    CHECK(reader.link_type() == 1);
    const auto first = reader.next();
    REQUIRE(first);
    CHECK(first->nanoseconds == 7);
    CHECK(first->wire_bytes == 500);
    CHECK(first->bytes == Bytes(large.begin(), large.begin() + 200));
    const auto second = reader.next();
    REQUIRE(second);
    CHECK(second->wire_bytes == 1500);
    CHECK(second->bytes.size() == 60);
    const auto third = reader.next();
    REQUIRE(third);
    CHECK(third->bytes.empty());
    CHECK_FALSE(reader.next());
}

TEST_CASE("captures of the other byte order and of microseconds are read", "[pcap]") {
    const TemporaryFile file;
    file.set(big(0xa1b2c3d4, 4) + big(0x00020004, 4) + big(0, 8) + big(65'535, 4) + big(1, 4) +
             big(1'700'000'000, 4) + big(123'456, 4) + big(2, 4) + big(60, 4) + text("ab"));
    PcapReader reader(file.path());
    REQUIRE(reader.ok());
    const auto record = reader.next();
    REQUIRE(record);
    CHECK(record->nanoseconds == 1'700'000'000'123'456'000);
    CHECK(record->wire_bytes == 60);
    CHECK(record->bytes == text("ab"));
}

TEST_CASE("damaged captures end instead of being believed", "[pcap]") {
    const TemporaryFile file;
    const Bytes header =
        big(0xa1b23c4d, 4) + big(0x00020004, 4) + big(0, 8) + big(65'535, 4) + big(1, 4);
    file.set(header + big(0, 8) + big(0xffff'fff0, 4) + big(60, 4) + text("ab"));
    CHECK_FALSE(PcapReader(file.path()).next());
    file.set(header + big(0, 8) + big(10, 4) + big(60, 4) + text("ab"));
    CHECK_FALSE(PcapReader(file.path()).next());
    file.set(header + big(0, 7));
    CHECK_FALSE(PcapReader(file.path()).next());
    file.set(big(0x0a0d0d0a, 4) + Bytes(40));
    CHECK_FALSE(PcapReader(file.path()).ok());
    file.set(text("short"));
    CHECK_FALSE(PcapReader(file.path()).ok());
    CHECK_FALSE(PcapReader("/nowhere/at/all.pcap").ok());
}

TEST_CASE("a writer that cannot write says so and goes on", "[pcap]") {
    PcapWriter nowhere("/nowhere/at/all.pcap");
    nowhere.write(model::nanoseconds(1), text("x"), 1);
    CHECK(nowhere.failed());
    CHECK(nowhere.frames() == 0);
    if (!std::filesystem::exists("/dev/full")) SKIP("no /dev/full on this machine");
    PcapWriter full("/dev/full");
    full.write(model::nanoseconds(1), text("x"), 1);
    CHECK(full.failed());
    CHECK(full.error() == ENOSPC);
    CHECK(full.frames() == 0);
}

TEST_CASE("a reader that stands still delays no frame and loses none", "[pcap]") {
    const TemporaryFile pipe;
    const int reader = pipe.read_as_fifo();
    constexpr std::size_t kFrames = 1000;
    const Bytes frame(4000);
    std::size_t read = 0;
    {
        PcapWriter writer(pipe.path());
        // Far more than a pipe holds, with nobody reading: a writer that waits hangs here.
        for (std::size_t i = 0; i < kFrames; ++i) writer.write(model::nanoseconds(1), frame, 4000);
        CHECK(writer.frames() == kFrames);
        CHECK(writer.backlog() > kFrames * 4000 / 2);
        CHECK_FALSE(writer.failed());
        Bytes buffer(65'536);
        while (writer.backlog() != 0) {
            const ssize_t n = ::read(reader, buffer.data(), buffer.size());
            if (n > 0) read += static_cast<std::size_t>(n);
        }
        for (ssize_t n = 0; (n = ::read(reader, buffer.data(), buffer.size())) > 0;) {
            read += static_cast<std::size_t>(n);
        }
    }
    CHECK(read == 24 + kFrames * (16 + 4000));
    ::close(reader);
}

TEST_CASE("a pipe whose reader goes is a failed capture, no signal", "[pcap]") {
    const TemporaryFile pipe;
    const int reader = pipe.read_as_fifo();
    PcapWriter writer(pipe.path());
    ::close(reader);
    writer.write(model::nanoseconds(1), text("x"), 1);
    writer.flush();
    CHECK(writer.error() == EPIPE);
    const std::uint64_t frames = writer.frames();
    writer.write(model::nanoseconds(2), text("x"), 1);
    CHECK(writer.frames() == frames);
}

}  // namespace
}  // namespace cxsim::eth
