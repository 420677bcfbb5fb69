// SPDX-License-Identifier: Apache-2.0
// The endpoint at its sockets: a bench with the mirror sockets plays root complex and memory.
#include "model/sim/kernel.h"
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

/// Initiator towards the endpoint's host side, target for its DMA.
class Mirror : public sc_core::sc_module {
  public:
    tlm_utils::simple_initiator_socket<Mirror> to_card;
    tlm_utils::simple_target_socket<Mirror> from_card;

    explicit Mirror(sc_core::sc_module_name name)
        : sc_module(name), to_card("to_card"), from_card("from_card") {
        from_card.register_b_transport(this, &Mirror::serve);
    }

    tlm::tlm_response_status access(tlm::tlm_command command, const HostAccess& where,
                                    std::uint64_t address, void* data, unsigned bytes) {
        HostAccess extension = where;
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(static_cast<unsigned char*>(data));
        payload.set_data_length(bytes);
        payload.set_streaming_width(bytes);
        payload.set_extension(&extension);
        delay = sc_core::SC_ZERO_TIME;
        to_card->b_transport(payload, delay);
        payload.clear_extension(&extension);
        return payload.get_response_status();
    }

    void serve(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
        const auto* access_of = payload.get_extension<HostAccess>();
        requesters.push_back(access_of != nullptr ? access_of->function.value : 0xffff);
        if (refuse) {
            payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
            return;
        }
        serve_host_memory(memory, payload);
    }

    SparseMemory memory{{0}, {1 << 24}};
    std::vector<std::uint16_t> requesters;
    bool refuse = false;
    sc_core::sc_time delay;
};

struct SocketBench {
    SocketBench() : endpoint("endpoint", kernel.calendar(), connectx5(), ideal_host()) {
        endpoint.attach(device);
        mirror.to_card.bind(endpoint.host_socket);
        endpoint.dma_socket.bind(mirror.from_card);
        kernel.run_until(model::nanoseconds(1));  // elaborates
    }
    tlm::tlm_response_status config_write(std::uint16_t at, std::uint32_t value) {
        return mirror.access(tlm::TLM_WRITE_COMMAND, {{0}, AccessSpace::config}, at, &value, 4);
    }

    model::Kernel kernel;
    Mirror mirror{"mirror"};
    FakeDevice device;
    Endpoint endpoint;
};

}  // namespace

TEST_CASE("configuration space answers through the socket", "[socket]") {
    SocketBench bench;
    std::uint32_t value = 0;
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{0}, AccessSpace::config}, 0, &value, 4) ==
          tlm::TLM_OK_RESPONSE);
    CHECK(value == 0x101715b3);
    // At least both ways over the link and the register access: 75 + 75 + 100 ns.
    CHECK(bench.mirror.delay >= sc_core::sc_time(250, sc_core::SC_NS));
    CHECK(bench.mirror.delay < sc_core::sc_time(270, sc_core::SC_NS));
    std::vector<std::byte> all(4096);
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{1}, AccessSpace::config}, 0, all.data(),
                              4096) == tlm::TLM_OK_RESPONSE);
    CHECK(all[0x3d] == std::byte{2});
}

TEST_CASE("functions, addresses and spaces that do not exist are address errors", "[socket]") {
    SocketBench bench;
    std::uint32_t value = 0;
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{5}, AccessSpace::config}, 0, &value, 4) ==
          tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(value == 0xffffffff);
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{0}, AccessSpace::config}, 0x10000, &value,
                              4) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{0}, AccessSpace::bar0}, 0, &value, 4) ==
          tlm::TLM_ADDRESS_ERROR_RESPONSE);  // memory space off
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{0}, AccessSpace::rom}, 0, &value, 4) ==
          tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{0}, AccessSpace::host_memory}, 0, &value,
                              4) == tlm::TLM_GENERIC_ERROR_RESPONSE);
}

TEST_CASE("payloads that PCIe cannot carry are refused with TLM's answer", "[socket]") {
    SocketBench bench;
    bench.config_write(0x04, 0x6);
    std::uint32_t value = 0;
    HostAccess where({0}, AccessSpace::bar0);
    tlm::tlm_generic_payload payload;
    sc_core::sc_time delay;
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    payload.set_data_length(4);
    payload.set_streaming_width(4);
    payload.set_command(tlm::TLM_READ_COMMAND);
    bench.mirror.to_card->b_transport(payload, delay);
    CHECK(payload.get_response_status() == tlm::TLM_GENERIC_ERROR_RESPONSE);  // no extension
    payload.set_extension(&where);
    payload.set_streaming_width(2);
    bench.mirror.to_card->b_transport(payload, delay);
    CHECK(payload.get_response_status() == tlm::TLM_BURST_ERROR_RESPONSE);
    payload.set_streaming_width(4);
    unsigned char enables[4] = {0xff, 0, 0, 0};
    payload.set_byte_enable_ptr(enables);
    payload.set_byte_enable_length(4);
    bench.mirror.to_card->b_transport(payload, delay);
    CHECK(payload.get_response_status() == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    payload.set_byte_enable_ptr(nullptr);
    payload.set_command(tlm::TLM_IGNORE_COMMAND);
    bench.mirror.to_card->b_transport(payload, delay);
    CHECK(payload.get_response_status() == tlm::TLM_COMMAND_ERROR_RESPONSE);
    payload.set_command(tlm::TLM_READ_COMMAND);
    bench.mirror.to_card->b_transport(payload, delay);
    CHECK(payload.get_response_status() == tlm::TLM_OK_RESPONSE);
    payload.clear_extension(&where);
}

TEST_CASE("MMIO writes reach the device in order, later than they were issued", "[socket]") {
    SocketBench bench;
    bench.config_write(0x04, 0x6);
    for (std::uint32_t i = 0; i < 10; ++i) {
        std::uint64_t doorbell = i;
        // Long and short ones mixed: none passes another.
        CHECK(bench.mirror.access(tlm::TLM_WRITE_COMMAND, {{0}, AccessSpace::bar0}, 0x800 + 8 * i,
                                  &doorbell, i % 2 == 0 ? 8 : 4) == tlm::TLM_OK_RESPONSE);
        CHECK(bench.mirror.delay >= sc_core::sc_time(75, sc_core::SC_NS));
    }
    REQUIRE(bench.device.writes.size() == 10);
    for (std::size_t i = 1; i < 10; ++i) {
        CHECK(bench.device.writes[i].arrival > bench.device.writes[i - 1].arrival);
        CHECK(bench.device.writes[i].offset == 0x800 + 8 * i);
    }
    std::uint32_t value = 0;
    CHECK(bench.mirror.access(tlm::TLM_READ_COMMAND, {{0}, AccessSpace::bar0}, 0x818, &value, 4) ==
          tlm::TLM_OK_RESPONSE);
    CHECK(value == 3);
}

TEST_CASE("DMA travels through the memory socket with its requester", "[socket]") {
    SocketBench bench;
    bench.config_write(0x04, 0x6);
    const std::array<std::byte, 8> data{std::byte{1}, std::byte{2}, std::byte{3}};
    REQUIRE(bench.endpoint.write({0}, bench.kernel.now(), {0x4000}, data).ok());
    std::array<std::byte, 8> back{};
    REQUIRE(bench.endpoint.read({0}, bench.kernel.now(), {0x4000}, back).ok());
    CHECK(back == data);
    CHECK(bench.mirror.requesters == std::vector<std::uint16_t>{0, 0});
    CHECK(bench.endpoint.read({0}, bench.kernel.now(), {1 << 24}, back).status ==
          model::DmaStatus::unsupported_request);
    bench.mirror.refuse = true;
    CHECK(bench.endpoint.read({0}, bench.kernel.now(), {0x4000}, back).status ==
          model::DmaStatus::completer_abort);
    std::uint32_t status = 0;
    bench.mirror.access(tlm::TLM_READ_COMMAND, {{0}, AccessSpace::config}, 0x04, &status, 4);
    CHECK((status >> 16 & 0x3000) == 0x3000);  // master abort and target abort received
}

TEST_CASE("without a memory behind it the endpoint's requests are unsupported", "[socket]") {
    model::Kernel kernel;
    Endpoint endpoint("endpoint", kernel.calendar(), connectx5(), ideal_host());
    const std::uint16_t command = 6;
    endpoint.config_write({0}, 4, {reinterpret_cast<const std::byte*>(&command), 2});
    std::array<std::byte, 4> data{};
    CHECK(endpoint.read({0}, {}, {0}, data).status == model::DmaStatus::unsupported_request);
}

TEST_CASE("interrupts arrive through the kernel at their time", "[socket]") {
    SocketBench bench;
    RecordingSink sink(bench.kernel.calendar());
    bench.endpoint.attach(sink);
    bench.config_write(0x04, 0x6);
    bench.endpoint.program_vector({0}, 2, {0xfee00000, 0x22}, false);
    bench.config_write(kMsix, 0x80000000);
    const model::Picoseconds arrival = bench.endpoint.raise_interrupt({0}, bench.kernel.now(), 2);
    bench.kernel.run_until(arrival - model::Picoseconds{1});
    CHECK(sink.received.empty());
    bench.kernel.run_until(arrival);
    REQUIRE(sink.received.size() == 1);
    CHECK(sink.received[0].message.data == 0x22);
}
