// SPDX-License-Identifier: Apache-2.0
// From a message to the doorbell that answers it: the statistic alone, and at a real socket.
#include "scenarios/testbed/card.h"
#include "scenarios/testbed/timed_function.h"
#include "tests/unit/vfio_user/client.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace std::chrono_literals;
using scenarios::InterruptTimes;
using vfio_user::test::Bytes;
using vfio_user::test::bytes_of;

namespace {

constexpr std::uint32_t kArm = 0x40;
constexpr std::uint32_t kUpdate = 0x48;

Bytes doorbell(std::uint32_t eqn, std::uint32_t consumer) {
    Bytes data(4);
    model::store_be<std::uint32_t>(data.data(), eqn << 24 | consumer);
    return data;
}

struct Queues {
    Queues() : resources(limits()), times(resources) {}
    static model::ResourceLimits limits() {
        model::ResourceLimits all;
        all.of.fill(16);
        return all;
    }
    model::Eq& eq(std::uint32_t vector, std::uint32_t uar = 16) {
        model::Eq& made = *resources.eqs.create();
        made.vector = vector;
        made.view().set<prm::eqc::uar_page>(uar);
        return made;
    }
    static void fire(model::Eq& eq) {
        eq.armed = false;
        ++eq.producer;
    }
    void ring(std::uint32_t eqn, std::uint32_t at, int us, std::uint32_t uar = 16) {
        times.bar_written(std::uint64_t{uar} * 4096 + at, doorbell(eqn, 0), start + us * 1us);
    }
    model::Resources resources;
    InterruptTimes times;
    InterruptTimes::Clock::time_point start{};
};

}  // namespace

TEST_CASE("a sample ends at the first doorbell of the queue that fired", "[interrupt_times]") {
    Queues q;
    model::Eq& eq = q.eq(3);
    model::Eq& other = q.eq(4);
    Queues::fire(eq);
    Queues::fire(other);
    q.times.sent(3, q.start);
    q.ring(other.id.number, kArm, 10);            // its message has not left
    q.ring(eq.id.number, kArm, 20, 17);           // another UAR
    q.ring(eq.id.number, 0x20, 30);               // a CQ's doorbell
    q.ring(99, kArm, 40);                         // no such queue
    q.times.bar_written(16 * 4096 + kArm, Bytes(8), q.start);  // no EQ doorbell has 8 bytes
    CHECK(q.times.summary().count == 0);
    q.ring(eq.id.number, kUpdate, 50);
    q.ring(eq.id.number, kArm, 60);
    const auto summary = q.times.summary();
    CHECK(summary.count == 1);
    CHECK(summary.median_us == 50);
    CHECK(summary.max_us == 50);
}

TEST_CASE("nothing is measured where it is unknown what was answered", "[interrupt_times]") {
    Queues q;
    model::Eq& one = q.eq(0);
    model::Eq& two = q.eq(0);
    q.times.sent(0, q.start);  // nothing has fired
    q.ring(one.id.number, kArm, 5);
    Queues::fire(one);
    Queues::fire(two);
    q.times.sent(0, q.start);  // either
    q.ring(one.id.number, kArm, 10);
    q.ring(two.id.number, kArm, 11);
    CHECK(q.times.summary().count == 0);

    SECTION("a queue that took its number") {
        two.consumer = two.producer;
        q.times.sent(0, q.start);
        const std::uint32_t eqn = one.id.number;
        q.resources.destroy(one.id);
        model::Eq& young = q.eq(0);
        REQUIRE(young.id.number == eqn);
        q.ring(eqn, kArm, 1000);  // its first arming
        CHECK(q.times.summary().count == 0);
        Queues::fire(young);
        q.times.sent(0, q.start);
        q.ring(eqn, kArm, 7);
        CHECK(q.times.summary().median_us == 7);
    }
    SECTION("a machine that was reset") {
        two.consumer = two.producer;
        q.times.sent(0, q.start);
        q.times.forget();
        q.ring(one.id.number, kArm, 1000);
        CHECK(q.times.summary().count == 0);
    }
}

TEST_CASE("the summary is of the last samples, the count of all", "[interrupt_times]") {
    Queues q;
    model::Eq& eq = q.eq(1);
    Queues::fire(eq);
    const auto sample = [&](int us) {
        q.times.sent(1, q.start);
        q.ring(eq.id.number, kArm, us);
    };
    for (int us : {30, 10, 20}) sample(us);
    CHECK(q.times.summary().median_us == 20);
    CHECK(q.times.summary().min_us == 10);
    CHECK(q.times.summary().max_us == 30);
    for (std::size_t i = 0; i < InterruptTimes::kWindow; ++i) sample(40);
    const auto summary = q.times.summary();
    CHECK(summary.count == InterruptTimes::kWindow + 3);
    CHECK(summary.min_us == 40);
    CHECK(summary.max_us == 40);
}

namespace {

/// A card behind a socket, as `cxsim serve` has it, and a client for a machine.
struct Served : pcie::InterruptSink {
    static constexpr std::uint64_t kMemory = 0x100000;

    Served()
        : card(kernel, {}),
          memory(card.endpoint().functions()),
          function(card.endpoint(), model::FunctionId{0}, kernel.calendar(), [this] { run(); },
                   state().resources()),
          ram(vfio_user::test::make_memfd(0x10000)),
          eventfd(vfio_user::test::make_eventfd()) {
        card.endpoint().attach(static_cast<pcie::HostMemory&>(memory));
        card.endpoint().attach(static_cast<pcie::InterruptSink&>(*this));
        std::array<int, 2> pair;
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
        auto added = server.adopt(pair[0], "pair", function);
        REQUIRE(added.ok());
        function.connect(*added.value(), memory);
        client.emplace(vfio_user::UniqueFd(pair[1]), &server);
        run();  // elaborates
    }

    void interrupt(model::FunctionId, unsigned vector, const pcie::MsixMessage&) override {
        function.interrupt(vector);
    }
    void run() { kernel.run_until(kernel.now() + model::microseconds(20)); }
    firmware_stub::FunctionState& state() {
        return card.firmware().function(model::FunctionId{0});
    }

    /// Memory, interrupts and decoding as QEMU sets them up.
    void set_up() {
        using namespace vfio_user;
        client->negotiate();
        REQUIRE(client->map(kMemory, 0x10000, kDmaMapRead | kDmaMapWrite, ram.get()).error() == 0);
        REQUIRE(client->set_irqs(kIrqSetDataEventfd | kIrqSetActionTrigger, kPciMsixIrq, 0, 1,
                                 {eventfd.get()})
                    .error() == 0);
        write_config(0x04, 0x0006);
        std::uint64_t at = config(0x34) & 0xff;
        while ((config(at) & 0xff) != 0x11) at = config(at) >> 8 & 0xff;
        write_config(at + 2, 0x8000);
    }
    std::uint32_t config(std::uint64_t at) {
        return client->read(vfio_user::kPciConfigRegion, at, 4)
            .as<std::uint32_t>(sizeof(vfio_user::RegionAccessPayload));
    }
    void write_config(std::uint64_t at, std::uint16_t value) {
        REQUIRE(client->write(vfio_user::kPciConfigRegion, at, bytes_of(value)).error() == 0);
    }
    void ring(const model::Eq& eq, std::uint32_t consumer) {
        const std::uint64_t page = eq.view().get<prm::eqc::uar_page>();
        REQUIRE(client->write(pcie::VfioFunction::kBar0Region, page * 4096 + kArm,
                              doorbell(eq.id.number, consumer))
                    .error() == 0);
        run();
    }
    model::Eq& create_eq() {
        model::Eq& eq = *state().resources().eqs.create();
        eq.ring = model::HostRing({kMemory}, 0, 0);
        eq.log_size = 4;
        eq.view().set<prm::eqc::uar_page>(state().resources().uars.create()->id.number);
        return eq;
    }
    void post(model::Eq& eq) {
        REQUIRE(state().queues().post(eq, kernel.now(), prm::EventType::CMD, 0, {}));
        run();
    }

    model::Kernel kernel;
    scenarios::Card card;
    pcie::GuestHostMemory memory;
    scenarios::TimedFunction function;
    vfio_user::UniqueFd ram;
    vfio_user::UniqueFd eventfd;
    vfio_user::Server server;
    std::optional<vfio_user::test::Client> client;
};

}  // namespace

TEST_CASE("a client that answers a message after a while is measured so", "[interrupt_times]") {
    Served served;
    served.set_up();
    model::Eq& eq = served.create_eq();
    served.post(eq);  // not armed: no message
    CHECK(vfio_user::test::signals(served.eventfd) == 0);
    served.ring(eq, 1);
    REQUIRE(eq.armed);
    CHECK(served.function.times().summary().count == 0);

    for (std::uint32_t round = 1; round <= 3; ++round) {
        served.post(eq);
        REQUIRE(vfio_user::test::signals(served.eventfd) == 1);
        std::this_thread::sleep_for(2ms);
        served.ring(eq, round + 1);
        CHECK(served.function.times().summary().count == round);
    }
    const auto summary = served.function.times().summary();
    CHECK(summary.min_us >= 2000);
    CHECK(summary.min_us <= summary.median_us);
    CHECK(summary.median_us <= summary.max_us);

    // A message that the client does not listen to starts nothing.
    REQUIRE(served.client
                ->set_irqs(vfio_user::kIrqSetDataNone | vfio_user::kIrqSetActionTrigger,
                           vfio_user::kPciMsixIrq, 0, 0)
                .error() == 0);
    served.post(eq);
    served.ring(eq, 5);
    CHECK(served.function.times().summary().count == 3);
}
