// SPDX-License-Identifier: Apache-2.0
// Queue pairs of the RDMA driver: states, work requests in the card's format, doorbells.
#pragma once

#include "scenarios/driver/verbs_objects.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cxsim::scenarios {

struct QpOptions {
    QpService service = QpService::rc;
    std::uint32_t send_requests = 128;     ///< of the largest size allowed below
    std::uint32_t receive_requests = 128;  ///< of the own receive queue; 0: none
    unsigned max_send_sges = 4;            ///< 1 to 32
    unsigned max_receive_sges = 4;         ///< 1 to 32
    unsigned max_inline = 0;               ///< bytes, 900 at most
    VerbsSrq* srq = nullptr;               ///< receives come from here
    std::uint8_t counter_set = 0;
    /// Short SENDs that arrive, and answers of READs and atomics that ask for a completion, come in
    /// the CQE (scatter to CQE); the driver puts them where they belong. Not of datagrams.
    bool data_in_completions = false;
    bool blue_flame = false;  ///< a single WQE of 256 bytes or less is written into the UAR
};

/// From reset to RTS. What a service does not have is not looked at.
struct ConnectionOptions {
    AccessRights access = AccessRights::all();  ///< what the peer may do (local_write unused)
    std::uint16_t pkey_index = 0;
    std::uint32_t queue_key = 0x11111111;  ///< UD
    std::uint32_t remote_qpn = 0;
    AddressHandle path;
    std::uint32_t mtu = 1024;  ///< 256, 512, 1024, 2048, 4096 bytes
    std::uint32_t send_psn = 0;
    std::uint32_t receive_psn = 0;
    std::uint8_t log_responder_resources = 4;  ///< READs and atomics of the peer under way
    std::uint8_t log_initiator_depth = 4;      ///< likewise of this side
    std::uint8_t min_rnr_timer = 12;           ///< code: 0.64 ms
    std::uint8_t ack_timeout = 14;             ///< 4.096 us * 2^n; 0: for ever
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = 7;  ///< 7: for ever
    std::uint8_t log_ack_frequency = 8;
};

class VerbsQp final : public VerbsObject {
  public:
    VerbsQp(VerbsContext& context, const VerbsPd& pd, VerbsCq& send_cq, VerbsCq& receive_cq,
            const QpOptions& options);

    const QpOptions& options() const { return options_; }
    VerbsCq& send_cq() { return send_cq_; }
    VerbsCq& receive_cq() { return receive_cq_; }

    // ---- States; CommandFailed where the card refuses ----

    void to_init(const ConnectionOptions& connection);
    void to_rtr(const ConnectionOptions& connection);
    void to_rts(const ConnectionOptions& connection);
    /// All three.
    void connect(const ConnectionOptions& connection) {
        to_init(connection);
        to_rtr(connection);
        to_rts(connection);
    }
    /// RTS to RTS with other rights of the peer (RC, UC) or another queue key (UD).
    void modify(const ConnectionOptions& connection);
    void to_error();
    /// Both queues are empty again; completions left in the CQs are dropped.
    void to_reset();
    /// SQ error to RTS (UC, UD).
    void recover_send(const ConnectionOptions& connection);
    prm::Buffer<prm::query_qp_out> query();
    VerbsState state();

    // ---- Work requests ----

    /// Puts a request into the send queue; false if that is full. The card learns of it with the
    /// next doorbell, which `doorbell` rings at once. Throws DriverError for a request that the
    /// queue was not made for (pieces, inline bytes, operation of the service).
    bool post_send(const SendRequest& request, bool doorbell = true);
    void ring_doorbell();
    /// False if the receive queue is full. Throws DriverError without an own receive queue.
    bool post_receive(std::uint64_t id, std::span<const Sge> sges);

    /// Requests that were posted and have not been completed by a CQE (unsignaled ones: by a later).
    std::uint32_t sends_outstanding() const { return sends_posted_ - sends_done_; }
    std::uint32_t receives_outstanding() const { return receive_producer_ - receive_consumer_; }

    /// What a CQE of this queue pair tells; used by the CQ.
    Completion completed(std::span<const std::byte> cqe);
    void destroy() override;

  private:
    struct Sent {
        std::uint64_t id = 0;
        std::uint16_t blocks = 0;
        SendOp op = SendOp::nop;
        std::uint32_t serial = 0;  ///< of the request
    };
    template <class In, class Out, class Fill>
    void transition(prm::Opcode opcode, std::uint32_t optional, Fill&& fill);
    std::size_t write_wqe(const SendRequest& request, std::span<std::byte> wqe) const;
    std::size_t write_payload(const SendRequest& request, std::span<std::byte> wqe,
                              std::size_t at) const;
    void check(const SendRequest& request) const;
    void scatter_received(std::uint16_t index, std::span<const std::byte> data) const;
    void scatter_answer(std::uint16_t index, std::span<const std::byte> data) const;

    QpOptions options_;
    VerbsCq& send_cq_;
    VerbsCq& receive_cq_;
    HostBuffer ring_;
    HostBuffer record_;
    std::span<std::byte> send_ring_;
    std::span<std::byte> receive_ring_;
    std::uint64_t receive_stride_ = 0;
    std::uint32_t send_blocks_ = 0;  ///< of the ring
    std::vector<Sent> sent_;         ///< by block
    std::vector<std::uint64_t> receive_ids_;
    std::uint16_t send_producer_ = 0;  ///< in blocks
    std::uint16_t send_consumer_ = 0;
    std::uint16_t announced_ = 0;
    std::uint16_t last_wqe_ = 0;       ///< first block of the WQE posted last
    std::uint32_t sends_posted_ = 0;
    std::uint32_t sends_done_ = 0;
    std::uint16_t receive_producer_ = 0;
    std::uint16_t receive_consumer_ = 0;
    std::uint32_t remote_qpn_ = 0;
    unsigned blue_flame_half_ = 0;
};

/// A receive's pieces; `into` has room for one more than there are, or for exactly these.
void write_pieces(std::span<std::byte> into, std::span<const Sge> sges, std::uint32_t end_key);

}  // namespace cxsim::scenarios
