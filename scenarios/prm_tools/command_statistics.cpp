// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/command_statistics.h"

#include "firmware_stub/mailbox/command_queue.h"
#include "model/base/endian.h"
#include "scenarios/driver/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace cxsim::scenarios {

using Queue = firmware_stub::CommandQueue;

std::uint64_t command_dma_bytes(std::size_t input_bytes, std::size_t output_bytes) {
    const auto blocks = [](std::size_t bytes) {
        return bytes <= Queue::kInlineBytes
                   ? 0
                   : (bytes - Queue::kInlineBytes + Queue::kBlockDataBytes - 1) /
                         Queue::kBlockDataBytes;
    };
    // Of an output block the control part is read first, then the whole block is written.
    constexpr std::size_t kControl = Queue::kBlockBytes - Queue::kBlockDataBytes;
    return 2 * Queue::kEntryBytes + blocks(input_bytes) * Queue::kBlockBytes +
           blocks(output_bytes) * (kControl + Queue::kBlockBytes);
}

void CommandStatistics::command_ended(const firmware_stub::CommandReport& report, std::uint32_t) {
    if (report.delivery != prm::DeliveryStatus::OK || report.input.size() < 2) {
        ++undelivered_;
        return;
    }
    Row& row = rows_[model::load_be<std::uint16_t>(report.input.data())];
    const model::Picoseconds took = report.finish - report.doorbell;
    ++row.count;
    row.refused += report.reply.ok() ? 0 : 1;
    row.total += took;
    row.longest = std::max(row.longest, took);
    row.dma_bytes += command_dma_bytes(report.input.size(), report.output.size());
}

CommandStatistics::Row CommandStatistics::sum() const {
    Row sum;
    for (const auto& [opcode, row] : rows_) {
        sum.count += row.count;
        sum.refused += row.refused;
        sum.total += row.total;
        sum.longest = std::max(sum.longest, row.longest);
        sum.dma_bytes += row.dma_bytes;
    }
    return sum;
}

std::string CommandStatistics::table() const {
    std::string text = fmt::format("{:<28} {:>6} {:>8} {:>12} {:>12} {:>12}\n", "command", "count",
                                   "refused", "mean us", "max us", "DMA bytes");
    const auto line = [&](const std::string& name, const Row& row) {
        const double mean =
            row.count == 0 ? 0 : row.total.microseconds() / static_cast<double>(row.count);
        text += fmt::format("{:<28} {:>6} {:>8} {:>12.3f} {:>12.3f} {:>12}\n", name, row.count,
                            row.refused, mean, row.longest.microseconds(), row.dma_bytes);
    };
    for (const auto& [opcode, row] : rows_) line(command_name(opcode), row);
    line("all", sum());
    return text;
}

}  // namespace cxsim::scenarios
