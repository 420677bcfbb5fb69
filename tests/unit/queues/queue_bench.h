// SPDX-License-Identifier: Apache-2.0
// The queue engines on a fake host, and the driver's half of each queue: rings initialized,
// doorbells rung and entries polled as the mlx5 driver does.
#pragma once

#include "model/memory/context_caches.h"
#include "model/queues/queue_engines.h"
#include "model/queues/translation.h"
#include "prm/layouts.h"
#include "tests/support/fake_host_bus.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace cxsim::test {

using namespace cxsim::model;  // NOLINT: a test bench speaks of nothing else

inline constexpr std::uint32_t kPd = 7;

struct EqDriver {
    Eq* eq = nullptr;
    std::uint32_t consumer = 0;
};
struct CqDriver {
    Cq* cq = nullptr;
    std::uint64_t ring = 0;
    std::uint32_t consumer = 0;
    std::uint32_t arm_sequence = 0;
};
struct SqDriver {
    std::uint32_t number = 0;
    std::uint64_t ring = 0;
    std::uint32_t blocks = 0;
    std::uint64_t record = 0;
    std::uint16_t producer = 0;
};

struct SeenCqe {
    std::array<std::byte, 64> bytes{};
    std::uint32_t opcode = 0;
    std::uint32_t send_opcode = 0;
    std::uint32_t queue = 0;
    std::uint32_t wqe_counter = 0;
    std::uint32_t syndrome = 0;
    std::uint32_t vendor = 0;
    std::uint32_t hardware = 0;
};
struct SeenEqe {
    std::uint32_t type = 0;
    std::uint32_t subtype = 0;
    std::array<std::byte, 28> data{};
    std::uint32_t number() const { return model::load_be<std::uint32_t>(data.data() + 24); }
};

inline ResourceLimits bench_limits() {
    ResourceLimits limits;
    limits.of.fill(1000);
    return limits;
}

/// Contexts one behind the other, where nothing else is.
struct ContextPages : ContextMemory {
    std::optional<HostAddress> context_address(ContextKind kind, std::uint32_t owner,
                                               std::uint32_t index,
                                               std::uint32_t bytes) const override {
        return HostAddress{(std::uint64_t{1} << 40) + (std::uint64_t{owner} + index) * bytes +
                           (std::uint64_t{static_cast<std::uint8_t>(kind)} << 36)};
    }
};

class QueueBench {
  public:
    QueueBench() : QueueBench(0) {}
    /// With caches of so many entries each; 0: all contexts are at hand.
    explicit QueueBench(std::uint32_t cached)
        : caches(cached == 0 ? nullptr
                             : std::make_unique<ContextCaches>(
                                   FunctionId{0}, host, context_pages,
                                   ContextCacheConfig{.entries = {cached, cached, cached, cached}},
                                   statistics, "icm")) {}

    QueueTiming timing{nanoseconds(50), nanoseconds(20), nanoseconds(30), nanoseconds(40),
                       picoseconds(12800)};
    Calendar calendar;
    FakeHostBus host;
    Resources resources{bench_limits()};
    SpecialKeys keys{0x1ff00, 0x1fe00, 0x100};
    ContextPages context_pages;
    stats::Group statistics{"bench"};
    std::unique_ptr<ContextCaches> caches;
    QueueEngines engines{
        {FunctionId{0}, resources, host, calendar, timing, keys, caches.get()}};
    std::uint32_t uar = resources.uars.create()->id.number;
    std::uint32_t pa_key = physical_key(kPd);

    const QueueCounters& counters() const { return engines.counters(); }
    void run(Picoseconds duration = microseconds(20)) {
        calendar.run_until(calendar.now() + duration);
    }

    std::uint64_t allocate(std::uint64_t bytes) {
        const std::uint64_t address = next_;
        next_ += (bytes + 4095) / 4096 * 4096 + 4096;  // a hole behind each buffer
        return address;
    }
    HostRing make_ring(std::uint64_t address, std::uint64_t bytes) {
        std::vector<std::uint64_t> pages;
        for (std::uint64_t at = 0; at < bytes; at += 4096) pages.push_back(address + at);
        return HostRing(pages, 0, 0);
    }

    EqDriver create_eq(std::uint32_t log_size, std::uint32_t vector,
                       std::initializer_list<std::uint8_t> types = {}) {
        Eq& eq = *resources.eqs.create();
        const std::uint64_t bytes = std::uint64_t{64} << log_size;
        const std::uint64_t ring = allocate(bytes);
        for (std::uint64_t at = 0; at < bytes; at += 64) host.fill(ring + at + 63, 1, 1);
        eq.ring = make_ring(ring, bytes);
        eq.log_size = log_size;
        eq.vector = vector;
        for (const std::uint8_t type : types) {
            eq.event_bitmask[type / 64] |= std::uint64_t{1} << (type % 64);
        }
        eq.view().set<prm::eqc::uar_page>(uar);
        return {&eq, 0};
    }
    void update_eq(EqDriver& driver, bool arm) {
        std::array<std::byte, 4> value{};
        model::store_be<std::uint32_t>(value.data(),
                                       driver.eq->id.number << 24 | (driver.consumer & 0xffffff));
        engines.uar_write(calendar.now(), uar, arm ? 0x40 : 0x48, value);
    }
    std::optional<SeenEqe> poll_eq(EqDriver& driver) {
        const std::uint32_t slot = driver.consumer & (driver.eq->entries() - 1);
        std::array<std::byte, 64> bytes{};
        host.peek(driver.eq->ring.address(std::uint64_t{slot} * 64).value, bytes);
        const prm::ConstView<prm::eqe> eqe(bytes);
        const std::uint32_t lap = driver.consumer >> driver.eq->log_size;
        if (((eqe.get<prm::eqe::owner>() ^ lap) & 1) != 0) return std::nullopt;
        ++driver.consumer;
        SeenEqe seen{eqe.get<prm::eqe::event_type>(), eqe.get<prm::eqe::event_sub_type>(), {}};
        std::ranges::copy(eqe.bytes<prm::eqe::event_data>(), seen.data.begin());
        return seen;
    }

    CqDriver create_cq(std::uint32_t log_size, std::uint32_t eqn, std::uint32_t cqe_bytes = 64) {
        Cq& cq = *resources.cqs.create();
        cq.log_size = log_size;
        cq.cqe_bytes = cqe_bytes;
        cq.eqn = eqn;
        const std::uint64_t ring = make_cq_ring(log_size, cqe_bytes);
        cq.ring = make_ring(ring, std::uint64_t{cqe_bytes} << log_size);
        cq.doorbell_record = {allocate(64)};
        cq.view().set<prm::cqc::uar_page>(uar);
        return {&cq, ring, 0, 0};
    }
    std::uint64_t make_cq_ring(std::uint32_t log_size, std::uint32_t cqe_bytes) {
        const std::uint64_t bytes = std::uint64_t{cqe_bytes} << log_size;
        const std::uint64_t ring = allocate(bytes);
        for (std::uint64_t at = cqe_bytes; at <= bytes; at += cqe_bytes) {
            host.fill(ring + at - 1, 1, 0xf1);
        }
        return ring;
    }
    void arm_cq(CqDriver& driver, bool solicited = false) {
        std::array<std::byte, 8> value{};
        model::store_be<std::uint32_t>(value.data(), (driver.arm_sequence & 3) << 28 |
                                                         (solicited ? 1U << 24 : 0U) |
                                                         (driver.consumer & 0xffffff));
        model::store_be<std::uint32_t>(value.data() + 4, driver.cq->id.number);
        engines.uar_write(calendar.now(), uar, 0x20, value);
    }
    void update_cq(CqDriver& driver) {
        host.store_be<std::uint32_t>(driver.cq->doorbell_record.value, driver.consumer & 0xffffff);
    }
    std::optional<SeenCqe> poll_cq(CqDriver& driver) {
        const std::uint32_t slot = driver.consumer & (driver.cq->entries() - 1);
        const std::uint64_t at = driver.ring + std::uint64_t{slot + 1} * driver.cq->cqe_bytes - 64;
        SeenCqe seen;
        host.peek(at, seen.bytes);
        const prm::ConstView<prm::err_cqe> cqe(seen.bytes);
        const std::uint32_t lap = driver.consumer >> driver.cq->log_size;
        seen.opcode = cqe.get<prm::err_cqe::opcode>();
        if (seen.opcode == 0xf || ((cqe.get<prm::err_cqe::owner>() ^ lap) & 1) != 0) {
            return std::nullopt;
        }
        ++driver.consumer;
        seen.send_opcode = cqe.get<prm::err_cqe::send_opcode>();
        seen.queue = cqe.get<prm::err_cqe::qpn>();
        seen.wqe_counter = cqe.get<prm::err_cqe::wqe_counter>();
        seen.syndrome = cqe.get<prm::err_cqe::syndrome>();
        seen.vendor = cqe.get<prm::err_cqe::vendor_err_synd>();
        seen.hardware = cqe.get<prm::err_cqe::hw_err_synd>();
        return seen;
    }
    std::vector<SeenCqe> drain_cq(CqDriver& driver) {
        std::vector<SeenCqe> seen;
        while (auto cqe = poll_cq(driver)) seen.push_back(*cqe);
        update_cq(driver);
        return seen;
    }

    void fill_wq(WorkQueue& wq, std::uint32_t log_size, std::uint32_t log_stride) {
        const std::uint64_t bytes = std::uint64_t{1} << (log_size + log_stride);
        wq.ring = make_ring(allocate(bytes), bytes);
        wq.log_size = log_size;
        wq.log_stride = log_stride;
        wq.doorbell_record = {allocate(64)};
        wq.uar_page = uar;
    }
    SqDriver driver_of(std::uint32_t number, const WorkQueue& wq) {
        return {number, wq.ring.address(0).value, wq.entries(), wq.doorbell_record.value, 0};
    }
    Sq& create_sq(std::uint32_t cqn, std::uint32_t log_blocks) {
        Sq& sq = *resources.sqs.create();
        sq.cqn = cqn;
        sq.view().set<prm::sqc::reg_umr>(1U);
        sq.view().set<prm::sqc::flush_in_error_en>(1U);
        sq.view().set<prm::sqc::wq, prm::wq::pd>(kPd);
        fill_wq(sq.wq, log_blocks, 6);
        sq.state = QueueState::ready;
        engines.started(sq);
        return sq;
    }
    Qp& create_qp(std::uint32_t type, std::uint32_t send_cqn, std::uint32_t receive_cqn,
                  std::uint32_t log_blocks, QpState state = QpState::rts) {
        Qp& qp = *resources.qps.create();
        qp.send_cqn = send_cqn;
        qp.receive_cqn = receive_cqn;
        qp.view().set<prm::qpc::st>(type);
        qp.view().set<prm::qpc::pd>(kPd);
        qp.view().set<prm::qpc::user_index>(0xffffffU);
        fill_wq(qp.sq, log_blocks, 6);
        fill_wq(qp.rq, 4, 4);
        qp.rq.doorbell_record = qp.sq.doorbell_record;
        qp.state = state;
        engines.qp_state_changed(qp, QpState::reset);
        return qp;
    }
    void move_qp(Qp& qp, QpState state) {
        const QpState old = qp.state;
        qp.state = state;
        engines.qp_state_changed(qp, old);
    }

    /// A WQE of `segments` after the control segment; its place is the queue's producer index.
    /// `ce` 2 asks for a CQE. Returns the control segment's first 8 bytes for the doorbell.
    std::array<std::byte, 8> post(SqDriver& driver, std::uint8_t opcode, std::uint32_t immediate,
                                  const std::vector<std::byte>& segments, std::uint32_t ce = 2) {
        std::vector<std::byte> wqe(16 + segments.size());
        std::ranges::copy(segments, wqe.begin() + 16);
        const prm::View<prm::wqe_ctrl_seg> ctrl(wqe);
        ctrl.set<prm::wqe_ctrl_seg::opcode>(opcode);
        ctrl.set<prm::wqe_ctrl_seg::wqe_index>(driver.producer);
        ctrl.set<prm::wqe_ctrl_seg::qp_or_sq>(driver.number);
        ctrl.set<prm::wqe_ctrl_seg::ds>(static_cast<std::uint32_t>((wqe.size() + 15) / 16));
        ctrl.set<prm::wqe_ctrl_seg::ce>(ce);
        ctrl.set<prm::wqe_ctrl_seg::imm>(immediate);
        for (std::size_t i = 0; i < wqe.size(); ++i) {
            const std::uint64_t at =
                (std::uint64_t{driver.producer} * 64 + i) % (std::uint64_t{driver.blocks} * 64);
            host.poke(driver.ring + at, std::span(wqe).subspan(i, 1));
        }
        driver.producer = static_cast<std::uint16_t>(driver.producer + (wqe.size() + 63) / 64);
        std::array<std::byte, 8> first{};
        std::copy_n(wqe.begin(), 8, first.begin());
        return first;
    }
    void write_record(const SqDriver& driver) {
        host.store_be<std::uint32_t>(driver.record + 4, driver.producer);
    }
    void ring(const SqDriver& driver, const std::array<std::byte, 8>& doorbell,
              std::uint32_t offset = 0x800) {
        write_record(driver);
        engines.uar_write(calendar.now(), uar, offset, doorbell);
    }
    void post_nop(SqDriver& driver, std::uint32_t ce = 2) {
        ring(driver, post(driver, 0, 0, {}, ce));
    }

    Mkey& create_mkey(std::uint32_t pd, std::uint32_t access_mode, std::uint64_t start,
                      std::uint64_t length, std::uint32_t log_page_size, std::size_t octowords) {
        Mkey& mkey = *resources.mkeys.create();
        mkey.variant = 0x42;
        mkey.translations.resize(octowords * 16);
        const auto view = mkey.view();
        view.set<prm::mkc::access_mode_1_0>(access_mode & 3);
        view.set<prm::mkc::access_mode_4_2>(access_mode >> 2);
        view.set<prm::mkc::pd>(pd);
        view.set<prm::mkc::qpn>(0xffffffU);
        view.set<prm::mkc::lr>(1U);
        view.set<prm::mkc::lw>(1U);
        view.set<prm::mkc::umr_en>(1U);
        view.set<prm::mkc::start_addr>(start);
        view.set<prm::mkc::len>(length);
        view.set<prm::mkc::log_page_size>(log_page_size);
        view.set<prm::mkc::translations_octword_size>(static_cast<std::uint32_t>(octowords));
        return mkey;
    }
    std::uint32_t physical_key(std::uint32_t pd) {
        Mkey& mkey = create_mkey(pd, 0, 0, 0, 0, 0);
        mkey.view().set<prm::mkc::length64>(1U);
        return mkey.key();
    }
    static void set_mtt(Mkey& mkey, std::size_t index, std::uint64_t value) {
        model::store_be<std::uint64_t>(mkey.translations.data() + index * 8, value);
    }
    static void set_klm(Mkey& mkey, std::size_t index, std::uint32_t bytes, std::uint32_t key,
                        std::uint64_t va) {
        std::byte* entry = mkey.translations.data() + index * 16;
        model::store_be<std::uint32_t>(entry, bytes);
        model::store_be<std::uint32_t>(entry + 4, key);
        model::store_be<std::uint64_t>(entry + 8, va);
    }

  private:
    std::uint64_t next_ = 0x1'0000'0000;
};

/// A pointer segment.
inline std::vector<std::byte> data_segment(std::uint32_t bytes, std::uint32_t lkey,
                                           std::uint64_t address) {
    std::vector<std::byte> segment(16);
    model::store_be<std::uint32_t>(segment.data(), bytes);
    model::store_be<std::uint32_t>(segment.data() + 4, lkey);
    model::store_be<std::uint64_t>(segment.data() + 8, address);
    return segment;
}

inline std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace cxsim::test
