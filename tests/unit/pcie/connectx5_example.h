// SPDX-License-Identifier: Apache-2.0
// A ConnectX-5 (MCX512A-like, two ports, Gen3 x8) filled by hand, and the helpers that the pcie
// tests share.
#pragma once

#include "model/sim/calendar.h"
#include "pcie/endpoint/endpoint.h"
#include "pcie/host/sparse_memory.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace cxsim::pcie::test {

inline FunctionConfig connectx5_function() {
    using enum CapabilityKind;
    FunctionConfig f;
    f.device = 0x1017;
    f.subsystem = 0x0121;
    f.serial_number = 0x0c42a10300a1b2c3;
    f.error_pointer_is_8 = true;
    f.express.slot_power_watts = 25;
    f.link = {.max_generation = LinkGeneration::gen3,
              .max_width = 8,
              .generation = LinkGeneration::gen3,
              .width = 8};
    f.vpd.product_name = "CX512A - ConnectX-5 SFP28";
    f.vpd.read_only = {{"PN", "MCX512A-ACUT"},
                       {"EC", "B7"},
                       {"V2", "MCX512A-ACUT"},
                       {"SN", "MT0000X00000"},
                       {"V3", "02000000000000000000000000000001"},
                       {"VA", "MLX:MODL=CX512A:MN=MLNX:CSKU=V2:UUID=V3:PCI=V0"},
                       {"V0", "PCIeGen3 x8"},
                       {"VU", "MT0000X00000MLNXS0D0F0"}};
    f.vpd.read_write = {{"V1", "free text"}};
    f.vpd.writable_bytes = 32;
    f.sriov = {.total_vfs = 8, .vf_device = 0x1018, .vf_bar0_log2 = 20};
    f.capabilities = connectx_capabilities();
    f.extended_capabilities = {{advanced_error_reporting, 0x100},
                               {alternative_routing_id, 0x150},
                               {sriov, 0x180},
                               {secondary_pci_express, 0x1c0},
                               {access_control_services, 0x230},
                               {device_serial_number, 0x250}};
    return f;
}

inline EndpointConfig connectx5(unsigned ports = 2) {
    EndpointConfig config;
    config.functions = physical_functions(connectx5_function(), ports);
    config.link.one_way = model::nanoseconds(75);
    config.dma.request_overhead = model::nanoseconds(20);
    config.register_read = model::nanoseconds(100);
    return config;
}

/// The device behind the endpoint: memory of BAR0, records of what it was told.
class FakeDevice : public model::FunctionTarget {
  public:
    struct Write {
        model::FunctionId function;
        model::Picoseconds arrival;
        std::uint64_t offset;
        std::vector<std::byte> bytes;
    };

    void bar_read(model::FunctionId, std::uint64_t offset, std::span<std::byte> into) override {
        for (std::size_t i = 0; i < into.size(); ++i) into[i] = bar[offset + i];
    }
    void bar_write(model::FunctionId function, model::Picoseconds arrival, std::uint64_t offset,
                   std::span<const std::byte> from) override {
        writes.push_back({function, arrival, offset, {from.begin(), from.end()}});
        for (std::size_t i = 0; i < from.size(); ++i) bar[offset + i] = from[i];
    }
    void function_reset(model::FunctionId function, model::ResetKind kind) override {
        resets.emplace_back(function, kind);
    }
    void bus_master_changed(model::FunctionId function, bool enabled) override {
        masters.emplace_back(function, enabled);
    }
    bool gateway_read(model::FunctionId, std::uint16_t space, std::uint32_t address,
                      std::uint32_t& value) override {
        if (space != 2 || address >= 0x100000) return false;
        value = registers[address];
        return true;
    }
    bool gateway_write(model::FunctionId, std::uint16_t space, std::uint32_t address,
                       std::uint32_t value) override {
        if (space != 2 || address >= 0x100000) return false;
        registers[address] = value;
        return true;
    }
    bool gateway_space_supported(model::FunctionId, std::uint16_t space) override {
        return space == 2;
    }

    std::map<std::uint64_t, std::byte> bar;
    std::map<std::uint32_t, std::uint32_t> registers;
    std::vector<Write> writes;
    std::vector<std::pair<model::FunctionId, model::ResetKind>> resets;
    std::vector<std::pair<model::FunctionId, bool>> masters;
};

struct ReceivedInterrupt {
    model::FunctionId function;
    unsigned vector;
    MsixMessage message;
    model::Picoseconds at;
};

class RecordingSink : public InterruptSink {
  public:
    explicit RecordingSink(model::Calendar& calendar) : calendar_(calendar) {}
    void interrupt(model::FunctionId function, unsigned vector,
                   const MsixMessage& message) override {
        received.push_back({function, vector, message, calendar_.now()});
    }
    std::vector<ReceivedInterrupt> received;

  private:
    model::Calendar& calendar_;
};

/// Endpoint, device, memory and interrupt controller on one calendar.
struct Bench {
    explicit Bench(const EndpointConfig& config = connectx5(),
                   const HostProfile& host = ideal_host())
        : endpoint("endpoint", calendar, config, host), sink(calendar) {
        endpoint.attach(device);
        endpoint.attach(memory);
        endpoint.attach(sink);
    }

    std::uint32_t read(std::uint16_t offset, unsigned bytes, std::uint16_t function = 0) {
        std::uint32_t value = 0;
        endpoint.config_read({function}, offset, {reinterpret_cast<std::byte*>(&value), bytes});
        return value;
    }
    void write(std::uint16_t offset, unsigned bytes, std::uint32_t value,
               std::uint16_t function = 0) {
        endpoint.config_write({function}, offset,
                              {reinterpret_cast<const std::byte*>(&value), bytes});
    }
    std::vector<std::byte> dump(std::uint16_t function = 0) {
        std::vector<std::byte> bytes(4096);
        endpoint.config_read({function}, 0, bytes);
        return bytes;
    }
    AccessResult bar_read(std::uint64_t offset, std::uint32_t& value, std::uint16_t function = 0) {
        return endpoint.bar_read({function}, calendar.now(), offset,
                                 {reinterpret_cast<std::byte*>(&value), 4});
    }
    AccessResult bar_write(std::uint64_t offset, std::uint32_t value, std::uint16_t function = 0) {
        return endpoint.bar_write({function}, calendar.now(), offset,
                                  {reinterpret_cast<const std::byte*>(&value), 4});
    }
    void run() { calendar.run_until(calendar.now() + model::milliseconds(1)); }

    /// Memory space and bus master on, as pci_enable_device and pci_set_master do.
    void enable(std::uint16_t function = 0) { write(0x04, 2, 0x0006, function); }

    model::Calendar calendar;
    SparseMemory memory{{0}, {1ull << 30}};
    FakeDevice device;
    Endpoint endpoint;
    RecordingSink sink;
};

// Offsets on ConnectX cards.
inline constexpr std::uint16_t kExpress = 0x60;
inline constexpr std::uint16_t kVpd = 0x48;
inline constexpr std::uint16_t kMsix = 0x9c;
inline constexpr std::uint16_t kGateway = 0xc0;
inline constexpr std::uint16_t kPower = 0x40;
inline constexpr std::uint16_t kAer = 0x100;
inline constexpr std::uint16_t kSriov = 0x180;

}  // namespace cxsim::pcie::test
