// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/registers/register_table.h"

#include <algorithm>

namespace cxsim::firmware_stub {
namespace {

std::vector<RegisterRow> join_families() {
    std::vector<RegisterRow> rows;
    for (const auto& family : {port_registers(), port_buffer_registers(),
                               port_priority_registers(), port_diagnostic_registers(),
                               management_registers(), capability_registers(),
                               counter_registers()}) {
        rows.insert(rows.end(), family.begin(), family.end());
    }
    std::sort(rows.begin(), rows.end(),
              [](const RegisterRow& a, const RegisterRow& b) { return a.id < b.id; });
    return rows;
}

}  // namespace

std::span<const RegisterRow> all_registers() {
    static const std::vector<RegisterRow> rows = join_families();
    return rows;
}

const RegisterRow* find_register(std::uint16_t id) {
    for (const RegisterRow& row : all_registers()) {
        if (static_cast<std::uint16_t>(row.id) == id) return &row;
    }
    return nullptr;
}

Reply access_register(CommandContext& context, std::uint16_t id, bool write,
                      std::span<std::byte> data) {
    const RegisterRow* row = find_register(id);
    if (row == nullptr) {
        return refuse(prm::Status::BAD_PARAM, syndrome::kRegisterUnknown, "register not known");
    }
    if (data.size() < row->layout->bytes()) {
        return refuse(prm::Status::BAD_INP_LEN, "register data shorter than its layout");
    }
    const RegisterRow::Handler handler = write ? row->write : row->read;
    if (handler == nullptr) {
        return refuse(prm::Status::BAD_PARAM,
                      write ? "register is read-only" : "register is write-only");
    }
    return handler(context, data);
}

}  // namespace cxsim::firmware_stub
