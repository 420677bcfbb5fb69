// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/interrupts.h"

#include "tests/unit/vfio_user/client.h"

#include <fcntl.h>

using namespace cxsim::vfio_user;
using namespace cxsim::vfio_user::test;

namespace {

constexpr std::uint32_t kAssign = kIrqSetDataEventfd | kIrqSetActionTrigger;

struct IrqBench : Bench {
    IrqBench() { client->negotiate(); }
    Interrupts& irqs() { return endpoint->interrupts(); }
};

}  // namespace

TEST_CASE("a trigger writes the vector's eventfd", "[interrupts]") {
    IrqBench bench;
    const UniqueFd first = make_eventfd();
    const UniqueFd second = make_eventfd();
    CHECK(bench.irqs().trigger(2, 5) == Delivery::kNoEventfd);
    CHECK(bench.client->set_irqs(kAssign, 2, 5, 2, {first.get(), second.get()}).error() == 0);
    CHECK(bench.device.irq_changes.back() == std::array<std::uint32_t, 3>{2, 5, 2});
    CHECK(bench.irqs().enabled(2, 5));
    CHECK_FALSE(bench.irqs().enabled(2, 7));
    CHECK(bench.irqs().trigger(2, 5) == Delivery::kDelivered);
    CHECK(bench.irqs().trigger(2, 6) == Delivery::kDelivered);
    CHECK(bench.irqs().trigger(2, 6) == Delivery::kDelivered);
    CHECK(signals(first) == 1);
    CHECK(signals(second) == 2);
    CHECK(bench.irqs().trigger(2, 64) == Delivery::kBadVector);
    CHECK(bench.irqs().trigger(9, 0) == Delivery::kBadVector);
    CHECK(bench.irqs().counters().delivered == 3);
    CHECK(bench.irqs().counters().no_eventfd == 1);
}

TEST_CASE("a new eventfd replaces and closes the old one", "[interrupts]") {
    IrqBench bench;
    const UniqueFd first = make_eventfd();
    const UniqueFd second = make_eventfd();
    CHECK(bench.client->set_irqs(kAssign, 2, 0, 1, {first.get()}).error() == 0);
    const std::size_t before = open_fds();
    for (int i = 0; i < 50; ++i) {
        CHECK(bench.client->set_irqs(kAssign, 2, 0, 1, {second.get()}).error() == 0);
    }
    CHECK(open_fds() == before);
    CHECK(bench.irqs().trigger(2, 0) == Delivery::kDelivered);
    CHECK(signals(first) == 0);
    CHECK(signals(second) == 1);
}

TEST_CASE("an assignment without descriptors takes the eventfds away", "[interrupts]") {
    IrqBench bench;
    const UniqueFd event = make_eventfd();
    const std::size_t before = open_fds();
    CHECK(bench.client->set_irqs(kAssign, 2, 3, 1, {event.get()}).error() == 0);
    CHECK(open_fds() == before + 1);
    CHECK(bench.client->set_irqs(kAssign, 2, 0, 4).error() == 0);
    CHECK(open_fds() == before);
    CHECK(bench.irqs().trigger(2, 3) == Delivery::kNoEventfd);
}

TEST_CASE("a count of zero disables the whole type", "[interrupts]") {
    IrqBench bench;
    const UniqueFd event = make_eventfd();
    const std::size_t before = open_fds();
    for (std::uint32_t i = 0; i < 64; i += 16) {
        CHECK(
            bench.client->set_irqs(kAssign, 2, i, 16, std::vector<int>(16, event.get())).error() ==
            0);
    }
    CHECK(open_fds() == before + 64);
    CHECK(bench.client->set_irqs(kIrqSetDataNone | kIrqSetActionTrigger, 2, 0, 0).error() == 0);
    CHECK(open_fds() == before);
    CHECK_FALSE(bench.irqs().enabled(2, 63));
}

TEST_CASE("the client may trigger, by range and by booleans", "[interrupts]") {
    IrqBench bench;
    std::vector<UniqueFd> events;
    std::vector<int> fds;
    for (int i = 0; i < 4; ++i) fds.push_back(events.emplace_back(make_eventfd()).get());
    CHECK(bench.client->set_irqs(kAssign, 2, 0, 4, fds).error() == 0);
    CHECK(bench.client->set_irqs(kIrqSetDataNone | kIrqSetActionTrigger, 2, 1, 2).error() == 0);
    CHECK(bench.client
              ->set_irqs(kIrqSetDataBool | kIrqSetActionTrigger, 2, 0, 4, {},
                         {std::byte{1}, std::byte{0}, std::byte{1}, std::byte{0}})
              .error() == 0);
    CHECK(signals(events[0]) == 1);
    CHECK(signals(events[1]) == 1);
    CHECK(signals(events[2]) == 2);
    CHECK(signals(events[3]) == 0);
}

TEST_CASE("a masked interrupt is kept and delivered once when unmasked", "[interrupts]") {
    IrqBench bench;
    const UniqueFd event = make_eventfd();
    CHECK(bench.client->set_irqs(kAssign, 0, 0, 1, {event.get()}).error() == 0);
    CHECK(bench.client->set_irqs(kIrqSetDataNone | kIrqSetActionMask, 0, 0, 1).error() == 0);
    CHECK(bench.irqs().trigger(0, 0) == Delivery::kMasked);
    CHECK(bench.irqs().trigger(0, 0) == Delivery::kMasked);
    CHECK(bench.irqs().pending(0, 0));
    CHECK(signals(event) == 0);
    // A boolean of zero leaves it as it is.
    CHECK(bench.client->set_irqs(kIrqSetDataBool | kIrqSetActionUnmask, 0, 0, 1, {}, {std::byte{0}})
              .error() == 0);
    CHECK(signals(event) == 0);
    CHECK(bench.client->set_irqs(kIrqSetDataBool | kIrqSetActionUnmask, 0, 0, 1, {}, {std::byte{1}})
              .error() == 0);
    CHECK(signals(event) == 1);
    CHECK_FALSE(bench.irqs().pending(0, 0));
}

TEST_CASE("an automasked interrupt masks itself until the client unmasks", "[interrupts]") {
    IrqBench bench;
    const UniqueFd event = make_eventfd();
    CHECK(bench.client->set_irqs(kAssign, 0, 0, 1, {event.get()}).error() == 0);
    CHECK(bench.irqs().trigger(0, 0) == Delivery::kDelivered);
    CHECK(bench.irqs().masked(0, 0));
    CHECK(bench.irqs().trigger(0, 0) == Delivery::kMasked);
    CHECK(signals(event) == 1);
    SECTION("still asserted: fires and masks again") {
        CHECK(bench.client->set_irqs(kIrqSetDataNone | kIrqSetActionUnmask, 0, 0, 1).error() == 0);
        CHECK(signals(event) == 1);
        CHECK(bench.irqs().masked(0, 0));
    }
    SECTION("deasserted meanwhile: silent") {
        bench.irqs().withdraw(0, 0);
        CHECK(bench.client->set_irqs(kIrqSetDataNone | kIrqSetActionUnmask, 0, 0, 1).error() == 0);
        CHECK(signals(event) == 0);
        CHECK_FALSE(bench.irqs().masked(0, 0));
    }
}

TEST_CASE("the client may unmask and mask through eventfds, without messages", "[interrupts]") {
    IrqBench bench;
    const UniqueFd event = make_eventfd();
    const UniqueFd unmask = make_eventfd();
    const UniqueFd mask = make_eventfd();
    CHECK(bench.client->set_irqs(kAssign, 0, 0, 1, {event.get()}).error() == 0);
    CHECK(bench.client->set_irqs(kIrqSetDataEventfd | kIrqSetActionUnmask, 0, 0, 1, {unmask.get()})
              .error() == 0);
    CHECK(bench.client->set_irqs(kIrqSetDataEventfd | kIrqSetActionMask, 0, 0, 1, {mask.get()})
              .error() == 0);
    for (int round = 0; round < 3; ++round) {
        CHECK(bench.irqs().trigger(0, 0) == Delivery::kDelivered);
        CHECK(bench.irqs().masked(0, 0));
        REQUIRE(::eventfd_write(unmask.get(), 1) == 0);
        bench.drain();
        CHECK_FALSE(bench.irqs().masked(0, 0));
    }
    REQUIRE(::eventfd_write(mask.get(), 1) == 0);
    bench.drain();
    CHECK(bench.irqs().masked(0, 0));
    // Taken away, it has no effect any more.
    CHECK(bench.client->set_irqs(kIrqSetDataEventfd | kIrqSetActionUnmask, 0, 0, 1).error() == 0);
    REQUIRE(::eventfd_write(unmask.get(), 1) == 0);
    bench.drain();
    CHECK(bench.irqs().masked(0, 0));
}

TEST_CASE("malformed SET_IRQS are refused and change nothing", "[interrupts]") {
    IrqBench bench;
    const UniqueFd event = make_eventfd();
    const int fd = event.get();
    const std::uint32_t none = kIrqSetDataNone | kIrqSetActionTrigger;
    auto& client = *bench.client;
    CHECK(client.set_irqs(kAssign, 5, 0, 1, {fd}).error() == EINVAL);       // index
    CHECK(client.set_irqs(kAssign, 2, 64, 1, {fd}).error() == EINVAL);      // start
    CHECK(client.set_irqs(kAssign, 2, 63, 2, {fd, fd}).error() == EINVAL);  // end
    CHECK(client.set_irqs(none, 2, 1, 0xffffffff).error() == EINVAL);       // overflow
    CHECK(client.set_irqs(none, 2, 3, 0).error() == EINVAL);                // empty, not at 0
    CHECK(client.set_irqs(kAssign, 2, 0, 0).error() == EINVAL);             // empty with data
    CHECK(client.set_irqs(none, 1, 0, 0).error() == EINVAL);                // type without vectors
    CHECK(client.set_irqs(kAssign, 2, 0, 2, {fd}).error() == EINVAL);       // fds differ from count
    CHECK(client.set_irqs(none, 2, 0, 1, {fd}).error() == EINVAL);          // fd without use
    CHECK(client.set_irqs(kIrqSetActionTrigger, 2, 0, 1).error() == EINVAL);
    CHECK(client.set_irqs(kIrqSetDataNone, 2, 0, 1).error() == EINVAL);
    CHECK(client.set_irqs(none | kIrqSetDataBool, 2, 0, 1).error() == EINVAL);
    CHECK(client.set_irqs(none | kIrqSetActionMask, 2, 0, 1).error() == EINVAL);
    CHECK(client.set_irqs(none | 0x40, 2, 0, 1).error() == EINVAL);
    CHECK(client.set_irqs(kIrqSetDataNone | kIrqSetActionMask, 2, 0, 1).error() == EINVAL);
    CHECK(client.set_irqs(kIrqSetDataBool | kIrqSetActionTrigger, 2, 0, 4, {}, Bytes(3)).error() ==
          EINVAL);
    CHECK(client.call(Command::kDeviceSetIrqs, Bytes(19)).error() == EINVAL);
    CHECK(
        client.call(Command::kDeviceSetIrqs, bytes_of(IrqSetPayload{19, none, 2, 0, 1})).error() ==
        EINVAL);
    CHECK(bench.device.irq_changes.empty());
    CHECK_FALSE(bench.irqs().enabled(2, 0));
}

TEST_CASE("only an eventfd is taken: anything else could block the server", "[interrupts]") {
    IrqBench bench;
    std::array<int, 2> pipe;
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    const UniqueFd reader(pipe[0]);
    const UniqueFd writer(pipe[1]);
    CHECK(bench.client->set_irqs(kAssign, 2, 0, 1, {writer.get()}).error() == EINVAL);
    const UniqueFd file = make_memfd(4096);
    CHECK(bench.client->set_irqs(kAssign, 2, 0, 1, {file.get()}).error() == EINVAL);
}

TEST_CASE("an eventfd that is full does not block a trigger", "[interrupts]") {
    IrqBench bench;
    const UniqueFd blocking(::eventfd(0, EFD_CLOEXEC));
    CHECK(bench.client->set_irqs(kAssign, 2, 0, 1, {blocking.get()}).error() == 0);
    REQUIRE(::eventfd_write(blocking.get(), 0xfffffffffffffffe) == 0);
    CHECK(bench.irqs().trigger(2, 0) == Delivery::kFailed);
    CHECK(bench.irqs().counters().failed == 1);
}
