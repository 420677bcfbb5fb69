// SPDX-License-Identifier: Apache-2.0
//
// The vfio-user wire format, written from the public specification (version 0.0). All fields are
// in host byte order; every structure is naturally aligned and copied in and out with memcpy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cxsim::vfio_user {

inline constexpr std::uint16_t kProtocolMajor = 0;
inline constexpr std::uint16_t kProtocolMinor = 0;

enum class Command : std::uint16_t {
    kVersion = 1,
    kDmaMap = 2,
    kDmaUnmap = 3,
    kDeviceGetInfo = 4,
    kDeviceGetRegionInfo = 5,
    kDeviceGetRegionIoFds = 6,
    kDeviceGetIrqInfo = 7,
    kDeviceSetIrqs = 8,
    kRegionRead = 9,
    kRegionWrite = 10,
    kDmaRead = 11,   // server to client
    kDmaWrite = 12,  // server to client
    kDeviceReset = 13,
    kDirtyPages = 14,  // of older drafts
    kRegionWriteMulti = 15,
    kDeviceFeature = 16,
    kMigDataRead = 17,
    kMigDataWrite = 18,
};
inline constexpr std::size_t kCommandCount = 19;  // 0 counts what has no name above

const char* command_name(std::uint16_t command);

struct Header {
    std::uint16_t id = 0;
    std::uint16_t command = 0;
    std::uint32_t size = 0;  // of the whole message, this header included
    std::uint32_t flags = 0;
    std::uint32_t error = 0;
};
static_assert(sizeof(Header) == 16);

inline constexpr std::uint32_t kFlagTypeMask = 0xf;
inline constexpr std::uint32_t kFlagTypeCommand = 0x0;
inline constexpr std::uint32_t kFlagTypeReply = 0x1;
inline constexpr std::uint32_t kFlagNoReply = 0x10;
inline constexpr std::uint32_t kFlagError = 0x20;

struct VersionPayload {  // followed by NUL-terminated JSON
    std::uint16_t major;
    std::uint16_t minor;
};
static_assert(sizeof(VersionPayload) == 4);

inline constexpr std::uint32_t kDmaMapRead = 1u << 0;
inline constexpr std::uint32_t kDmaMapWrite = 1u << 1;

struct DmaMapPayload {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint64_t offset;
    std::uint64_t address;
    std::uint64_t size;
};
static_assert(sizeof(DmaMapPayload) == 32);

inline constexpr std::uint32_t kDmaUnmapGetDirtyBitmap = 1u << 0;
inline constexpr std::uint32_t kDmaUnmapAll = 1u << 1;

struct DmaUnmapPayload {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint64_t address;
    std::uint64_t size;
};
static_assert(sizeof(DmaUnmapPayload) == 24);

inline constexpr std::uint32_t kDeviceFlagReset = 1u << 0;
inline constexpr std::uint32_t kDeviceFlagPci = 1u << 1;

struct DeviceInfoPayload {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t num_regions;
    std::uint32_t num_irqs;
};
static_assert(sizeof(DeviceInfoPayload) == 16);

inline constexpr std::uint32_t kRegionFlagRead = 1u << 0;
inline constexpr std::uint32_t kRegionFlagWrite = 1u << 1;
inline constexpr std::uint32_t kRegionFlagMmap = 1u << 2;
inline constexpr std::uint32_t kRegionFlagCaps = 1u << 3;

struct RegionInfoPayload {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t index;
    std::uint32_t cap_offset;
    std::uint64_t size;
    std::uint64_t offset;
};
static_assert(sizeof(RegionInfoPayload) == 32);

inline constexpr std::uint16_t kRegionCapSparseMmap = 1;

struct SparseMmapCapability {  // followed by `area_count` SparseMmapArea
    std::uint16_t id;
    std::uint16_t version;
    std::uint32_t next;
    std::uint32_t area_count;
    std::uint32_t reserved;
};
static_assert(sizeof(SparseMmapCapability) == 16);

struct SparseMmapArea {
    std::uint64_t offset;
    std::uint64_t size;
};
static_assert(sizeof(SparseMmapArea) == 16);

struct RegionIoFdsPayload {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t index;
    std::uint32_t count;
};
static_assert(sizeof(RegionIoFdsPayload) == 16);

inline constexpr std::uint32_t kIrqFlagEventfd = 1u << 0;
inline constexpr std::uint32_t kIrqFlagMaskable = 1u << 1;
inline constexpr std::uint32_t kIrqFlagAutomasked = 1u << 2;

struct IrqInfoPayload {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t index;
    std::uint32_t count;
};
static_assert(sizeof(IrqInfoPayload) == 16);

inline constexpr std::uint32_t kIrqSetDataNone = 1u << 0;
inline constexpr std::uint32_t kIrqSetDataBool = 1u << 1;
inline constexpr std::uint32_t kIrqSetDataEventfd = 1u << 2;
inline constexpr std::uint32_t kIrqSetDataMask = 0x07;
inline constexpr std::uint32_t kIrqSetActionMask = 1u << 3;
inline constexpr std::uint32_t kIrqSetActionUnmask = 1u << 4;
inline constexpr std::uint32_t kIrqSetActionTrigger = 1u << 5;
inline constexpr std::uint32_t kIrqSetActionBits = 0x38;

struct IrqSetPayload {  // followed by `count` booleans when kIrqSetDataBool
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t index;
    std::uint32_t start;
    std::uint32_t count;
};
static_assert(sizeof(IrqSetPayload) == 20);

struct RegionAccessPayload {  // followed by `count` bytes in a write and in a read's reply
    std::uint64_t offset;
    std::uint32_t region;
    std::uint32_t count;
};
static_assert(sizeof(RegionAccessPayload) == 16);

struct WriteMultiEntry {
    std::uint64_t offset;
    std::uint32_t region;
    std::uint32_t count;  // at most 8
    std::uint8_t data[8];
};
static_assert(sizeof(WriteMultiEntry) == 24);

struct DmaAccessPayload {  // followed by `count` bytes in a write and in a read's reply
    std::uint64_t address;
    std::uint64_t count;
};
static_assert(sizeof(DmaAccessPayload) == 16);

// Indices of a PCI device's regions and interrupt types (the same as the kernel's VFIO).
inline constexpr std::uint32_t kPciConfigRegion = 7;
inline constexpr std::uint32_t kPciRegionCount = 9;
inline constexpr std::uint32_t kPciIntxIrq = 0;
inline constexpr std::uint32_t kPciMsiIrq = 1;
inline constexpr std::uint32_t kPciMsixIrq = 2;
inline constexpr std::uint32_t kPciErrIrq = 3;
inline constexpr std::uint32_t kPciReqIrq = 4;
inline constexpr std::uint32_t kPciIrqCount = 5;

}  // namespace cxsim::vfio_user
