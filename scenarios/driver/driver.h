// SPDX-License-Identifier: Apache-2.0
// A driver inside this process that speaks to the card as the kernel's does: through BAR0, host
// memory and interrupts, and nothing else.
//
//     Driver driver(host);
//     driver.start();       // command interface, pages, capabilities, INIT_HCA
//     driver.open_events(); // UAR, event queues; from here on commands end by event
//     auto out = driver.run<prm::alloc_pd_in, prm::alloc_pd_out>(Opcode::ALLOC_PD, [](auto in) {});
//     const auto pd = out.view().get<prm::alloc_pd_out::pd>();
#pragma once

#include "model/prm/command.h"
#include "model/prm/hca_cap.h"
#include "model/prm/view.h"
#include "prm/layouts.h"
#include "scenarios/driver/command_port.h"
#include "scenarios/driver/event_queue.h"
#include "scenarios/driver/page_pool.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::scenarios {

/// What a command answered, status included.
template <class Out>
struct Answer {
    CommandResult result;
    prm::Buffer<Out> out;

    bool ok() const { return result.ok(); }
    template <class... Path>
    auto get() const {
        return out.view().template get<Path...>();
    }
};

struct Tail {
    std::size_t input = 0;   ///< bytes behind the input's layout
    std::size_t output = 0;  ///< likewise of the output
};

class Driver {
  public:
    explicit Driver(Host& host, CommandPortOptions options = {});

    Host& host() { return host_; }
    CommandPort& commands() { return commands_; }
    PagePool& pages() { return pages_; }

    // ---- Commands ----

    /// `fill` gets a View<In>, or nothing is to be filled in. Throws CommandFailed unless the
    /// command succeeded.
    template <class In, class Out, class Fill>
    prm::Buffer<Out> run(prm::Opcode opcode, Fill&& fill, Tail tail = {},
                         std::uint32_t op_mod = 0) {
        Answer<Out> answer = try_run<In, Out>(opcode, std::forward<Fill>(fill), tail, op_mod);
        answer.result.require_ok();
        return std::move(answer.out);
    }

    /// The same without a judgement of the answer. Throws DriverTimeout only.
    template <class In, class Out, class Fill>
    Answer<Out> try_run(prm::Opcode opcode, Fill&& fill, Tail tail = {}, std::uint32_t op_mod = 0) {
        prm::Buffer<In> in(tail.input);
        in.view().template set<typename In::opcode>(opcode);
        in.view().template set<typename In::op_mod>(op_mod);
        fill(in.view());
        Answer<Out> answer{execute(in.bytes(), Out::kBytes + tail.output),
                           prm::Buffer<Out>(tail.output)};
        std::ranges::copy(answer.result.output, answer.out.bytes().begin());
        return answer;
    }

    /// Bytes in, bytes out; page requests that came meanwhile are answered.
    CommandResult execute(std::span<const std::byte> input, std::size_t output_bytes);

    /// By name, e.g. command("CREATE_CQ", {{"cq_context", {{"log_cq_size", 6}}}}). op_mod is a
    /// member of the input. Returns the output's members; throws CommandFailed, or DriverError for
    /// names and values that do not exist. `output_tail`: bytes behind the output's layout.
    nlohmann::ordered_json command(std::string_view name, const nlohmann::ordered_json& input = {},
                                   std::size_t output_tail = 0);

    /// Capabilities of a group, as the card's layout has them.
    std::vector<std::byte> query_capabilities(prm::HcaCapType type, prm::HcaCapMode mode);

    // ---- Life of the device ----

    /// PCI enable, command interface, ENABLE_HCA, ISSI, boot pages, capabilities, init pages,
    /// INIT_HCA.
    void start();
    /// UAR and the event queues for commands, asynchronous events, page requests and completions.
    void open_events();
    void close_events();
    /// TEARDOWN_HCA, pages back, DISABLE_HCA.
    void stop();
    /// The driver dies or its device was reset: nothing is told to the card.
    void abandon();

    std::uint32_t uar() const { return uar_; }
    EventQueue& completion_queue_events() { return *queues_.at(kCompletions); }
    bool events_open() const { return !queues_.empty(); }
    /// Takes events from all queues and answers page requests. Returns how many events came.
    std::size_t service();
    /// Events other than command and page requests since the last call.
    std::vector<Event> take_events();
    std::uint64_t page_requests() const { return page_requests_; }

    /// Memory for a queue: `bytes` zeroed, whole pages of 4 KiB.
    model::HostAddress allocate(std::uint64_t bytes) { return pages_.allocate_buffer(bytes); }

  private:
    enum Queue : std::size_t { kCommands, kAsync, kPages, kCompletions };

    std::unique_ptr<EventQueue> create_event_queue(std::uint32_t log_size, std::uint32_t vector,
                                                   std::uint64_t event_mask);
    std::uint32_t ended_commands();
    void give_pages(std::uint32_t count, std::uint32_t op_mod_of_query);
    void give(std::uint32_t count);
    std::uint32_t take_back(std::uint32_t count);
    void answer_page_request(const Event& event);
    void set_capabilities();
    void set_atomic_order();
    void drain(EventQueue& queue);

    Host& host_;
    PagePool pages_;
    CommandPort commands_;
    std::uint32_t uar_ = 0;
    std::vector<std::unique_ptr<EventQueue>> queues_;
    std::uint32_t ended_ = 0;  ///< slots of command events
    std::vector<Event> events_;
    std::vector<Event> requests_;
    std::uint64_t page_requests_ = 0;
    bool answering_ = false;
};

}  // namespace cxsim::scenarios
