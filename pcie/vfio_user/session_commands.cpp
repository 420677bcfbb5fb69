// SPDX-License-Identifier: Apache-2.0
//
// The commands about the device: version, information, interrupts, region accesses. Each checks the
// whole request first and puts the reply's payload into reply_.
#include "pcie/vfio_user/session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace cxsim::vfio_user {

Status Session::version(const Message& message) {
    if (negotiated_) return Status(EINVAL);
    end_after_reply_ = true;
    if (message.body.size() < sizeof(VersionPayload)) return Status(EINVAL);
    const auto proposed = payload_as<VersionPayload>(message);
    const auto text = std::span(message.body).subspan(sizeof(VersionPayload));
    const Result<ClientCapabilities> client = parse_capabilities(text);
    if (!client.ok()) return client.status();
    const Result<Agreement> agreement =
        agree(proposed.major, proposed.minor, client.value(), context_.options);
    if (!agreement.ok()) return agreement.status();

    agreement_ = agreement.value();
    negotiated_ = true;
    end_after_reply_ = false;
    put(VersionPayload{kProtocolMajor, agreement_.minor});
    const std::string json = reply_capabilities(client.value(), context_.options);
    const auto bytes = std::as_bytes(std::span(json.c_str(), json.size() + 1));
    reply_.insert(reply_.end(), bytes.begin(), bytes.end());
    context_.log(LogLevel::kInfo, "client speaks version " + std::to_string(proposed.major) + "." +
                                      std::to_string(proposed.minor));
    context_.device.client_connected();
    return Status();
}

Status Session::device_info(const Message& message) {
    if (message.body.size() != sizeof(DeviceInfoPayload)) return Status(EINVAL);
    const auto request = payload_as<DeviceInfoPayload>(message);
    if (request.argsz < sizeof(request)) return Status(EINVAL);
    put(DeviceInfoPayload{
        .argsz = sizeof(DeviceInfoPayload),
        .flags = kDeviceFlagReset | kDeviceFlagPci,
        .num_regions = static_cast<std::uint32_t>(context_.device.regions().size()),
        .num_irqs = static_cast<std::uint32_t>(context_.device.irqs().size()),
    });
    return Status();
}

Status Session::region_info(const Message& message) {
    if (message.body.size() < sizeof(RegionInfoPayload)) return Status(EINVAL);
    const auto request = payload_as<RegionInfoPayload>(message);
    const auto regions = context_.device.regions();
    if (request.argsz < sizeof(request) || request.index >= regions.size()) return Status(EINVAL);
    const RegionInfo& region = regions[request.index];
    const bool mappable = region.fd >= 0 && region.size > 0 && agreement_.peer_max_fds > 0;
    const bool sparse = mappable && !region.mmap_areas.empty();
    const std::size_t capability_size =
        sparse ? sizeof(SparseMmapCapability) + region.mmap_areas.size() * sizeof(SparseMmapArea)
               : 0;
    const std::size_t full_size = sizeof(RegionInfoPayload) + capability_size;
    // Too small a buffer gets the fixed part and learns from argsz what to ask for.
    const bool fits = request.argsz >= full_size;

    RegionInfoPayload info{};
    info.argsz = static_cast<std::uint32_t>(full_size);
    info.index = request.index;
    info.size = region.size;
    if (region.size > 0) {
        info.flags = (region.readable ? kRegionFlagRead : 0) |
                     (region.writable ? kRegionFlagWrite : 0) | (mappable ? kRegionFlagMmap : 0);
    }
    if (mappable) info.offset = region.fd_offset;
    if (sparse && fits) {
        info.flags |= kRegionFlagCaps;
        info.cap_offset = sizeof(RegionInfoPayload);
    }
    put(info);
    if (sparse && fits) {
        put(SparseMmapCapability{
            .id = kRegionCapSparseMmap,
            .version = 1,
            .next = 0,
            .area_count = static_cast<std::uint32_t>(region.mmap_areas.size()),
            .reserved = 0,
        });
        for (const SparseMmapArea& area : region.mmap_areas) put(area);
    }
    if (mappable && fits) reply_fds_.push_back(region.fd);
    return Status();
}

Status Session::region_io_fds(const Message& message) {
    if (message.body.size() < sizeof(RegionIoFdsPayload)) return Status(EINVAL);
    const auto request = payload_as<RegionIoFdsPayload>(message);
    if (request.argsz < sizeof(request) || request.flags != 0 || request.count != 0 ||
        request.index >= context_.device.regions().size()) {
        return Status(EINVAL);
    }
    // A reply needs at least one descriptor, and no region here has any.
    return Status(ENOTSUP);
}

Status Session::irq_info(const Message& message) {
    if (message.body.size() < sizeof(IrqInfoPayload)) return Status(EINVAL);
    const auto request = payload_as<IrqInfoPayload>(message);
    const auto irqs = context_.device.irqs();
    if (request.argsz < sizeof(request) || request.index >= irqs.size()) return Status(EINVAL);
    const IrqInfo& irq = irqs[request.index];
    put(IrqInfoPayload{
        .argsz = sizeof(IrqInfoPayload),
        .flags = kIrqFlagEventfd | (irq.maskable ? kIrqFlagMaskable : 0) |
                 (irq.automasked ? kIrqFlagAutomasked : 0),
        .index = request.index,
        .count = irq.count,
    });
    return Status();
}

Status Session::set_irqs(Message& message) {
    if (message.body.size() < sizeof(IrqSetPayload)) return Status(EINVAL);
    const auto request = payload_as<IrqSetPayload>(message);
    return context_.interrupts.set(
        request, std::span<const std::byte>(message.body).subspan(sizeof(IrqSetPayload)),
        message.fds);
}

Status Session::check_access(std::uint32_t region, std::uint64_t offset, std::uint64_t size,
                             bool write) const {
    const auto regions = context_.device.regions();
    if (region >= regions.size()) return Status(EINVAL);
    const RegionInfo& info = regions[region];
    if (size == 0 || offset > info.size || size > info.size - offset) return Status(EINVAL);
    if (write ? !info.writable : !info.readable) return Status(EACCES);
    return Status();
}

Status Session::region_read(const Message& message) {
    if (message.body.size() != sizeof(RegionAccessPayload)) return Status(EINVAL);
    const auto request = payload_as<RegionAccessPayload>(message);
    if (request.count > context_.options.max_data_xfer_size) return Status(EINVAL);
    const Status allowed = check_access(request.region, request.offset, request.count, false);
    if (!allowed.ok()) return allowed;
    put(request);
    reply_.resize(sizeof(request) + request.count);
    return context_.device.read(request.region, request.offset,
                                std::span(reply_).subspan(sizeof(request)));
}

Status Session::region_write(const Message& message) {
    if (message.body.size() < sizeof(RegionAccessPayload)) return Status(EINVAL);
    const auto request = payload_as<RegionAccessPayload>(message);
    if (request.count > context_.options.max_data_xfer_size ||
        message.body.size() - sizeof(request) != request.count) {
        return Status(EINVAL);
    }
    const Status allowed = check_access(request.region, request.offset, request.count, true);
    if (!allowed.ok()) return allowed;
    put(request);
    return context_.device.write(request.region, request.offset,
                                 std::span<const std::byte>(message.body).subspan(sizeof(request)));
}

Status Session::region_write_multi(const Message& message) {
    // A client that was not told of this command has no business sending it.
    if (!agreement_.write_multiple) return Status(ENOTSUP);
    std::uint64_t count = 0;
    if (message.body.size() < sizeof(count)) return Status(EINVAL);
    std::memcpy(&count, message.body.data(), sizeof(count));
    const std::size_t room = message.body.size() - sizeof(count);
    if (room % sizeof(WriteMultiEntry) != 0 || room / sizeof(WriteMultiEntry) != count) {
        return Status(EINVAL);
    }
    // The writes are independent ones of the guest, only joined by the client: one that is refused
    // does not stop those behind it, as it would not have alone.
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < count && !over_; ++i) {
        WriteMultiEntry entry;
        std::memcpy(&entry, message.body.data() + sizeof(count) + i * sizeof(entry), sizeof(entry));
        ++context_.stats.multi_writes;
        Status status(EINVAL);
        if (entry.count <= sizeof(entry.data)) {
            status = check_access(entry.region, entry.offset, entry.count, true);
        }
        if (status.ok()) {
            status =
                context_.device.write(entry.region, entry.offset,
                                      std::as_bytes(std::span(entry.data)).subspan(0, entry.count));
        }
        if (status.ok()) {
            ++done;
        } else {
            ++context_.stats.failed_multi_writes;
            complain(message.header, status);
        }
    }
    put(done);
    return Status();
}

}  // namespace cxsim::vfio_user
