// SPDX-License-Identifier: Apache-2.0
// Syndromes that real firmware is known to answer for a cause, from public logs, kernel and DPDK
// commits. One cause, one number; a cause that is not listed here is refused with syndrome 0 and a
// reason in our own trace, never with a number of another cause.
#pragma once

#include <cstdint>

namespace cxsim::firmware_stub::syndrome {

// Function and capabilities
inline constexpr std::uint32_t kNoSuchCapabilityGroup = 0x5add95;     // kernel 6496357aa5f7
inline constexpr std::uint32_t kUcListNotSupported = 0x537801;        // log_max_current_uc_list, max 0
inline constexpr std::uint32_t kEnableHcaWrongState = 0x658908;       // kernel 33de865f7bce
inline constexpr std::uint32_t kUidNotRegistered = 0x76555f;          // unknown user context
inline constexpr std::uint32_t kEmbeddedCpuBit = 0x263211;            // embedded-CPU bit not expected

// Memory keys, protection domains
inline constexpr std::uint32_t kMkeyNoTranslations = 0x3bf6f;         // translation count of zero
inline constexpr std::uint32_t kMkeyLogPageSize = 0x38a711;           // above the card's bound
inline constexpr std::uint32_t kMkeyTableFull = 0x59c8a4;             // limits exceeded
inline constexpr std::uint32_t kPdInUse = 0x31b635;                   // bad resource state

// Queues
inline constexpr std::uint32_t kQueueOffsetNotAligned = 0x357275;     // page_offset, DPDK 4240b11e7b
inline constexpr std::uint32_t kQpTableFull = 0x65b500;               // bad resource
inline constexpr std::uint32_t kQpPortNotValid = 0x177405;            // INIT with a bad port / RoCE off
inline constexpr std::uint32_t kQpRtsParameter = 0x4bb88f;            // RTR2RTS out of range
inline constexpr std::uint32_t kQpNumberNotValid = 0x7ea02d;          // 2RST/2ERR of an unknown QP
inline constexpr std::uint32_t kDestroyQpUnknown = 0x25b161;
inline constexpr std::uint32_t kDestroyCqInUse = 0x1870ad;            // in use or gone
inline constexpr std::uint32_t kRoceMulticastMac = 0x63c66;           // source MAC with the group bit
inline constexpr std::uint32_t kRoceVersionNotSupported = 0x12822d;
inline constexpr std::uint32_t kQCounterTableFull = 0x587239;         // DPDK mlx5_prm.h
inline constexpr std::uint32_t kTisLagAffinity = 0x595b5d;            // affinity to a port there is not
inline constexpr std::uint32_t kSqTimestampFormat = 0xd61c0b;         // ts_format against clock mode
inline constexpr std::uint32_t kTirInnerParsing = 0x562b00;           // inner headers, not as caps stand
inline constexpr std::uint32_t kRqtActualSize = 0x538faf;             // actual_size above max_size

// Flow steering
inline constexpr std::uint32_t kFlowTableOtherVport = 0x754a4;        // vport without other_vport
inline constexpr std::uint32_t kFlowGroupMaskEmpty = 0x7e1580;        // criteria bit set, mask zero
inline constexpr std::uint32_t kFlowGroupMaskNotEnabled = 0x17faa8;   // mask set, criteria bit not
inline constexpr std::uint32_t kFlowEntryUnmatchedBits = 0x3ad328;    // value outside the group mask
inline constexpr std::uint32_t kFlowEntryNoAction = 0x144b7a;         // neither forward nor drop
inline constexpr std::uint32_t kFlowEntryDropAndModify = 0x8708c3;    // drop with modify-header
inline constexpr std::uint32_t kFlowEntryDestinationLevel = 0x6ae84c; // table level must be deeper
inline constexpr std::uint32_t kFlowEntryReformatGone = 0xf2ff71;     // freed reformat id
inline constexpr std::uint32_t kModifyHeaderTooLong = 0x2edcc3;       // limits exceeded
inline constexpr std::uint32_t kModifyHeaderInUse = 0x1ab444;
inline constexpr std::uint32_t kReformatInUse = 0x179e84;
inline constexpr std::uint32_t kFlowGroupInUse = 0x563e2f;            // entries left or gone
inline constexpr std::uint32_t kFlowTableInUse = 0x389e56;            // bad parameter
inline constexpr std::uint32_t kFlowTableGone = 0x66d6c3;             // bad parameter

// Registers, congestion control
inline constexpr std::uint32_t kRegisterUnknown = 0x6c4d48;           // register not known
inline constexpr std::uint32_t kRegisterLocalPort = 0x1e5585;         // local_port out of range
inline constexpr std::uint32_t kRegisterSystemState = 0x685f19;       // bad system state
inline constexpr std::uint32_t kCongestionProtocol = 0x325a82;        // parameter group not supported

}  // namespace cxsim::firmware_stub::syndrome
