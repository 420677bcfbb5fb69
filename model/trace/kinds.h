// SPDX-License-Identifier: Apache-2.0
// Kinds of trace records, each declared once: a struct of at most 40 bytes whose members are named
// and given a format. Text, JSON and timeline output follow from the declaration.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace cxsim::model::trace {

/// How a member is shown.
enum class Format : std::uint8_t {
    decimal,
    hexadecimal,
    time,             ///< picoseconds
    opcode,           ///< command opcode by name
    status,           ///< command status by name
    delivery_status,  ///< command delivery status by name
    event_type,       ///< EQE type by name
    register_id,      ///< access register by name
    direction,        ///< 0 read, 1 write
    dma_status,       ///< model::DmaStatus
    reset_kind,       ///< model::ResetKind
    doorbell_type,    ///< trace::DoorbellType
    log_class,        ///< trace::LogClass
    message,          ///< message id of a Log record, shown with its arguments
    stage,            ///< trace::StageId by name
    hidden,           ///< used by another member's format
};

struct Field {
    std::string_view name;
    std::uint16_t offset;
    std::uint16_t size;
    Format format;
};

struct KindInfo {
    std::string_view name;
    std::span<const Field> fields;
    bool span;        ///< has a member `start`: a slice from there to the record's time
    bool by_default;  ///< recorded without asking: rare enough to be there when an assertion fails
};

enum class DoorbellType : std::uint8_t { command, send, receive, blueflame, cq_arm, eq_arm };
enum class LogClass : std::uint8_t { info, guest, unimplemented };

/// Where a work request and its packets are, in the order of the life of one RDMA WRITE; behind
/// them what a card may have to read before a stage can begin.
enum class StageId : std::uint8_t {
    doorbell,       ///< its write has arrived: until the queue's WQE is asked for
    wqe_fetch,      ///< PCIe read of the work request; none with BlueFlame
    packetize,      ///< work request there: until payload is asked for, or the first bit is sent
    payload_read,   ///< PCIe read of a packet's payload
    transmit,       ///< payload there: until the first bit is sent
    link,           ///< first bit sent until the other end of the cable has the frame
    forward,        ///< in a switch: until the first bit is sent on
    receive,        ///< frame there: headers and keys checked, until its payload is written
    payload_write,  ///< PCIe write of a packet's payload
    acknowledge,    ///< payload's write posted until the answer's first bit is sent
    report,         ///< answer there until the completion is written
    completion,     ///< PCIe write of the completion
    event,          ///< PCIe write of the event
    interrupt,      ///< event written until the interrupt is there
    context_fetch,  ///< PCIe read of a QP's or CQ's context that was not at hand
    translation_fetch,  ///< PCIe read of a key or a translation that was not at hand
};
inline constexpr std::size_t kStageCount = 16;

#define CX_TRACE_FIELD(type, member, format)                                  \
    ::cxsim::model::trace::Field {                                            \
#member, offsetof(type, member), sizeof(type::member), Format::format \
    }

/// A PRM command, recorded when its completion is written. Blobs: input, output.
struct Command {
    std::uint64_t start;  ///< when the doorbell arrived
    std::uint32_t syndrome;
    std::uint16_t opcode;
    std::uint16_t op_mod;
    std::uint16_t slot;
    std::uint8_t status;
    std::uint8_t delivery;
    std::uint32_t input_bytes;
    std::uint32_t output_bytes;
    static constexpr std::string_view kName = "command";
    static constexpr bool kSpan = true;
    static constexpr bool kByDefault = true;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(Command, opcode, opcode),
                          CX_TRACE_FIELD(Command, op_mod, hexadecimal),
                          CX_TRACE_FIELD(Command, slot, decimal),
                          CX_TRACE_FIELD(Command, status, status),
                          CX_TRACE_FIELD(Command, syndrome, hexadecimal),
                          CX_TRACE_FIELD(Command, delivery, delivery_status),
                          CX_TRACE_FIELD(Command, input_bytes, decimal),
                          CX_TRACE_FIELD(Command, output_bytes, decimal),
                          CX_TRACE_FIELD(Command, start, time)};
    }
};

/// A write to a doorbell of a UAR or the command doorbell.
struct Doorbell {
    std::uint64_t value;
    std::uint32_t uar;
    std::uint32_t number;  ///< QP, SQ, CQ or EQ; the vector of a command doorbell
    DoorbellType type;
    static constexpr std::string_view kName = "doorbell";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(Doorbell, type, doorbell_type),
                          CX_TRACE_FIELD(Doorbell, uar, hexadecimal),
                          CX_TRACE_FIELD(Doorbell, number, hexadecimal),
                          CX_TRACE_FIELD(Doorbell, value, hexadecimal)};
    }
};

/// An access to BAR0.
struct Mmio {
    std::uint64_t offset;
    std::uint64_t value;  ///< first 8 bytes, little-endian
    std::uint32_t size;
    std::uint8_t direction;
    static constexpr std::string_view kName = "mmio";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{
            CX_TRACE_FIELD(Mmio, direction, direction), CX_TRACE_FIELD(Mmio, offset, hexadecimal),
            CX_TRACE_FIELD(Mmio, size, decimal), CX_TRACE_FIELD(Mmio, value, hexadecimal)};
    }
};

/// An access to configuration space.
struct ConfigAccess {
    std::uint32_t value;
    std::uint16_t offset;
    std::uint8_t size;
    std::uint8_t direction;
    static constexpr std::string_view kName = "config";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(ConfigAccess, direction, direction),
                          CX_TRACE_FIELD(ConfigAccess, offset, hexadecimal),
                          CX_TRACE_FIELD(ConfigAccess, size, decimal),
                          CX_TRACE_FIELD(ConfigAccess, value, hexadecimal)};
    }
};

/// A DMA request of the card, recorded at its finish.
struct Dma {
    std::uint64_t start;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint8_t direction;  ///< as the card sees it: read fetches from the host
    std::uint8_t status;
    static constexpr std::string_view kName = "dma";
    static constexpr bool kSpan = true;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{
            CX_TRACE_FIELD(Dma, direction, direction), CX_TRACE_FIELD(Dma, address, hexadecimal),
            CX_TRACE_FIELD(Dma, bytes, decimal), CX_TRACE_FIELD(Dma, status, dma_status),
            CX_TRACE_FIELD(Dma, start, time)};
    }
};

/// A work queue element taken for execution. Blob: the WQE.
struct Wqe {
    std::uint32_t queue;
    std::uint32_t index;
    std::uint32_t segments;  ///< of 16 bytes
    std::uint8_t opcode;
    static constexpr std::string_view kName = "wqe";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{
            CX_TRACE_FIELD(Wqe, queue, hexadecimal), CX_TRACE_FIELD(Wqe, index, decimal),
            CX_TRACE_FIELD(Wqe, opcode, hexadecimal), CX_TRACE_FIELD(Wqe, segments, decimal)};
    }
};

/// A completion written. Blob: the CQE.
struct Cqe {
    std::uint32_t cq;
    std::uint32_t index;
    std::uint32_t queue;
    std::uint32_t bytes;
    std::uint16_t wqe_counter;
    std::uint8_t opcode;
    std::uint8_t syndrome;
    static constexpr std::string_view kName = "cqe";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{
            CX_TRACE_FIELD(Cqe, cq, hexadecimal),      CX_TRACE_FIELD(Cqe, index, decimal),
            CX_TRACE_FIELD(Cqe, queue, hexadecimal),   CX_TRACE_FIELD(Cqe, opcode, hexadecimal),
            CX_TRACE_FIELD(Cqe, wqe_counter, decimal), CX_TRACE_FIELD(Cqe, bytes, decimal),
            CX_TRACE_FIELD(Cqe, syndrome, hexadecimal)};
    }
};

/// An event written. Blob: the EQE.
struct Eqe {
    std::uint32_t eq;
    std::uint32_t index;
    std::uint8_t type;
    std::uint8_t sub_type;
    static constexpr std::string_view kName = "eqe";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = true;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(Eqe, eq, decimal), CX_TRACE_FIELD(Eqe, index, decimal),
                          CX_TRACE_FIELD(Eqe, type, event_type),
                          CX_TRACE_FIELD(Eqe, sub_type, hexadecimal)};
    }
};

/// An MSI-X message sent, or held back because its vector is masked.
struct Interrupt {
    std::uint32_t vector;
    std::uint8_t masked;
    static constexpr std::string_view kName = "interrupt";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(Interrupt, vector, decimal),
                          CX_TRACE_FIELD(Interrupt, masked, decimal)};
    }
};

/// An access register read or written through ACCESS_REG or a tool's gateway.
struct RegisterAccess {
    std::uint32_t syndrome;
    std::uint16_t id;
    std::uint8_t direction;
    std::uint8_t status;
    static constexpr std::string_view kName = "register";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = true;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(RegisterAccess, direction, direction),
                          CX_TRACE_FIELD(RegisterAccess, id, register_id),
                          CX_TRACE_FIELD(RegisterAccess, status, status),
                          CX_TRACE_FIELD(RegisterAccess, syndrome, hexadecimal)};
    }
};

struct Reset {
    std::uint8_t reset;
    static constexpr std::string_view kName = "reset";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = true;
    static constexpr auto fields() { return std::array{CX_TRACE_FIELD(Reset, reset, reset_kind)}; }
};

/// A stage that a work request or a packet of it has gone through. Off by default.
struct Stage {
    std::uint64_t start;
    /// Stages with a number in common belong together, whichever card they are of; 0: none.
    std::uint64_t flow;
    std::uint64_t other_flow;  ///< where a flow of work becomes one of packets, or back
    std::uint32_t queue;       ///< QP the packet is for, or whose work it is; CQ, EQ or vector
    std::uint32_t number;      ///< PSN of a packet; index of the WQE, CQE or EQE
    std::uint32_t bytes;       ///< of payload or of the frame
    StageId stage;
    static constexpr std::string_view kName = "stage";
    static constexpr bool kSpan = true;
    static constexpr bool kByDefault = false;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(Stage, stage, stage),
                          CX_TRACE_FIELD(Stage, queue, hexadecimal),
                          CX_TRACE_FIELD(Stage, number, decimal),
                          CX_TRACE_FIELD(Stage, bytes, decimal),
                          CX_TRACE_FIELD(Stage, flow, hexadecimal),
                          CX_TRACE_FIELD(Stage, other_flow, hexadecimal),
                          CX_TRACE_FIELD(Stage, start, time)};
    }
};

/// A log line: the text is in the tracer's message table, the arguments are numbers.
struct Log {
    std::uint64_t arguments[4];
    std::uint32_t message;
    LogClass log_class;
    static constexpr std::string_view kName = "log";
    static constexpr bool kSpan = false;
    static constexpr bool kByDefault = true;
    static constexpr auto fields() {
        return std::array{CX_TRACE_FIELD(Log, log_class, log_class),
                          CX_TRACE_FIELD(Log, message, message),
                          CX_TRACE_FIELD(Log, arguments, hidden)};
    }
};

#undef CX_TRACE_FIELD

/// Every kind; its position is the number in a record. Append only: recordings hold the numbers.
using Kinds = std::tuple<Command, Doorbell, Mmio, ConfigAccess, Dma, Wqe, Cqe, Eqe, Interrupt,
                         RegisterAccess, Reset, Log, Stage>;
inline constexpr std::size_t kKindCount = std::tuple_size_v<Kinds>;

template <class T, std::size_t I = 0>
constexpr std::uint16_t kind_number() {
    static_assert(I < kKindCount, "not in the list of kinds");
    if constexpr (std::is_same_v<T, std::tuple_element_t<I, Kinds>>) {
        return I;
    } else {
        return kind_number<T, I + 1>();
    }
}

/// By number; `number` is below kKindCount.
const KindInfo& kind_info(std::uint16_t number);

/// Names of the enumerations above; empty for other values.
std::string_view doorbell_type_name(std::uint8_t type);
std::string_view log_class_name(std::uint8_t log_class);
std::string_view stage_name(std::uint8_t stage);

}  // namespace cxsim::model::trace
