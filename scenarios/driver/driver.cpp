// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/driver.h"

#include "model/base/endian.h"
#include "model/prm/decode.h"

#include <fmt/format.h>

#include <algorithm>

namespace cxsim::scenarios {

using prm::Opcode;

namespace {

// op_mod of QUERY_PAGES and MANAGE_PAGES.
constexpr std::uint32_t kBootPages = 1;
constexpr std::uint32_t kInitPages = 2;
constexpr std::uint32_t kGivePages = 1;
constexpr std::uint32_t kTakePages = 2;
// As many addresses as a driver puts into one command.
constexpr std::uint32_t kPagesPerCommand = 512;

constexpr std::uint64_t bit(prm::EventType type) {
    return std::uint64_t{1} << static_cast<unsigned>(type);
}

// What the kernel's driver asks for on its asynchronous queue.
constexpr std::uint64_t kAsyncEvents =
    bit(prm::EventType::PATH_MIG) | bit(prm::EventType::COMM_EST) |
    bit(prm::EventType::SQ_DRAINED) | bit(prm::EventType::CQ_ERROR) |
    bit(prm::EventType::WQ_CATAS_ERROR) | bit(prm::EventType::PATH_MIG_FAILED) |
    bit(prm::EventType::PORT_CHANGE) | bit(prm::EventType::WQ_INVAL_REQ_ERROR) |
    bit(prm::EventType::WQ_ACCESS_ERROR) | bit(prm::EventType::SRQ_CATAS_ERROR) |
    bit(prm::EventType::SRQ_LAST_WQE) | bit(prm::EventType::SRQ_RQ_LIMIT);

constexpr auto kNothing = [](auto) {};

}  // namespace

Driver::Driver(Host& host, CommandPortOptions options)
    : host_(host), pages_(host.memory()), commands_(host, options) {}

// ---- Commands ----------------------------------------------------------------------------------

CommandResult Driver::execute(std::span<const std::byte> input, std::size_t output_bytes) {
    CommandResult result = commands_.execute(input, output_bytes);
    // Requests are answered between commands, never inside the wait for one.
    if (!answering_ && events_open()) {
        answering_ = true;
        service();
        while (!requests_.empty()) {
            const Event request = requests_.front();
            requests_.erase(requests_.begin());
            answer_page_request(request);
        }
        answering_ = false;
    }
    return result;
}

nlohmann::ordered_json Driver::command(std::string_view name, const nlohmann::ordered_json& input,
                                       std::size_t output_tail) {
    const std::uint16_t opcode = prm::opcode_by_name(name);
    const prm::LayoutInfo* in = prm::input_layout(opcode);
    if (opcode == 0 || in == nullptr) {
        throw DriverError(fmt::format("no command \"{}\" with a known layout", name));
    }
    nlohmann::ordered_json members = input.is_null() ? nlohmann::ordered_json::object() : input;
    members["opcode"] = opcode;
    const prm::Encoded encoded = prm::encode(*in, members);
    if (!encoded) throw DriverError(fmt::format("{}: {}", name, encoded.error));
    const std::uint16_t selector = prm::layout_selector(encoded.data);
    const prm::LayoutInfo* out = prm::output_layout(opcode, selector);
    if (out == nullptr) throw DriverError(fmt::format("{} has no output layout", name));
    const CommandResult result = execute(encoded.data, out->bytes() + output_tail);
    result.require_ok();
    return prm::to_json(*out, result.output);
}

std::vector<std::byte> Driver::query_capabilities(prm::HcaCapType type, prm::HcaCapMode mode) {
    const auto out = run<prm::query_hca_cap_in, prm::query_hca_cap_out>(
        Opcode::QUERY_HCA_CAP, kNothing, {}, prm::hca_cap_op_mod(type, mode));
    const auto place = out.bytes().subspan(16);
    return {place.begin(), place.end()};
}

// ---- Pages -------------------------------------------------------------------------------------

void Driver::give(std::uint32_t count) {
    while (count > 0) {
        const std::uint32_t part = std::min(count, kPagesPerCommand);
        const std::vector<std::uint64_t> pages = pages_.take(part);
        using In = prm::manage_pages_in;
        const auto answer = try_run<In, prm::manage_pages_out>(
            Opcode::MANAGE_PAGES,
            [&](prm::View<In> in) {
                in.set<In::input_num_entries>(part);
                for (std::size_t i = 0; i < pages.size(); ++i) in.set_at<In::pas>(i, pages[i]);
            },
            {part * 8, 0}, kGivePages);
        if (!answer.ok()) {
            pages_.give_back(pages);
            answer.result.require_ok();
        }
        count -= part;
    }
}

std::uint32_t Driver::take_back(std::uint32_t count) {
    const std::uint32_t part = std::min(count, kPagesPerCommand);
    using Out = prm::manage_pages_out;
    const auto out = run<prm::manage_pages_in, Out>(
        Opcode::MANAGE_PAGES,
        [&](auto in) { in.template set<prm::manage_pages_in::input_num_entries>(part); },
        {0, part * 8}, kTakePages);
    const std::uint32_t returned = out.view().get<Out::output_num_entries>();
    if (returned > part) {
        throw DriverError(
            fmt::format("the card hands back {} pages where {} were asked for", returned, part));
    }
    std::vector<std::uint64_t> pages;
    for (std::uint32_t i = 0; i < returned; ++i) pages.push_back(out.view().at<Out::pas>(i));
    if (!pages_.give_back(pages)) throw DriverError("the card hands back a page it was not given");
    return returned;
}

void Driver::give_pages(std::uint32_t, std::uint32_t op_mod_of_query) {
    using Out = prm::query_pages_out;
    const auto out =
        run<prm::query_pages_in, Out>(Opcode::QUERY_PAGES, kNothing, {}, op_mod_of_query);
    give(out.view().get<Out::num_pages>());
}

void Driver::answer_page_request(const Event& event) {
    const prm::ConstView<prm::pages_req_event> request(event.data);
    const auto wanted = static_cast<std::int32_t>(request.get<prm::pages_req_event::num_pages>());
    ++page_requests_;
    if (wanted > 0) {
        give(static_cast<std::uint32_t>(wanted));
    } else {
        auto surplus = static_cast<std::uint32_t>(-wanted);
        while (surplus > 0) {
            const std::uint32_t returned = take_back(surplus);
            if (returned == 0) return;
            surplus -= returned;
        }
    }
}

// ---- Life of the device ------------------------------------------------------------------------

void Driver::start() {
    host_.enable();
    commands_.set_signatures(false, false);  // as after power-on
    commands_.open();
    run<prm::enable_hca_in, prm::enable_hca_out>(Opcode::ENABLE_HCA, kNothing);
    const auto issi = run<prm::query_issi_in, prm::query_issi_out>(Opcode::QUERY_ISSI, kNothing);
    if ((issi.view().get<prm::query_issi_out::supported_issi_dw0>() & 2) != 0) {
        run<prm::set_issi_in, prm::set_issi_out>(
            Opcode::SET_ISSI, [](auto in) { in.template set<prm::set_issi_in::current_issi>(1U); });
    }
    give_pages(0, kBootPages);
    set_capabilities();
    give_pages(0, kInitPages);
    run<prm::init_hca_in, prm::init_hca_out>(Opcode::INIT_HCA, kNothing);
    run<prm::set_driver_version_in, prm::set_driver_version_out>(
        Opcode::SET_DRIVER_VERSION, [](auto in) {
            constexpr std::string_view kVersion = "cxsim,in-process,1";
            const auto place = in.template bytes<prm::set_driver_version_in::driver_version>();
            std::ranges::transform(kVersion, place.begin(),
                                   [](char c) { return static_cast<std::byte>(c); });
        });
    query_capabilities(prm::HcaCapType::GENERAL, prm::HcaCapMode::CUR);
}

// As the kernel: 4 KiB UARs, signatures as wanted, everything else as it stands.
void Driver::set_capabilities() {
    std::vector<std::byte> wanted =
        query_capabilities(prm::HcaCapType::GENERAL, prm::HcaCapMode::CUR);
    const auto maximum = query_capabilities(prm::HcaCapType::GENERAL, prm::HcaCapMode::MAX);
    using Cap = prm::cmd_hca_cap;
    const prm::View<Cap> set(wanted);
    const prm::ConstView<Cap> limit(maximum);
    set.set<Cap::log_max_qp>(std::min(18U, limit.get<Cap::log_max_qp>()));
    if (limit.get<Cap::uar_4k>() != 0) set.set<Cap::uar_4k>(1U);
    const bool sign = commands_.options().signatures;
    set.set<Cap::cmdif_checksum>(sign ? limit.get<Cap::cmdif_checksum>() : 0U);
    run<prm::set_hca_cap_in, prm::set_hca_cap_out>(
        Opcode::SET_HCA_CAP,
        [&](auto in) {
            const auto place = in.bytes().subspan(16);
            std::copy_n(wanted.begin(), std::min(wanted.size(), place.size()), place.begin());
        },
        {}, prm::hca_cap_op_mod(prm::HcaCapType::GENERAL, prm::HcaCapMode::MAX));
    commands_.set_signatures(sign, sign);
    if (limit.get<Cap::atomic>() != 0) set_atomic_order();
}

// Atomics hand back what they found in the host's byte order, where the card can.
void Driver::set_atomic_order() {
    using Caps = prm::atomic_caps;
    std::vector<std::byte> wanted =
        query_capabilities(prm::HcaCapType::ATOMIC, prm::HcaCapMode::CUR);
    const auto maximum = query_capabilities(prm::HcaCapType::ATOMIC, prm::HcaCapMode::MAX);
    if (prm::ConstView<Caps>(maximum).get<Caps::supported_atomic_req_8B_endianness_mode_1>() == 0) {
        return;
    }
    prm::View<Caps>(wanted).set<Caps::atomic_req_8B_endianness_mode>(1U);
    run<prm::set_hca_cap_in, prm::set_hca_cap_out>(
        Opcode::SET_HCA_CAP,
        [&](auto in) {
            const auto place = in.bytes().subspan(16);
            std::copy_n(wanted.begin(), std::min(wanted.size(), place.size()), place.begin());
        },
        {}, prm::hca_cap_op_mod(prm::HcaCapType::ATOMIC, prm::HcaCapMode::MAX));
}

std::unique_ptr<EventQueue> Driver::create_event_queue(std::uint32_t log_size, std::uint32_t vector,
                                                       std::uint64_t event_mask) {
    const std::uint64_t bytes = EventQueue::kEntryBytes << log_size;
    const model::HostAddress buffer = allocate(bytes);
    const std::uint64_t count = (bytes + PagePool::kPageBytes - 1) / PagePool::kPageBytes;
    std::vector<model::HostAddress> ring;
    for (std::uint64_t i = 0; i < count; ++i) ring.push_back(buffer + i * PagePool::kPageBytes);
    auto queue =
        std::make_unique<EventQueue>(host_, ring, PagePool::kPageBytes, log_size, uar_, vector);
    using In = prm::create_eq_in;
    const auto out = run<In, prm::create_eq_out>(Opcode::CREATE_EQ,
                                                 [&](prm::View<In> in) {
                                                     const auto context =
                                                         in.nested<In::eq_context_entry>();
                                                     context.set<prm::eqc::log_eq_size>(log_size);
                                                     context.set<prm::eqc::uar_page>(uar_);
                                                     context.set<prm::eqc::intr>(vector);
                                                     in.set_at<In::event_bitmask>(0, event_mask);
                                                     for (std::uint64_t i = 0; i < count; ++i)
                                                         in.set_at<In::pas>(i, ring[i].value);
                                                 },
                                                 {count * 8, 0});
    queue->set_number(out.view().get<prm::create_eq_out::eq_number>());
    queue->arm();
    return queue;
}

void Driver::open_events() {
    const auto out = run<prm::alloc_uar_in, prm::alloc_uar_out>(Opcode::ALLOC_UAR, kNothing);
    uar_ = out.view().get<prm::alloc_uar_out::uar>();
    std::vector<std::unique_ptr<EventQueue>> queues;
    queues.push_back(create_event_queue(6, 0, bit(prm::EventType::CMD)));
    queues_ = std::move(queues);
    commands_.use_events([this] { return ended_commands(); });
    queues_.push_back(create_event_queue(8, 0, kAsyncEvents));
    queues_.push_back(create_event_queue(6, 0, bit(prm::EventType::PAGE_REQUEST)));
    queues_.push_back(create_event_queue(8, 1, 0));
}

void Driver::close_events() {
    service();
    while (queues_.size() > 1 || (queues_.size() == 1 && !commands_.uses_events())) {
        const std::uint32_t number = queues_.back()->number();
        run<prm::destroy_eq_in, prm::destroy_eq_out>(Opcode::DESTROY_EQ, [&](auto in) {
            in.template set<prm::destroy_eq_in::eq_number>(number);
        });
        queues_.pop_back();
        if (queues_.size() == 1) commands_.use_events({});  // its own end comes by polling
    }
    run<prm::dealloc_uar_in, prm::dealloc_uar_out>(
        Opcode::DEALLOC_UAR, [&](auto in) { in.template set<prm::dealloc_uar_in::uar>(uar_); });
}

void Driver::stop() {
    run<prm::teardown_hca_in, prm::teardown_hca_out>(Opcode::TEARDOWN_HCA, kNothing);
    while (pages_.held() > 0) {
        if (take_back(static_cast<std::uint32_t>(pages_.held())) == 0) {
            throw DriverError(
                fmt::format("the card keeps {} pages after TEARDOWN_HCA", pages_.held()));
        }
    }
    // The command itself brings the capabilities back to their power-on values.
    commands_.set_signatures(commands_.options().signatures, false);
    run<prm::disable_hca_in, prm::disable_hca_out>(Opcode::DISABLE_HCA, kNothing);
    host_.disable();
    pages_.release_all();
}

void Driver::abandon() {
    commands_.abandon();
    queues_.clear();
    events_.clear();
    requests_.clear();
    ended_ = 0;
    pages_.release_all();
}

// ---- Events ------------------------------------------------------------------------------------

void Driver::drain(EventQueue& queue) {
    bool any = false;
    while (const auto event = queue.poll()) {
        any = true;
        switch (event->type) {
            case prm::EventType::CMD:
                ended_ |= model::load_be<std::uint32_t>(event->data.data());
                break;
            case prm::EventType::PAGE_REQUEST:
                requests_.push_back(*event);
                break;
            default:
                events_.push_back(*event);
                break;
        }
    }
    if (any) queue.arm();
}

// Called over and over while waiting: looks at memory only after an interrupt.
std::uint32_t Driver::ended_commands() {
    if (!queues_.empty() && queues_[kCommands]->interrupted()) {
        for (auto& queue : queues_) drain(*queue);
    }
    return std::exchange(ended_, 0);
}

std::size_t Driver::service() {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (auto& queue : queues_) {
        before += queue->consumed();
        drain(*queue);
        after += queue->consumed();
    }
    return static_cast<std::size_t>(after - before);
}

std::vector<Event> Driver::take_events() {
    return std::exchange(events_, {});
}

}  // namespace cxsim::scenarios
