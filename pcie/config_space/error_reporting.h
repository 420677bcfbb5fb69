// SPDX-License-Identifier: Apache-2.0
// How a function reports errors it detects: Device Status, AER status and header log, the header's
// status bits and the messages to the root (PCI Express Base Specification 6.2).
#pragma once

#include "pcie/config_space/config_space.h"

#include <array>
#include <cstdint>

namespace cxsim::pcie {

/// First four dwords of the TLP that caused the error.
using TlpHeader = std::array<std::uint32_t, 4>;

/// Bit positions in the AER uncorrectable registers.
enum class UncorrectableError : std::uint8_t {
    completion_timeout = 14,
    completer_abort = 15,
    unexpected_completion = 16,
    malformed_tlp = 18,
    unsupported_request = 20,
};

struct ErrorStatistics {
    std::uint64_t unsupported_requests = 0;
    std::uint64_t completer_aborts = 0;
    std::uint64_t messages_correctable = 0;  ///< ERR_COR sent to the root.
    std::uint64_t messages_non_fatal = 0;
    std::uint64_t messages_fatal = 0;
};

class ErrorReporting {
  public:
    /// Offsets of the capabilities; 0: the function lacks it.
    ErrorReporting(ConfigSpace& space, std::uint16_t express, std::uint16_t aer)
        : space_(space), express_(express), aer_(aer) {}

    /// A request to this function was refused. A non-posted one has been answered with a
    /// completion that says so, which makes it an advisory error (6.2.3.2.4.1).
    void refused_request(UncorrectableError error, bool posted, const TlpHeader& header);

    /// A request of this function was answered with UR or CA: received master or target abort.
    void received_abort(UncorrectableError error);

    const ErrorStatistics& statistics() const { return statistics_; }

  private:
    void log_uncorrectable(std::uint32_t bit, bool with_header, const TlpHeader& header);
    void set_bits(std::uint16_t offset, unsigned bytes, std::uint32_t bits);
    void send_uncorrectable_message(bool fatal, bool unsupported);

    ConfigSpace& space_;
    std::uint16_t express_;
    std::uint16_t aer_;
    ErrorStatistics statistics_;
};

}  // namespace cxsim::pcie
