// SPDX-License-Identifier: Apache-2.0
// All operations at once over a bad wire, with everything known that must come of them.
#pragma once

#include "tests/integration/soak/loose_end.h"
#include "tests/integration/soak/rc_end.h"
#include "tests/integration/soak/soak_bench.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cxsim::test {

/// How a card's driver and function end while the cable stays.
enum class Death : std::uint8_t {
    function_reset,  ///< FLR
    teardown,        ///< the driver takes the function down with all queue pairs connected
};

class Soak {
  public:
    /// Queue pairs connected, wire still good.
    explicit Soak(const SoakOptions& options);

    /// Harm on, requests until options.payload is posted, then until all are done. Calls `report`
    /// now and then. Throws SoakFailure.
    void run(const std::function<void()>& report = {});
    /// The same until `payload` bytes are done, with requests under way at the end.
    void run_until(std::uint64_t payload, const std::function<void()>& report = {});
    /// No more requests; all those under way get done.
    void drain();
    /// After drain(): words of memory, completions that nobody asked for, and the books of cards
    /// and wire. Returns what does not agree, in words.
    std::vector<std::string> check_books();

    /// Card 1 dies with requests under way on all queue pairs. Then all of card 0's requests must
    /// fail, all its receives come back, and all its objects can go. Throws SoakFailure.
    void kill(Death death);

    const SoakOptions& options() const { return options_; }
    const SoakTotals& totals() const { return totals_; }
    SoakBench& bench() { return bench_; }
    /// By name: what happened on the wire and in the cards, both directions together.
    std::vector<std::pair<std::string, std::uint64_t>> summary();
    const std::vector<std::unique_ptr<LooseEnd>>& loose_ends() const { return loose_; }

  private:
    struct Owner {
        RcEnd* reliable = nullptr;
        LooseEnd* loose = nullptr;
    };
    void post(bool more);
    void poll(unsigned side);
    void step(bool more);

    SoakOptions options_;
    SoakBench bench_;
    Pattern pattern_;
    SoakTotals totals_;
    std::array<SoakShared, 2> shared_;
    std::vector<std::unique_ptr<RcEnd>> ends_;     ///< card 0's and card 1's in turn
    std::vector<std::unique_ptr<LooseEnd>> loose_;
    std::array<std::unordered_map<std::uint32_t, Owner>, 2> by_number_;  ///< never iterated
    model::RandomStream random_;
    model::Picoseconds next_age_check_;
    bool survivor_alone_ = false;
};

}  // namespace cxsim::test
