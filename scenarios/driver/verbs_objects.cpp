// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/verbs_objects.h"

#include "model/base/endian.h"
#include "prm/layouts.h"
#include "scenarios/driver/verbs_qp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace cxsim::scenarios {

using model::HostAddress;
using model::Picoseconds;
using prm::Opcode;
using prm::View;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kEntryBytes = 64;
constexpr std::uint64_t kUarBytes = 4096;
constexpr std::uint8_t kNotWritten = 0xf;  // cqe64.opcode
constexpr std::uint8_t kResponderError = 14;
constexpr std::uint32_t kAnyQueue = 0xffffff;
constexpr std::uint32_t kMaxMtts = 8192;
constexpr std::uint32_t kTranslationRights = 3;  // of an MTT entry: read and write
constexpr auto kNothing = [](auto) {};

unsigned log2_of(std::uint64_t value) {
    return static_cast<unsigned>(std::bit_width(value)) - 1;
}

}  // namespace

// ---- What all objects share ----

HostBuffer VerbsContext::allocate(std::uint64_t bytes) const {
    constexpr std::uint64_t kBlock = pcie::SparseMemory::kPageBytes;
    HostBuffer buffer;
    pcie::SparseMemory& memory = host().memory();
    if (bytes <= kBlock) {
        const std::uint64_t whole = std::bit_ceil(std::max(bytes, kPage));
        buffer.address = driver.pages().allocate_buffer(whole, whole);
        buffer.bytes = memory.window(buffer.address, bytes);
    } else {
        const std::uint64_t whole = (bytes + kBlock - 1) / kBlock * kBlock;
        // A queue's ring is described as one page of its size.
        const std::uint64_t alignment = std::has_single_bit(bytes) ? bytes : kBlock;
        buffer.address = driver.pages().allocate_buffer(whole, alignment);
        buffer.bytes = memory.contiguous(buffer.address, bytes);
    }
    return buffer;
}

void VerbsContext::release(HostBuffer& buffer) const {
    driver.pages().free_buffer(buffer.address);
    buffer = {};
}

bool VerbsContext::wait(const std::function<bool(Picoseconds& next)>& done,
                        Picoseconds limit) const {
    model::Kernel& kernel = host().kernel();
    const Picoseconds end = kernel.now() + limit;
    while (true) {
        Picoseconds next = Picoseconds::max();
        if (done(next)) return true;
        if (kernel.now() >= end) return false;
        kernel.run_until(std::clamp(std::min(next, kernel.next_activity()), kernel.now(), end));
    }
}

void VerbsObject::destroy() {
    if (!alive_) return;
    undo_.run(context_.driver);
    alive_ = false;
    for (HostBuffer& buffer : owned_) context_.release(buffer);
    owned_.clear();
}

HostBuffer VerbsObject::own(std::uint64_t bytes) {
    owned_.push_back(context_.allocate(bytes));
    return owned_.back();
}

// ---- Protection domains, memory regions ----

VerbsPd::VerbsPd(VerbsContext& context) : VerbsObject(context) {
    using Out = prm::alloc_pd_out;
    made(context.driver.run<prm::alloc_pd_in, Out>(Opcode::ALLOC_PD, kNothing)
             .view()
             .get<Out::pd>());
    undo_.add<prm::dealloc_pd_in, prm::dealloc_pd_out, prm::dealloc_pd_in::pd>(Opcode::DEALLOC_PD,
                                                                               number());
}

VerbsMr::VerbsMr(VerbsContext& context, const VerbsPd& pd, std::uint64_t bytes,
                 const MrOptions& options)
    : VerbsObject(context) {
    if (bytes == 0) throw DriverError("a memory region of no bytes");
    memory_ = own(bytes);
    create(pd, options);
}

VerbsMr::VerbsMr(VerbsContext& context, const VerbsPd& pd, const HostBuffer& memory,
                 const MrOptions& options)
    : VerbsObject(context), memory_(memory) {
    if (memory.bytes.empty()) throw DriverError("a memory region of no bytes");
    create(pd, options);
}

void VerbsMr::create(const VerbsPd& pd, const MrOptions& options) {
    const std::uint64_t start = memory_.address.value;
    const std::uint64_t length = memory_.bytes.size();
    const auto pages = [&](unsigned log) {
        return ((start + length - 1) >> log) - (start >> log) + 1;
    };
    unsigned log = options.log_page_size;
    if (log == 0) {
        for (log = 12; pages(log) > kMaxMtts; ++log) {
        }
    }
    if (log < 12 || log > 31) throw DriverError("pages of a region have 2^12 to 2^31 bytes");
    const std::uint64_t entries = pages(log);
    const auto octowords = static_cast<std::uint32_t>((entries + 1) / 2);
    using In = prm::create_mkey_in;
    const auto variant = static_cast<std::uint32_t>(start >> 12 & 0xff) ^ 0x5aU;
    const auto out = context_.driver.run<In, prm::create_mkey_out>(
        Opcode::CREATE_MKEY,
        [&](View<In> in) {
            const auto key = in.nested<In::memory_key_mkey_entry>();
            key.set<prm::mkc::access_mode_1_0>(1U);  // MTT
            key.set<prm::mkc::lr>(1U);
            key.set<prm::mkc::lw>(options.access.local_write);
            key.set<prm::mkc::rr>(options.access.remote_read);
            key.set<prm::mkc::rw>(options.access.remote_write);
            key.set<prm::mkc::a>(options.access.remote_atomic);
            key.set<prm::mkc::en_rinval>(options.remote_invalidate);
            key.set<prm::mkc::qpn>(kAnyQueue);
            key.set<prm::mkc::mkey_7_0>(variant);
            key.set<prm::mkc::pd>(pd.number());
            key.set<prm::mkc::start_addr>(start);
            key.set<prm::mkc::len>(length);
            key.set<prm::mkc::translations_octword_size>(octowords);
            key.set<prm::mkc::log_page_size>(log);
            in.set<In::translations_octword_actual_size>(octowords);
            const auto list = in.tail<In::klm_pas_mtt>();
            for (std::uint64_t i = 0; i < entries; ++i) {
                const std::uint64_t page = ((start >> log) + i) << log;
                model::store_be<std::uint64_t>(list.data() + 8 * i, page | kTranslationRights);
            }
        },
        {std::size_t{16} * octowords, 0});
    made(out.view().get<prm::create_mkey_out::mkey_index>());
    key_ = number() << 8 | variant;
    undo_.add<prm::destroy_mkey_in, prm::destroy_mkey_out, prm::destroy_mkey_in::mkey_index>(
        Opcode::DESTROY_MKEY, number());
}

// ---- Memory windows ----

VerbsMw::VerbsMw(VerbsContext& context, const VerbsPd& pd, WindowType type)
    : VerbsObject(context), type_(type) {
    using In = prm::create_mkey_in;
    constexpr std::uint32_t kOctowords = 4;  // a line of entries
    const auto out = context_.driver.run<In, prm::create_mkey_out>(
        Opcode::CREATE_MKEY, [&](View<In> in) {
            const auto key = in.nested<In::memory_key_mkey_entry>();
            key.set<prm::mkc::free>(1U);
            key.set<prm::mkc::umr_en>(1U);
            key.set<prm::mkc::lr>(1U);
            key.set<prm::mkc::access_mode_1_0>(2U);  // KLM
            key.set<prm::mkc::en_rinval>(type == WindowType::one_queue);
            key.set<prm::mkc::qpn>(kAnyQueue);
            key.set<prm::mkc::pd>(pd.number());
            key.set<prm::mkc::translations_octword_size>(kOctowords);
        });
    made(out.view().get<prm::create_mkey_out::mkey_index>());
    key_ = number() << 8;
    undo_.add<prm::destroy_mkey_in, prm::destroy_mkey_out, prm::destroy_mkey_in::mkey_index>(
        Opcode::DESTROY_MKEY, number());
}

WindowBinding VerbsMw::bind(const VerbsMr& region, std::uint64_t offset, std::uint64_t bytes,
                            const AccessRights& access) {
    WindowBinding binding{.of_queue = type_ == WindowType::one_queue,
                          .key = key_,
                          .new_key = (key_ & ~0xffU) | ((key_ + 1) & 0xffU),
                          .region_key = region.lkey(),
                          .address = region.address() + offset,
                          .bytes = bytes,
                          .access = access};
    key_ = binding.new_key;
    return binding;
}

// As libmlx5 does it: a window of type 1 is bound to nothing, one of type 2 invalidated, which
// leaves its key with a variant of 0.
WindowBinding VerbsMw::close() {
    WindowBinding binding{.of_queue = type_ == WindowType::one_queue, .key = key_};
    if (type_ == WindowType::any_queue) {
        binding.new_key = (key_ & ~0xffU) | ((key_ + 1) & 0xffU);
        key_ = binding.new_key;
    }
    return binding;
}

// ---- Completion queues ----

VerbsCq::VerbsCq(VerbsContext& context, std::uint32_t entries) : VerbsObject(context) {
    log_size_ = log2_of(std::bit_ceil(std::max(entries, 1U)));
    ring_ = own(std::uint64_t{kEntryBytes} << log_size_);
    for (std::size_t i = kEntryBytes - 1; i < ring_.bytes.size(); i += kEntryBytes) {
        ring_.bytes[i] = std::byte{0xf1};
    }
    record_ = own(8);
    using In = prm::create_cq_in;
    const auto out = context.driver.run<In, prm::create_cq_out>(
        Opcode::CREATE_CQ,
        [&](View<In> in) {
            const auto cqc = in.nested<In::cq_context>();
            cqc.set<prm::cqc::log_cq_size>(log_size_);
            cqc.set<prm::cqc::uar_page>(context.driver.uar());
            cqc.set<prm::cqc::c_eqn_or_apu_element>(
                context.driver.completion_queue_events().number());
            cqc.set<prm::cqc::dbr_addr>(record_.address.value);
            cqc.set<prm::cqc::log_page_size>(log2_of(std::max(ring_.bytes.size(), kPage)) - 12);
            in.set_at<In::pas>(0, ring_.address.value);
        },
        {8, 0});
    made(out.view().get<prm::create_cq_out::cqn>());
    undo_.add<prm::destroy_cq_in, prm::destroy_cq_out, prm::destroy_cq_in::cqn>(Opcode::DESTROY_CQ,
                                                                                number());
    if (context.visible != nullptr) context.visible->watch(ring_.address, ring_.bytes.size());
}

void VerbsCq::destroy() {
    const HostAddress ring = ring_.address;
    const bool lived = alive();
    VerbsObject::destroy();
    if (lived && context_.visible != nullptr) context_.visible->forget(ring);
}

std::span<std::byte> VerbsCq::entry(std::uint32_t index) const {
    return ring_.bytes.subspan(std::size_t{index & (entries() - 1)} * kEntryBytes, kEntryBytes);
}

bool VerbsCq::written(std::uint32_t index) const {
    const prm::ConstView<prm::cqe64> view(entry(index));
    return view.get<prm::cqe64::opcode>() != kNotWritten &&
           view.get<prm::cqe64::owner>() == ((index >> log_size_) & 1);
}

Picoseconds VerbsCq::next_visible() const {
    if (!written(consumer_)) return Picoseconds::max();
    if (context_.visible == nullptr) return context_.host().now();
    const std::uint64_t offset = std::uint64_t{consumer_ & (entries() - 1)} * kEntryBytes;
    return context_.visible->visible(ring_.address + offset);
}

void VerbsCq::update_record() {
    model::store_be<std::uint32_t>(record_.bytes.data(), consumer_ & 0xffffff);
}

bool VerbsCq::poll(Completion& into) {
    while (written(consumer_)) {
        const Picoseconds visible = next_visible();
        if (visible > context_.host().now()) return false;
        const auto bytes = entry(consumer_);
        ++consumer_;
        update_record();
        const auto qpn = prm::ConstView<prm::cqe64>(bytes).get<prm::cqe64::qpn>();
        const auto qp = context_.qps.find(qpn);
        if (qp == context_.qps.end()) {
            ++orphans_;
            continue;
        }
        into = qp->second->completed(bytes);
        into.time = visible;
        return true;
    }
    return false;
}

bool VerbsCq::wait(Completion& into, Picoseconds limit) {
    return context_.wait(
        [&](Picoseconds& next) {
            if (poll(into)) return true;
            next = next_visible();
            return false;
        },
        limit);
}

void VerbsCq::arm(bool solicited_only) {
    const prm::View<prm::cq_dbr> record(record_.bytes);
    const std::uint32_t serial = arms_++ & 3;
    const std::uint32_t consumer = consumer_ & 0xffffff;
    record.set<prm::cq_dbr::cmd_sn>(serial);
    record.set<prm::cq_dbr::cmd>(solicited_only);
    record.set<prm::cq_dbr::arm_ci>(consumer);
    std::array<std::byte, prm::cq_doorbell::kBytes> bell{};
    const View<prm::cq_doorbell> view(bell);
    view.set<prm::cq_doorbell::cmd_sn>(serial);
    view.set<prm::cq_doorbell::cmd>(solicited_only);
    view.set<prm::cq_doorbell::ci>(consumer);
    view.set<prm::cq_doorbell::cqn>(number());
    const std::uint64_t uar = context_.driver.uar() * kUarBytes;
    context_.host().mmio_write(uar + prm::uar_page::cq_arm::kOffset / 8, bell);
}

void VerbsCq::clean(std::uint32_t qpn, VerbsSrq* srq) {
    std::uint32_t producer = consumer_;
    while (producer - consumer_ < entries() && written(producer)) ++producer;
    std::uint32_t dropped = 0;
    // From the newest to the oldest: what stays moves up over what goes; owner bits stay in place.
    for (std::uint32_t index = producer; index != consumer_;) {
        --index;
        const auto from = entry(index);
        const prm::ConstView<prm::cqe64> view(from);
        if (view.get<prm::cqe64::qpn>() == qpn) {
            ++dropped;
            const auto opcode = view.get<prm::cqe64::opcode>();
            const bool receive = (opcode >= 1 && opcode <= 4) || opcode == kResponderError;
            if (srq != nullptr && srq->alive() && receive) {
                srq->complete(static_cast<std::uint16_t>(view.get<prm::cqe64::wqe_counter>()));
            }
        } else if (dropped != 0) {
            const auto to = entry(index + dropped);
            const auto owner = prm::ConstView<prm::cqe64>(to).get<prm::cqe64::owner>();
            std::ranges::copy(from, to.begin());
            View<prm::cqe64>(to).set<prm::cqe64::owner>(owner);
        }
    }
    if (dropped == 0) return;
    consumer_ += dropped;
    update_record();
}

// ---- Shared receive queues ----

VerbsSrq::VerbsSrq(VerbsContext& context, const VerbsPd& pd, std::uint32_t entries,
                   unsigned max_sges)
    : VerbsObject(context), max_sges_(max_sges) {
    log_size_ = log2_of(std::bit_ceil(std::max(entries + 1, 2U)));
    stride_ = std::bit_ceil(std::uint64_t{prm::wqe_srq_next_seg::kBytes} +
                            std::uint64_t{prm::wqe_data_seg::kBytes} * max_sges);
    const std::uint32_t size = std::uint32_t{1} << log_size_;
    ring_ = own(stride_ << log_size_);
    record_ = own(8);
    ids_.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) {
        View<prm::wqe_srq_next_seg>(wqe(i)).set<prm::wqe_srq_next_seg::next_wqe_index>(
            (i + 1) & (size - 1));
    }
    tail_ = size - 1;
    free_ = size - 1;
    using In = prm::create_rmp_in;
    const auto out = context.driver.run<In, prm::create_rmp_out>(
        Opcode::CREATE_RMP,
        [&](View<In> in) {
            const auto rmpc = in.nested<In::ctx>();
            rmpc.set<prm::rmpc::state>(1U);  // ready
            const auto wq = rmpc.nested<prm::rmpc::wq>();
            wq.set<prm::wq::pd>(pd.number());
            wq.set<prm::wq::dbr_addr>(record_.address.value);
            wq.set<prm::wq::log_wq_stride>(log2_of(stride_));
            wq.set<prm::wq::log_wq_pg_sz>(log2_of(std::max(ring_.bytes.size(), kPage)) - 12);
            wq.set<prm::wq::log_wq_sz>(log_size_);
            model::store_be<std::uint64_t>(in.bytes().data() + In::kBytes, ring_.address.value);
        },
        {8, 0});
    made(out.view().get<prm::create_rmp_out::rmpn>());
    undo_.add<prm::destroy_rmp_in, prm::destroy_rmp_out, prm::destroy_rmp_in::rmpn>(
        Opcode::DESTROY_RMP, number());
}

std::span<std::byte> VerbsSrq::wqe(std::uint32_t index) const {
    return ring_.bytes.subspan(stride_ * index, stride_);
}

bool VerbsSrq::post_receive(std::uint64_t id, std::span<const Sge> sges) {
    if (sges.size() > max_sges_) throw DriverError("more pieces than an entry of the SRQ holds");
    if (free_ == 0) return false;
    const auto place = wqe(head_);
    ids_[head_] = id;
    write_pieces(place.subspan(prm::wqe_srq_next_seg::kBytes), sges, context_.terminate_key);
    head_ =
        prm::ConstView<prm::wqe_srq_next_seg>(place).get<prm::wqe_srq_next_seg::next_wqe_index>();
    --free_;
    ++posted_;
    model::store_be<std::uint32_t>(record_.bytes.data(), posted_);
    return true;
}

std::span<const std::byte> VerbsSrq::pieces(std::uint16_t index) const {
    return wqe(index).subspan(prm::wqe_srq_next_seg::kBytes);
}

std::uint64_t VerbsSrq::complete(std::uint16_t index) {
    if (index >= ids_.size()) {
        throw DriverError(fmt::format("SRQ {:#x} has no entry {}", number(), index));
    }
    View<prm::wqe_srq_next_seg>(wqe(tail_)).set<prm::wqe_srq_next_seg::next_wqe_index>(index);
    tail_ = index;
    ++free_;
    return ids_[index];
}

void VerbsSrq::set_limit(std::uint32_t limit) {
    using In = prm::modify_rmp_in;
    context_.driver.run<In, prm::modify_rmp_out>(
        Opcode::MODIFY_RMP,
        [&](View<In> in) {
            in.set<In::rmp_state>(1U);
            in.set<In::rmpn>(number());
            in.set<In::bitmask, prm::rmp_bitmask::lwm>(1U);
            in.set<In::ctx, prm::rmpc::state>(1U);
            in.set<In::ctx, prm::rmpc::wq, prm::wq::lwm>(limit);
        });
}

}  // namespace cxsim::scenarios
