// SPDX-License-Identifier: Apache-2.0
#include "pcie/dma/dma_engine.h"

#include "model/base/assert.h"

#include <algorithm>

namespace cxsim::pcie {

using model::FunctionId;
using model::HostAddress;
using model::Picoseconds;

namespace {

constexpr std::uint64_t kCreditBytes = 16;

std::uint32_t credit_units(std::uint64_t bytes) {
    return static_cast<std::uint32_t>((bytes + kCreditBytes - 1) / kCreditBytes);
}

/// Bytes from `address` to the next multiple of `boundary`, a power of two, at most `left`.
/// Splitting at natural boundaries also keeps every request inside 4 KiB, as the specification
/// demands (2.2.7).
std::uint64_t part_before(std::uint64_t address, std::uint64_t boundary, std::uint64_t left) {
    return std::min(left, boundary - (address & (boundary - 1)));
}

}  // namespace

DmaEngine::DmaEngine(const DmaTiming& timing, Link& link, RootComplex& host, std::size_t functions)
    : timing_(timing),
      link_(link),
      host_(host),
      tags_(timing.tags),
      completion_buffer_(credit_units(timing.completion_buffer.value)),
      non_posted_headers_(host.profile().non_posted_headers),
      posted_headers_(host.profile().posted_headers),
      posted_data_(host.profile().posted_data),
      order_(functions) {
    CX_ASSERT(timing.completion_buffer.value >= 4096, "no room for the largest read request");
}

Picoseconds DmaEngine::copy_time(std::uint64_t bytes) const {
    return timing_.copy_rate.value > 0 ? timing_.copy_rate.time_for({bytes}) : Picoseconds{};
}

Picoseconds DmaEngine::read(FunctionId function, Picoseconds start, HostAddress address,
                            std::uint64_t bytes, const RequestLimits& limits) {
    Order& order = order_[function.value];
    ++statistics_.reads;
    statistics_.read_bytes += bytes;
    const Picoseconds ready =
        std::max(start + timing_.request_overhead, order.posted.before(start).sent);
    Picoseconds finish = ready;
    for (std::uint64_t done = 0; done < bytes;) {
        const HostAddress at = address + done;
        const std::uint64_t part = part_before(at.value, limits.max_read_request, bytes - done);
        finish = std::max(finish, read_request(ready, at, part, limits.max_payload));
        done += part;
    }
    finish += copy_time(bytes);
    order.reads_done = std::max(order.reads_done, finish);
    return finish;
}

Picoseconds DmaEngine::read_request(Picoseconds ready, HostAddress address, std::uint64_t bytes,
                                    unsigned max_payload) {
    ++statistics_.read_requests;
    const std::uint32_t units = credit_units(bytes);
    const Picoseconds tag = tags_.available(ready);
    statistics_.stalled_tags += tag - ready;
    const Picoseconds room = completion_buffer_.acquire(tag, units);
    statistics_.stalled_completion_buffer += room - tag;
    const Picoseconds credit = non_posted_headers_.acquire(room, 1);
    statistics_.stalled_non_posted_credits += credit - room;

    const Link::Passage request = link_.upstream(credit, Link::Tlp::memory_read, 0);
    const Picoseconds first = host_.read(request.arrived, address, bytes);
    // The root port frees the header when the request goes to memory; UpdateFC travels back.
    non_posted_headers_.give_back(request.arrived + link_.one_way(), 1);

    const std::uint64_t boundary = host_.profile().read_completion_boundary;
    const std::uint64_t most = host_.profile().rcb_chunks ? boundary : max_payload;
    const std::uint64_t whole = ~(boundary - 1);  // 64 or 128: a power of two
    Picoseconds arrived = first;
    for (std::uint64_t done = 0; done < bytes;) {
        // Each completion but the last ends at a boundary; the first may be short (2.3.1.1).
        const std::uint64_t at = address.value + done;
        std::uint64_t end = (at + most) & whole;
        if (end <= at) end = at + most;
        const std::uint64_t part = std::min(bytes - done, end - at);
        done += part;
        const Picoseconds data = first + host_.transfer_time(done);
        arrived = link_.downstream(data, Link::Tlp::completion, part).arrived;
        ++statistics_.completions;
    }
    tags_.occupy_until(arrived);
    completion_buffer_.give_back(arrived, units);
    return arrived;
}

Picoseconds DmaEngine::write(FunctionId function, Picoseconds start, HostAddress address,
                             std::uint64_t bytes, const RequestLimits& limits) {
    Order& order = order_[function.value];
    ++statistics_.writes;
    statistics_.written_bytes += bytes;
    // Store and forward, as for reads: the first TLP leaves when all data have been copied.
    const Picoseconds copied = start + timing_.request_overhead + copy_time(bytes);
    const PostedOrder::Write& before = order.posted.before(start);
    PostedOrder::Write own{start, std::max(copied, before.sent), before.visible};
    for (std::uint64_t done = 0; done < bytes;) {
        const HostAddress at = address + done;
        const std::uint64_t part = part_before(at.value, limits.max_payload, bytes - done);
        done += part;
        const std::uint32_t units = credit_units(part);
        const Picoseconds header = posted_headers_.acquire(own.sent, 1);
        const Picoseconds data = posted_data_.acquire(header, units);
        statistics_.stalled_posted_credits += data - own.sent;
        const Link::Passage passage = link_.upstream(data, Link::Tlp::memory_write, part);
        const RootComplex::Written written = host_.write(passage.arrived, at, part);
        posted_headers_.give_back(written.drained + link_.one_way(), 1);
        posted_data_.give_back(written.drained + link_.one_way(), units);
        own.sent = passage.sent;
        own.visible = std::max(own.visible, written.visible);
        ++statistics_.write_requests;
    }
    order.posted.add(own);
    return std::max(own.visible, own.sent);
}

Picoseconds DmaEngine::refused_read(FunctionId function, Picoseconds start) {
    Order& order = order_[function.value];
    ++statistics_.reads;
    ++statistics_.read_requests;
    ++statistics_.refused;
    const Picoseconds ready =
        std::max(start + timing_.request_overhead, order.posted.before(start).sent);
    const Link::Passage request = link_.upstream(ready, Link::Tlp::memory_read, 0);
    // Decoded by the root port; memory is not asked.
    const Picoseconds finish =
        link_.downstream(request.arrived, Link::Tlp::completion_without_data, 0).arrived;
    ++statistics_.completions;
    order.reads_done = std::max(order.reads_done, finish);
    return finish;
}

void DmaEngine::reset() {
    tags_.reset();
    completion_buffer_.reset();
    non_posted_headers_.reset();
    posted_headers_.reset();
    posted_data_.reset();
    std::fill(order_.begin(), order_.end(), Order{});
}

}  // namespace cxsim::pcie
