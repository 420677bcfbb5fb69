// SPDX-License-Identifier: Apache-2.0
// Registers of a card as firmware tools and drivers access them, without ACCESS_REG around.
#pragma once

#include "firmware_stub/registers/register_table.h"
#include "tests/support/firmware_bench.h"

#include <initializer_list>

namespace cxsim::test {

class RegisterBench : public FirmwareBench {
  public:
    explicit RegisterBench(std::string_view card_name = "connectx5")
        : FirmwareBench(card_name) {
        config.port = firmware_stub::port_config(card->identity(), card->capabilities());
        config.firmware_major = 16;
        config.firmware_minor = 35;
        config.firmware_subminor = 4030;
        config.hw_id = 0x20d;
        firmware.port().config = config.port;
        firmware.port().reset();
    }

    firmware_stub::Reply access(prm::RegisterId id, bool write, std::span<std::byte> data) {
        firmware_stub::CommandContext context{firmware, function(), calendar.now()};
        return firmware_stub::access_register(context, static_cast<std::uint16_t>(id), write, data);
    }
    template <class Reg>
    firmware_stub::Reply read(prm::RegisterId id, prm::Buffer<Reg>& reg) {
        return access(id, false, reg.bytes());
    }
    template <class Reg>
    firmware_stub::Reply write(prm::RegisterId id, prm::Buffer<Reg>& reg) {
        return access(id, true, reg.bytes());
    }
    firmware_stub::Port& port() { return firmware.port(); }
};

/// A register of port 1 as a driver sends it for a read.
template <class Reg>
prm::Buffer<Reg> port_register() {
    prm::Buffer<Reg> reg;
    reg.view().template set<typename Reg::local_port>(1U);
    return reg;
}

template <class Reg>
struct RegisterRefusal {
    const char* name;
    void (*spoil)(prm::View<Reg>);
    prm::Status status = prm::Status::BAD_PARAM;
    std::uint32_t syndrome = 0;
};

/// Each spoilt copy of `good` is refused as told and leaves the port as it was.
template <class Reg>
void check_register_refusals(RegisterBench& bench, prm::RegisterId id, bool write,
                             const prm::Buffer<Reg>& good,
                             std::initializer_list<RegisterRefusal<Reg>> refusals) {
    for (const RegisterRefusal<Reg>& refusal : refusals) {
        INFO(refusal.name);
        prm::Buffer<Reg> spoilt = good;
        refusal.spoil(spoilt.view());
        const auto before = bench.port();
        const firmware_stub::Reply reply = bench.access(id, write, spoilt.bytes());
        CHECK(reply.status == refusal.status);
        CHECK(reply.syndrome == refusal.syndrome);
        CHECK_FALSE(reply.reason.empty());
        const auto& after = bench.port();
        CHECK(after.admin_up == before.admin_up);
        CHECK(after.eth_proto_admin == before.eth_proto_admin);
        CHECK(after.ext_eth_proto_admin == before.ext_eth_proto_admin);
        CHECK(after.autonegotiation_disabled == before.autonegotiation_disabled);
        CHECK(after.admin_mtu == before.admin_mtu);
        CHECK(after.check_fcs == before.check_fcs);
        CHECK(after.pfc_rx == before.pfc_rx);
        CHECK(after.pfc_tx == before.pfc_tx);
        CHECK(std::ranges::equal(after.fec_admin.bytes(), before.fec_admin.bytes()));
    }
}

}  // namespace cxsim::test
