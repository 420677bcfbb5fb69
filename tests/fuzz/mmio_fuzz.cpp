// SPDX-License-Identifier: Apache-2.0
//
// A hostile host at the card's PCIe side: configuration, BAR0 and ROM accesses of any size and
// place, resets, vectors and time in any order, with the firmware behind. Nothing may crash or run
// on, an access is answered whatever it is, and after a power cycle the card is as new.
#include "pcie/endpoint/endpoint.h"
#include "pcie/host/builtin_profiles.h"
#include "scenarios/testbed/card.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/command_host.h"

#include <array>
#include <memory>
#include <string_view>

namespace {

using namespace cxsim;
using fuzz::broken;
using fuzz::Input;

constexpr std::size_t kMaxSteps = 96;
constexpr std::uint64_t kMaxEvents = 300;  // per step

class Memory : public pcie::HostMemory {
  public:
    fuzz::HostImage image;

    model::DmaStatus read(model::FunctionId, model::HostAddress address,
                          std::span<std::byte> into) override {
        if (!fuzz::HostImage::contains(address.value, into.size())) {
            return model::DmaStatus::unsupported_request;
        }
        image.peek(address.value, into);
        return model::DmaStatus::ok;
    }
    model::DmaStatus write(model::FunctionId, model::HostAddress address,
                           std::span<const std::byte> from) override {
        if (!fuzz::HostImage::contains(address.value, from.size())) {
            return model::DmaStatus::completer_abort;
        }
        image.poke(address.value, from);
        return model::DmaStatus::ok;
    }
};

class Sink : public pcie::InterruptSink {
  public:
    void interrupt(model::FunctionId, unsigned vector, const pcie::MsixMessage&) override {
        if (vector >= 2048) broken("a vector beyond any table");
    }
};

struct CardSetup {
    explicit CardSetup(std::string_view name)
        : data(model::load_shared_card(name)),
          firmware(scenarios::firmware_config(*data, model::make_board(*data, 1, 0))),
          endpoint(scenarios::endpoint_config(*data, model::make_board(*data, 1, 0))) {
        firmware.initialisation_time = model::microseconds(5);
    }
    std::shared_ptr<const model::CardData> data;
    firmware_stub::FirmwareConfig firmware;
    pcie::EndpointConfig endpoint;
};

const CardSetup& card(std::size_t index) {
    static const std::array<std::unique_ptr<CardSetup>, 4> cards = [] {
        std::array<std::unique_ptr<CardSetup>, 4> all;
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i] = std::make_unique<CardSetup>(model::card_names()[i]);
        }
        return all;
    }();
    return *cards[index];
}

class Run {
  public:
    Run(Input& input, Memory& memory)
        : input_(input),
          setup_(card(input.byte() & 3)),
          memory_(memory),
          endpoint_("card", calendar_, setup_.endpoint,
                    pcie::builtin_host_profile("broadwell_e5_2630v4")),
          firmware_(setup_.firmware, endpoint_, calendar_),
          commands_(memory.image, {0x10000, 0x100000, 0x4000}),
          bar_bytes_(setup_.data->identity().bar0_size().value) {
        endpoint_.attach(firmware_);
        endpoint_.attach(memory_);
        endpoint_.attach(sink_);
        initial_ = dump();
        start();
    }

    void step() {
        const std::uint8_t kind = input_.byte();
        switch (kind & 15) {
            case 0:
            case 1:
            case 2: config_write(); break;
            case 3: config_read(); break;
            case 4:
            case 5:
            case 6: bar_write(); break;
            case 7: bar_read(); break;
            case 8: command(); break;
            case 9: doorbell(); break;
            case 10: gateway(); break;
            case 11: msix(); break;
            case 12: vpd(); break;
            case 13: reset(); break;
            case 14: rom_read(); break;
            default:
                calendar_.run_until(calendar_.now() + model::nanoseconds(input_.word()));
                break;
        }
        if ((kind & 0x80) == 0) settle();
        fuzz::check_function(firmware_.function({0}));
    }

    void finish() {
        endpoint_.power_cycle();
        settle();
        if (dump() != initial_) broken("configuration space differs after a power cycle");
        if (firmware_.function({0}).resources().total() != 0) broken("objects live after a reset");
    }

  private:
    std::vector<std::byte> dump() {
        std::vector<std::byte> bytes(4096);
        if (endpoint_.config_read({0}, 0, bytes) != pcie::Completion::success) {
            broken("configuration space does not answer");
        }
        return bytes;
    }
    void settle() {
        for (std::uint64_t i = 0; i < kMaxEvents && calendar_.run_one(); ++i) {
        }
    }

    // Memory space and bus master on, MSI-X on, command queue told: as after a driver's probe.
    void start() {
        config_word(0x04, 0x0006, 2);
        for (unsigned vector = 0; vector < 4; ++vector) {
            endpoint_.program_vector({0}, vector, {0xfee00000, vector}, false);
        }
        settle();
        bar_word(0x10, 0);
        bar_word(0x14, static_cast<std::uint32_t>(commands_.queue()));
        settle();
    }

    void config_word(std::uint16_t offset, std::uint32_t value, std::size_t bytes) {
        std::array<std::byte, 4> data{};  // configuration space is little-endian
        for (std::size_t i = 0; i < 4; ++i) data[i] = static_cast<std::byte>(value >> (8 * i));
        endpoint_.config_write(function(), offset, std::span(data).first(bytes));
    }
    std::uint32_t config_dword(std::uint16_t offset) {
        std::array<std::byte, 4> data{};
        endpoint_.config_read({0}, offset, data);
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            value |= std::to_integer<std::uint32_t>(data[i]) << (8 * i);
        }
        return value;
    }
    void bar_word(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> data{};
        model::store_be<std::uint32_t>(data.data(), value);
        endpoint_.bar_write({0}, calendar_.now(), offset, data);
    }
    // Mostly the function that exists.
    model::FunctionId function() {
        const std::uint8_t choice = input_.byte();
        return {static_cast<std::uint16_t>(choice < 250 ? 0 : choice - 249)};
    }

    std::uint16_t config_offset() {
        // Structures that do something when they are written come first.
        constexpr std::array<std::uint16_t, 24> kPlaces{
            0x04, 0x06, 0x10, 0x14, 0x30, 0x44, 0x4a, 0x4c, 0x58, 0x5c, 0x68, 0x6a,
            0x70, 0x9e, 0xc4, 0xc8, 0xcc, 0xd0, 0x104, 0x108, 0x110, 0x118, 0x188, 0x190};
        const std::uint8_t choice = input_.byte();
        return (choice & 0x80) != 0 ? input_.word() : kPlaces[choice % kPlaces.size()];
    }
    void config_write() {
        const std::uint16_t offset = config_offset();
        endpoint_.config_write(function(), offset, input_.take(std::size_t{1} << (input_.byte() % 4)));
    }
    void config_read() {
        std::array<std::byte, 256> data{};
        const std::uint16_t offset = config_offset();
        endpoint_.config_read(function(), offset, std::span(data).first(input_.byte()));
    }

    std::uint64_t bar_offset() {
        constexpr std::array<std::uint32_t, 10> kPlaces{0x10, 0x14, 0x18, 0x1fc, 0x200,
                                                        0x1000, 0x1010, 0x2000, 0x2008, 0x3000};
        const std::uint8_t choice = input_.byte();
        if ((choice & 0xc0) == 0xc0) return (std::uint64_t{input_.byte()} << 32) | input_.dword();
        if ((choice & 0xc0) == 0x80) return bar_bytes_ - input_.byte();
        if ((choice & 0xc0) == 0x40) return input_.word() * 4ULL;
        return kPlaces[choice % kPlaces.size()];
    }
    void bar_write() {
        const std::uint64_t offset = bar_offset();
        const std::size_t size = std::min<std::size_t>(1U + input_.byte() % 128U, 64);
        std::vector<std::byte> data(size);
        const auto bytes = input_.take(size);
        std::copy(bytes.begin(), bytes.end(), data.begin());
        endpoint_.bar_write(function(), calendar_.now(), offset, data);
    }
    void bar_read() {
        std::array<std::byte, 256> data{};
        const std::uint64_t offset = bar_offset();
        const auto into = std::span(data).first(1U + input_.byte());
        const pcie::AccessResult result =
            endpoint_.bar_read(function(), calendar_.now(), offset, into);
        if (result.finish < calendar_.now()) broken("a read is answered before it is issued");
        if (!result.ok() && into[0] != std::byte{0xff}) broken("a refused read without ones");
    }
    void rom_read() {
        std::array<std::byte, 64> data{};
        endpoint_.rom_read(function(), calendar_.now(), input_.dword() >> 8, data);
    }

    // ENABLE_HCA, QUERY_HCA_CAP, ACCESS_REG and their like through the command queue.
    void command() {
        std::vector<std::byte> input(16 + input_.byte());
        const auto bytes = input_.take(2 + input_.byte() % 64);
        std::copy_n(bytes.begin(), std::min(bytes.size(), input.size()), input.begin());
        constexpr std::array<std::uint16_t, 8> kOpcodes{0x104, 0x100, 0x805, 0x10a,
                                                        0x102, 0x107, 0x108, 0x802};
        const std::uint8_t choice = input_.byte();
        if (choice < 200) model::store_be<std::uint16_t>(input.data(), kOpcodes[choice & 7]);
        const std::uint32_t slot = input_.byte() % 32;
        commands_.post(slot, input, 16 + std::size_t{input_.byte()} * 16);
        bar_word(0x18, 1U << slot);
    }
    void doorbell() {
        const std::uint64_t page = 16 + input_.byte() % 4;
        std::vector<std::byte> data(8);
        const auto bytes = input_.take(8);
        std::copy(bytes.begin(), bytes.end(), data.begin());
        endpoint_.bar_write({0}, calendar_.now(), page * 4096 + 0x20 + (input_.byte() & 0x28), data);
    }
    // The vendor-specific capability as tools use it: semaphore, space, address, flag, data.
    void gateway() {
        for (int n = input_.byte() & 7; n > 0; --n) {
            const auto offset = static_cast<std::uint16_t>(0xc0 + (input_.byte() & 7) * 4);
            if ((input_.byte() & 1) != 0) {
                (void)config_dword(offset);
            } else {
                config_word(offset, input_.dword(), 4);
            }
        }
    }
    void msix() {
        const auto& vectors = setup_.endpoint.functions[0].msix;
        const std::uint8_t choice = input_.byte();
        const std::uint64_t base = (choice & 1) != 0 ? vectors.table_offset : vectors.pba_offset;
        std::array<std::byte, 8> data{};
        const auto bytes = input_.take(8);
        std::copy(bytes.begin(), bytes.end(), data.begin());
        const std::uint64_t offset = base + input_.word() % 2048;
        const std::size_t size = (choice & 2) != 0 ? 4 : 8;
        endpoint_.bar_write({0}, calendar_.now(), offset, std::span(data).first(size));
        if ((choice & 4) != 0) config_word(0x9e, input_.word(), 2);
        if ((choice & 8) != 0) {
            endpoint_.raise_interrupt({0}, calendar_.now(), input_.byte());
        }
    }
    void vpd() {
        config_word(0x4a, input_.word(), 2);
        if ((input_.byte() & 1) != 0) config_word(0x4c, input_.dword(), 4);
        (void)config_dword(0x48);
    }
    void reset() {
        const std::uint8_t choice = input_.byte();
        switch (choice & 7) {
            case 0: endpoint_.hot_reset(); break;
            case 1: endpoint_.power_cycle(); break;
            case 2: endpoint_.function_level_reset({0}); break;
            case 3: config_word(0x44, 3, 2); break;                      // D3hot
            case 4: config_word(0x44, 0, 2); break;                      // D0
            case 5: config_word(0x04, (choice & 8) != 0 ? 6 : 2, 2); break;  // bus master
            case 6: config_word(0x04, (choice & 8) != 0 ? 6 : 4, 2); break;  // memory space
            default: firmware_.raise_internal_error({0}, 1, 2); break;
        }
        if ((choice & 0x10) != 0) start();
    }

    Input& input_;
    const CardSetup& setup_;
    Memory& memory_;
    Sink sink_;
    model::Calendar calendar_;
    pcie::Endpoint endpoint_;
    firmware_stub::Firmware firmware_;
    test::CommandHost<fuzz::HostImage> commands_;
    std::uint64_t bar_bytes_;
    std::vector<std::byte> initial_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Memory memory;
    memory.image.clear();
    Input input(data, size);
    Run run(input, memory);
    for (std::size_t step = 0; step < kMaxSteps && !input.empty(); ++step) run.step();
    run.finish();
    return 0;
}
