// SPDX-License-Identifier: Apache-2.0
// Captures in libpcap's format with nanoseconds, as Wireshark and tcpdump read them.
#pragma once

#include "eth/wire/background_writer.h"
#include "model/base/units.h"
#include "model/ports/frame.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cxsim::eth {

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Writes frames at once (a reader that follows the file or a pipe sees them), but not on the
/// caller's time. `failed()` after the disk is full or the path cannot be written; nothing more is
/// written then.
class PcapWriter {
  public:
    /// Bytes beyond `snap_bytes` of a frame are left out of the file.
    explicit PcapWriter(const std::string& path, std::uint32_t snap_bytes = 256 * 1024);

    /// `at`: since the start of simulation. A synthetic tail is recorded as cut off.
    void write(model::Picoseconds at, const model::Frame& frame);
    void write(model::Picoseconds at, std::span<const std::byte> bytes, std::uint32_t wire_bytes);

    /// Waits until the file has all frames, or failed.
    void flush() { file_.flush(); }

    bool failed() const { return file_.failed(); }
    int error() const { return file_.error(); }  ///< errno of the failure, 0: none
    /// Given to the file so far.
    std::uint64_t frames() const { return frames_; }
    /// Bytes of them that the file has not got yet.
    std::size_t backlog() const { return file_.backlog(); }

  private:
    BackgroundWriter file_;
    std::uint32_t snap_bytes_;
    std::uint64_t frames_ = 0;
};

struct PcapRecord {
    std::uint64_t nanoseconds = 0;  ///< The file's time; epochs do not fit into Picoseconds.
    std::uint32_t wire_bytes = 0;
    std::vector<std::byte> bytes;
};

/// Reads captures of Ethernet, both byte orders, micro- and nanoseconds.
class PcapReader {
  public:
    explicit PcapReader(const std::string& path);

    /// The file opened and its header is one we read.
    bool ok() const { return ok_; }
    std::uint32_t link_type() const { return link_type_; }
    /// Empty at the end and at a damaged or cut-off record.
    std::optional<PcapRecord> next();

  private:
    std::uint32_t word(const std::byte* at) const;

    std::unique_ptr<std::FILE, CloseFile> file_;
    std::uint32_t link_type_ = 0;
    std::uint64_t unit_ = 1;  // nanoseconds of the fraction's unit
    bool big_endian_ = false;
    bool ok_ = false;
};

}  // namespace cxsim::eth
