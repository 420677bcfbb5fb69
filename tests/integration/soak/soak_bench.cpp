// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/soak/soak_bench.h"

#include "model/prm/register_id.h"
#include "prm/layouts.h"

#include <stdexcept>

namespace cxsim::test {
namespace {

// A path MTU of 4096 with all headers.
void set_port_mtu(scenarios::Driver& driver) {
    constexpr std::uint32_t kPortMtu = 4400;
    using In = prm::access_register_in;
    using Reg = prm::pmtu_reg;
    driver.run<In, prm::access_register_out>(
        prm::Opcode::ACCESS_REG,
        [&](prm::View<In> in) {
            in.set<In::register_id>(prm::RegisterId::PMTU);
            const prm::View<Reg> reg(in.bytes().subspan(In::kBytes));
            reg.set<Reg::local_port>(1U);
            reg.set<Reg::admin_mtu>(kPortMtu);
        },
        {Reg::kBytes, Reg::kBytes});
}

}  // namespace

SoakBench::SoakBench(const SoakOptions& options) {
    eth::ImpairerConfig wire;
    wire.seed = options.seed;
    impairer = std::make_unique<eth::Impairer>(kernel.calendar(), wire, frames, statistics);
    for (std::uint16_t i = 0; i < 2; ++i) {
        stations[i] = std::make_unique<SoakStation>(kernel, frames, options.card, i);
        eth::LinkConfig link;
        link.name = "link" + std::to_string(i);
        link.seed = options.seed;
        links[i] = std::make_unique<eth::Link>(kernel.calendar(), link, statistics);
        const std::string capture =
            options.capture.empty()
                ? std::string()
                : options.capture + "." + stations[i]->card.name() + ".pcap";
        books[i] = std::make_unique<WireBooks>(*links[i], 0, capture);
        if (options.follow) books[i]->follow();
        stations[i]->card.port().connect(*links[i], 0);
        impairer->port(i).connect(*links[i], 1);
    }
    for (auto& station : stations) {
        station->verbs.open();
        set_port_mtu(station->driver);
    }
    for (auto& station : stations) {
        if (!station->verbs.wait_for_link(model::seconds(10))) throw std::runtime_error("no link");
    }
}

}  // namespace cxsim::test
