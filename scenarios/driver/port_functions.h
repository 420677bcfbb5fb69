// SPDX-License-Identifier: Apache-2.0
// What an administrator's tools do with a card's port: access registers by name, priorities and
// flow control, parameters of congestion control by their real names.
#pragma once

#include "model/prm/register_id.h"
#include "scenarios/driver/driver.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace cxsim::scenarios {

/// `data` is the register's content, in and out. Throws CommandFailed.
void access_register(Driver& driver, prm::RegisterId id, bool write, std::span<std::byte> data);
/// By name and fields, e.g. ("PFCC", {{"local_port", 1}}, false); answers with the fields that the
/// card returned. local_port is 1 unless given. Throws CommandFailed, or DriverError for names and
/// values that do not exist.
nlohmann::ordered_json access_register(Driver& driver, std::string_view name,
                                       const nlohmann::ordered_json& fields, bool write);

/// Priorities of the port and which of them are lossless.
struct PriorityOptions {
    std::uint8_t lossless = 0;  ///< priority flow control in both directions, a bit each (PFCC)
    bool trust_dscp = false;    ///< priorities of IP packets come from their DSCP (QPTS)
    /// DSCP to priority, 0 to 7 (QPDPM). Those not named stay as they are: DSCP / 8 at first.
    std::map<std::uint8_t, std::uint8_t> priority_of_dscp{};
};
/// Without lossless priorities pauses of the whole link stay as they are. Queue pairs take over the
/// priorities when their state changes. Throws CommandFailed, or DriverError for a DSCP or
/// priority that does not exist.
void set_priorities(Driver& driver, const PriorityOptions& options);

/// All parameters by name, sender's side (rpg_*, ...) and receiver's (cnp_*, ...).
std::map<std::string, std::uint32_t> congestion_parameters(Driver& driver);
/// Changes those named, with one MODIFY_CONG_PARAMS for each side. Throws DriverError for a name
/// that does not exist, CommandFailed for a value that the card refuses.
void set_congestion_parameters(Driver& driver, const std::map<std::string, std::uint32_t>& wanted);

/// Who takes part in congestion control, by priority: senders slow down, receivers notify.
struct CongestionStatus {
    bool reaction_point = true;
    bool notification_point = true;
};
CongestionStatus congestion_status(Driver& driver, std::uint8_t priority);
void set_congestion_status(Driver& driver, std::uint8_t priority, CongestionStatus status);

}  // namespace cxsim::scenarios
