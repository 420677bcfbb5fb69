// SPDX-License-Identifier: Apache-2.0
#include "pcie/host/memory_socket.h"

#include "model/sim/kernel.h"

namespace cxsim::pcie {

using model::DmaStatus;

DmaStatus MemorySocket::transport(tlm::tlm_command command, model::FunctionId function,
                                  model::HostAddress address, std::byte* data, std::size_t bytes) {
    if (target_ == nullptr) return DmaStatus::unsupported_request;
    access_.function = function;
    access_.space = AccessSpace::host_memory;
    payload_.set_command(command);
    payload_.set_address(address.value);
    payload_.set_data_ptr(reinterpret_cast<unsigned char*>(data));
    payload_.set_data_length(static_cast<unsigned>(bytes));
    payload_.set_streaming_width(static_cast<unsigned>(bytes));
    payload_.set_byte_enable_ptr(nullptr);
    payload_.set_dmi_allowed(false);
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    target_->b_transport(payload_, delay);
    model::Kernel::systemc_called();  // the target may be anybody's module
    switch (payload_.get_response_status()) {
        case tlm::TLM_OK_RESPONSE:
            return DmaStatus::ok;
        case tlm::TLM_ADDRESS_ERROR_RESPONSE:
            return DmaStatus::unsupported_request;
        default:
            return DmaStatus::completer_abort;
    }
}

void serve_host_memory(HostMemory& memory, tlm::tlm_generic_payload& payload) {
    if (payload.get_byte_enable_ptr() != nullptr) {
        payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
        return;
    }
    const auto* access = payload.get_extension<HostAccess>();
    const model::FunctionId function = access != nullptr ? access->function : model::FunctionId{};
    const std::span<std::byte> data(reinterpret_cast<std::byte*>(payload.get_data_ptr()),
                                    payload.get_data_length());
    const model::HostAddress address{payload.get_address()};
    DmaStatus status = DmaStatus::completer_abort;
    if (payload.is_read()) status = memory.read(function, address, data);
    if (payload.is_write()) status = memory.write(function, address, data);
    switch (status) {
        case DmaStatus::ok:
            payload.set_response_status(tlm::TLM_OK_RESPONSE);
            break;
        case DmaStatus::unsupported_request:
            payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
            break;
        default:
            payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
            break;
    }
}

}  // namespace cxsim::pcie
