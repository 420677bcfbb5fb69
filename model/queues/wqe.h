// SPDX-License-Identifier: Apache-2.0
// Send work queue entries: opcodes, how their errors are reported, and the CQEs they end in.
#pragma once

#include "model/queues/translation.h"
#include "model/resources/objects.h"
#include "prm/layouts.h"

#include <array>
#include <cstdint>
#include <span>

namespace cxsim::model {

inline constexpr std::uint32_t kSegmentBytes = 16;     ///< unit of wqe_ctrl_seg.ds
inline constexpr std::uint32_t kBasicBlockBytes = 64;  ///< unit of WQE indices of send queues
inline constexpr std::uint32_t kMaxWqeBytes = 63 * kSegmentBytes;

enum class WqeOpcode : std::uint8_t {
    nop = 0x00,
    send_invalidate = 0x01,
    rdma_write = 0x08,
    rdma_write_immediate = 0x09,
    send = 0x0a,
    send_immediate = 0x0b,
    lso = 0x0e,
    rdma_read = 0x10,
    atomic_compare_swap = 0x11,
    atomic_fetch_add = 0x12,
    atomic_masked_compare_swap = 0x14,
    atomic_masked_fetch_add = 0x15,
    local_invalidate = 0x1b,
    umr = 0x25,
    enhanced_multi_packet_send = 0x29,
};

/// Statuses with the values seen on cards: syndrome, vendor syndrome, hardware syndrome, its type.
namespace wqe_status {
inline constexpr WqeStatus kSuccess{};
inline constexpr WqeStatus kNoInlineHeader{0x01, 0x68, 0x60, 0x10};  ///< local length
inline constexpr WqeStatus kMessageTooLong{0x01, 0x00, 0x00, 0x00};  ///< vendor value not known
inline constexpr WqeStatus kAtomicLength{0x01, 0x00, 0x00, 0x00};    ///< the same
inline constexpr WqeStatus kBadWqe{0x02, 0x68, 0x86, 0x00};          ///< local QP operation
inline constexpr WqeStatus kBadLkey{0x04, 0x52, 0x92, 0x00};         ///< local protection
inline constexpr WqeStatus kOutsideRegion{0x04, 0x53, 0x9d, 0x00};
inline constexpr WqeStatus kGatherFailed{0x04, 0x51, 0x02, 0x00};
/// Where the answer to a READ or atomic should go is not writable, or ends too early.
inline constexpr WqeStatus kBadScatter{0x04, 0x33, 0x9d, 0x00};
/// A receive WQE whose memory does not serve.
inline constexpr WqeStatus kBadReceiveScatter{0x04, 0x32, 0x93, 0x00};
inline constexpr WqeStatus kUmrTooLarge{0x06, 0x78, 0x0f, 0x00};  ///< memory window bind
inline constexpr WqeStatus kUmrListUnreadable{0x06, 0x25, 0x00, 0x00};
/// A memory window that is not bound or given up as asked: its free bit or queue, its domain, the
/// memory it would open. The vendor syndrome of cards is not known.
inline constexpr WqeStatus kBindRefused{0x06, 0x00, 0x00, 0x00};
/// Flushes: the first after software moved the queue to error, and every other.
inline constexpr WqeStatus kFlushFirstSend{0x05, 0xf5, 0x00, 0x00};
inline constexpr WqeStatus kFlushFirstReceive{0x05, 0xf4, 0x00, 0x00};
inline constexpr WqeStatus kFlush{0x05, 0xf9, 0x00, 0x00};
}  // namespace wqe_status

/// How a WQE ends whose memory key does not serve.
WqeStatus protection_status(TranslationError error);

/// The control segment, decoded once.
struct WqeControl {
    std::uint8_t opcode = 0;
    std::uint8_t modifier = 0;
    std::uint16_t index = 0;
    std::uint32_t queue = 0;
    std::uint32_t segments = 0;  ///< ds
    bool signaled = false;       ///< a CQE also on success
    bool solicited = false;      ///< that CQE asks for an EQE ("CQ update and EQE")
    bool solicits_peer = false;  ///< se: the receiver's completion is a solicited one
    std::uint32_t immediate = 0;

    std::uint32_t bytes() const { return segments * kSegmentBytes; }
    /// Basic blocks taken; a WQE of no segment still takes one.
    std::uint16_t blocks() const {
        const std::uint32_t n = (bytes() + kBasicBlockBytes - 1) / kBasicBlockBytes;
        return static_cast<std::uint16_t>(n == 0 ? 1 : n);
    }
};

inline WqeControl decode_control(std::span<const std::byte> wqe) {
    const prm::ConstView<prm::wqe_ctrl_seg> ctrl(wqe);
    WqeControl c;
    c.opcode = static_cast<std::uint8_t>(ctrl.get<prm::wqe_ctrl_seg::opcode>());
    c.modifier = static_cast<std::uint8_t>(ctrl.get<prm::wqe_ctrl_seg::opc_mod>());
    c.index = static_cast<std::uint16_t>(ctrl.get<prm::wqe_ctrl_seg::wqe_index>());
    c.queue = ctrl.get<prm::wqe_ctrl_seg::qp_or_sq>();
    c.segments = ctrl.get<prm::wqe_ctrl_seg::ds>();
    c.signaled = (ctrl.get<prm::wqe_ctrl_seg::ce>() & 2) != 0;
    c.solicited = ctrl.get<prm::wqe_ctrl_seg::ce>() == 3;
    c.solicits_peer = ctrl.get<prm::wqe_ctrl_seg::se>() != 0;
    c.immediate = ctrl.get<prm::wqe_ctrl_seg::imm>();
    return c;
}

/// What every CQE names.
struct CqeOrigin {
    std::uint32_t queue = 0;
    std::uint16_t wqe_counter = 0;
    std::uint8_t opcode = 0;
    /// qpc/sqc/rqc user_index; 0xffffff asks for CQEs of version 0, where the place holds an SRQ
    /// number, none here.
    std::uint32_t user_index = 0xffffff;
};

using Cqe = std::array<std::byte, 64>;

/// A requester's CQE of success (opcode 0). `bytes`: of READ and atomics, what came.
Cqe make_send_cqe(const CqeOrigin& origin, std::uint64_t timestamp, std::uint32_t bytes = 0);
/// Data go out in the CQE, at most kCqeDataBytes: they take the place of what no driver needs then.
void put_data(std::span<std::byte, 64> cqe, std::span<const std::byte> data);
/// A CQE of error: opcode 13 for a requester, 14 for a responder.
Cqe make_error_cqe(const CqeOrigin& origin, const WqeStatus& status, bool responder);

}  // namespace cxsim::model
