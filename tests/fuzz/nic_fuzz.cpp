// SPDX-License-Identifier: Apache-2.0
//
// Frames through the receiver into queues: the input is a list of steps - frames good, spoilt and
// random, rules with destinations that exist or not, queues that run dry, fail and are reset, TIRs
// that merge, copies, a vport that closes. After each step the books balance: every frame and copy
// was delivered or dropped for a reason that has a counter, or is held for merging; at the end no
// frame is left.
#include "tests/fuzz/fuzz_support.h"
#include "tests/unit/nic/nic_bench.h"

#include <array>

namespace {

using namespace cxsim;
using fuzz::broken;
using fuzz::Input;
using namespace model::flow_action;

constexpr std::size_t kMaxSteps = 80;
constexpr std::size_t kQueues = 3;
constexpr std::uint32_t kLogBuffers = 3;
constexpr std::uint32_t kBuffers = 1U << kLogBuffers;
constexpr std::uint32_t kNowhere = 0x777;  // number that no object has

struct Destination {
    model::Rq* rq = nullptr;
    model::Tir* tir = nullptr;
    std::uint16_t posted = 0;
};

class Session {
  public:
    explicit Session(Input& input) : input_(input) {
        for (Destination& each : destinations_) open(each);
        change_rule();
    }

    void run() {
        for (std::size_t step = 0; step < kMaxSteps && !input_.empty(); ++step) {
            switch (input_.byte() % 12) {
                case 0:
                    change_rule();
                    break;
                case 1:
                    post();
                    break;
                case 2:
                    change_tir();
                    break;
                case 3:
                    change_queue();
                    break;
                case 4:
                    bench_.gate.open = input_.byte() % 4 != 0;
                    break;
                case 5:
                    bench_.run(model::microseconds(input_.byte()));
                    break;
                case 6:
                    bench_.drain_cq(bench_.completions);
                    break;
                case 7:
                    bench_.receiver.loop_back(bench_.calendar.now(), frame());
                    break;
                default:
                    bench_.receiver.receive(bench_.calendar.now(), frame());
                    break;
            }
            check_books();
        }
        bench_.run(model::milliseconds(100));  // every merge has timed out
        check_books();
        bench_.receiver.reset();
        if (bench_.frames.in_use() != 0) broken("frames are left over");
    }

  private:
    void open(Destination& each) {
        each.rq = bench_.resources.rqs.create();
        each.rq->cqn = bench_.completions.cq->id.number;
        // One queue strides (eight of 256 bytes a WQE), the others are cyclic.
        const bool striding = &each == destinations_.data();
        each.rq->view().set<prm::rqc::wq, prm::wq::wq_type>(striding ? 3U : 1U);
        each.rq->view().set<prm::rqc::wq, prm::wq::log_wqe_num_of_strides>(0xaU);
        each.rq->view().set<prm::rqc::wq, prm::wq::log_wqe_stride_size>(2U);
        each.rq->view().set<prm::rqc::wq, prm::wq::pd>(test::kPd);
        bench_.fill_wq(each.rq->wq, kLogBuffers, 5);
        each.rq->state = model::QueueState::ready;
        bench_.engines.started(*each.rq);
        each.tir = bench_.resources.tirs.create();
        each.tir->view().set<prm::tirc::inline_rqn>(each.rq->id.number);
    }

    Destination& one() { return destinations_[input_.byte() % kQueues]; }

    model::FramePtr frame() {
        const std::uint8_t kind = input_.byte();
        std::vector<std::byte> bytes;
        if (kind % 8 == 0) {
            const auto raw = input_.take(kind * 2U);
            bytes.assign(raw.begin(), raw.end());
        } else {
            // Few flows, so that segments meet for merging; to one station, to a group.
            bytes = test::ipv4_packet(kind % 4 == 1 ? 17 : 6, input_.byte() * 8U,
                                      kind % 16 == 2 ? 0x01 : 0x02);
            if (kind % 4 != 1) follow_on(bytes);
            for (unsigned spoilt = input_.byte() % 3; spoilt-- > 0;) {
                bytes[input_.word() % bytes.size()] = static_cast<std::byte>(input_.byte());
            }
        }
        model::FramePtr made = bench_.frame_of(bytes);
        if (kind == 255) made->synthetic = input_.word() % 4096U;
        return made;
    }

    // The next segment of the one TCP stream, with right checksums: what is merged.
    void follow_on(std::vector<std::byte>& bytes) {
        constexpr std::size_t kIp = 14;
        constexpr std::size_t kTcp = 34;
        const auto sum = [&](std::size_t from, std::size_t to, std::uint32_t start) {
            std::uint32_t total = start;
            for (std::size_t i = from; i < to; ++i) {
                const auto octet = std::to_integer<std::uint32_t>(bytes[i]);
                total += (i - from) % 2 == 0 ? octet << 8 : octet;
            }
            while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
            return static_cast<std::uint16_t>(~total);
        };
        model::store_be<std::uint32_t>(bytes.data() + kTcp + 4, sequence_);
        sequence_ += static_cast<std::uint32_t>(bytes.size() - kTcp - 20);
        model::store_be<std::uint16_t>(bytes.data() + kIp + 10, sum(kIp, kTcp, 0));
        // Pseudo header: protocol and length, then the addresses.
        const auto length = static_cast<std::uint32_t>(bytes.size() - kTcp);
        model::store_be<std::uint16_t>(bytes.data() + kTcp + 16,
                                       sum(kIp + 12, bytes.size(), 6 + length));
    }

    void change_rule() {
        if (++tables_ > 40) return;
        test::RuleSpec rule;
        const std::uint8_t what = input_.byte();
        if (what % 8 != 0) {
            rule.action = kForward;
            for (unsigned i = 0; i < 1U + what % 3; ++i) {
                const std::uint8_t to = input_.byte();
                rule.destinations.push_back(
                    {model::DestinationType::tir,
                     to % 16 == 0 ? kNowhere : destinations_[to % kQueues].tir->id.number});
            }
        }
        bench_.set_root(model::FlowTableType::nic_rx,
                        bench_.table(model::FlowTableType::nic_rx, rule));
    }

    // Good buffers, small ones, ones behind a key that does not exist; or more than fit.
    void post() {
        Destination& to = one();
        for (unsigned count = 1U + input_.byte() % kBuffers; count-- > 0;) {
            const std::uint8_t kind = input_.byte();
            const std::uint32_t bytes = kind % 8 == 0 ? 40U : 2048U;
            const std::uint32_t key = kind % 32 == 1 ? 0x7700U : bench_.pa_key;
            const std::uint64_t slot = to.posted++ & (kBuffers - 1);
            bench_.host.poke(to.rq->wq.ring.address(slot * 32).value,
                             test::data_segment(bytes, key, buffer_));
            bench_.host.poke(to.rq->wq.ring.address(slot * 32).value + 16,
                             test::data_segment(0, 0x100, 0));
        }
        bench_.host.store_be<std::uint32_t>(to.rq->wq.doorbell_record.value, to.posted);
    }

    void change_tir() {
        const auto tir = one().tir->view();
        const std::uint8_t what = input_.byte();
        tir.set<prm::tirc::packet_merge_mask>(what & 3U);
        tir.set<prm::tirc::lro_max_ip_payload_size>(what % 4 == 3 ? 2U : 60U);
        tir.set<prm::tirc::lro_timeout_period_usecs>(what >> 4U);
        tir.set<prm::tirc::self_lb_block>(what >> 2U & 3U);
        tir.set<prm::tirc::inline_rqn>(what == 255 ? kNowhere : one().rq->id.number);
    }

    void change_queue() {
        Destination& of = one();
        const std::uint8_t what = input_.byte();
        if (what % 4 == 0) {
            of.rq->state = model::QueueState::error;
            bench_.engines.stopped(*of.rq);
        } else if (what % 4 == 1) {
            of.rq->state = model::QueueState::reset;
            bench_.engines.stopped(*of.rq);
            of.posted = 0;
            bench_.host.store_be<std::uint32_t>(of.rq->wq.doorbell_record.value, 0);
        } else if (of.rq->state == model::QueueState::reset) {
            of.rq->state = model::QueueState::ready;
            bench_.engines.started(*of.rq);
        } else {
            of.rq->view().set<prm::rqc::vsd>(what >> 2U & 1U);
            of.rq->view().set<prm::rqc::scatter_fcs>(what >> 3U & 1U);
        }
    }

    void check_books() const {
        const eth::ReceiveCounters& got = bench_.receiver.counters();
        const model::QueueCounters& queues = bench_.counters();
        if (got.frames + got.looped + got.copies !=
            got.vport_down + got.steered_away + got.deliveries) {
            broken("frames and copies are not all steered or dropped");
        }
        const std::uint64_t refused = queues.receive_no_buffer + queues.receive_not_ready +
                                      queues.receive_too_small + queues.receive_failures;
        if (refused != got.refused) broken("receiver and queues refused different numbers");
        const std::uint64_t ended = got.no_queue + got.loop_blocked + refused + queues.received +
                                    got.merged_frames - got.merged_packets;
        if (got.deliveries != ended + bench_.frames.in_use()) {
            broken("deliveries are not all received, dropped or held");
        }
    }

    Input& input_;
    test::NicBench bench_{{.multi_packet = true, .lro_timestamps = true}};
    std::array<Destination, kQueues> destinations_;
    std::uint64_t buffer_ = bench_.allocate(2048);
    unsigned tables_ = 0;
    std::uint32_t sequence_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Session(input).run();
    return 0;
}
