// SPDX-License-Identifier: Apache-2.0
// What an engine keeps about QPs besides the objects themselves. A record belongs to one life of a
// queue: after a reset, or when another QP has the number, it starts anew.
#pragma once

#include "model/queues/engine_state.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace cxsim::model {

/// `Record` has a member `tag` and a clear(); `Side` is the work queue whose tag marks the life.
template <class Record, WorkQueue Qp::*Side>
class QpRecords {
  public:
    explicit QpRecords(EngineState& state) : state_(state) {}

    /// The record of this life, made if there is none. Stays where it is.
    Record& of(Qp& qp) {
        if (records_.size() <= qp.id.number) records_.resize(std::size_t{qp.id.number} + 1);
        auto& place = records_[qp.id.number];
        if (place == nullptr) place = std::make_unique<Record>();
        const std::uint64_t tag = state_.tag((qp.*Side).tag);
        if (place->tag != tag) {
            place->clear();
            place->tag = tag;
        }
        return *place;
    }
    /// Null if there is none of this life.
    Record* find(const Qp& qp) const {
        if (records_.size() <= qp.id.number) return nullptr;
        Record* record = records_[qp.id.number].get();
        return record != nullptr && record->tag == (qp.*Side).tag ? record : nullptr;
    }

  private:
    EngineState& state_;
    std::vector<std::unique_ptr<Record>> records_;  // by QP number
};

}  // namespace cxsim::model
