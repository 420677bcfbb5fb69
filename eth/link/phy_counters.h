// SPDX-License-Identifier: Apache-2.0
// What the physical layer of a port counts. Meanings: calibration notes of PPCNT's physical groups.
#pragma once

#include "model/stats/stats.h"

namespace cxsim::eth {

struct PhyCounters : model::stats::Group {
    using Group::Group;
    using Counter = model::stats::Counter;
    using Unit = model::stats::Unit;
    template <std::size_t N>
    using CounterArray = model::stats::CounterArray<N>;

    static constexpr std::size_t kLanes = 8;

    Counter received_bits{*this, "received_bits", Unit::bits, "Bits into the FEC decoder"};
    Counter symbol_errors{*this, "symbol_errors", Unit::bits,
                          "Error bits that FEC did not correct"};
    Counter corrected_bits{*this, "corrected_bits", Unit::bits, "Error bits that FEC corrected"};
    CounterArray<kLanes> raw_errors{*this, "raw_errors_lane{}", Unit::bits,
                                    "Error bits of a lane before correction"};
    Counter sync_header_errors{*this, "sync_header_errors", Unit::count,
                               "Damaged synchronisation headers of 64b/66b blocks, without FEC"};
    CounterArray<4> fc_corrected_blocks{*this, "fc_corrected_blocks_lane{}", Unit::count,
                                        "FireCode blocks corrected on a lane"};
    CounterArray<4> fc_uncorrectable_blocks{*this, "fc_uncorrectable_blocks_lane{}", Unit::count,
                                            "FireCode blocks beyond correction on a lane"};
    Counter rs_corrected_blocks{*this, "rs_corrected_blocks", Unit::count,
                                "Reed-Solomon codewords corrected"};
    Counter rs_uncorrectable_blocks{*this, "rs_uncorrectable_blocks", Unit::count,
                                    "Reed-Solomon codewords beyond correction"};
    Counter rs_no_errors_blocks{*this, "rs_no_errors_blocks", Unit::count,
                                "Reed-Solomon codewords without an error"};
    Counter rs_single_error_blocks{*this, "rs_single_error_blocks", Unit::count,
                                   "Reed-Solomon codewords with one symbol in error"};
    Counter rs_corrected_symbols{*this, "rs_corrected_symbols", Unit::count,
                                 "Symbols corrected by Reed-Solomon"};
    CounterArray<kLanes> rs_corrected_symbols_lane{*this, "rs_corrected_symbols_lane{}",
                                                   Unit::count, "The same by lane"};
    Counter link_down_events{*this, "link_down_events", Unit::events,
                             "Link losses that this end did not ask for"};
};

}  // namespace cxsim::eth
