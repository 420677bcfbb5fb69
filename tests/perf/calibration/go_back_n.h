// SPDX-License-Identifier: Apache-2.0
// Judges of one queue pair's recovery from loss: what passed the middle of the wire against the
// rules of go-back-N.
#pragma once

#include "tests/perf/calibration/wire.h"

#include <cstdint>
#include <vector>

namespace cxsim::calibration {

struct WriteJudgement {
    std::uint64_t lost = 0;
    /// NAKs of another PSN than the first missing one, more than one NAK for a gap or none,
    /// acknowledgements that go back or name what has not arrived, packets that neither follow
    /// on the one before nor start again where a NAK or a timeout says.
    std::uint64_t violations = 0;
    std::uint64_t naks = 0;
    std::uint64_t timeouts = 0;       ///< restarts without a NAK
    std::uint64_t notifications = 0;  ///< CNPs
    std::uint64_t resent = 0;         ///< packets that had been sent before
    model::Picoseconds nak_generation;  ///< median: first packet out of order to NAK
    model::Picoseconds nak_reaction;    ///< median: NAK to the packet asked for
};
WriteJudgement judge_writes(const std::vector<Passed>& passed);

struct ReadJudgement {
    std::uint64_t lost = 0;
    std::uint64_t violations = 0;  ///< a request again that does not ask for what is missing first
    std::uint64_t episodes = 0;    ///< responses out of order, once for each gap
    model::Picoseconds generation;  ///< median: first response out of order to the new request
};
ReadJudgement judge_reads(const std::vector<Passed>& passed);

}  // namespace cxsim::calibration
