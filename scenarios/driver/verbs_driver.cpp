// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/verbs_driver.h"

#include "model/base/endian.h"
#include "model/prm/reflect.h"
#include "pcie/config_space/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace cxsim::scenarios {

using prm::Opcode;
using prm::View;

namespace {

constexpr std::uint8_t kPciExpressCapability = 0x10;
constexpr std::uint32_t kFirstCounterBit = 0x80;  // status and syndrome stand before
constexpr auto kNothing = [](auto) {};

// What a kernel's PCI core does where the root port allows it.
void set_max_payload(Host& host, unsigned bytes) {
    const std::uint16_t express = host.find_capability(kPciExpressCapability);
    const auto at = static_cast<std::uint16_t>(express + pcie::reg::kDevCtl);
    const auto code = static_cast<std::uint32_t>(std::bit_width(bytes)) - 8;
    host.config_write(at, (host.config_read(at, 2) & ~0xe0U) | code << 5, 2);
}

}  // namespace

VerbsDriver::VerbsDriver(Driver& driver, const VerbsOptions& options)
    : context_{driver, options.visible}, options_(options) {
    if (!std::has_single_bit(options.max_payload) || options.max_payload < 128 ||
        options.max_payload > 4096) {
        throw DriverError("payloads of PCIe requests have 128 to 4096 bytes");
    }
}

template <class Object>
Object& VerbsDriver::keep(std::unique_ptr<Object> object) {
    Object& result = *object;
    objects_.push_back(std::move(object));
    return result;
}

void VerbsDriver::open() {
    Driver& driver = context_.driver;
    host().enable();
    set_max_payload(host(), options_.max_payload);
    driver.start();
    driver.open_events();
    open_ = true;
    using Special = prm::query_special_contexts_out;
    const auto special = driver.run<prm::query_special_contexts_in, Special>(
        Opcode::QUERY_SPECIAL_CONTEXTS, kNothing);
    if (const auto key = special.view().get<Special::terminate_scatter_list_mkey>(); key != 0) {
        context_.terminate_key = key;
    }
    using Vport = prm::query_nic_vport_context_out;
    const auto vport = driver.run<prm::query_nic_vport_context_in, Vport>(
        Opcode::QUERY_NIC_VPORT_CONTEXT, kNothing);
    const auto mac = vport.view()
                         .nested<Vport::nic_vport_context>()
                         .bytes<prm::nic_vport_context::permanent_address>();
    // The address stands behind two reserved bytes.
    for (std::size_t i = 0; i < 6; ++i) mac_[i] = static_cast<std::uint8_t>(mac[i + 2]);
    enable_roce(true);
    const Gid local = link_local_gid(mac_);
    set_address(kIpv6V1, {local, mac_, RoceVersion::v1});
    set_address(kIpv6V2, {local, mac_, RoceVersion::v2});
    if (options_.ipv4 != 0) {
        set_address(kIpv4V1, {gid_of_ipv4(options_.ipv4), mac_, RoceVersion::v1});
        set_address(kIpv4V2, {gid_of_ipv4(options_.ipv4), mac_, RoceVersion::v2});
    }
    using Counter = prm::alloc_q_counter_out;
    counter_set_ = static_cast<std::uint8_t>(
        driver.run<prm::alloc_q_counter_in, Counter>(Opcode::ALLOC_Q_COUNTER, kNothing)
            .view()
            .get<Counter::counter_set_id>());
    undo_.add<prm::dealloc_q_counter_in, prm::dealloc_q_counter_out,
              prm::dealloc_q_counter_in::counter_set_id>(Opcode::DEALLOC_Q_COUNTER, counter_set_);
    pd_ = &create_pd();
}

void VerbsDriver::close() {
    if (!open_) return;
    while (!objects_.empty()) {
        objects_.back()->destroy();
        objects_.pop_back();
    }
    pd_ = nullptr;
    undo_.run(context_.driver);
    while (!addresses_.empty()) delete_address(addresses_.begin()->first);
    enable_roce(false);
    context_.driver.close_events();
    context_.driver.stop();
    open_ = false;
}

void VerbsDriver::abandon() {
    undo_.clear();
    context_.qps.clear();
    objects_.clear();
    addresses_.clear();
    pd_ = nullptr;
    context_.driver.abandon();
    open_ = false;
}

void VerbsDriver::enable_roce(bool on) {
    using In = prm::modify_nic_vport_context_in;
    context_.driver.run<In, prm::modify_nic_vport_context_out>(
        Opcode::MODIFY_NIC_VPORT_CONTEXT, [&](View<In> in) {
            in.set<In::field_select, prm::modify_nic_vport_field_select::roce_en>(1U);
            in.set<In::nic_vport_context, prm::nic_vport_context::roce_en>(on);
        });
}

bool VerbsDriver::wait_for_link(model::Picoseconds limit) {
    const model::Picoseconds end = host().now() + limit;
    using Out = prm::query_vport_state_out;
    while (true) {
        const auto out = context_.driver.run<prm::query_vport_state_in, Out>(
            Opcode::QUERY_VPORT_STATE, kNothing);
        if (out.view().get<Out::state>() == 1) return true;
        if (host().now() >= end) return false;
        host().wait_for(model::milliseconds(10));
    }
}

// ---- Addresses ----

void VerbsDriver::set_address(std::uint8_t index, const RoceAddress& address) {
    using In = prm::set_roce_address_in;
    using Layout = prm::roce_addr_layout;
    context_.driver.run<In, prm::set_roce_address_out>(Opcode::SET_ROCE_ADDRESS, [&](View<In> in) {
        in.set<In::roce_address_index>(index);
        const auto entry = in.nested<In::roce_address>();
        std::ranges::transform(address.gid, entry.bytes<Layout::source_l3_address>().begin(),
                               [](std::uint8_t byte) { return std::byte{byte}; });
        entry.set<Layout::vlan_valid>(address.vlan_valid);
        entry.set<Layout::vlan_id>(address.vlan);
        const MacAddress& mac = address.mac;
        entry.set<Layout::source_mac_47_32>(static_cast<std::uint32_t>(mac[0] << 8 | mac[1]));
        std::uint32_t low = 0;
        for (std::size_t i = 2; i < 6; ++i) low = low << 8 | mac[i];
        entry.set<Layout::source_mac_31_0>(low);
        entry.set<Layout::roce_version>(address.version);
        const bool ipv6 = address.version == RoceVersion::v2 && !is_ipv4(address.gid);
        entry.set<Layout::roce_l3_type>(ipv6 ? 1U : 0U);
    });
    addresses_[index] = address;
}

void VerbsDriver::delete_address(std::uint8_t index) {
    using In = prm::set_roce_address_in;
    context_.driver.run<In, prm::set_roce_address_out>(
        Opcode::SET_ROCE_ADDRESS, [&](View<In> in) { in.set<In::roce_address_index>(index); });
    addresses_.erase(index);
}

const RoceAddress& VerbsDriver::address(std::uint8_t index) const {
    const auto found = addresses_.find(index);
    if (found == addresses_.end()) {
        throw DriverError(fmt::format("no address at index {}", index));
    }
    return found->second;
}

AddressHandle VerbsDriver::path_to(std::uint8_t index) const {
    const RoceAddress& here = address(index);
    AddressHandle path;
    path.gid = here.gid;
    path.mac = here.mac;
    path.source_index = index;
    return path;
}

// ---- Objects ----

VerbsPd& VerbsDriver::create_pd() {
    return keep(std::make_unique<VerbsPd>(context_));
}
VerbsMr& VerbsDriver::create_mr(const VerbsPd& pd, std::uint64_t bytes, const MrOptions& options) {
    return keep(std::make_unique<VerbsMr>(context_, pd, bytes, options));
}
VerbsMr& VerbsDriver::create_mr(const VerbsPd& pd, const HostBuffer& memory,
                                const MrOptions& options) {
    return keep(std::make_unique<VerbsMr>(context_, pd, memory, options));
}
VerbsMw& VerbsDriver::create_mw(const VerbsPd& pd, WindowType type) {
    return keep(std::make_unique<VerbsMw>(context_, pd, type));
}
VerbsCq& VerbsDriver::create_cq(std::uint32_t entries) {
    return keep(std::make_unique<VerbsCq>(context_, entries));
}
VerbsSrq& VerbsDriver::create_srq(const VerbsPd& pd, std::uint32_t entries, unsigned max_sges) {
    return keep(std::make_unique<VerbsSrq>(context_, pd, entries, max_sges));
}
VerbsQp& VerbsDriver::create_qp(const VerbsPd& pd, VerbsCq& send_cq, VerbsCq& receive_cq,
                                const QpOptions& options) {
    QpOptions wanted = options;
    if (wanted.counter_set == 0) wanted.counter_set = counter_set_;
    return keep(std::make_unique<VerbsQp>(context_, pd, send_cq, receive_cq, wanted));
}

void VerbsDriver::destroy(VerbsObject& object) {
    object.destroy();
    std::erase_if(objects_, [&](const auto& kept) { return kept.get() == &object; });
}

// ---- Counters ----

std::map<std::string, std::uint32_t> VerbsDriver::counters(bool clear) {
    using In = prm::query_q_counter_in;
    using Out = prm::query_q_counter_out;
    const auto out = context_.driver.run<In, Out>(Opcode::QUERY_Q_COUNTER, [&](View<In> in) {
        in.set<In::counter_set_id>(counter_set_);
        in.set<In::clear>(clear);
    });
    std::map<std::string, std::uint32_t> values;
    for (const prm::FieldInfo& field : prm::layout_info<Out>().fields) {
        if (field.reserved || field.bit_offset < kFirstCounterBit) continue;
        values[std::string(field.name)] =
            model::load_be<std::uint32_t>(out.bytes().data() + field.bit_offset / 8);
    }
    return values;
}

std::uint32_t VerbsDriver::counter(std::string_view name) {
    const auto values = counters();
    const auto found = values.find(std::string(name));
    if (found == values.end()) throw DriverError(fmt::format("no queue counter \"{}\"", name));
    return found->second;
}

// ---- Connections ----

namespace {

// The peer's address, with the class of traffic that was asked for.
AddressHandle towards(const VerbsDriver& peer, std::uint8_t index, const AddressHandle& wanted) {
    AddressHandle path = peer.path_to(index);
    path.traffic_class = wanted.traffic_class;
    path.priority = wanted.priority;
    return path;
}

}  // namespace

void connect(VerbsQp& a, VerbsDriver& a_driver, VerbsQp& b, VerbsDriver& b_driver,
             ConnectionOptions options, std::uint8_t index) {
    // PSNs that run over 24 bits soon are as good as any others.
    options.send_psn = (a.number() * 0x3527u + 0xfffff0u) & 0xffffff;
    options.receive_psn = (b.number() * 0x2715u + 0x7ffff0u) & 0xffffff;
    options.remote_qpn = b.number();
    options.path = towards(b_driver, index, options.path);
    ConnectionOptions back = options;
    std::swap(back.send_psn, back.receive_psn);
    back.remote_qpn = a.number();
    back.path = towards(a_driver, index, options.path);
    a.to_init(options);
    b.to_init(back);
    a.to_rtr(options);
    b.to_rtr(back);
    a.to_rts(options);
    b.to_rts(back);
}

}  // namespace cxsim::scenarios
