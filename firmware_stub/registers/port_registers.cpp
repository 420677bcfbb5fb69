// SPDX-License-Identifier: Apache-2.0
// Registers of the port: administrative and operational state, speeds, MTU, pause, FEC, lanes.
#include "firmware_stub/registers/port_modes.h"
#include "firmware_stub/registers/register_table.h"

#include <algorithm>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::RegisterId;
using prm::Status;
using prm::View;

constexpr std::uint32_t kOnlyPort = 1;

enum PortStatus : std::uint32_t { kUp = 1, kDown = 2, kUpOnce = 3, kDisabledByFault = 4 };

Reply check_port(std::uint32_t local_port) {
    if (local_port != kOnlyPort) return refuse(Status::BAD_PARAM, "no such local_port");
    return accept();
}

Port& port_of(CommandContext& context) {
    return context.firmware.port();
}

// ---- PAOS: port administrative and operational status

Reply read_paos(CommandContext& context, View<prm::paos_reg> reg) {
    const Reply check = check_port(reg.get<prm::paos_reg::local_port>());
    if (!check.ok()) return check;
    const Port& port = port_of(context);
    reg.set<prm::paos_reg::admin_status>(port.admin_up ? kUp : kDown);
    reg.set<prm::paos_reg::oper_status>(port.operational() ? kUp : kDown);
    reg.set<prm::paos_reg::e>(port.reports_changes ? 1 : 0);
    reg.set<prm::paos_reg::ase>(0);
    reg.set<prm::paos_reg::ee>(0);
    return accept();
}

Reply write_paos(CommandContext& context, View<prm::paos_reg> reg) {
    const Reply check = check_port(reg.get<prm::paos_reg::local_port>());
    if (!check.ok()) return check;
    Port& port = port_of(context);
    const auto wanted = reg.get<prm::paos_reg::admin_status>();
    if (reg.get<prm::paos_reg::ase>() != 0) {
        if (wanted != kUp && wanted != kDown && wanted != kUpOnce) {
            return refuse(Status::BAD_PARAM, "admin_status not defined");
        }
        context.firmware.set_port_admin(wanted != kDown);
    }
    if (reg.get<prm::paos_reg::ee>() != 0) {
        port.reports_changes = reg.get<prm::paos_reg::e>() != 0;
    }
    return read_paos(context, reg);
}

// ---- PTYS: port type and speed

Reply read_ptys(CommandContext& context, View<prm::ptys_reg> reg) {
    enum ProtoMask : std::uint32_t { kEthernet = 0b100 };
    const Reply check = check_port(reg.get<prm::ptys_reg::local_port>());
    if (!check.ok()) return check;
    const auto proto_mask = reg.get<prm::ptys_reg::proto_mask>();
    if (proto_mask != kEthernet) {
        return refuse(Status::BAD_PARAM, "proto_mask is not Ethernet");
    }
    // States of autonegotiation, kinds of connector: as the driver's header numbers them.
    enum Autonegotiation : std::uint32_t { kAnUnavailable = 0, kAnComplete = 1, kAnLinkDown = 4 };
    constexpr std::uint32_t kConnectorDirectAttach = 7;
    const Port& port = port_of(context);
    const model::PortStatus status = port.status();
    const auto capability = port.config.ptys.view();
    reg.clear();
    reg.set<prm::ptys_reg::local_port>(kOnlyPort);
    reg.set<prm::ptys_reg::proto_mask>(proto_mask);
    if (status.cable_present) {
        reg.set<prm::ptys_reg::connector_type>(kConnectorDirectAttach);
        reg.set<prm::ptys_reg::an_status>(port.autonegotiation_disabled ? kAnUnavailable
                                          : status.up                   ? kAnComplete
                                                                        : kAnLinkDown);
    }
    if (status.up) {
        reg.set<prm::ptys_reg::data_rate_oper>(static_cast<std::uint32_t>(status.rate.value / 1e8));
        reg.set<prm::ptys_reg::eth_proto_oper>(
            legacy_oper(status.mode, capability.get<prm::ptys_reg::eth_proto_capability>()));
        if (capability.get<prm::ptys_reg::ext_eth_proto_capability>() != 0) {
            reg.set<prm::ptys_reg::ext_eth_proto_oper>(mask_of(status.mode));
        }
        reg.set<prm::ptys_reg::eth_proto_lp_advertise>(legacy_of_modes(status.partner_modes));
    }
    reg.set<prm::ptys_reg::an_disable_cap>(capability.get<prm::ptys_reg::an_disable_cap>());
    reg.set<prm::ptys_reg::an_disable_admin>(port.autonegotiation_disabled ? 1 : 0);
    reg.set<prm::ptys_reg::eth_proto_capability>(
        capability.get<prm::ptys_reg::eth_proto_capability>());
    reg.set<prm::ptys_reg::ext_eth_proto_capability>(
        capability.get<prm::ptys_reg::ext_eth_proto_capability>());
    reg.set<prm::ptys_reg::eth_proto_admin>(port.eth_proto_admin);
    reg.set<prm::ptys_reg::ext_eth_proto_admin>(port.ext_eth_proto_admin);
    return accept();
}

Reply write_ptys(CommandContext& context, View<prm::ptys_reg> reg) {
    Port& port = port_of(context);
    const Reply check = check_port(reg.get<prm::ptys_reg::local_port>());
    if (!check.ok()) return check;
    const auto legacy = reg.get<prm::ptys_reg::eth_proto_admin>();
    const auto extended = reg.get<prm::ptys_reg::ext_eth_proto_admin>();
    const auto capability = port.config.ptys.view();
    if ((legacy & ~capability.get<prm::ptys_reg::eth_proto_capability>()) != 0 ||
        (extended & ~capability.get<prm::ptys_reg::ext_eth_proto_capability>()) != 0) {
        return refuse(Status::BAD_PARAM, "speed beyond the port's capability");
    }
    if (legacy == 0 && extended == 0) return refuse(Status::BAD_PARAM, "no speed left");
    const bool disable = reg.get<prm::ptys_reg::an_disable_admin>() != 0;
    if (disable && capability.get<prm::ptys_reg::an_disable_cap>() == 0) {
        return refuse(Status::BAD_PARAM, "autonegotiation cannot be disabled");
    }
    // One mask at a time is written; the other stays.
    if (legacy != 0) port.eth_proto_admin = legacy;
    if (extended != 0) port.ext_eth_proto_admin = extended;
    port.extended_modes = extended != 0;
    port.autonegotiation_disabled = disable;
    port.apply();
    return read_ptys(context, reg);
}

// ---- PMTU

Reply read_pmtu(CommandContext& context, View<prm::pmtu_reg> reg) {
    const Reply check = check_port(reg.get<prm::pmtu_reg::local_port>());
    if (!check.ok()) return check;
    const Port& port = port_of(context);
    reg.set<prm::pmtu_reg::max_mtu>(port.config.max_mtu);
    reg.set<prm::pmtu_reg::admin_mtu>(port.admin_mtu);
    reg.set<prm::pmtu_reg::oper_mtu>(port.admin_mtu);
    return accept();
}

Reply write_pmtu(CommandContext& context, View<prm::pmtu_reg> reg) {
    const Reply check = check_port(reg.get<prm::pmtu_reg::local_port>());
    if (!check.ok()) return check;
    Port& port = port_of(context);
    const auto mtu = reg.get<prm::pmtu_reg::admin_mtu>();
    if (mtu == 0 || mtu > port.config.max_mtu) {
        return refuse(Status::BAD_PARAM, "admin_mtu beyond max_mtu");
    }
    port.admin_mtu = mtu;
    port.apply();
    return read_pmtu(context, reg);
}

// ---- PFCC: pause and priority flow control

Reply read_pfcc(CommandContext& context, View<prm::pfcc_reg> reg) {
    const Reply check = check_port(reg.get<prm::pfcc_reg::local_port>());
    if (!check.ok()) return check;
    const Port& port = port_of(context);
    reg.clear();
    reg.set<prm::pfcc_reg::local_port>(kOnlyPort);
    reg.set<prm::pfcc_reg::prio_mask_tx>(0xff);
    reg.set<prm::pfcc_reg::prio_mask_rx>(0xff);
    reg.set<prm::pfcc_reg::pptx>(port.pause_tx ? 1 : 0);
    reg.set<prm::pfcc_reg::pprx>(port.pause_rx ? 1 : 0);
    reg.set<prm::pfcc_reg::pfctx>(port.pfc_tx);
    reg.set<prm::pfcc_reg::pfcrx>(port.pfc_rx);
    return accept();
}

Reply write_pfcc(CommandContext& context, View<prm::pfcc_reg> reg) {
    using Reg = prm::pfcc_reg;
    const Reply check = check_port(reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    Port& port = port_of(context);
    // Masks that end in _n keep a field when set; prio_mask names the priorities to change.
    const bool pause_tx = reg.get<Reg::pptx_mask_n>() != 0 ? port.pause_tx : reg.get<Reg::pptx>();
    const bool pause_rx = reg.get<Reg::pprx_mask_n>() != 0 ? port.pause_rx : reg.get<Reg::pprx>();
    const auto merge = [](std::uint32_t mask, std::uint32_t wanted, std::uint8_t before) {
        return static_cast<std::uint8_t>((wanted & mask) | (before & ~mask));
    };
    const std::uint8_t pfc_tx =
        merge(reg.get<Reg::prio_mask_tx>(), reg.get<Reg::pfctx>(), port.pfc_tx);
    const std::uint8_t pfc_rx =
        merge(reg.get<Reg::prio_mask_rx>(), reg.get<Reg::pfcrx>(), port.pfc_rx);
    // Global pause gives way to priority flow control of the same direction.
    port.pause_tx = pause_tx && pfc_tx == 0;
    port.pause_rx = pause_rx && pfc_rx == 0;
    port.pfc_tx = pfc_tx;
    port.pfc_rx = pfc_rx;
    port.apply();
    return read_pfcc(context, reg);
}

// ---- PPLM: FEC

Reply read_pplm(CommandContext& context, View<prm::pplm_reg> reg) {
    const Reply check = check_port(reg.get<prm::pplm_reg::local_port>());
    if (!check.ok()) return check;
    const Port& port = port_of(context);
    reg.clear();
    reg.set<prm::pplm_reg::local_port>(kOnlyPort);
    const auto capability = port.config.pplm.view();
    const auto admin = port.fec_admin.view();
    for_each_fec_class([&]<class Admin, class Cap>(model::LinkModeMask) {
        reg.set<Cap>(capability.get<Cap>());
        reg.set<Admin>(admin.get<Admin>());
    });
    const model::PortStatus status = port.status();
    if (status.up) reg.set<prm::pplm_reg::fec_mode_active>(mask_of(status.fec));
    return accept();
}

Reply write_pplm(CommandContext& context, View<prm::pplm_reg> reg) {
    const Reply check = check_port(reg.get<prm::pplm_reg::local_port>());
    if (!check.ok()) return check;
    Port& port = port_of(context);
    const auto capability = port.config.pplm.view();
    bool possible = true;
    for_each_fec_class([&]<class Admin, class Cap>(model::LinkModeMask) {
        possible &= (reg.get<Admin>() & ~capability.get<Cap>()) == 0;
    });
    if (!possible) return refuse(Status::BAD_PARAM, "FEC mode not supported at this speed");
    const auto admin = port.fec_admin.view();
    for_each_fec_class(
        [&]<class Admin, class Cap>(model::LinkModeMask) { admin.set<Admin>(reg.get<Admin>()); });
    port.apply();
    return read_pplm(context, reg);
}

// ---- PMLP: lanes of the port in its module

Reply read_pmlp(CommandContext& context, View<prm::pmlp_reg> reg) {
    const Reply check = check_port(reg.get<prm::pmlp_reg::local_port>());
    if (!check.ok()) return check;
    const Port& port = port_of(context);
    reg.clear();
    reg.set<prm::pmlp_reg::local_port>(kOnlyPort);
    reg.set<prm::pmlp_reg::width>(port.config.lanes);
    // lane_2_module_mapping: rx_lane 27:24, tx_lane 19:16, module 7:0
    const auto lane = [&](std::uint32_t n) {
        return n < port.config.lanes ? (n << 24) | (n << 16) | port.config.module : 0;
    };
    reg.set<prm::pmlp_reg::lane0_module_mapping>(lane(0));
    reg.set<prm::pmlp_reg::lane1_module_mapping>(lane(1));
    reg.set<prm::pmlp_reg::lane2_module_mapping>(lane(2));
    reg.set<prm::pmlp_reg::lane3_module_mapping>(lane(3));
    return accept();
}

// ---- PCMR: checks of the port

Reply read_pcmr(CommandContext& context, View<prm::pcmr_reg> reg) {
    const Reply check = check_port(reg.get<prm::pcmr_reg::local_port>());
    if (!check.ok()) return check;
    const Port& port = port_of(context);
    reg.clear();
    reg.set<prm::pcmr_reg::local_port>(kOnlyPort);
    reg.set<prm::pcmr_reg::fcs_cap>(1);
    reg.set<prm::pcmr_reg::fcs_chk>(port.check_fcs ? 1 : 0);
    return accept();
}

Reply write_pcmr(CommandContext& context, View<prm::pcmr_reg> reg) {
    const Reply check = check_port(reg.get<prm::pcmr_reg::local_port>());
    if (!check.ok()) return check;
    if (reg.get<prm::pcmr_reg::rx_ts_over_crc>() != 0) {
        return refuse(Status::BAD_PARAM, "rx_ts_over_crc not supported");
    }
    port_of(context).check_fcs = reg.get<prm::pcmr_reg::fcs_chk>() != 0;
    port_of(context).apply();
    return read_pcmr(context, reg);
}

// ---- PVLC: virtual lanes; Ethernet ports have one

Reply read_pvlc(CommandContext&, View<prm::pvlc_reg> reg) {
    const Reply check = check_port(reg.get<prm::pvlc_reg::local_port>());
    if (!check.ok()) return check;
    reg.set<prm::pvlc_reg::vl_hw_cap>(1);
    reg.set<prm::pvlc_reg::vl_admin>(1);
    reg.set<prm::pvlc_reg::vl_operational>(1);
    return accept();
}

}  // namespace

std::vector<RegisterRow> port_registers() {
    return {
        register_row<&read_paos, &write_paos>(RegisterId::PAOS),
        register_row<&read_ptys, &write_ptys>(RegisterId::PTYS),
        register_row<&read_pmtu, &write_pmtu>(RegisterId::PMTU),
        register_row<&read_pfcc, &write_pfcc>(RegisterId::PFCC),
        register_row<&read_pplm, &write_pplm>(RegisterId::PPLM),
        register_row<&read_pmlp>(RegisterId::PMLP),
        register_row<&read_pcmr, &write_pcmr>(RegisterId::PCMR),
        register_row<&read_pvlc>(RegisterId::PVLC),
    };
}

}  // namespace cxsim::firmware_stub
