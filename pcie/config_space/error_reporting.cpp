// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/error_reporting.h"

#include "pcie/config_space/registers.h"

namespace cxsim::pcie {

namespace {
constexpr std::uint32_t kAdvisoryNonFatal = 1u << 13;
constexpr std::uint32_t kFirstErrorPointer = 0x1f;
}  // namespace

void ErrorReporting::set_bits(std::uint16_t offset, unsigned bytes, std::uint32_t bits) {
    space_.set(offset, bytes, space_.get(offset, bytes) | bits);
}

void ErrorReporting::log_uncorrectable(std::uint32_t bit, bool with_header,
                                       const TlpHeader& header) {
    const auto at = [&](unsigned offset) { return static_cast<std::uint16_t>(aer_ + offset); };
    const std::uint32_t before = space_.get(at(reg::kAerUncorrectableStatus), 4);
    const std::uint32_t mask = space_.get(at(reg::kAerUncorrectableMask), 4);
    set_bits(at(reg::kAerUncorrectableStatus), 4, bit);
    if (!with_header || (mask & bit) != 0) return;
    // The pointer is valid while the status bit that it names is set; only then is a second error
    // not recorded (no multiple header recording on these cards).
    const std::uint32_t control = space_.get(at(reg::kAerControl), 4);
    const bool recorded = (before >> (control & kFirstErrorPointer) & 1u) != 0;
    if (recorded) return;
    const auto position = static_cast<std::uint32_t>(__builtin_ctz(bit));
    space_.set(at(reg::kAerControl), 4, (control & ~kFirstErrorPointer) | position);
    for (unsigned i = 0; i < 4; ++i) space_.set(at(reg::kAerHeaderLog + 4 * i), 4, header[i]);
}

void ErrorReporting::send_uncorrectable_message(bool fatal, bool unsupported) {
    const std::uint32_t control =
        express_ == 0 ? 0 : space_.get(static_cast<std::uint16_t>(express_ + reg::kDevCtl), 2);
    const bool serr = (space_.get(reg::kCommand, 2) & reg::kCommandSerr) != 0;
    // DevCtl: 1 non-fatal, 2 fatal, 3 unsupported request reporting. SERR# enables both as well.
    const bool wanted = (control & (fatal ? 1u << 2 : 1u << 1)) != 0 || serr;
    if (!wanted || (unsupported && (control & 1u << 3) == 0 && !serr)) return;
    ++(fatal ? statistics_.messages_fatal : statistics_.messages_non_fatal);
    if (serr) set_bits(reg::kStatus, 2, reg::kStatusSignaledSystemError);
}

void ErrorReporting::refused_request(UncorrectableError error, bool posted,
                                     const TlpHeader& header) {
    const bool unsupported = error == UncorrectableError::unsupported_request;
    ++(unsupported ? statistics_.unsupported_requests : statistics_.completer_aborts);
    if (error == UncorrectableError::completer_abort && !posted) {
        set_bits(reg::kStatus, 2, reg::kStatusSignaledTargetAbort);
    }
    const std::uint32_t bit = 1u << static_cast<unsigned>(error);
    std::uint32_t severity = 0;
    std::uint32_t mask = 0;
    std::uint32_t correctable_mask = 0;
    if (aer_ != 0) {
        const auto at = [&](unsigned offset) { return static_cast<std::uint16_t>(aer_ + offset); };
        severity = space_.get(at(reg::kAerUncorrectableSeverity), 4);
        mask = space_.get(at(reg::kAerUncorrectableMask), 4);
        correctable_mask = space_.get(at(reg::kAerCorrectableMask), 4);
    }
    const bool fatal = (severity & bit) != 0;
    const bool advisory = !posted && !fatal;

    std::uint32_t device_status = unsupported ? reg::kDevStaUnsupported : 0;
    if (advisory) {
        device_status |= reg::kDevStaCorrectable;
    } else {
        device_status |= fatal ? reg::kDevStaFatal : reg::kDevStaNonFatal;
    }
    if (express_ != 0) {
        set_bits(static_cast<std::uint16_t>(express_ + reg::kDevSta), 2, device_status);
    }
    if (aer_ != 0) {
        const bool advisory_masked = (correctable_mask & kAdvisoryNonFatal) != 0;
        if (advisory) {
            set_bits(static_cast<std::uint16_t>(aer_ + reg::kAerCorrectableStatus), 4,
                     kAdvisoryNonFatal);
        }
        log_uncorrectable(bit, !(advisory && advisory_masked), header);
        if (advisory && advisory_masked) return;
    }
    if ((mask & bit) != 0) return;
    if (!advisory) return send_uncorrectable_message(fatal, unsupported);
    const std::uint32_t control =
        express_ == 0 ? 0 : space_.get(static_cast<std::uint16_t>(express_ + reg::kDevCtl), 2);
    if ((control & 1u) == 0 || (unsupported && (control & 1u << 3) == 0)) return;
    ++statistics_.messages_correctable;
}

void ErrorReporting::received_abort(UncorrectableError error) {
    set_bits(reg::kStatus, 2,
             error == UncorrectableError::unsupported_request ? reg::kStatusReceivedMasterAbort
                                                              : reg::kStatusReceivedTargetAbort);
}

}  // namespace cxsim::pcie
