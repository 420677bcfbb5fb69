// SPDX-License-Identifier: Apache-2.0
// The host's accesses to the endpoint: configuration, BAR0, ROM, and the socket in front of them.
#include "model/sim/kernel.h"
#include "pcie/endpoint/endpoint.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cxsim::pcie {

using model::FunctionId;
using model::Picoseconds;

namespace {

constexpr std::uint32_t kMemoryRead64 = 0x20000000;   // Fmt 001, Type 00000
constexpr std::uint32_t kMemoryWrite64 = 0x60000000;  // Fmt 011, Type 00000

void all_ones(std::span<std::byte> into) {
    std::fill(into.begin(), into.end(), std::byte{0xff});
}

/// Header of the TLP that the root port would have sent: requester id and tag 0.
TlpHeader memory_header(bool write, std::uint64_t address, std::size_t bytes) {
    const std::uint64_t first = address & 3;
    const auto dwords = static_cast<std::uint32_t>((first + bytes + 3) / 4);
    const std::uint64_t last = (first + bytes) & 3;
    std::uint32_t first_enable = 0xfu << first & 0xfu;
    std::uint32_t last_enable = last == 0 ? 0xfu : (1u << last) - 1;
    if (dwords == 1) {
        first_enable &= last_enable;
        last_enable = 0;
    }
    return {(write ? kMemoryWrite64 : kMemoryRead64) | (dwords & 0x3ff),
            last_enable << 4 | first_enable, static_cast<std::uint32_t>(address >> 32),
            static_cast<std::uint32_t>(address) & ~3u};
}

}  // namespace

// --- Configuration -----------------------------------------------------------------------------

Completion Endpoint::config_read(FunctionId function, std::uint16_t offset,
                                 std::span<std::byte> into) {
    ++statistics_.config_reads;
    if (!present(function) || offset + into.size() > ConfigSpace::kBytes) {
        ++statistics_.unsupported_requests;
        all_ones(into);
        return Completion::unsupported_request;
    }
    const bool pending = dma_.reads_done(function) > calendar_.now();
    functions_[function.value]->config_read(offset, into, pending);
    return Completion::success;
}

Completion Endpoint::config_write(FunctionId function, std::uint16_t offset,
                                  std::span<const std::byte> from) {
    ++statistics_.config_writes;
    if (!present(function) || offset + from.size() > ConfigSpace::kBytes) {
        ++statistics_.unsupported_requests;
        return Completion::unsupported_request;
    }
    carry_out(function, functions_[function.value]->config_write(offset, from));
    return Completion::success;
}

// --- BAR0 --------------------------------------------------------------------------------------

Endpoint::BarSlice Endpoint::slice(const Function& function, std::uint64_t offset,
                                   std::size_t bytes) {
    const MsixTable* table = const_cast<Function&>(function).msix();
    if (table == nullptr) return {BarPart::device, offset, bytes};
    const MsixConfig& msix = function.config().msix;
    struct Range {
        BarPart part;
        std::uint64_t start;
        std::uint64_t end;
    };
    const Range ranges[] = {
        {BarPart::msix_table, msix.table_offset, msix.table_offset + table->table_bytes()},
        {BarPart::msix_pba, msix.pba_offset, msix.pba_offset + table->pba_bytes()}};
    std::uint64_t end = offset + bytes;
    for (const Range& range : ranges) {
        if (offset >= range.start && offset < range.end) {
            const std::uint64_t last = std::min(end, range.end);
            return {range.part, offset - range.start, static_cast<std::size_t>(last - offset)};
        }
        if (range.start > offset) end = std::min(end, range.start);
    }
    return {BarPart::device, offset, static_cast<std::size_t>(end - offset)};
}

AccessResult Endpoint::round_trip(FunctionId id, Picoseconds start, std::size_t bytes,
                                  Picoseconds inside) {
    const Picoseconds ready = std::max(host_.from_core(start), mmio_sent_);
    const Link::Passage request = link_.downstream(ready, Link::Tlp::memory_read, 0);
    mmio_sent_ = request.sent;
    // A completion does not pass what the function has posted before.
    const Picoseconds inner = request.arrived + inside;
    const Picoseconds answer = std::max(inner, dma_.posted_sent(id, inner));
    const Link::Tlp type = bytes > 0 ? Link::Tlp::completion : Link::Tlp::completion_without_data;
    return {Completion::success,
            link_.upstream(answer, type, bytes).arrived + host_.profile().port_to_core};
}

AccessResult Endpoint::refuse(FunctionId id, Picoseconds start, bool posted, std::uint64_t offset,
                              std::size_t bytes) {
    ++statistics_.unsupported_requests;
    if (!present(id)) return {Completion::unsupported_request, start};
    Function& f = *functions_[id.value];
    f.errors().refused_request(UncorrectableError::unsupported_request, posted,
                               memory_header(posted, f.bar0_address() + offset, bytes));
    if (posted) return {Completion::unsupported_request, start};
    const AccessResult answer = round_trip(id, start, 0, {});
    return {Completion::unsupported_request, answer.finish};
}

AccessResult Endpoint::bar_read(FunctionId function, Picoseconds start, std::uint64_t offset,
                                std::span<std::byte> into) {
    ++statistics_.bar_reads;
    const bool inside = function.value < functions_.size() &&
                        offset + into.size() <=
                            (std::uint64_t{1} << functions_[function.value]->config().bar0_log2) &&
                        offset + into.size() >= offset;
    if (!inside || !memory_answers(function) || device_ == nullptr) {
        all_ones(into);
        return refuse(function, start, false, offset, into.size());
    }
    Function& f = *functions_[function.value];
    for (std::size_t done = 0; done < into.size();) {
        const BarSlice part = slice(f, offset + done, into.size() - done);
        const std::span<std::byte> bytes = into.subspan(done, part.bytes);
        switch (part.part) {
            case BarPart::device:
                device_->bar_read(function, part.offset, bytes);
                break;
            case BarPart::msix_table:
                f.msix()->read_table(part.offset, bytes);
                break;
            case BarPart::msix_pba:
                f.msix()->read_pba(part.offset, bytes);
                break;
        }
        done += part.bytes;
    }
    return round_trip(function, start, into.size(), config_.register_read);
}

AccessResult Endpoint::bar_write(FunctionId function, Picoseconds start, std::uint64_t offset,
                                 std::span<const std::byte> from) {
    ++statistics_.bar_writes;
    const bool inside = function.value < functions_.size() &&
                        offset + from.size() <=
                            (std::uint64_t{1} << functions_[function.value]->config().bar0_log2) &&
                        offset + from.size() >= offset;
    if (!inside || !memory_answers(function) || device_ == nullptr) {
        return refuse(function, start, true, offset, from.size());
    }
    Function& f = *functions_[function.value];
    const Picoseconds ready = std::max(host_.from_core(start), mmio_sent_);
    const Link::Passage passage = link_.downstream(ready, Link::Tlp::memory_write, from.size());
    mmio_sent_ = passage.sent;
    for (std::size_t done = 0; done < from.size();) {
        const BarSlice part = slice(f, offset + done, from.size() - done);
        const std::span<const std::byte> bytes = from.subspan(done, part.bytes);
        switch (part.part) {
            case BarPart::device:
                device_->bar_write(function, passage.arrived, part.offset, bytes);
                break;
            case BarPart::msix_table:
                f.msix()->write_table(part.offset, bytes);
                release_pending(function);
                break;
            case BarPart::msix_pba:
                break;  // read-only: writes have no effect (7.7.2.10)
        }
        done += part.bytes;
    }
    return {Completion::success, passage.arrived};
}

// --- Expansion ROM -----------------------------------------------------------------------------

AccessResult Endpoint::rom_read(FunctionId function, Picoseconds start, std::uint64_t offset,
                                std::span<std::byte> into) {
    ++statistics_.rom_reads;
    all_ones(into);
    const bool answers = present(function) && functions_[function.value]->rom_enabled();
    if (!answers) return refuse(function, start, false, offset, into.size());
    const FunctionConfig& config = functions_[function.value]->config();
    const std::uint64_t size = std::uint64_t{1} << config.rom_log2;
    if (offset > size || into.size() > size - offset) {
        return refuse(function, start, false, offset, into.size());
    }
    if (offset < config.rom_image.size()) {
        const std::size_t bytes =
            std::min<std::size_t>(into.size(), config.rom_image.size() - offset);
        std::memcpy(into.data(), config.rom_image.data() + offset, bytes);
    }
    return round_trip(function, start, into.size(), config_.register_read);
}

// --- Socket ------------------------------------------------------------------------------------

void Endpoint::serve_host(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    const auto* access = payload.get_extension<HostAccess>();
    if (access == nullptr || access->space == AccessSpace::host_memory) {
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return;
    }
    if (payload.get_byte_enable_ptr() != nullptr) {
        payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
        return;
    }
    if (payload.get_streaming_width() < payload.get_data_length() ||
        payload.get_data_length() == 0) {
        payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
        return;
    }
    const bool rom_write = access->space == AccessSpace::rom && payload.is_write();
    if ((!payload.is_read() && !payload.is_write()) || rom_write) {
        payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
        return;
    }
    const std::span<std::byte> data(reinterpret_cast<std::byte*>(payload.get_data_ptr()),
                                    payload.get_data_length());
    const std::uint64_t address = payload.get_address();
    const Picoseconds now = model::from_sc_time(sc_core::sc_time_stamp() + delay);
    AccessResult result{Completion::success, now};
    switch (access->space) {
        case AccessSpace::config: {
            if (address >= ConfigSpace::kBytes) {
                payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
                return;
            }
            const auto offset = static_cast<std::uint16_t>(address);
            result.status = payload.is_read() ? config_read(access->function, offset, data)
                                              : config_write(access->function, offset, data);
            // Configuration requests travel as memory reads do; writes are non-posted, too.
            if (present(access->function)) {
                result.finish =
                    round_trip(access->function, now, payload.is_read() ? data.size() : 0,
                               config_.register_read)
                        .finish;
            }
            break;
        }
        case AccessSpace::bar0:
            result = payload.is_read() ? bar_read(access->function, now, address, data)
                                       : bar_write(access->function, now, address, data);
            break;
        case AccessSpace::rom:
            result = rom_read(access->function, now, address, data);
            break;
        case AccessSpace::host_memory:
            break;
    }
    delay += model::to_sc_time(result.finish - now);
    switch (result.status) {
        case Completion::success:
            payload.set_response_status(tlm::TLM_OK_RESPONSE);
            break;
        case Completion::unsupported_request:
            payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
            break;
    }
}

}  // namespace cxsim::pcie
