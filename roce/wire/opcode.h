// SPDX-License-Identifier: Apache-2.0
// Operations of the base transport header (IBTA volume 1, section 9.2.1: service in the top three
// bits, operation in the lower five) and which headers follow.
#pragma once

#include <array>
#include <cstdint>

namespace cxsim::roce {

enum class WireService : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4, xrc = 5 };

/// Lower five bits.
enum class Operation : std::uint8_t {
    send_first = 0x00,
    send_middle = 0x01,
    send_last = 0x02,
    send_last_immediate = 0x03,
    send_only = 0x04,
    send_only_immediate = 0x05,
    write_first = 0x06,
    write_middle = 0x07,
    write_last = 0x08,
    write_last_immediate = 0x09,
    write_only = 0x0a,
    write_only_immediate = 0x0b,
    read_request = 0x0c,
    read_response_first = 0x0d,
    read_response_middle = 0x0e,
    read_response_last = 0x0f,
    read_response_only = 0x10,
    acknowledge = 0x11,
    atomic_acknowledge = 0x12,
    compare_swap = 0x13,
    fetch_add = 0x14,
    send_last_invalidate = 0x16,
    send_only_invalidate = 0x17,
};

/// RoCEv2 congestion notification (IBTA annex A17).
inline constexpr std::uint8_t kCnpOpcode = 0x81;

constexpr std::uint8_t opcode_of(WireService service, Operation operation) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(service) << 5 |
                                     static_cast<unsigned>(operation));
}
constexpr WireService service_of(std::uint8_t opcode) {
    return static_cast<WireService>(opcode >> 5);
}
constexpr Operation operation_of(std::uint8_t opcode) {
    return static_cast<Operation>(opcode & 0x1f);
}

/// What an operation's packet carries and where it stands in its message.
struct OperationTraits {
    bool valid = false;
    bool request = false;
    bool first = false;  ///< also "only"
    bool last = false;   ///< also "only"
    bool send = false;
    bool write = false;
    bool read_response = false;
    bool atomic = false;
    bool reth = false;
    bool aeth = false;
    bool immediate = false;
    bool invalidate = false;
    bool atomic_eth = false;
    bool atomic_ack_eth = false;
    bool payload = false;
};

namespace detail {

constexpr OperationTraits describe(Operation operation) {
    OperationTraits t;
    const auto request = [&](bool first, bool last) {
        t.valid = t.request = true;
        t.first = first;
        t.last = last;
        t.payload = true;
    };
    switch (operation) {
        case Operation::send_first: request(true, false); t.send = true; break;
        case Operation::send_middle: request(false, false); t.send = true; break;
        case Operation::send_last: request(false, true); t.send = true; break;
        case Operation::send_last_immediate: request(false, true); t.send = t.immediate = true; break;
        case Operation::send_only: request(true, true); t.send = true; break;
        case Operation::send_only_immediate: request(true, true); t.send = t.immediate = true; break;
        case Operation::send_last_invalidate: request(false, true); t.send = t.invalidate = true; break;
        case Operation::send_only_invalidate: request(true, true); t.send = t.invalidate = true; break;
        case Operation::write_first: request(true, false); t.write = t.reth = true; break;
        case Operation::write_middle: request(false, false); t.write = true; break;
        case Operation::write_last: request(false, true); t.write = true; break;
        case Operation::write_last_immediate:
            request(false, true);
            t.write = t.immediate = true;
            break;
        case Operation::write_only: request(true, true); t.write = t.reth = true; break;
        case Operation::write_only_immediate:
            request(true, true);
            t.write = t.reth = t.immediate = true;
            break;
        case Operation::read_request:
            request(true, true);
            t.payload = false;
            t.reth = true;
            break;
        case Operation::compare_swap:
        case Operation::fetch_add:
            request(true, true);
            t.payload = false;
            t.atomic = t.atomic_eth = true;
            break;
        case Operation::read_response_first:
            t = {.valid = true, .first = true, .read_response = true, .aeth = true, .payload = true};
            break;
        case Operation::read_response_middle:
            t = {.valid = true, .read_response = true, .payload = true};
            break;
        case Operation::read_response_last:
            t = {.valid = true, .last = true, .read_response = true, .aeth = true, .payload = true};
            break;
        case Operation::read_response_only:
            t = {.valid = true, .first = true, .last = true, .read_response = true, .aeth = true,
                 .payload = true};
            break;
        case Operation::acknowledge:
            t = {.valid = true, .first = true, .last = true, .aeth = true};
            break;
        case Operation::atomic_acknowledge:
            t = {.valid = true, .first = true, .last = true, .aeth = true, .atomic_ack_eth = true};
            break;
    }
    return t;
}

inline constexpr auto kOperationTraits = [] {
    std::array<OperationTraits, 32> table;
    for (std::uint8_t i = 0; i < table.size(); ++i) table[i] = describe(static_cast<Operation>(i));
    return table;
}();

}  // namespace detail

/// Traits of the lower five bits; `valid` is false of numbers without meaning.
constexpr const OperationTraits& traits_of(Operation operation) {
    return detail::kOperationTraits[static_cast<std::uint8_t>(operation) & 0x1f];
}

/// Whether the service has the operation: UC no READ, atomics, acknowledgements or invalidate;
/// UD only SEND of one packet.
constexpr bool allowed(WireService service, Operation operation) {
    const OperationTraits t = traits_of(operation);
    if (!t.valid) return false;
    switch (service) {
        case WireService::rc:
        case WireService::xrc: return true;
        case WireService::uc:
            return t.request && t.payload && !t.invalidate;
        case WireService::ud:
            return operation == Operation::send_only ||
                   operation == Operation::send_only_immediate;
        default: return false;
    }
}

// ---- 24-bit packet sequence numbers ----

inline constexpr std::uint32_t kPsnMask = 0xff'ffff;

constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) { return (psn + n) & kPsnMask; }
/// Signed distance from `b` to `a` in the half space of 2^23.
constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t d = (a - b) & kPsnMask;
    return d < 0x80'0000 ? static_cast<std::int32_t>(d)
                         : static_cast<std::int32_t>(d) - 0x100'0000;
}

// ---- AETH syndrome: kind in bits 6:5, value in bits 4:0 ----

enum class AethKind : std::uint8_t { ack = 0, rnr_nak = 1, nak = 3 };
enum class NakCode : std::uint8_t {
    psn_sequence_error = 0,
    invalid_request = 1,
    remote_access_error = 2,
    remote_operational_error = 3,
    invalid_rd_request = 4,
};
inline constexpr std::uint8_t kUnlimitedCredits = 31;

constexpr std::uint8_t aeth_syndrome(AethKind kind, std::uint8_t value) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 5 | (value & 0x1fU));
}
constexpr AethKind aeth_kind(std::uint8_t syndrome) {
    return static_cast<AethKind>(syndrome >> 5 & 3);
}
constexpr std::uint8_t aeth_value(std::uint8_t syndrome) { return syndrome & 0x1f; }

}  // namespace cxsim::roce
