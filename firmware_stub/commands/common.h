// SPDX-License-Identifier: Apache-2.0
// What the command families share: the answers that are the same everywhere, and buffers in host
// memory as contexts describe them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "firmware_stub/boot/firmware.h"
#include "firmware_stub/mailbox/command_table.h"
#include "firmware_stub/mailbox/syndromes.h"
#include "model/base/endian.h"
#include "model/memory/host_ring.h"

namespace cxsim::firmware_stub {

/// The number names no living object: destroy, query or modify of it is a matter of state.
inline Reply no_such_object(std::uint32_t known_syndrome = 0) {
    return refuse(prm::Status::BAD_RES_STATE, known_syndrome, "no such object");
}
/// Destroying what others still hold on to.
inline Reply still_in_use(std::uint32_t known_syndrome = 0) {
    return refuse(prm::Status::BAD_RES_STATE, known_syndrome, "object is in use");
}
/// A context names an object that does not live.
inline Reply bad_reference(std::string_view reason) {
    return refuse(prm::Status::BAD_PARAM, reason);
}
/// The table of this kind is full.
inline Reply table_full(std::uint32_t known_syndrome = 0) {
    return refuse(prm::Status::LIM_ERR, known_syndrome, "all objects of this kind are in use");
}

/// Commands that name a function: 0 is the one that sends the command, no others are modelled.
inline Reply check_own_function(std::uint32_t embedded_cpu, std::uint32_t function_id) {
    if (embedded_cpu != 0) {
        return refuse(prm::Status::BAD_PARAM, syndrome::kEmbeddedCpuBit,
                      "no embedded CPU function");
    }
    if (function_id != 0) return refuse(prm::Status::BAD_PARAM, "no such function");
    return accept();
}

/// Removes an object of `table`; the usual answers when it does not live or is held.
template <class T>
Reply destroy_object(FunctionState& function, const model::ObjectTable<T>& table,
                     std::uint32_t number, std::uint32_t gone_syndrome = 0,
                     std::uint32_t in_use_syndrome = 0) {
    const T* object = table.find(number);
    if (object == nullptr) return no_such_object(gone_syndrome);
    if (object->users > 0) return still_in_use(in_use_syndrome);
    function.queues().destroyed(object->id);
    function.resources().destroy(object->id);
    return accept();
}

/// Keeps the context as the driver wrote it, without a page list behind it.
template <class Layout>
void keep_context(model::ContextObject<Layout>& object, prm::ConstView<Layout> context) {
    std::copy_n(context.bytes().begin(), object.context.size(), object.context.begin());
}
/// Writes an object's context into the output of a query.
template <class Layout>
void show_context(const model::ContextObject<Layout>& object, prm::View<Layout> into) {
    std::copy(object.context.begin(), object.context.end(), into.bytes().begin());
}

/// Doorbell records are 8 bytes long and lie in one piece.
inline Reply check_doorbell_record(std::uint64_t address) {
    if (address % 8 != 0) {
        return refuse(prm::Status::BAD_PARAM, "doorbell record not aligned to 8 bytes");
    }
    return accept();
}

/// A queue buffer as a context and the page list behind it describe it.
struct RingDescription {
    std::uint64_t bytes = 0;
    std::uint32_t log_page_size = 0;  ///< relative to 4 KiB
    std::uint32_t page_offset = 0;    ///< in 1/64 pages, as the contexts count
};

/// Builds the ring, or says why not: a page list that is too short, an offset that is not aligned.
inline Reply make_ring(const RingDescription& description, std::span<const std::byte> page_list,
                       model::HostRing& ring) {
    constexpr std::uint32_t kMaxLogPageSize = 31;
    if (description.log_page_size > kMaxLogPageSize) {
        return refuse(prm::Status::BAD_PARAM, "log_page_size beyond the card");
    }
    const std::uint64_t page_bytes = std::uint64_t{4096} << description.log_page_size;
    const std::uint64_t offset = page_bytes / 64 * description.page_offset;
    if (offset >= page_bytes) {
        return refuse(prm::Status::BAD_PARAM, syndrome::kQueueOffsetNotAligned,
                      "page_offset beyond the page");
    }
    const std::uint64_t pages =
        model::HostRing::pages_needed(description.bytes, description.log_page_size, offset);
    if (page_list.size() / 8 < pages) {
        return refuse(prm::Status::BAD_INP_LEN, "page list shorter than the queue");
    }
    ring = model::HostRing(model::HostRing::parse_pages(page_list, pages),
                           description.log_page_size, offset);
    return accept();
}

/// Page addresses of a ring as QUERY commands show them, as many as find room in `into`.
inline void show_pages(const model::HostRing& ring, std::span<std::byte> into) {
    const std::size_t count = std::min(ring.pages().size(), into.size() / 8);
    for (std::size_t i = 0; i < count; ++i) {
        model::store_be<std::uint64_t>(into.data() + i * 8, ring.pages()[i]);
    }
}

}  // namespace cxsim::firmware_stub
