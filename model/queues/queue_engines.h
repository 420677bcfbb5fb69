// SPDX-License-Identifier: Apache-2.0
// The queues of one function at work: doorbells, send queues, completions, events, and what
// happens to work in error. Commands create and destroy the objects (model/resources) and tell the
// engines of state changes; everything else comes from the driver's doorbells and memory.
#pragma once

#include "model/prm/event_type.h"
#include "model/queues/queue_context.h"
#include "model/queues/queue_counters.h"
#include "model/queues/queue_ports.h"

#include <cstdint>
#include <memory>
#include <span>

namespace cxsim::model {

class QpQueues;
class Translator;
class Transport;

/// Times `at` and `arrival` may lie ahead of the calendar's now(), never before it. Objects passed
/// by reference must live in `context.resources`. An event of the calendar that finds its object
/// gone or reset does nothing, so that tables may be cleared at any time.
class QueueEngines {
  public:
    explicit QueueEngines(const QueueContext& context);
    /// Takes back the pending events of all objects that still live.
    ~QueueEngines();
    QueueEngines(const QueueEngines&) = delete;
    QueueEngines& operator=(const QueueEngines&) = delete;

    /// Null: SEND and LSO end at a port without a cable (checked, counted, completed).
    void set_packet_sink(PacketSink* sink);
    void set_listener(QueueListener* listener);
    /// Null: RC and UC operations are refused, UD sends go to the packet sink. To be set before
    /// the first QP is in use, and taken back before the transport goes.
    void set_transport(Transport* transport);
    /// What the transport asks and reports.
    QpQueues& qp_queues();

    // ---- UAR pages; `page` is the UAR's number, `offset` the byte inside its 4 KiB ----

    /// A posted write of the driver. What is no doorbell is ignored and counted.
    void uar_write(Picoseconds arrival, std::uint64_t page, std::uint32_t offset,
                   std::span<const std::byte> data);
    /// Doorbells that wait for the rest of their WQE, which comes store by store.
    unsigned doorbells_held() const;
    /// UAR pages are write-only: reads give zeros.
    void uar_read(std::uint64_t page, std::uint32_t offset, std::span<std::byte> into) const;

    // ---- Events ----

    /// Writes one EQE into `eq` and raises its interrupt if armed. `data` is the event_data
    /// member, at most 28 bytes. False: overrun or the host refused the write (counted).
    bool post(Eq& eq, Picoseconds at, prm::EventType type, std::uint8_t subtype,
              std::span<const std::byte> data);
    /// Posts to every event queue that subscribes to `type`; returns how many took it.
    unsigned post_event(Picoseconds at, prm::EventType type, std::uint8_t subtype,
                        std::span<const std::byte> data);

    // ---- Completions ----

    /// Appends a CQE (64 bytes in PRM form, owner and validity count are set here) that goes out
    /// at `at`. `solicited`: counts for queues armed for solicited completions; errors do. False:
    /// the queue is in error, or went into error by this CQE.
    bool complete(Cq& cq, Picoseconds at, std::span<std::byte, 64> cqe, bool solicited);
    /// MODIFY_CQ of the moderation; zero count and period: every CQE is reported at once.
    void set_moderation(Cq& cq, Picoseconds at, std::uint32_t count, Picoseconds period);
    /// MODIFY_CQ RESIZE: the old ring gets a RESIZE_CQ entry, the producer goes on in the new ring.
    /// Nothing is copied. False if that entry did not fit (the queue is in error then).
    bool resize(Cq& cq, Picoseconds at, HostRing ring, std::uint32_t log_size,
                std::uint32_t cqe_bytes);

    // ---- Receiving ----

    /// Puts a packet into the next buffer of `rq` and completes it when it has left the card.
    ReceiveOutcome receive(Rq& rq, Picoseconds at, const ReceiveRequest& request);

    /// The longest packet that one WQE of `rq` can hold; 0 if that differs from WQE to WQE.
    std::uint32_t largest_packet(const Rq& rq) const;

    // ---- Life of queues ----

    void started(Sq& sq);  ///< RST -> RDY
    void stopped(Sq& sq);  ///< -> ERR or RST, as sq.state says
    void started(Rq& rq);  ///< RST -> RDY
    void stopped(Rq& rq);  ///< -> ERR or RST, as rq.state says
    /// qp.state has been changed by a command from `old`. RESET clears the queues, RTS resumes
    /// them, ERR flushes them.
    void qp_state_changed(Qp& qp, QpState old);
    /// A command has set the limit of an SRQ, XRC SRQ or RMP (limit_watermark, or rmpc.wq.lwm): it
    /// is reported, once, when fewer WQEs than that are posted.
    void limit_armed(ObjectId shared_queue);
    /// Bus mastering is on again: queues that could not read their WQEs go on.
    void bus_master_enabled();
    /// A command has written the context of a CQ, QP, SQ, RQ or mkey: the card has it at hand.
    void context_written(ObjectId id);
    /// Call before the object leaves its table: its pending events are taken back.
    void destroyed(ObjectId id);
    /// Takes back all pending events: the function was reset. Call before Resources::clear().
    void reset();

    /// For QUERY commands: brings counters, state and status of the context up to date.
    void refresh(Eq& eq) const;
    void refresh(Cq& cq) const;
    void refresh(Sq& sq) const;
    void refresh(Rq& rq) const;
    void refresh(Qp& qp) const;

    Translator& translator();
    const QueueCounters& counters() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace cxsim::model
