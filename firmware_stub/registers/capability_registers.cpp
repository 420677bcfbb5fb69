// SPDX-License-Identifier: Apache-2.0
// Which registers and features the card has (PCAM, MCAM, QCAM): from its data.
#include <algorithm>
#include <vector>

#include "firmware_stub/registers/register_table.h"

namespace cxsim::firmware_stub {
namespace {

using prm::RegisterId;
using prm::View;

template <class Reg>
Reply read_group(CommandContext& context, View<Reg> reg) {
    const auto group = reg.template get<typename Reg::access_reg_group>();
    const auto feature = reg.template get<typename Reg::feature_group>();
    const model::CapabilityImage* image =
        context.firmware.config().capabilities->register_group(prm::layout_info<Reg>().name,
                                                               group);
    if (image == nullptr || feature != 0) {
        return refuse(prm::Status::BAD_PARAM, "no such group");
    }
    const auto bytes = image->bytes();
    std::copy(bytes.begin(), bytes.end(), reg.bytes().begin());
    reg.template set<typename Reg::access_reg_group>(group);
    return accept();
}

Reply read_pcam(CommandContext& context, View<prm::pcam_reg> reg) {
    return read_group(context, reg);
}
Reply read_mcam(CommandContext& context, View<prm::mcam_reg> reg) {
    return read_group(context, reg);
}
Reply read_qcam(CommandContext& context, View<prm::qcam_reg> reg) {
    return read_group(context, reg);
}

}  // namespace

std::vector<RegisterRow> capability_registers() {
    return {
        register_row<&read_pcam>(RegisterId::PCAM),
        register_row<&read_mcam>(RegisterId::MCAM),
        register_row<&read_qcam>(RegisterId::QCAM),
    };
}

}  // namespace cxsim::firmware_stub
