// SPDX-License-Identifier: Apache-2.0
// A switch with a station at each port.
#pragma once

#include "eth/link/switch.h"
#include "tests/support/port_bench.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace cxsim::test {

inline constexpr std::uint64_t kBroadcast = 0xffff'ffff'ffff;

inline std::uint64_t station(unsigned i) {
    return 0x02'00'00'00'01'00 + i;
}

struct SwitchBench {
    explicit SwitchBench(eth::SwitchConfig config = {})
        : network(calendar, prepare(config), pool, statistics) {
        for (unsigned i = 0; i < network.ports(); ++i) {
            eth::MacConfig mac = bench_mac_config("a");
            mac.name = "station" + std::to_string(i);
            eth::LinkConfig link;
            link.name = "link" + std::to_string(i);
            links.push_back(std::make_unique<eth::Link>(calendar, link, statistics));
            macs.push_back(std::make_unique<eth::Mac>(calendar, mac, pool, statistics));
            receivers.push_back(std::make_unique<CountingReceiver>());
            macs[i]->configure(bench_settings(mask_of(model::LinkMode::speed_25g)));
            macs[i]->set_receiver(receivers[i].get());
            macs[i]->connect(*links[i], 0);
            network.port(i).connect(*links[i], 1);
        }
        calendar.run_until(model::microseconds(5));
    }
    static eth::SwitchConfig prepare(eth::SwitchConfig config) {
        config.port = bench_mac_config("p");
        return config;
    }
    void send(unsigned from, std::uint64_t to, std::uint32_t size = 100) {
        model::FramePtr frame = pool.make(size);
        std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0});
        const eth::Ethernet header(frame->bytes().data());
        header.set_destination({to});
        header.set_source({station(from)});
        header.set_type(0x88b5);
        macs[from]->transmit(calendar.now(), std::move(frame));
    }
    std::vector<std::uint64_t> received() {
        while (calendar.run_one()) {
        }
        std::vector<std::uint64_t> counts;
        for (auto& receiver : receivers) {
            counts.push_back(receiver->frames);
            receiver->frames = 0;
        }
        return counts;
    }

    model::Calendar calendar;
    model::FramePool pool;
    model::stats::Group statistics{"bench"};
    std::vector<std::unique_ptr<eth::Link>> links;
    eth::Switch network;
    std::vector<std::unique_ptr<CountingReceiver>> receivers;
    std::vector<std::unique_ptr<eth::Mac>> macs;
};

}  // namespace cxsim::test
