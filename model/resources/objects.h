// SPDX-License-Identifier: Apache-2.0
// The objects of a function as the driver made them: their PRM context and what the engines of
// model/queues need at hand. Plain state; behaviour lives with the engines and the commands.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/base/units.h"
#include "model/memory/host_ring.h"
#include "model/ports/host_bus.h"
#include "model/prm/view.h"
#include "model/resources/charge.h"
#include "model/resources/object.h"
#include "model/sim/calendar.h"
#include "prm/layouts.h"

namespace cxsim::model {

/// An object that keeps its context in PRM form: what CREATE wrote and QUERY returns.
template <class Layout>
struct ContextObject : Object {
    std::array<std::byte, Layout::kBytes> context{};

    prm::View<Layout> view() { return prm::View<Layout>(context); }
    prm::ConstView<Layout> view() const { return prm::ConstView<Layout>(context); }
};

/// What a UAR page has received of doorbells that come in pieces.
struct UarLatches {
    struct BlueFlame {
        std::array<std::byte, 256> data{};
        std::uint64_t filled = 0;  ///< bit per dword written since the buffer's first dword
        EventHandle held;          ///< doorbell that waits for the rest of its WQE
    };
    std::array<BlueFlame, 8> blue_flame;
    bool piecewise = false;  ///< BlueFlame writes arrive store by store on this page
    std::array<std::byte, 4> cq_arm{};  ///< first half of an arm doorbell
    bool cq_arm_valid = false;
};

struct Uar : Object {
    std::unique_ptr<UarLatches> latches;  ///< made with the first doorbell that needs it
};
struct Pd : Object {};
struct TransportDomain : Object {};
struct Xrcd : Object {};

/// Event queue: a ring of 64-byte EQEs with an owner bit, and an interrupt vector.
struct Eq : ContextObject<prm::eqc> {
    HostRing ring;
    std::uint32_t log_size = 0;
    std::uint32_t vector = 0;
    /// Event types that go to this queue (bit = type), 256 bits. Completion queues take none.
    std::array<std::uint64_t, 4> event_bitmask{};
    std::uint32_t producer = 0;  ///< free running
    std::uint32_t consumer = 0;  ///< as the driver last wrote it, 24 bits
    bool armed = false;
    bool overrun = false;
    Picoseconds written;  ///< when the last entry went out: none goes before it

    std::uint32_t entries() const { return 1U << log_size; }
    bool takes(std::uint8_t event_type) const {
        return ((event_bitmask[event_type / 64] >> (event_type % 64)) & 1) != 0;
    }
};

enum class CqArm : std::uint8_t { none, solicited, any };

/// Completions of a compressing queue that wait for more of their kind.
struct CqCompression {
    std::vector<std::array<std::byte, 64>> waiting;  ///< uncompressed, oldest first
    std::array<std::byte, 64> title{};  ///< enhanced layout: the last completion written in full
    bool title_valid = false;
    EventHandle flush;
};

/// Completion queue.
struct Cq : ContextObject<prm::cqc> {
    HostRing ring;
    std::uint32_t log_size = 0;
    std::uint32_t cqe_bytes = 64;
    std::uint32_t eqn = 0;
    HostAddress doorbell_record;
    bool overrun_ignore = false;
    std::uint32_t producer = 0;  ///< free running
    Picoseconds written;         ///< when the last entry went out: none goes before it
    CqArm arm = CqArm::none;
    std::uint32_t arm_sequence = 0;     ///< cmd_sn of the last arm
    std::uint32_t reported = 0;         ///< producer at the last event, or the consumer beyond it
    std::uint32_t events = 0;           ///< completion EQEs sent
    bool error = false;                 ///< overrun: no more CQEs
    // Moderation: an armed queue reports after so many CQEs or so long after the first.
    std::uint32_t moderation_count = 0;
    Picoseconds moderation_period;
    std::uint32_t unreported = 0;
    bool unreported_solicited = false;
    EventHandle moderation_timer;
    std::uint32_t consumer = 0;        ///< free running, as last learnt from the driver
    std::uint32_t solicited_end = 0;   ///< producer after the last solicited CQE
    Picoseconds last_event;            ///< when the last completion EQE was decided
    std::uint64_t tag = 0;             ///< of the engine's calendar events; 0: none yet
    std::unique_ptr<CqCompression> compression;  ///< made with the first completion to compress

    std::uint32_t entries() const { return 1U << log_size; }
};

/// Memory key. Translation entries are kept as they came: MTT, KLM or KSM by access mode.
struct Mkey : ContextObject<prm::mkc> {
    std::uint8_t variant = 0;  ///< low byte of the key
    bool page_access = false;  ///< MTTs carry read and write bits (CREATE_MKEY pg_access)
    ChargedBytes translations;

    void charge(std::uint64_t& account) { translations.open(account); }
    std::uint32_t key() const { return (id.number << 8) | variant; }
};

enum class QueueState : std::uint8_t { reset, ready, error };

/// How a WQE ended. Syndrome 0 is success; the others are the error CQE's.
struct WqeStatus {
    std::uint8_t syndrome = 0;
    std::uint8_t vendor_syndrome = 0;
    std::uint8_t hardware_syndrome = 0;
    std::uint8_t hardware_syndrome_type = 0;

    bool ok() const { return syndrome == 0; }
    friend constexpr bool operator==(const WqeStatus&, const WqeStatus&) = default;
};

/// A queue in error: its doorbell record is read now and then for WQEs to flush.
struct ErrorScan {
    EventHandle event;
    std::uint32_t idle_rounds = 0;    ///< scans in a row that found nothing
    bool by_software = false;         ///< a command moved the queue to error, not a bad WQE
    bool send_flush_begun = false;    ///< the first flush CQE differs from the rest
    bool receive_flush_begun = false;
};

/// So many bytes of data find room in a CQE of 64 bytes.
inline constexpr std::size_t kCqeDataBytes = 32;

/// One direction of a work queue in host memory.
struct WorkQueue {
    HostRing ring;
    std::uint32_t log_size = 0;    ///< in strides
    std::uint32_t log_stride = 0;  ///< bytes
    HostAddress doorbell_record;
    std::uint32_t uar_page = 0;
    std::uint16_t producer = 0;    ///< in strides, as the doorbell record says
    std::uint16_t consumer = 0;    ///< next WQE to execute
    bool active = false;           ///< an event of the engine is pending
    EventHandle event;             ///< that event
    std::uint64_t tag = 0;         ///< of the engine's calendar events; 0: none yet
    std::vector<std::byte> fetched;  ///< what was read of the queue from `consumer` on
    Picoseconds completed_until;   ///< time of the latest completion under way
    std::vector<EventHandle> completions;  ///< under way, oldest first
    /// Data of those completions that carry some.
    std::vector<std::array<std::byte, kCqeDataBytes>> completion_data;
    WqeStatus failure;             ///< of the WQE at `consumer`, not yet reported
    std::uint16_t linked_index = 0;  ///< linked lists: the WQE at the list's head
    std::uint32_t strides_used = 0;  ///< striding receive queues: of the WQE at `consumer`
    std::uint32_t fetched_used = 0;  ///< receive queues: bytes of `fetched` that are consumed
    std::uint32_t blue_flame_page = 0;  ///< UAR page and buffer of the last send doorbell
    std::uint8_t blue_flame_buffer = 0;
    bool blue_flame = false;

    std::uint32_t entries() const { return 1U << log_size; }
    std::uint64_t stride() const { return std::uint64_t{1} << log_stride; }
};

struct Sq : ContextObject<prm::sqc> {
    QueueState state = QueueState::reset;
    WorkQueue wq;
    ErrorScan scan;
    std::uint32_t cqn = 0;
};

struct Rq : ContextObject<prm::rqc> {
    QueueState state = QueueState::reset;
    WorkQueue wq;
    ErrorScan scan;
    std::uint32_t cqn = 0;
};

struct Rmp : ContextObject<prm::rmpc> {
    QueueState state = QueueState::reset;
    WorkQueue wq;
};

struct Srq : ContextObject<prm::srqc> {
    WorkQueue wq;
    std::uint32_t limit_watermark = 0;
};

struct XrcSrq : ContextObject<prm::xrc_srqc> {
    WorkQueue wq;
    std::uint32_t limit_watermark = 0;
};

/// IBTA states with the PRM's numbers (qpc.state).
enum class QpState : std::uint8_t {
    reset = 0,
    init = 1,
    rtr = 2,
    rts = 3,
    sq_error = 4,
    sq_drained = 5,
    error = 6,
    sq_draining = 7,
};

struct Qp : ContextObject<prm::qpc> {
    QpState state = QpState::reset;
    WorkQueue sq;
    WorkQueue rq;
    ErrorScan scan;
    std::uint32_t send_cqn = 0;
    std::uint32_t receive_cqn = 0;
    std::uint32_t next_send_psn = 0;
};

struct Tis : ContextObject<prm::tisc> {};
struct Tir : ContextObject<prm::tirc> {};

struct Rqt : ContextObject<prm::rqtc> {
    std::vector<std::uint32_t> entries;  ///< RQ numbers (or virtqueues); zero-filled to max_size
};

/// Counters of a queue counter set; names are query_q_counter_out's.
struct QCounter : Object {
    std::map<std::string_view, std::uint64_t> values;
};

struct FlowTable : ContextObject<prm::flow_table_context> {
    std::uint8_t table_type = 0;
    std::uint16_t vport = 0;
    std::uint32_t log_size = 0;
    std::uint32_t level = 0;
    std::map<std::uint32_t, std::uint32_t> groups;  ///< group numbers by first flow index
};

/// A rule. Not an object of its own: it has no number but its index in the table.
struct FlowEntry {
    static constexpr std::uint64_t kContextBytes = 256;

    std::vector<std::byte> context;  ///< flow_context, its destinations, then its counters
    std::vector<ObjectId> holds;     ///< pinned for the actions and destinations
};

struct FlowGroup : Object {
    std::uint32_t table = 0;
    std::uint32_t start_index = 0;
    std::uint32_t end_index = 0;
    std::uint8_t criteria_enable = 0;
    std::vector<std::byte> match_criteria;  ///< fte_match_param
    ChargedMap<FlowEntry> entries;

    void charge(std::uint64_t& account) { entries.open(account); }
};

struct FlowCounter : Object {
    std::uint32_t block = 0;  ///< counters allocated with this one as the first; 0: not the first
    std::uint64_t packets = 0;
    std::uint64_t octets = 0;
};

struct ModifyHeader : Object {
    std::uint8_t table_type = 0;
    std::vector<std::byte> actions;
};

struct PacketReformat : Object {
    std::uint8_t reformat_type = 0;
    std::uint8_t parameter_0 = 0;
    std::uint8_t parameter_1 = 0;
    std::vector<std::byte> data;
};

struct SchedulingElement : ContextObject<prm::scheduling_context> {
    std::uint8_t hierarchy = 0;
};

struct VxlanUdpDport : Object {
    std::uint16_t port = 0;
};

}  // namespace cxsim::model
