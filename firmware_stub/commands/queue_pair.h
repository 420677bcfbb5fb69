// SPDX-License-Identifier: Apache-2.0
// Facts of queue pairs that creation and transitions share.
#pragma once

#include <cstdint>
#include <optional>

#include "firmware_stub/boot/function_state.h"
#include "firmware_stub/mailbox/reply.h"

namespace cxsim::firmware_stub {

/// qpc.st.
enum class ServiceType : std::uint8_t {
    rc = 0x0,
    uc = 0x1,
    ud = 0x2,
    xrc = 0x3,
    mlx = 0x4,
    dci = 0x5,
    dct = 0x6,
    qp0 = 0x7,
    qp1 = 0x8,
    raw_ethertype = 0x9,
    raw_ipv6 = 0xa,
    sniffer = 0xb,
    reg_umr = 0xc,
    ptp_1588 = 0xd,
    sync_umr = 0xe,
};

inline ServiceType service_type(prm::ConstView<prm::qpc> context) {
    return static_cast<ServiceType>(context.get<prm::qpc::st>());
}

/// Whether packets of the service go out as RoCE.
constexpr bool uses_roce(ServiceType type) {
    switch (type) {
        case ServiceType::rc:
        case ServiceType::uc:
        case ServiceType::ud:
        case ServiceType::xrc:
        case ServiceType::qp1: return true;
        default: return false;
    }
}

/// Values of qpc.rq_type.
enum class ReceiveType : std::uint8_t { regular = 0, shared = 1, collapsed = 2, none = 3 };

/// Where a QP's number of a shared receive queue leads: SRQ, XRC SRQ or RMP.
std::optional<model::ObjectId> find_shared_queue(const model::Resources& resources,
                                                 std::uint32_t number);

/// Lets go of the QP's counter set and holds another one; 0 is the default set, which is no
/// object.
Reply change_counter_set(model::Resources& resources, model::Qp& qp, std::uint32_t number);

}  // namespace cxsim::firmware_stub
