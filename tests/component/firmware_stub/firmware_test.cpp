// SPDX-License-Identifier: Apache-2.0
// The firmware at its ports: BAR0 accesses and host memory in, interrupts and memory out.
#include "tests/support/command_host.h"
#include "tests/support/fake_port.h"
#include "tests/support/firmware_bench.h"

#include <catch2/generators/catch_generators.hpp>

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::DeliveryStatus;
using firmware_stub::Phase;
using model::milliseconds;
using model::ResetKind;
using prm::EventType;
using prm::Opcode;
using prm::Status;

namespace {

constexpr model::FunctionId kFunction{0};
constexpr std::uint64_t kEqMemory = 0x20000000;
constexpr std::uint64_t kGiven = 0x40000000;

class Observer : public firmware_stub::CommandObserver {
  public:
    struct Seen {
        std::uint32_t slot;
        DeliveryStatus delivery;
        Status status;
        std::string reason;
        model::Picoseconds took;
    };
    void command_ended(const firmware_stub::CommandReport& report) override {
        seen.push_back({report.slot, report.delivery, report.reply.status,
                        std::string(report.reply.reason), report.finish - report.doorbell});
    }
    std::vector<Seen> seen;
};

// A driver with a command queue in memory instead of the bench's direct calls.
struct Driver : FirmwareBench {
    explicit Driver(std::uint32_t low_water = 0, std::uint32_t high_water = 1U << 20)
        : FirmwareBench("connectx5") {
        config.health_period = milliseconds(1);
        function().pages() = firmware_stub::PageSupply({4, 4, low_water, high_water});
        config.command_timing.of.fill(model::microseconds(10));
        restart();
    }
    // From reset to an initialised function, through the queue.
    void restart() {
        firmware.function_reset(kFunction, ResetKind::conventional);
        reload();
    }
    void reload() {
        write(0x10, 0);
        write(0x14, static_cast<std::uint32_t>(queue.queue()));
        REQUIRE(send<prm::enable_hca_out>(input<prm::enable_hca_in>(Opcode::ENABLE_HCA)).ok());
        give(8);
        REQUIRE(send<prm::init_hca_out>(input<prm::init_hca_in>(Opcode::INIT_HCA)).ok());
    }
    void give(std::uint32_t pages) {
        auto in = input<prm::manage_pages_in>(Opcode::MANAGE_PAGES, 1, pages * 8);
        in.view().set<prm::manage_pages_in::input_num_entries>(pages);
        for (std::uint32_t i = 0; i < pages; ++i) {
            in.view().set_at<prm::manage_pages_in::pas>(i, kGiven + next_page++ * 4096);
        }
        REQUIRE(send<prm::manage_pages_out>(in).ok());
    }

    void write(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> data{};
        model::store_be<std::uint32_t>(data.data(), value);
        firmware.bar_write(kFunction, calendar.now(), offset, data);
    }
    template <class In>
    void post(std::uint32_t slot, const prm::Buffer<In>& in, std::size_t output_bytes) {
        queue.post(slot, in.bytes(), output_bytes);
        write(0x18, 1U << slot);
    }
    void run() { calendar.run_until(calendar.now() + milliseconds(1)); }

    /// Through entry, mailboxes and doorbell.
    template <class Out, class In>
    Answer<Out> send(const prm::Buffer<In>& in, std::size_t tail = 0) {
        Answer<Out> answer{{}, prm::Buffer<Out>(tail)};
        post(0, in, answer.out.bytes().size());
        run();
        REQUIRE_FALSE(queue.owned_by_hardware(0));
        REQUIRE(queue.delivery(0) == DeliveryStatus::OK);
        const auto bytes = queue.output(0);
        std::copy(bytes.begin(), bytes.end(), answer.out.bytes().begin());
        answer.reply.status = static_cast<Status>(bytes[0]);
        answer.reply.syndrome = model::load_be<std::uint32_t>(bytes.data() + 4);
        return answer;
    }

    /// An event queue that takes `type`; its ring has 64 entries, none of them written yet.
    std::uint32_t create_eq_for(EventType type, std::uint32_t uar, std::uint64_t memory,
                                std::uint32_t vector) {
        using In = prm::create_eq_in;
        auto in = input<In>(Opcode::CREATE_EQ, 0, 8);
        in.view().set<In::eq_context_entry, prm::eqc::log_eq_size>(6U);
        in.view().set<In::eq_context_entry, prm::eqc::uar_page>(uar);
        in.view().set<In::eq_context_entry, prm::eqc::intr>(vector);
        const auto number = static_cast<std::uint32_t>(type);
        in.view().set_at<In::event_bitmask>(number / 64, std::uint64_t{1} << (number % 64));
        in.view().set_at<In::pas>(0, memory);
        const auto answer = send<prm::create_eq_out>(in);
        REQUIRE(answer.ok());
        for (std::uint64_t i = 0; i < 64; ++i) {  // software's mark: owner bit set
            host.fill(memory + i * 64 + 63, 1, 1);
        }
        return answer.get<prm::create_eq_out::eq_number>();
    }
    std::uint32_t create_uar() {
        const auto answer =
            send<prm::alloc_uar_out>(input<prm::alloc_uar_in>(Opcode::ALLOC_UAR));
        REQUIRE(answer.ok());
        return answer.get<prm::alloc_uar_out::uar>();
    }
    /// Event type of entry `index`, 0 if it was not written.
    std::uint32_t event_type(std::uint64_t memory, std::uint64_t index) const {
        if (host.load_be<std::uint32_t>(memory + index * 64 + 60) & 1) return 0;
        return host.load_be<std::uint32_t>(memory + index * 64) >> 16 & 0xff;
    }
    std::uint32_t event_word(std::uint64_t memory, std::uint64_t index, std::uint64_t word) const {
        return host.load_be<std::uint32_t>(memory + index * 64 + 32 + word * 4);
    }

    std::uint64_t next_page = 0;
    CommandHost<FakeHostBus> queue{host};
};

prm::Buffer<prm::alloc_pd_in> alloc_pd_input() {
    return FirmwareBench::input<prm::alloc_pd_in>(Opcode::ALLOC_PD);
}

}  // namespace

TEST_CASE("a function comes up through its command queue", "[firmware]") {
    Driver driver;
    CHECK(driver.function().phase() == Phase::initialised);
    CHECK(driver.function().pages().held() == 8);
    CHECK(driver.send<prm::alloc_pd_out>(alloc_pd_input()).ok());
    CHECK(driver.host.interrupts.empty());  // no event queue, no event
    const auto& statistics = driver.firmware.opcode_statistics();
    REQUIRE(statistics.contains(static_cast<std::uint16_t>(Opcode::ALLOC_PD)));
    const auto& entry = statistics.at(static_cast<std::uint16_t>(Opcode::ALLOC_PD));
    CHECK(entry.count == 1);
    CHECK(entry.refused == 0);
    CHECK(entry.total >= model::microseconds(10));
    CHECK(entry.longest == entry.total);
}

TEST_CASE("commands are counted as accepted, refused or not modelled", "[firmware]") {
    Driver driver;
    const auto before = driver.firmware.counters();
    driver.send<prm::alloc_pd_out>(alloc_pd_input());
    auto bad = driver.input<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    bad.view().set<prm::dealloc_pd_in::pd>(0xffffU);
    CHECK(driver.send<prm::dealloc_pd_out>(bad).reply.status == Status::BAD_RES_STATE);
    auto unknown = alloc_pd_input();
    unknown.view().set<prm::alloc_pd_in::opcode>(Opcode::CREATE_LAG);
    CHECK(driver.send<prm::alloc_pd_out>(unknown).reply.status == Status::BAD_OP);
    const auto& after = driver.firmware.counters();
    CHECK(after.accepted == before.accepted + 1);
    CHECK(after.refused == before.refused + 2);
    CHECK(after.unimplemented == before.unimplemented + 1);
}

TEST_CASE("observers hear of every command, delivery errors included", "[firmware]") {
    Driver driver;
    Observer observer;
    driver.firmware.add_observer(&observer);
    driver.post(0, alloc_pd_input(), 16);
    driver.run();
    auto refused = driver.input<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    driver.post(0, refused, 16);
    driver.run();
    driver.queue.post(0, alloc_pd_input().bytes(), 16);
    driver.queue.set_byte(driver.queue.entry(0), 1);
    driver.write(0x18, 1);
    driver.run();
    REQUIRE(observer.seen.size() == 3);
    CHECK(observer.seen[0].status == Status::OK);
    CHECK(observer.seen[0].took > model::microseconds(10));
    CHECK(observer.seen[1].status == Status::BAD_RES_STATE);
    CHECK(observer.seen[1].reason == "no such object");
    CHECK(observer.seen[2].delivery == DeliveryStatus::CMD_DESCR_ERR);
    CHECK(observer.seen[2].status == Status::OK);
}

TEST_CASE("a refusal that a reset cut off is not told of the slot's next command", "[firmware]") {
    Driver driver;
    Observer observer;
    driver.firmware.add_observer(&observer);
    auto refused = driver.input<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    driver.post(0, refused, 16);
    // Executed, not yet handed back: the output goes out at the end of the latency.
    while (driver.firmware.function(kFunction).commands().counters().commands <
           4) {
        REQUIRE(driver.calendar.run_one());
    }
    driver.firmware.function_reset(kFunction, ResetKind::function_level);
    driver.write(0x14, static_cast<std::uint32_t>(driver.queue.queue()));
    driver.queue.post(0, alloc_pd_input().bytes(), 16);
    driver.queue.set_byte(driver.queue.entry(0), 1);
    driver.write(0x18, 1);
    driver.run();
    REQUIRE(observer.seen.size() == 1);
    CHECK(observer.seen[0].delivery == DeliveryStatus::CMD_DESCR_ERR);
    CHECK(observer.seen[0].reason.empty());
}

TEST_CASE("a command reports by event only if the event queue was there before", "[firmware]") {
    Driver driver;
    const std::uint32_t uar = driver.create_uar();
    // The command that makes the queue is polled for: its own event would surprise the driver.
    driver.create_eq_for(EventType::CMD, uar, kEqMemory, 5);
    CHECK(driver.event_type(kEqMemory, 0) == 0);
    driver.post(7, alloc_pd_input(), 16);
    driver.run();
    CHECK(driver.event_type(kEqMemory, 0) == static_cast<std::uint32_t>(EventType::CMD));
    CHECK(driver.event_word(kEqMemory, 0, 0) == 1U << 7);
    CHECK(driver.event_type(kEqMemory, 1) == 0);
    SECTION("delivery errors are events, too") {
        driver.queue.post(9, alloc_pd_input().bytes(), 16);
        driver.queue.set_byte(driver.queue.entry(9), 1);
        driver.write(0x18, 1U << 9);
        driver.run();
        CHECK(driver.event_word(kEqMemory, 1, 0) == 1U << 9);
    }
    SECTION("the command that destroys the queue has none") {
        auto in = driver.input<prm::destroy_eq_in>(Opcode::DESTROY_EQ);
        in.view().set<prm::destroy_eq_in::eq_number>(4U);
        CHECK(driver.send<prm::destroy_eq_out>(in).ok());
        CHECK(driver.event_type(kEqMemory, 1) == 0);
    }
}

TEST_CASE("few free pages are asked for, once, until the driver answers", "[firmware]") {
    Driver driver(/*low_water=*/3, /*high_water=*/8);
    const std::uint32_t uar = driver.create_uar();
    driver.create_eq_for(EventType::PAGE_REQUEST, uar, kEqMemory, 1);
    // 8 pages, 4 of them the firmware's own, one with the queue's context: three are free.
    CHECK(driver.function().pages().free() == 3);
    CHECK(driver.event_type(kEqMemory, 0) == 0);
    for (int i = 0; i < 4096 / 32; ++i) {  // a page of counters
        REQUIRE(driver
                    .send<prm::alloc_flow_counter_out>(
                        driver.input<prm::alloc_flow_counter_in>(Opcode::ALLOC_FLOW_COUNTER))
                    .ok());
    }
    CHECK(driver.function().pages().free() == 2);
    REQUIRE(driver.event_type(kEqMemory, 0) == static_cast<std::uint32_t>(EventType::PAGE_REQUEST));
    CHECK(driver.event_word(kEqMemory, 0, 1) == 3);  // back to the middle: 5 free
    CHECK(driver.event_type(kEqMemory, 1) == 0);
    driver.give(3);
    CHECK(driver.function().pages().free() == 5);
    CHECK(driver.event_type(kEqMemory, 1) == 0);
    // Too many are offered back.
    driver.give(6);
    REQUIRE(driver.event_type(kEqMemory, 1) == static_cast<std::uint32_t>(EventType::PAGE_REQUEST));
    CHECK(static_cast<std::int32_t>(driver.event_word(kEqMemory, 1, 1)) == -6);
    auto take = driver.input<prm::manage_pages_in>(Opcode::MANAGE_PAGES, 2);
    take.view().set<prm::manage_pages_in::input_num_entries>(6U);
    const auto taken = driver.send<prm::manage_pages_out>(take, 48);
    CHECK(taken.get<prm::manage_pages_out::output_num_entries>() == 6);
    CHECK(driver.function().pages().free() == 5);
    CHECK(driver.event_type(kEqMemory, 2) == 0);
}

TEST_CASE("objects without pages to back them are refused until pages come", "[firmware]") {
    Driver driver;
    std::uint32_t made = 0;
    auto counters = driver.input<prm::alloc_flow_counter_in>(Opcode::ALLOC_FLOW_COUNTER);
    Answer<prm::alloc_flow_counter_out> answer = driver.send<prm::alloc_flow_counter_out>(counters);
    while (answer.ok() && made < 1000) {
        ++made;
        answer = driver.send<prm::alloc_flow_counter_out>(counters);
    }
    CHECK(made == 4 * 4096 / 32);
    CHECK(answer.reply.status == Status::BAD_RES);
    CHECK(driver.function().pages().used() <= driver.function().pages().held());
    // With no page left, numbers without a context are refused as well.
    CHECK(driver.send<prm::alloc_pd_out>(alloc_pd_input()).reply.status == Status::BAD_RES);
    driver.give(1);
    CHECK(driver.send<prm::alloc_flow_counter_out>(counters).ok());
}

TEST_CASE("a reset restores the function to what it was after power-on", "[firmware]") {
    const auto kind = GENERATE(ResetKind::conventional, ResetKind::function_level,
                               ResetKind::power_state);
    Driver driver;
    driver.firmware.function_reset(kFunction, kind);
    const std::uint64_t initial = driver.digest();
    std::vector<std::byte> vport(driver.function().vport().context.bytes().begin(),
                                 driver.function().vport().context.bytes().end());
    driver.reload();
    const std::uint64_t initialised = driver.digest();
    const std::uint32_t uar = driver.create_uar();
    driver.create_eq_for(EventType::CMD, uar, kEqMemory, 0);
    driver.send<prm::alloc_pd_out>(alloc_pd_input());
    driver.set_roce_enabled(true);
    driver.post(3, alloc_pd_input(), 16);
    driver.firmware.function_reset(kFunction, kind);
    const std::size_t accesses = driver.host.accesses.size();
    driver.run();
    CHECK(driver.host.accesses.size() == accesses);  // the command in flight is forgotten
    CHECK(driver.queue.owned_by_hardware(3));
    CHECK(driver.digest() == initial);
    CHECK(driver.function().phase() == Phase::reset);
    CHECK(driver.function().pages().held() == 0);
    CHECK(driver.function().issi == 0);
    CHECK(driver.function().refused_commands == 0);
    CHECK(std::ranges::equal(driver.function().vport().context.bytes(), vport));
    driver.reload();
    CHECK(driver.digest() == initialised);
    CHECK(driver.send<prm::alloc_pd_out>(alloc_pd_input()).ok());
}

TEST_CASE("a reset undoes SET_HCA_CAP with all that hangs on it", "[firmware]") {
    Driver driver;
    driver.firmware.function_reset(kFunction, ResetKind::function_level);
    driver.write(0x14, static_cast<std::uint32_t>(driver.queue.queue()));
    REQUIRE(driver.send<prm::enable_hca_out>(driver.input<prm::enable_hca_in>(Opcode::ENABLE_HCA))
                .ok());
    const std::uint32_t before = driver.resources().qps.limit();
    using In = prm::set_hca_cap_in;
    auto set = driver.input<In>(Opcode::SET_HCA_CAP);
    const auto current = driver.function().current_capability(0);
    std::copy(current.begin(), current.end(), set.bytes().begin() + 16);
    const prm::View<prm::cmd_hca_cap> image(set.bytes().subspan(16));
    image.set<prm::cmd_hca_cap::log_max_qp>(4U);
    REQUIRE(driver.send<prm::set_hca_cap_out>(set).ok());
    CHECK(driver.resources().qps.limit() == 16);
    SECTION("a function-level reset") {
        driver.firmware.function_reset(kFunction, ResetKind::function_level);
    }
    SECTION("the next driver's ENABLE_HCA") {
        REQUIRE(driver
                    .send<prm::enable_hca_out>(driver.input<prm::enable_hca_in>(Opcode::ENABLE_HCA))
                    .ok());
    }
    CHECK(driver.resources().qps.limit() == before);
}

TEST_CASE("a conventional reset resets the port, a function's own reset does not", "[firmware]") {
    Driver driver;
    driver.firmware.port().admin_mtu = 9000;
    driver.firmware.function_reset(kFunction, ResetKind::function_level);
    CHECK(driver.firmware.port().admin_mtu == 9000);
    driver.firmware.function_reset(kFunction, ResetKind::conventional);
    CHECK(driver.firmware.port().admin_mtu == 1522);
}

TEST_CASE("a function's reset leaves its siblings alone", "[firmware]") {
    FirmwareBench bench;
    firmware_stub::Firmware two(bench.config, bench.host, bench.calendar, 2);
    two.function({1}).set_phase(Phase::initialised);
    two.function({1}).resources().pds.create();
    two.function_reset({0}, ResetKind::function_level);
    CHECK(two.function({1}).phase() == Phase::initialised);
    CHECK(two.function({1}).resources().total() == 1);
    CHECK(two.functions() == 2);
    using Context = prm::nic_vport_context;
    CHECK(two.function({1}).vport().permanent_mac[5] ==
          two.function({0}).vport().permanent_mac[5] + 1);
    CHECK(two.function({1}).vport().context.view().get<Context::node_guid>() ==
          two.function({0}).vport().context.view().get<Context::node_guid>() + 1);
    two.function_reset({0}, ResetKind::conventional);
    CHECK(two.function({1}).phase() == Phase::reset);
    CHECK(two.function({1}).resources().total() == 0);
}

TEST_CASE("an internal error stops the commands in flight and the doorbells", "[firmware]") {
    Driver driver;
    driver.post(2, alloc_pd_input(), 16);
    CHECK(driver.function().commands().in_flight() == 1);
    driver.firmware.raise_internal_error(kFunction, 1, 0);
    CHECK(driver.function().commands().in_flight() == 0);
    const std::size_t accesses = driver.host.accesses.size();
    driver.run();
    driver.write(0x18, 1U << 3);
    std::array<std::byte, 8> doorbell{};
    driver.firmware.bar_write(kFunction, driver.calendar.now(), 16 * 4096 + 0x40, doorbell);
    driver.run();
    CHECK(driver.host.accesses.size() == accesses);
    CHECK(driver.firmware.counters().bar_accesses_ignored == 1);
}

TEST_CASE("functions hear of their port only when its operational state changes", "[firmware]") {
    FakePort port;
    Driver driver;
    driver.firmware.attach_port(port);
    const std::uint32_t uar = driver.create_uar();
    driver.create_eq_for(EventType::PORT_CHANGE, uar, kEqMemory, 2);
    driver.firmware.set_port_admin(false);
    driver.run();
    CHECK(driver.event_type(kEqMemory, 0) == 0);  // no cable: it was down before
    port.plug(true);
    driver.firmware.set_port_admin(true);
    driver.run();
    CHECK(driver.event_type(kEqMemory, 0) == static_cast<std::uint32_t>(EventType::PORT_CHANGE));
    driver.firmware.set_port_admin(true);
    driver.run();
    CHECK(driver.event_type(kEqMemory, 1) == 0);
    driver.firmware.set_port_admin(false);
    driver.run();
    CHECK(driver.event_type(kEqMemory, 1) == static_cast<std::uint32_t>(EventType::PORT_CHANGE));
}

TEST_CASE("the gateway offers no space yet", "[firmware]") {
    FirmwareBench bench;
    std::uint32_t value = 0;
    CHECK_FALSE(bench.firmware.gateway_space_supported(kFunction, 2));
    CHECK_FALSE(bench.firmware.gateway_read(kFunction, 2, 0, value));
    CHECK_FALSE(bench.firmware.gateway_write(kFunction, 2, 0, 1));
}
