// SPDX-License-Identifier: Apache-2.0
// What a driver made on its card and has to take back, in reverse order.
#pragma once

#include "scenarios/driver/driver.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace cxsim::scenarios {

class UndoList {
  public:
    /// Remembers the command that destroys object `number`; returns its input for more fields.
    template <class In, class Out, class Field>
    prm::View<In> add(prm::Opcode opcode, std::uint32_t number) {
        prm::Buffer<In> in;
        in.view().template set<typename In::opcode>(opcode);
        in.view().template set<Field>(number);
        steps_.push_back({{in.bytes().begin(), in.bytes().end()}, Out::kBytes});
        return prm::View<In>(steps_.back().input);
    }
    /// Executes all, the last first. Throws CommandFailed at the first that is refused; it and
    /// those before it stay in the list.
    void run(Driver& driver) {
        while (!steps_.empty()) {
            const Step& step = steps_.back();
            driver.execute(step.input, step.output_bytes).require_ok();
            steps_.pop_back();
        }
    }
    void clear() { steps_.clear(); }

  private:
    struct Step {
        std::vector<std::byte> input;
        std::size_t output_bytes;
    };
    std::vector<Step> steps_;
};

/// A root table whose only rule gives every received packet to the TIR.
void forward_all_to(Driver& driver, UndoList& undo, std::uint32_t tirn);

}  // namespace cxsim::scenarios
