// SPDX-License-Identifier: Apache-2.0
//
// A hostile driver at the command interface: the input is a list of steps - commands built from
// their layouts and then spoilt, malformed entries and mailboxes, doorbells, writes to host memory,
// resets - against the firmware of one card. Nothing may crash or run on; references and pages must
// stay consistent, and a command that is refused must leave the objects alone.
#include "firmware_stub/mailbox/command_table.h"
#include "model/base/endian.h"
#include "scenarios/testbed/card.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/command_host.h"
#include "tests/support/fake_port.h"

#include <array>
#include <memory>
#include <string_view>

namespace {

using namespace cxsim;
using firmware_stub::CommandRow;
using fuzz::broken;
using fuzz::Input;

constexpr std::size_t kMaxSteps = 48;
constexpr std::uint64_t kMaxEvents = 400;  // per step
constexpr std::uint64_t kRings = 0x20000;
constexpr std::uint64_t kInitSegmentDoorbell = 0x18;

class Host : public model::HostBus {
  public:
    fuzz::HostImage memory;
    bool bus_master = true;

    model::DmaResult read(model::FunctionId, model::Picoseconds start, model::HostAddress address,
                          std::span<std::byte> into) override {
        const model::DmaStatus status = check(address.value, into.size());
        if (status == model::DmaStatus::ok) memory.peek(address.value, into);
        return {status, start + model::nanoseconds(500)};
    }
    model::DmaResult write(model::FunctionId, model::Picoseconds start, model::HostAddress address,
                           std::span<const std::byte> from) override {
        const model::DmaStatus status = check(address.value, from.size());
        if (status == model::DmaStatus::ok) memory.poke(address.value, from);
        return {status, start + model::nanoseconds(200)};
    }
    model::Picoseconds raise_interrupt(model::FunctionId, model::Picoseconds start,
                                       std::uint32_t) override {
        return start + model::nanoseconds(200);
    }

  private:
    model::DmaStatus check(std::uint64_t address, std::uint64_t bytes) const {
        if (!bus_master) return model::DmaStatus::bus_master_disabled;
        return fuzz::HostImage::contains(address, bytes) ? model::DmaStatus::ok
                                                         : model::DmaStatus::unsupported_request;
    }
};

struct CardSetup {
    explicit CardSetup(std::string_view name)
        : data(model::load_shared_card(name)),
          config(scenarios::firmware_config(*data, model::make_board(*data, 1, 0))) {
        config.initialisation_time = {};
        config.pages = {2, 2, 2, 64};
    }
    std::shared_ptr<const model::CardData> data;
    firmware_stub::FirmwareConfig config;
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
    Run(Input& input, Host& host)
        : input_(input),
          host_(host),
          setup_(card(input.byte() & 3)),
          firmware_(setup_.config, host, calendar_),
          commands_(host.memory, {0x10000, 0x100000, 0x4000}) {
        firmware_.attach_port(port_);
        bring_up();
    }

    void step() {
        switch (input_.byte() & 15) {
            case 0:
            case 1:
            case 2:
            case 3: run_directly(built_command()); break;
            case 4:
            case 5:
            case 6: post(built_command(), false); break;
            case 7: post(built_command(), true); break;
            case 8: raw_command(); break;
            case 9:
            case 10: doorbell(); break;
            case 11: poke_ring(); break;
            case 12: segment_write(); break;
            case 13: bar_access(); break;
            case 14: switch_something(); break;
            default: settle(kMaxEvents); break;
        }
        fuzz::check_function(function());
    }

    void finish() {
        firmware_.function_reset({0}, model::ResetKind::function_level);
        settle(kMaxEvents);
        if (function().resources().total() != 0) broken("objects live after a reset");
        if (function().commands().in_flight() != 0) broken("commands live after a reset");
        if (function().pages().held() != 0) broken("pages are held after a reset");
    }

  private:
    firmware_stub::FunctionState& function() { return firmware_.function({0}); }

    void settle(std::uint64_t events) {
        for (std::uint64_t i = 0; i < events && calendar_.run_one(); ++i) {
        }
    }

    // The base that most commands refer to: made as a driver does, with numbers kept by name.
    void bring_up() {
        using prm::Opcode;
        command(Opcode::ENABLE_HCA, {});
        std::vector<std::byte> pages(16 + 64 * 8);
        set_header(pages, Opcode::MANAGE_PAGES, 1);
        pages[15] = std::byte{64};
        for (std::size_t i = 0; i < 64; ++i) {
            model::store_be<std::uint64_t>(pages.data() + 16 + i * 8, 0x100000000ULL + i * 4096);
        }
        run_directly(pages);
        command(Opcode::INIT_HCA, {});
        uar_ = command(Opcode::ALLOC_UAR, {});
        pd_ = command(Opcode::ALLOC_PD, {});
        domain_ = command(Opcode::ALLOC_TRANSPORT_DOMAIN, {});
        eq_ = command(Opcode::CREATE_EQ, {});
        cq_ = command(Opcode::CREATE_CQ, {});
        write_dword(0x10, 0);
        write_dword(0x14, static_cast<std::uint32_t>(commands_.queue()));
    }

    static void set_header(std::vector<std::byte>& bytes, prm::Opcode opcode,
                           std::uint16_t op_mod) {
        model::store_be<std::uint16_t>(bytes.data(), static_cast<std::uint16_t>(opcode));
        model::store_be<std::uint16_t>(bytes.data() + 6, op_mod);
    }

    std::uint32_t command(prm::Opcode opcode, std::span<const std::byte> tail) {
        const CommandRow* row = firmware_stub::find_command(static_cast<std::uint16_t>(opcode));
        if (row == nullptr) broken("a command of the bring-up is gone");
        std::vector<std::byte> bytes = plausible(*row, 8);
        std::copy_n(tail.begin(), std::min(tail.size(), bytes.size()), bytes.begin());
        set_header(bytes, opcode, 0);
        return run_directly(bytes);
    }

    // Values that make sense for a member of this name, so that inputs get past the first check.
    std::uint64_t usual_value(std::string_view name) const {
        struct Usual {
            std::string_view name;
            std::uint64_t value;
        };
        const std::array usual{
            Usual{"uar_page", uar_}, Usual{"uar", uar_},
            Usual{"pd", pd_}, Usual{"pdn", pd_},
            Usual{"transport_domain", domain_}, Usual{"cqn", cq_},
            Usual{"cqn_snd", cq_}, Usual{"cqn_rcv", cq_},
            Usual{"c_eqn_or_apu_element", eq_}, Usual{"log_eq_size", 4},
            Usual{"log_cq_size", 4}, Usual{"log_wq_sz", 4},
            Usual{"log_wq_stride", 6}, Usual{"wq_type", 1},
            Usual{"log_rq_size", 4}, Usual{"log_sq_size", 4},
            Usual{"log_rq_stride", 2}, Usual{"dbr_addr", kRings + 0x8000},
            Usual{"tis_lst_sz", 1}, Usual{"tis_num_0", 1},
            Usual{"lag_tx_port_affinity", 0}, Usual{"access_mode_1_0", 1},
            Usual{"qpn", 0xffffff}, Usual{"length64", 1},
            Usual{"lr", 1}, Usual{"lw", 1},
            Usual{"umr_en", 1}, Usual{"vhca_port_num", 1},
            Usual{"primary_address_path.vhca_port_num", 1}, Usual{"rqt_max_size", 4},
            Usual{"rqt_actual_size", 1}, Usual{"log_size", 4},
            Usual{"table_type", 0}, Usual{"mtu", 3},
            Usual{"log_msg_max", 24}, Usual{"local_port", 1},
            Usual{"mailbox_page_size", 0},
        };
        for (const Usual& entry : usual) {
            if (entry.name == name) return entry.value;
        }
        return 0;
    }

    void fill(const prm::LayoutInfo& layout, std::span<std::byte> bytes, std::uint32_t base = 0) {
        for (const prm::FieldInfo& field : layout.fields) {
            if (field.reserved || field.count != 1) continue;
            const std::uint32_t offset = base + field.bit_offset;
            if (field.nested != nullptr) {
                if (!layout.is_union) fill(*field.nested, bytes, offset);
                continue;
            }
            if (field.bit_width > 64 || offset + field.bit_width > bytes.size() * 8) continue;
            const std::uint64_t value = usual_value(field.name);
            if (value != 0 && value <= prm::field_mask(field.bit_width)) {
                prm::set_bits(bytes, offset, field.bit_width, value);
            }
        }
    }

    std::vector<std::byte> plausible(const CommandRow& row, std::size_t tail) {
        std::vector<std::byte> bytes(row.input->bytes() + tail);
        fill(*row.input, bytes);
        for (std::size_t i = 0; i + 8 <= tail; i += 8) {
            model::store_be<std::uint64_t>(bytes.data() + row.input->bytes() + i,
                                           kRings + (i / 8 % 8) * 4096);
        }
        return bytes;
    }

    // A value of one of several kinds for `width` bits.
    std::uint64_t value(std::uint32_t width) {
        const std::uint64_t mask = prm::field_mask(width);
        switch (input_.byte() & 7) {
            case 0: return mask;
            case 1: return 0;
            case 2: return input_.byte() & mask;
            case 3: return (kRings + input_.word() * 8ULL) & mask;
            case 4: return (std::uint64_t{1} << (input_.byte() % width)) & mask;
            case 5:
            case 6: return numbers_[input_.byte() % numbers_.size()] & mask;
            default:
                return (std::uint64_t{input_.dword()} << 32 | input_.dword()) & mask;
        }
    }

    // Sets one member, chosen by a byte at each level.
    void spoil(const prm::LayoutInfo& layout, std::span<std::byte> bytes, std::uint32_t base = 0) {
        if (layout.fields.empty()) return;
        const prm::FieldInfo& field = layout.fields[input_.byte() % layout.fields.size()];
        std::uint32_t offset = base + field.bit_offset;
        if (field.count > 1) offset += input_.byte() % field.count * field.bit_width;
        if (field.nested != nullptr) return spoil(*field.nested, bytes, offset);
        const std::uint32_t width = std::min(field.bit_width, 64U);
        if (width == 0 || offset + width > bytes.size() * 8) return;
        prm::set_bits(bytes, offset, width, value(width));
    }

    std::vector<std::byte> built_command() {
        const auto rows = firmware_stub::all_commands();
        const CommandRow& row = rows[input_.byte() % rows.size()];
        const std::uint8_t shape = input_.byte();
        std::vector<std::byte> bytes = plausible(row, (shape & 7) * 8U + ((shape & 8) ? 512U : 0U));
        set_header(bytes, row.opcode, 0);
        if ((shape & 0x10) != 0) bytes[7] = std::byte{input_.byte()};  // op_mod
        for (int n = shape >> 5; n > 0; --n) spoil(*row.input, bytes);
        if (bytes.size() > row.input->bytes()) {
            const auto tail = input_.take(input_.byte() % 32);
            std::copy_n(tail.begin(), std::min(tail.size(), bytes.size() - row.input->bytes()),
                        bytes.begin() + static_cast<std::ptrdiff_t>(row.input->bytes()));
        }
        return bytes;
    }

    static std::size_t output_length(std::span<const std::byte> input) {
        const CommandRow* row =
            input.size() < 2 ? nullptr
                             : firmware_stub::find_command(model::load_be<std::uint16_t>(input.data()));
        return (row == nullptr ? 16 : row->output->bytes()) + 64;
    }

    void keep_number(std::span<const std::byte> output) {
        // CREATE and ALLOC answer a number in the third dword; some have it in the fourth.
        numbers_[next_number_++ % numbers_.size()] =
            model::load_be<std::uint32_t>(output.data() + 8) & 0xffffff;
    }

    std::uint32_t run_directly(const std::vector<std::byte>& input) {
        std::vector<std::byte> output(output_length(input));
        const std::uint64_t before = function().resources().digest();
        firmware_stub::CommandContext context{firmware_, function(), calendar_.now()};
        const firmware_stub::Reply reply = firmware_stub::run_command(context, input, output);
        function().account_pages();
        firmware_.balance_pages(function());
        if (output[0] != static_cast<std::byte>(reply.status)) broken("status is not in the output");
        if (reply.ok()) {
            keep_number(output);
        } else {
            if (reply.reason.empty()) broken("a refusal without a reason");
            if (function().resources().digest() != before) {
                broken("a refused command changed the objects");
            }
            for (std::size_t i = 8; i < output.size(); ++i) {
                if (output[i] != std::byte{0}) broken("a refusal with output");
            }
        }
        return model::load_be<std::uint32_t>(output.data() + 8) & 0xffffff;
    }

    void ring(std::uint32_t vector) {
        write_dword(kInitSegmentDoorbell, vector);
    }

    void post(const std::vector<std::byte>& input, bool malformed) {
        const std::uint32_t slot = input_.byte() % 32;
        if (commands_.owned_by_hardware(slot)) settle(kMaxEvents);
        commands_.post(slot, input, output_length(input));
        if (malformed) {
            for (int n = input_.byte() & 3; n >= 0; --n) {
                const std::uint8_t place = input_.byte();
                const std::uint64_t base = (place & 0x80) != 0 ? commands_.entry(slot)
                                           : (place & 0x40) != 0
                                               ? commands_.input_block(slot, place & 3)
                                               : commands_.output_block(slot, place & 3);
                const std::uint64_t offset =
                    (place & 0x80) != 0 ? place % 64U : 512U + (place >> 2 & 15) * 4U;
                commands_.set_byte(base + offset + (input_.byte() & 3), input_.byte());
            }
        }
        ring(1U << slot);
        if ((input_.byte() & 3) != 0) settle(kMaxEvents);
    }

    void raw_command() {
        const auto bytes = input_.take(8 + input_.byte());
        std::vector<std::byte> input(bytes.begin(), bytes.end());
        if ((input_.byte() & 1) != 0) {
            post(input, false);
        } else if (input.size() >= 2) {
            run_directly(input);
        }
    }

    void write_bar(std::uint64_t offset, std::span<const std::byte> data) {
        firmware_.bar_write({0}, calendar_.now(), offset, data);
    }
    void write_dword(std::uint64_t offset, std::uint32_t word) {
        std::array<std::byte, 4> data{};
        model::store_be<std::uint32_t>(data.data(), word);
        write_bar(offset, data);
    }

    // EQ, CQ and send doorbells with numbers that may live.
    void doorbell() {
        const std::uint64_t page = input_.byte() < 224 ? uar_ : input_.byte();
        constexpr std::array<std::uint32_t, 6> kPlaces{0x20, 0x24, 0x40, 0x48, 0x800, 0x900};
        std::array<std::byte, 8> data{};
        model::store_be<std::uint32_t>(data.data(), static_cast<std::uint32_t>(value(32)));
        model::store_be<std::uint32_t>(data.data() + 4, static_cast<std::uint32_t>(value(32)));
        const std::uint8_t choice = input_.byte();
        if ((choice & 0x40) != 0) {  // index and queue number as a send doorbell has them
            model::store_be<std::uint32_t>(data.data(), static_cast<std::uint32_t>(choice & 15) << 8);
            model::store_be<std::uint32_t>(data.data() + 4,
                                           numbers_[input_.byte() % numbers_.size()] << 8);
        }
        write_bar(page * 4096 + kPlaces[choice % kPlaces.size()],
                  std::span(data).first((choice & 0x80) != 0 ? 4 : 8));
        settle(kMaxEvents);
    }

    void poke_ring() {
        const std::uint64_t address = kRings + input_.word() * 4ULL % 0x10000;
        host_.memory.poke(address, input_.take(1 + input_.byte() % 64));
    }

    void segment_write() {
        constexpr std::array<std::uint16_t, 6> kPlaces{0x10, 0x14, 0x18, 0x1fc, 0x200, 0x1010};
        const std::uint8_t choice = input_.byte();
        const std::uint16_t offset =
            (choice & 0x80) != 0 ? input_.word() % 0x2000 : kPlaces[choice % kPlaces.size()];
        if ((choice & 0x40) != 0) {
            write_bar(offset, input_.take(1 + input_.byte() % 16));
        } else {
            write_dword(offset, input_.dword());
        }
        settle(kMaxEvents);
        if ((choice & 0x20) == 0) {  // mostly back to where the commands lie
            write_dword(0x10, 0);
            write_dword(0x14, static_cast<std::uint32_t>(commands_.queue()));
        }
    }

    void bar_access() {
        std::array<std::byte, 64> data{};
        const std::size_t size = 1 + input_.byte() % data.size();
        const std::uint64_t bar = setup_.data->identity().bar0_size().value;
        const std::uint64_t offset = (std::uint64_t{input_.dword()} & 0xffffff) % (bar - size);
        firmware_.bar_read({0}, offset, std::span(data).first(size));
        if ((input_.byte() & 1) != 0) write_bar(offset, input_.take(size));
    }

    void switch_something() {
        const std::uint8_t choice = input_.byte();
        switch (choice & 7) {
            case 0: firmware_.function_reset({0}, model::ResetKind::function_level); break;
            case 1: firmware_.function_reset({0}, model::ResetKind::conventional); break;
            case 2: host_.bus_master = false; firmware_.bus_master_changed({0}, false); break;
            case 3: host_.bus_master = true; firmware_.bus_master_changed({0}, true); break;
            case 4: firmware_.raise_internal_error({0}, input_.byte(), input_.word()); break;
            case 5: port_.plug((choice & 8) != 0); break;
            case 6: firmware_.set_port_admin((choice & 8) != 0); break;
            default: settle(kMaxEvents); break;
        }
        if ((choice & 7) <= 1) {
            settle(kMaxEvents);
            if (function().resources().total() != 0) broken("objects live after a reset");
            bring_up();
        }
    }

    Input& input_;
    Host& host_;
    const CardSetup& setup_;
    model::Calendar calendar_;
    test::FakePort port_;
    firmware_stub::Firmware firmware_;
    test::CommandHost<fuzz::HostImage> commands_;
    std::array<std::uint32_t, 16> numbers_{};
    std::size_t next_number_ = 0;
    std::uint32_t uar_ = 0;
    std::uint32_t pd_ = 0;
    std::uint32_t domain_ = 0;
    std::uint32_t eq_ = 0;
    std::uint32_t cq_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Host host;
    host.memory.clear();
    host.bus_master = true;
    Input input(data, size);
    Run run(input, host);
    for (std::size_t step = 0; step < kMaxSteps && !input.empty(); ++step) run.step();
    run.finish();
    return 0;
}
