// SPDX-License-Identifier: Apache-2.0
#include "eth/link/error_process.h"

#include "eth/link/sampling.h"
#include "model/base/assert.h"

#include <algorithm>
#include <cmath>

namespace cxsim::eth {

using model::FecMode;
using model::Picoseconds;

namespace {

constexpr std::int64_t kPreambleBits = 64;

std::uint64_t count_of(std::int64_t n) {
    return static_cast<std::uint64_t>(n);
}

}  // namespace

void ErrorProcess::start(Picoseconds at, const ModeFacts& mode, const FecFacts& fec,
                         double bit_error_ratio) {
    mode_ = &mode;
    fec_ = &fec;
    ratio_ = bit_error_ratio;
    start_ = at;
    passed_ = 0;
    last_group_bad_ = false;
    line_bits_ = 0;
    if (fec.mode == FecMode::none) {
        group_ = 1;
        units_per_picosecond_ = mode.rate.value * 1e-12;
        statistics_.reset();
    } else {
        group_ = fec.mode == FecMode::firecode ? mode.lanes : mode.interleave;
        units_per_picosecond_ =
            mode.line_rate.value * 1e-12 /
            (static_cast<double>(fec.codeword_bits) * static_cast<double>(group_));
        statistics_.emplace(fec, ratio_);
    }
    redraw();
}

// Memoryless: from any unit on, the distance to the next error has the same distribution.
void ErrorProcess::redraw() {
    const double p = statistics_ ? statistics_->errored() : ratio_;
    next_error_ = passed_ + draw_gap(random_, p);
}

void ErrorProcess::stop(Picoseconds at, PhyCounters& counters) {
    account(at, counters);
    mode_ = nullptr;
}

void ErrorProcess::set_bit_error_ratio(Picoseconds at, double ratio, PhyCounters& counters) {
    account(at, counters);
    ratio_ = ratio;
    if (mode_ == nullptr) return;
    if (statistics_) statistics_.emplace(*fec_, ratio);
    redraw();
}

bool ErrorProcess::frame(Picoseconds first_bit, Picoseconds last_bit, PhyCounters& counters) {
    CX_ASSERT(mode_ != nullptr, "a frame on a link that is down");
    if (!statistics_) {
        // Bits of the preamble may break without harm to the frame.
        const auto first = static_cast<std::int64_t>(unit_at(first_bit) + 0.5) + kPreambleBits;
        pass(first, counters);
        return pass(static_cast<std::int64_t>(unit_at(last_bit) + 0.5), counters);
    }
    // Nearly always: the next error lies behind the frame. What passed is counted later.
    if (!last_group_bad_ && (static_cast<std::int64_t>(unit_at(last_bit)) + 1) * group_ <= next_error_) {
        return false;
    }
    const auto first = static_cast<std::int64_t>(unit_at(first_bit)) * group_;
    const auto last = static_cast<std::int64_t>(std::ceil(unit_at(last_bit))) * group_;
    pass(first, counters);
    // Two frames may share a codeword: its fate was drawn with the first of them.
    bool bad = first < passed_ && last_group_bad_;
    if (last > passed_) {
        bad |= pass(last - group_, counters);
        last_group_bad_ = pass(last, counters);
        bad |= last_group_bad_;
    }
    return bad;
}

void ErrorProcess::account(Picoseconds at, PhyCounters& counters) {
    if (mode_ == nullptr || at <= start_) return;
    const auto units = static_cast<std::int64_t>(unit_at(at)) * group_;
    if (units > passed_) {
        pass(units, counters);
        last_group_bad_ = false;  // no frame to come reaches back before `at`
    }
    const double line_bits =
        std::floor(static_cast<double>((at - start_).value) * mode_->line_rate.value * 1e-12);
    if (line_bits <= line_bits_) return;
    const double fresh = line_bits - line_bits_;
    counters.received_bits += static_cast<std::uint64_t>(fresh);
    line_bits_ = line_bits;
    if (statistics_) return;
    // Two bits in 66 are the block's header; they are not among the bits of frames.
    const auto header_bits = static_cast<std::int64_t>(fresh * 2.0 / 66.0);
    const std::int64_t headers = draw_successes(random_, header_bits, ratio_);
    counters.sync_header_errors += count_of(headers);
    counters.symbol_errors += count_of(headers);
    spread_raw(headers, counters);
}

bool ErrorProcess::pass(std::int64_t end, PhyCounters& counters) {
    if (end <= passed_) return false;
    const bool rs = statistics_.has_value() && fec_->mode != FecMode::firecode;
    const std::int64_t units = end - passed_;
    if (next_error_ >= end) {
        if (rs) counters.rs_no_errors_blocks += count_of(units);
        passed_ = end;
        return false;
    }
    return statistics_ ? pass_codewords(end, counters) : pass_bits(end, counters);
}

bool ErrorProcess::pass_bits(std::int64_t end, PhyCounters& counters) {
    const std::int64_t errors = 1 + draw_successes(random_, end - next_error_ - 1, ratio_);
    counters.symbol_errors += count_of(errors);
    spread_raw(errors, counters);
    passed_ = end;
    redraw();
    return true;
}

bool ErrorProcess::pass_codewords(std::int64_t end, PhyCounters& counters) {
    const std::int64_t errored =
        1 + draw_successes(random_, end - next_error_ - 1, statistics_->errored());
    const std::int64_t bad = draw_successes(random_, errored, statistics_->uncorrectable_share());
    const std::int64_t corrected = errored - bad;
    const CodewordErrors good_errors = statistics_->draw_corrected(random_, corrected);
    const CodewordErrors bad_errors = statistics_->draw_uncorrectable(random_, bad);
    counters.corrected_bits += count_of(good_errors.bits);
    counters.symbol_errors += count_of(bad_errors.bits);
    spread_raw(good_errors.bits + bad_errors.bits, counters);

    const auto spread = [&](std::int64_t count, std::int64_t lanes, auto&& add) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
            const std::int64_t share =
                draw_successes(random_, count, 1.0 / static_cast<double>(lanes - lane));
            if (share > 0) add(static_cast<std::size_t>(lane), count_of(share));
            count -= share;
        }
    };
    if (fec_->mode == FecMode::firecode) {
        const auto lanes = std::min<std::int64_t>(mode_->lanes, 4);
        spread(corrected, lanes,
               [&](std::size_t lane, std::uint64_t n) { counters.fc_corrected_blocks[lane] += n; });
        spread(bad, lanes, [&](std::size_t lane, std::uint64_t n) {
            counters.fc_uncorrectable_blocks[lane] += n;
        });
    } else {
        counters.rs_corrected_blocks += count_of(corrected);
        counters.rs_uncorrectable_blocks += count_of(bad);
        counters.rs_no_errors_blocks += count_of(end - passed_ - errored);
        counters.rs_single_error_blocks += count_of(good_errors.single);
        counters.rs_corrected_symbols += count_of(good_errors.symbols);
        spread(good_errors.symbols, mode_->lanes, [&](std::size_t lane, std::uint64_t n) {
            counters.rs_corrected_symbols_lane[lane] += n;
        });
    }
    passed_ = end;
    redraw();
    return bad > 0;
}

void ErrorProcess::spread_raw(std::int64_t bits, PhyCounters& counters) {
    const auto lanes = static_cast<std::int64_t>(mode_->lanes);
    for (std::int64_t lane = 0; lane < lanes && bits > 0; ++lane) {
        const std::int64_t share =
            draw_successes(random_, bits, 1.0 / static_cast<double>(lanes - lane));
        counters.raw_errors[static_cast<std::size_t>(lane)] += count_of(share);
        bits -= share;
    }
}

}  // namespace cxsim::eth
