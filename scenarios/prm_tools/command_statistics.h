// SPDX-License-Identifier: Apache-2.0
// Commands by type: how often, how long, how many bytes moved.
#pragma once

#include "scenarios/prm_tools/card_tap.h"

#include <cstdint>
#include <map>
#include <string>

namespace cxsim::scenarios {

/// Bytes that the card reads and writes in host memory for one command: entry, mailboxes, entry.
std::uint64_t command_dma_bytes(std::size_t input_bytes, std::size_t output_bytes);

class CommandStatistics : public TapListener {
  public:
    struct Row {
        std::uint64_t count = 0;
        std::uint64_t refused = 0;
        model::Picoseconds total;  ///< doorbell to completion
        model::Picoseconds longest;
        std::uint64_t dma_bytes = 0;
    };

    void command_ended(const firmware_stub::CommandReport& report, std::uint32_t others) override;

    const std::map<std::uint16_t, Row>& rows() const { return rows_; }
    std::uint64_t undelivered() const { return undelivered_; }
    /// All rows together.
    Row sum() const;
    /// A table for people.
    std::string table() const;

  private:
    std::map<std::uint16_t, Row> rows_;
    std::uint64_t undelivered_ = 0;
};

}  // namespace cxsim::scenarios
