// SPDX-License-Identifier: Apache-2.0
// One queue pair of an unreliable service under soak: messages may get lost, come twice or in
// another order, but what comes is whole and was sent, and every request ends.
#pragma once

#include "tests/integration/soak/rc_end.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cxsim::test {

class LooseEnd {
  public:
    LooseEnd(const SoakOptions& options, SoakStation& station, SoakShared& shared,
             Pattern& pattern, scenarios::QpService service, unsigned index, unsigned side);

    void connect(LooseEnd& peer);
    scenarios::VerbsQp& qp() { return *qp_; }
    bool may_post() const { return next_serial_ - next_done_ < options_.slots; }
    bool idle() const { return next_serial_ == next_done_; }
    void post();
    void sent(const scenarios::Completion& done);
    void received(const scenarios::Completion& done);
    void check_age(model::Picoseconds now);

    std::uint64_t messages() const { return next_serial_; }
    /// Of the peer's messages: how many have come at least once, and copies beyond that.
    std::uint64_t arrived() const { return arrived_; }
    std::uint64_t copies() const { return copies_; }

  private:
    std::uint64_t number_of(std::uint64_t serial) const { return identity_ << 40 ^ serial; }
    std::uint64_t size_of(std::uint64_t serial) const;
    bool immediate_of(std::uint64_t serial) const { return (mix(number_of(serial)) >> 50) % 2 != 0; }
    bool datagrams() const { return qp_->options().service == scenarios::QpService::ud; }
    [[noreturn]] void fail(std::uint64_t serial, const char* what) const;

    const SoakOptions& options_;
    SoakStation& station_;
    Pattern& pattern_;
    std::string name_;
    std::uint64_t identity_;
    scenarios::VerbsMr* region_ = nullptr;
    scenarios::VerbsQp* qp_ = nullptr;
    std::unique_ptr<ReceivePool> pool_;
    LooseEnd* peer_ = nullptr;
    scenarios::AddressHandle to_peer_;
    std::uint64_t next_serial_ = 0;
    std::uint64_t next_done_ = 0;
    std::vector<model::Picoseconds> posted_;  ///< by slot
    std::vector<bool> seen_;                  ///< the peer's messages, by serial
    std::uint64_t arrived_ = 0;
    std::uint64_t copies_ = 0;
};

}  // namespace cxsim::test
