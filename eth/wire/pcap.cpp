// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/pcap.h"

#include "model/base/endian.h"

#include <algorithm>
#include <array>

namespace cxsim::eth {
namespace {

using model::load_be;
using model::load_le;
using model::store_le;

// Magic numbers of libpcap's format; the file is in the byte order of the writer.
constexpr std::uint32_t kMagicMicro = 0xa1b2c3d4;
constexpr std::uint32_t kMagicNano = 0xa1b23c4d;
constexpr std::uint32_t kLinkTypeEthernet = 1;
constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kRecordHeaderBytes = 16;
/// No record is longer in a sane file; a damaged length does not make the reader take memory.
constexpr std::uint32_t kMaxRecordBytes = 256 * 1024;

}  // namespace

PcapWriter::PcapWriter(const std::string& path, std::uint32_t snap_bytes)
    : file_(path), snap_bytes_(std::min(snap_bytes, kMaxRecordBytes)) {
    std::array<std::byte, kFileHeaderBytes> header{};
    store_le<std::uint32_t>(header.data(), kMagicNano);
    store_le<std::uint16_t>(header.data() + 4, 2);
    store_le<std::uint16_t>(header.data() + 6, 4);
    store_le<std::uint32_t>(header.data() + 16, snap_bytes_);
    store_le<std::uint32_t>(header.data() + 20, kLinkTypeEthernet);
    file_.append(header);
    file_.flush();  // a file that cannot be written at all is known at once
}

void PcapWriter::write(model::Picoseconds at, const model::Frame& frame) {
    write(at, frame.bytes(), frame.size());
}

void PcapWriter::write(model::Picoseconds at, std::span<const std::byte> bytes,
                       std::uint32_t wire_bytes) {
    if (failed()) return;
    const auto captured = std::min<std::size_t>(bytes.size(), snap_bytes_);
    const std::int64_t nanoseconds = at.value / 1'000;
    std::array<std::byte, kRecordHeaderBytes> header{};
    store_le<std::uint32_t>(header.data(), static_cast<std::uint32_t>(nanoseconds / 1'000'000'000));
    store_le<std::uint32_t>(header.data() + 4,
                            static_cast<std::uint32_t>(nanoseconds % 1'000'000'000));
    store_le<std::uint32_t>(header.data() + 8, static_cast<std::uint32_t>(captured));
    store_le<std::uint32_t>(header.data() + 12, wire_bytes);
    file_.append(header, bytes.first(captured));
    ++frames_;
}

PcapReader::PcapReader(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
    std::array<std::byte, kFileHeaderBytes> header{};
    if (file_ == nullptr || std::fread(header.data(), header.size(), 1, file_.get()) != 1) return;
    for (const bool big : {false, true}) {
        big_endian_ = big;
        const std::uint32_t magic = word(header.data());
        if (magic != kMagicMicro && magic != kMagicNano) continue;
        unit_ = magic == kMagicMicro ? 1'000 : 1;
        link_type_ = word(header.data() + 20) & 0xffff;
        ok_ = true;
        return;
    }
}

std::uint32_t PcapReader::word(const std::byte* at) const {
    return big_endian_ ? load_be<std::uint32_t>(at) : load_le<std::uint32_t>(at);
}

std::optional<PcapRecord> PcapReader::next() {
    std::array<std::byte, kRecordHeaderBytes> header{};
    if (!ok_ || std::fread(header.data(), header.size(), 1, file_.get()) != 1) return std::nullopt;
    const std::uint32_t captured = word(header.data() + 8);
    if (captured > kMaxRecordBytes) return std::nullopt;
    PcapRecord record;
    record.nanoseconds = std::uint64_t{word(header.data())} * 1'000'000'000 +
                         std::uint64_t{word(header.data() + 4)} * unit_;
    record.wire_bytes = word(header.data() + 12);
    record.bytes.resize(captured);
    if (captured != 0 && std::fread(record.bytes.data(), captured, 1, file_.get()) != 1) {
        return std::nullopt;
    }
    return record;
}

}  // namespace cxsim::eth
