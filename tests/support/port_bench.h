// SPDX-License-Identifier: Apache-2.0
// Two ports on a link, with receivers that keep books of what they got.
#pragma once

#include "eth/link/link.h"
#include "eth/mac/mac.h"
#include "model/ports/frame.h"
#include "model/sim/calendar.h"

#include <vector>

namespace cxsim::test {

class CountingReceiver : public model::FrameReceiver {
  public:
    model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override {
        ++frames;
        bytes += frame->size();
        if (frame->damaged) ++damaged;
        last = at;
        if (keeps) kept.push_back(std::move(frame));
        busy_until = std::max(busy_until, at) + service;
        return service.value == 0 ? at : busy_until;
    }
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t damaged = 0;
    model::Picoseconds last;
    model::Picoseconds service;  ///< the host's time for a frame; 0: at once
    model::Picoseconds busy_until;
    bool keeps = false;
    std::vector<model::FramePtr> kept;
};

class LinkChanges : public model::PortListener {
  public:
    void link_changed(bool up) override { changes.push_back(up); }
    std::vector<bool> changes;
};

inline eth::MacConfig bench_mac_config(const char* name) {
    eth::MacConfig config;
    config.name = name;
    config.address.value = name[0] == 'a' ? 0x02'00'00'00'00'0a : 0x02'00'00'00'00'0b;
    config.link_up = model::microseconds(1);
    config.mac_latency = model::nanoseconds(50);
    config.fec_firecode = model::nanoseconds(2);
    config.fec_rs528 = model::nanoseconds(40);
    config.fec_rs544 = model::nanoseconds(80);
    return config;
}

inline model::PortSettings bench_settings(model::LinkModeMask modes) {
    model::PortSettings settings;
    settings.modes = modes;
    settings.mtu = 9022;
    return settings;
}

class PortBench {
  public:
    explicit PortBench(model::LinkMode mode = model::LinkMode::speed_100g_4x,
                       const eth::LinkConfig& link_config = {}, model::FecMask fec = 0)
        : link(calendar, link_config, statistics),
          a(calendar, bench_mac_config("a"), pool, statistics),
          b(calendar, bench_mac_config("b"), pool, statistics) {
        model::PortSettings settings = bench_settings(mask_of(mode));
        settings.fec[static_cast<std::size_t>(mode)] = fec;
        a.configure(settings);
        b.configure(settings);
        a.set_receiver(&at_a);
        b.set_receiver(&at_b);
        a.set_listener(&heard_at_a);
        b.set_listener(&heard_at_b);
        a.connect(link, 0);
        b.connect(link, 1);
    }

    void bring_up() { calendar.run_until(calendar.now() + model::microseconds(2)); }
    void run_for(model::Picoseconds time) { calendar.run_until(calendar.now() + time); }
    /// Runs until nothing is pending.
    void drain() {
        while (calendar.run_one()) {
        }
    }

    /// To a unicast address, `size` bytes without FCS.
    model::FramePtr frame(std::uint32_t size, unsigned priority = 0) {
        model::FramePtr made = pool.make(size);
        std::fill(made->bytes().begin(), made->bytes().end(), std::byte{0});
        if (size >= 14) {
            const eth::Ethernet header(made->bytes().data());
            header.set_destination({0x02'00'00'00'00'0b});
            header.set_source({0x02'00'00'00'00'0a});
            header.set_type(0x88b5);
        }
        made->priority = static_cast<std::uint8_t>(priority);
        return made;
    }
    void send(std::uint32_t size, unsigned priority = 0) {
        a.transmit(calendar.now(), frame(size, priority));
    }

    model::Calendar calendar;
    model::FramePool pool;
    model::stats::Group statistics{"bench"};
    CountingReceiver at_a;
    CountingReceiver at_b;
    LinkChanges heard_at_a;
    LinkChanges heard_at_b;
    eth::Link link;
    eth::Mac a;
    eth::Mac b;
};

}  // namespace cxsim::test
