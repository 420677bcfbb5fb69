// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/calibration/go_back_n.h"

#include "roce/wire/codec.h"

#include <algorithm>
#include <deque>

namespace cxsim::calibration {
namespace {

using model::Picoseconds;
using roce::psn_add;
using roce::psn_distance;

Picoseconds median(std::vector<Picoseconds> samples) {
    if (samples.empty()) return {};
    std::ranges::sort(samples);
    return samples[samples.size() / 2];
}

/// The receiving side, which sees what was not lost.
class Receiver {
  public:
    Receiver(std::uint32_t first, WriteJudgement& judgement)
        : expected_(first), acknowledged_(psn_add(first, roce::kPsnMask)), judgement_(judgement) {}

    void data(const Passed& packet) {
        const std::int32_t distance = psn_distance(packet.headers.psn, expected_);
        if (distance == 0) {
            expected_ = psn_add(expected_, 1);
            reported_ = false;
        } else if (distance > 0 && !reported_) {
            reported_ = true;
            due_.push_back({expected_, packet.at});
        }
    }
    void nak(const Passed& packet, std::vector<Picoseconds>& generation) {
        if (due_.empty() || due_.front().psn != packet.headers.psn) {
            ++judgement_.violations;
            return;
        }
        generation.push_back(packet.at - due_.front().since);
        due_.pop_front();
        acknowledge(psn_add(packet.headers.psn, roce::kPsnMask));
    }
    void acknowledge(std::uint32_t psn) {
        if (psn_distance(psn, acknowledged_) < 0 || psn_distance(psn, expected_) >= 0) {
            ++judgement_.violations;
        }
        acknowledged_ = psn;
    }
    std::uint32_t acknowledged() const { return acknowledged_; }
    std::size_t naks_missing() const { return due_.size(); }

  private:
    struct Due {
        std::uint32_t psn;
        Picoseconds since;
    };
    std::uint32_t expected_;
    std::uint32_t acknowledged_;
    bool reported_ = false;
    std::deque<Due> due_;
    WriteJudgement& judgement_;
};

/// The sending side, which sees what comes back.
class Sender {
  public:
    Sender(std::uint32_t first, WriteJudgement& judgement)
        : next_(first), highest_(psn_add(first, roce::kPsnMask)), judgement_(judgement) {}

    void data(const Passed& packet, std::uint32_t acknowledged,
              std::vector<Picoseconds>& reaction) {
        const std::uint32_t psn = packet.headers.psn;
        if (psn != next_) {
            if (asked_ && asked_psn_ == psn) {
                reaction.push_back(packet.at - asked_at_);
            } else if (psn == psn_add(acknowledged, 1)) {
                ++judgement_.timeouts;
            } else {
                ++judgement_.violations;
            }
            asked_ = false;
        }
        next_ = psn_add(psn, 1);
        if (psn_distance(psn, highest_) > 0) {
            highest_ = psn;
        } else {
            ++judgement_.resent;
        }
    }
    void nak(const Passed& packet) {
        asked_ = true;
        asked_psn_ = packet.headers.psn;
        asked_at_ = packet.at;
    }

  private:
    std::uint32_t next_;
    std::uint32_t highest_;
    bool asked_ = false;
    std::uint32_t asked_psn_ = 0;
    Picoseconds asked_at_;
    WriteJudgement& judgement_;
};

}  // namespace

WriteJudgement judge_writes(const std::vector<Passed>& passed) {
    WriteJudgement judgement;
    const auto first = std::ranges::find_if(passed, &Passed::to_b);
    if (first == passed.end()) return judgement;
    Receiver receiver(first->headers.psn, judgement);
    Sender sender(first->headers.psn, judgement);
    std::vector<Picoseconds> generation;
    std::vector<Picoseconds> reaction;
    for (const Passed& packet : passed) {
        if (packet.lost) ++judgement.lost;
        if (packet.to_b) {
            sender.data(packet, receiver.acknowledged(), reaction);
            if (!packet.lost) receiver.data(packet);
            continue;
        }
        if (packet.headers.opcode == roce::kCnpOpcode) {
            ++judgement.notifications;
        } else if (roce::aeth_kind(packet.headers.syndrome) == roce::AethKind::nak) {
            ++judgement.naks;
            receiver.nak(packet, generation);
            sender.nak(packet);
        } else {
            receiver.acknowledge(packet.headers.psn);
        }
    }
    judgement.violations += receiver.naks_missing();
    judgement.nak_generation = median(std::move(generation));
    judgement.nak_reaction = median(std::move(reaction));
    return judgement;
}

ReadJudgement judge_reads(const std::vector<Passed>& passed) {
    ReadJudgement judgement;
    const auto first = std::ranges::find_if(passed, &Passed::to_b);
    if (first == passed.end()) return judgement;
    std::uint32_t expected = first->headers.psn;
    std::uint32_t highest = psn_add(expected, roce::kPsnMask);  // of requests
    bool reported = false;  // the gap
    bool asked = true;      // for what it misses
    Picoseconds gap;
    std::vector<Picoseconds> generation;
    for (const Passed& packet : passed) {
        if (packet.lost) ++judgement.lost;
        const std::uint32_t psn = packet.headers.psn;
        if (packet.to_b) {
            if (psn_distance(psn, highest) > 0) {
                highest = psn;
                continue;
            }
            // Again: it begins with what is missing, and what stood behind it follows.
            if (psn_distance(psn, expected) < 0) ++judgement.violations;
            if (!asked && psn == expected) {
                generation.push_back(packet.at - gap);
                asked = true;
            }
            continue;
        }
        if (packet.lost || packet.headers.opcode == roce::kCnpOpcode) continue;
        const std::int32_t distance = psn_distance(psn, expected);
        if (distance == 0) {
            expected = psn_add(expected, 1);
            reported = false;
        } else if (distance > 0 && !reported) {
            reported = true;
            ++judgement.episodes;
            asked = false;
            gap = packet.at;
        }
    }
    judgement.generation = median(std::move(generation));
    return judgement;
}

}  // namespace cxsim::calibration
