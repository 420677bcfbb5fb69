// SPDX-License-Identifier: Apache-2.0
// Delivery and completion status of commands, as the PRM numbers them.
#pragma once

#include <cstdint>
#include <string_view>

namespace cxsim::prm {

/// `status` of a command's output; 0 is success.
enum class Status : std::uint8_t {
    OK = 0x00,
    INT_ERR = 0x01,
    BAD_OP = 0x02,
    BAD_PARAM = 0x03,
    BAD_SYS_STATE = 0x04,
    BAD_RES = 0x05,
    RES_BUSY = 0x06,
    NOT_READY = 0x07,
    LIM_ERR = 0x08,
    BAD_RES_STATE = 0x09,
    IX_ERR = 0x0a,
    NO_RES = 0x0f,
    BAD_QP_STATE = 0x10,
    BAD_PKT = 0x30,
    BAD_SIZE = 0x40,
    BAD_INP_LEN = 0x50,
    BAD_OUTP_LEN = 0x51,
};

/// `status` of a command queue entry: whether the command reached firmware at all.
enum class DeliveryStatus : std::uint8_t {
    OK = 0x0,
    SIGNAT_ERR = 0x1,
    TOK_ERR = 0x2,
    BAD_BLK_NUM = 0x3,
    OUT_PTR_ALIGN_ERR = 0x4,
    IN_PTR_ALIGN_ERR = 0x5,
    FW_ERR = 0x6,
    IN_LENGTH_ERR = 0x7,
    OUT_LENGTH_ERR = 0x8,
    RES_FLD_NOT_CLR_ERR = 0x9,
    CMD_DESCR_ERR = 0x10,
};

/// The enumerator's name; empty for other values.
std::string_view status_name(Status status);
std::string_view delivery_status_name(DeliveryStatus status);

}  // namespace cxsim::prm
