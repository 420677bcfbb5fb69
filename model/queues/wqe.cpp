// SPDX-License-Identifier: Apache-2.0
#include "model/queues/wqe.h"

#include "model/base/assert.h"

#include <algorithm>

namespace cxsim::model {
namespace {

constexpr std::uint32_t kVersion0Index = 0xffffff;
constexpr std::uint32_t kFormatData32 = 1;  // cqe64.cqe_format
constexpr std::uint32_t kOpcodeRequesterError = 13;
constexpr std::uint32_t kOpcodeResponderError = 14;

std::uint32_t user_index(const CqeOrigin& origin) {
    return origin.user_index == kVersion0Index ? 0 : origin.user_index;
}

}  // namespace

WqeStatus protection_status(TranslationError error) {
    switch (error) {
        case TranslationError::none:
            return wqe_status::kSuccess;
        case TranslationError::out_of_range:
            return wqe_status::kOutsideRegion;
        case TranslationError::unmapped:
            return wqe_status::kGatherFailed;
        default:
            return wqe_status::kBadLkey;
    }
}

Cqe make_send_cqe(const CqeOrigin& origin, std::uint64_t timestamp, std::uint32_t count) {
    Cqe bytes{};
    const prm::View<prm::cqe64> cqe(bytes);
    cqe.set<prm::cqe64::srqn>(user_index(origin));
    cqe.set<prm::cqe64::byte_cnt>(count);
    cqe.set<prm::cqe64::timestamp>(timestamp);
    cqe.set<prm::cqe64::send_opcode>(origin.opcode);
    cqe.set<prm::cqe64::qpn>(origin.queue);
    cqe.set<prm::cqe64::wqe_counter>(origin.wqe_counter);
    return bytes;
}

void put_data(std::span<std::byte, 64> cqe, std::span<const std::byte> data) {
    CX_ASSERT(data.size() <= kCqeDataBytes, "{} bytes for a CQE", data.size());
    std::ranges::copy(data, cqe.begin());
    prm::View<prm::cqe64>(cqe).set<prm::cqe64::cqe_format>(kFormatData32);
}

Cqe make_error_cqe(const CqeOrigin& origin, const WqeStatus& status, bool responder) {
    Cqe bytes{};
    const prm::View<prm::err_cqe> cqe(bytes);
    cqe.set<prm::err_cqe::srqn>(user_index(origin));
    cqe.set<prm::err_cqe::hw_err_synd>(status.hardware_syndrome);
    cqe.set<prm::err_cqe::hw_synd_type>(status.hardware_syndrome_type);
    cqe.set<prm::err_cqe::vendor_err_synd>(status.vendor_syndrome);
    cqe.set<prm::err_cqe::syndrome>(status.syndrome);
    cqe.set<prm::err_cqe::send_opcode>(origin.opcode);
    cqe.set<prm::err_cqe::qpn>(origin.queue);
    cqe.set<prm::err_cqe::wqe_counter>(origin.wqe_counter);
    cqe.set<prm::err_cqe::opcode>(responder ? kOpcodeResponderError : kOpcodeRequesterError);
    return bytes;
}

}  // namespace cxsim::model
