// SPDX-License-Identifier: Apache-2.0
// Capability ids, offsets and bits of the PCI Express Base Specification that more than one file
// needs. Names are the specification's.
#pragma once

#include <cstdint>

namespace cxsim::pcie::reg {

// Type 0 header.
inline constexpr std::uint16_t kVendorId = 0x00;
inline constexpr std::uint16_t kCommand = 0x04;
inline constexpr std::uint16_t kStatus = 0x06;
inline constexpr std::uint16_t kBar0 = 0x10;
inline constexpr std::uint16_t kExpansionRom = 0x30;
inline constexpr std::uint32_t kCommandMemory = 1u << 1;
inline constexpr std::uint32_t kCommandBusMaster = 1u << 2;
inline constexpr std::uint32_t kCommandSerr = 1u << 8;
inline constexpr std::uint32_t kStatusSignaledTargetAbort = 1u << 11;
inline constexpr std::uint32_t kStatusReceivedTargetAbort = 1u << 12;
inline constexpr std::uint32_t kStatusReceivedMasterAbort = 1u << 13;
inline constexpr std::uint32_t kStatusSignaledSystemError = 1u << 14;

// Legacy configuration gateway of ConnectX: address, data.
inline constexpr std::uint16_t kLegacyGatewayAddress = 0x58;
inline constexpr std::uint16_t kLegacyGatewayData = 0x5c;

// Offsets inside the PCI Express capability.
inline constexpr std::uint16_t kDevCap = 0x04;
inline constexpr std::uint16_t kDevCtl = 0x08;
inline constexpr std::uint16_t kDevSta = 0x0a;
inline constexpr std::uint16_t kLnkCtl = 0x10;
inline constexpr std::uint32_t kDevCtlExtendedTag = 1u << 8;
inline constexpr std::uint32_t kDevCtlInitiateFlr = 1u << 15;
inline constexpr std::uint32_t kDevStaCorrectable = 1u << 0;
inline constexpr std::uint32_t kDevStaNonFatal = 1u << 1;
inline constexpr std::uint32_t kDevStaFatal = 1u << 2;
inline constexpr std::uint32_t kDevStaUnsupported = 1u << 3;
inline constexpr std::uint32_t kDevStaTransactionsPending = 1u << 5;

// Power management: PMCSR.
inline constexpr std::uint16_t kPmcsr = 0x04;

// MSI-X message control.
inline constexpr std::uint16_t kMsixControl = 0x02;
inline constexpr std::uint32_t kMsixFunctionMask = 1u << 14;
inline constexpr std::uint32_t kMsixEnable = 1u << 15;

// VPD.
inline constexpr std::uint16_t kVpdAddress = 0x02;
inline constexpr std::uint16_t kVpdData = 0x04;

// AER.
inline constexpr std::uint16_t kAerUncorrectableStatus = 0x04;
inline constexpr std::uint16_t kAerUncorrectableMask = 0x08;
inline constexpr std::uint16_t kAerUncorrectableSeverity = 0x0c;
inline constexpr std::uint16_t kAerCorrectableStatus = 0x10;
inline constexpr std::uint16_t kAerCorrectableMask = 0x14;
inline constexpr std::uint16_t kAerControl = 0x18;
inline constexpr std::uint16_t kAerHeaderLog = 0x1c;

// SR-IOV.
inline constexpr std::uint16_t kSriovControl = 0x08;
inline constexpr std::uint16_t kSriovNumVfs = 0x10;
inline constexpr std::uint16_t kSriovVfBar0 = 0x24;
inline constexpr std::uint32_t kSriovVfEnable = 1u << 0;
inline constexpr std::uint32_t kSriovVfMemory = 1u << 3;

}  // namespace cxsim::pcie::reg
