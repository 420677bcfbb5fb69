// SPDX-License-Identifier: Apache-2.0
// Every frame is delivered, dropped for a reason that has a counter, or in flight.
#include "eth/mac/mac.h"
#include "model/base/random.h"
#include "tests/support/port_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using model::LinkMode;
using model::microseconds;
using test::PortBench;

namespace {

void check_books(PortBench& bench) {
    eth::PortCounters& tx = bench.a.port_counters();
    eth::PortCounters& rx = bench.b.port_counters();
    const eth::LinkCounters& link = bench.link.counters();
    CHECK(tx.tx_accepted.value() == tx.tx_frames.value() - tx.tx_control.value() +
                                        tx.tx_discards.value() + bench.a.queued_frames());
    CHECK(tx.tx_discards.value() == tx.tx_no_link.value() + tx.tx_oversize.value());
    CHECK(link.sent[1].value() == tx.tx_frames.value());
    CHECK(link.sent[1].value() ==
          link.delivered[1].value() + link.lost[1].value() + bench.link.in_flight(1));
    CHECK(link.delivered[1].value() == rx.rx_events.value());
    CHECK(rx.rx_events.value() ==
          rx.rx_frames.value() + rx.rx_errors.value() + rx.rx_damaged_kept.value());
    CHECK(rx.rx_errors.value() == rx.rx_undersize.value() + rx.rx_fragments.value() +
                                      rx.rx_oversize.value() + rx.rx_jabbers.value() +
                                      rx.rx_fcs_errors.value() - rx.rx_damaged_kept.value());
    CHECK(rx.rx_frames.value() + rx.rx_damaged_kept.value() ==
          rx.rx_control.value() + rx.rx_delivered.value() + rx.rx_discards.value() +
              rx.rx_no_receiver.value());
    CHECK(rx.rx_delivered.value() == bench.at_b.frames);
    CHECK(rx.rx_frames.value() ==
          rx.rx_unicast.value() + rx.rx_multicast.value() + rx.rx_broadcast.value());
    std::uint64_t sizes = 0;
    for (std::size_t i = 0; i < rx.rx_sizes.size(); ++i) sizes += rx.rx_sizes[i].value();
    CHECK(sizes == rx.rx_frames.value());
}

}  // namespace

TEST_CASE("the books balance under errors, overload, oversize frames and cut links",
          "[conservation]") {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        CAPTURE(seed);
        model::RandomStream random(seed, "conservation");
        eth::LinkConfig config;
        config.seed = seed;
        PortBench bench(LinkMode::speed_25g, config,
                        seed % 2 == 0 ? mask_of(model::FecMode::none) : model::FecMask{0});
        model::PortSettings settings = bench.b.settings();
        settings.mtu = 4000;
        settings.pause_tx = seed > 2;
        settings.buffers[0].lossy = seed <= 2;
        bench.b.configure(settings);
        settings = bench.a.settings();
        settings.pause_rx = seed > 2;
        bench.a.configure(settings);
        bench.at_b.service = model::nanoseconds(700);
        for (int step = 0; step < 8000; ++step) {
            switch (random.below(60)) {
                case 0:
                    bench.link.set_plugged(false);
                    bench.send(100);
                    bench.link.set_plugged(true);
                    break;
                case 1:
                    settings = bench.a.settings();
                    settings.admin_up = !settings.admin_up;
                    bench.a.configure(settings);
                    bench.send(100);
                    settings.admin_up = true;
                    bench.a.configure(settings);
                    break;
                case 2:
                    bench.link.set_bit_error_ratio(1, random.below(4) == 0 ? 5e-4 : 1e-6);
                    break;
                case 3:
                    bench.send(9500);
                    break;
                case 4:
                    settings = bench.b.settings();
                    settings.check_fcs = !settings.check_fcs;
                    bench.b.configure(settings);
                    break;
                case 5:
                    bench.b.set_receiver(random.below(4) == 0 ? nullptr : &bench.at_b);
                    break;
                case 6:
                case 7:
                case 8:
                    bench.run_for(microseconds(static_cast<std::int64_t>(random.below(80))));
                    break;
                default:
                    bench.send(static_cast<std::uint32_t>(20 + random.below(6000)),
                               static_cast<unsigned>(random.below(8)));
            }
            if (step % 100 == 0) check_books(bench);
        }
        bench.a.counters();
        check_books(bench);
        bench.link.set_plugged(false);
        bench.drain();
        check_books(bench);
        CHECK(bench.at_b.frames > 500);
        CHECK(bench.b.port_counters().rx_errors.value() > 0);
        CHECK(bench.link.counters().lost[1].value() > 0);
        CHECK(bench.pool.in_use() == 0);
    }
}
