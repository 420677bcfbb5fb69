// SPDX-License-Identifier: Apache-2.0
// How the in-process driver fails: always with a text that says who waited for whom, or who
// refused what.
#pragma once

#include "model/prm/status.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cxsim::scenarios {

class DriverError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Simulated time ran out while the driver waited for the card.
class DriverTimeout : public DriverError {
  public:
    using DriverError::DriverError;
};

/// A command that was not delivered or that was refused.
class CommandFailed : public DriverError {
  public:
    CommandFailed(std::uint16_t opcode, prm::DeliveryStatus delivery, prm::Status status,
                  std::uint32_t syndrome);

    std::uint16_t opcode() const { return opcode_; }
    prm::DeliveryStatus delivery() const { return delivery_; }
    /// As in the output; OK when the command was not delivered.
    prm::Status status() const { return status_; }
    std::uint32_t syndrome() const { return syndrome_; }

  private:
    std::uint16_t opcode_;
    prm::DeliveryStatus delivery_;
    prm::Status status_;
    std::uint32_t syndrome_;
};

/// "QUERY_HCA_CAP", or "opcode 0x1234".
std::string command_name(std::uint16_t opcode);

}  // namespace cxsim::scenarios
