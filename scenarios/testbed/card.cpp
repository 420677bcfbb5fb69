// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/card.h"

#include <bit>

#include "firmware_stub/registers/port.h"
#include "pcie/config_space/function_config.h"
#include "pcie/host/builtin_profiles.h"

namespace cxsim::scenarios {

using firmware_stub::Cost;
using model::nanoseconds;
using pcie::CapabilityKind;

namespace {

unsigned log2_of(model::Bytes size) {
    return static_cast<unsigned>(std::bit_width(size.value)) - 1;
}

// Offsets as all dumps of real cards show them.
std::vector<pcie::CapabilityPlace> extended_capabilities(const model::Identity& identity) {
    struct Choice {
        bool present;
        pcie::CapabilityPlace place;
    };
    const Choice choices[] = {
        {identity.aer(), {CapabilityKind::advanced_error_reporting, 0x100}},
        {identity.ari(), {CapabilityKind::alternative_routing_id, 0x150}},
        {identity.sriov(), {CapabilityKind::sriov, 0x180}},
        {identity.secondary_pcie(), {CapabilityKind::secondary_pci_express, 0x1c0}},
        {identity.acs(), {CapabilityKind::access_control_services, 0x230}},
        {identity.ptm(), {CapabilityKind::precision_time_measurement, 0x240}},
        {identity.lane_margining(), {CapabilityKind::lane_margining, 0x320}},
        {identity.physical_layer_16gt(), {CapabilityKind::physical_layer_16gt, 0x370}},
        {identity.physical_layer_32gt(), {CapabilityKind::physical_layer_32gt, 0x3b0}},
        {identity.data_link_feature(), {CapabilityKind::data_link_feature, 0x420}},
    };
    std::vector<pcie::CapabilityPlace> places;
    for (const Choice& choice : choices) {
        if (choice.present) places.push_back(choice.place);
    }
    return places;
}

}  // namespace

pcie::EndpointConfig endpoint_config(const model::CardData& card,
                                     const model::BoardIdentity& board) {
    const model::Identity& identity = card.identity();
    pcie::FunctionConfig function;
    function.vendor = identity.vendor_id();
    function.device = identity.device_id();
    function.subsystem_vendor = identity.subsystem_vendor_id();
    function.subsystem = identity.subsystem_id();
    function.class_code = identity.class_code();
    function.revision = identity.revision();
    function.multi_function = (identity.header_type() & 0x80) != 0;
    function.bar0_log2 = log2_of(identity.bar0_size());
    function.rom_log2 = log2_of(identity.rom_size());
    function.serial_number = board.system_image_guid;
    function.express.max_payload = static_cast<unsigned>(identity.max_payload().value);
    function.express.ten_bit_tag_completer = identity.ten_bit_tag_completer();
    function.express.ten_bit_tag_requester = identity.ten_bit_tag_requester();
    function.express.atomic_completer = identity.atomic_completer();
    function.link.max_generation = function.link.generation =
        static_cast<pcie::LinkGeneration>(identity.link_generation());
    function.link.max_width = function.link.width = identity.link_width();
    function.msix.vectors = identity.msix_vectors();
    function.msix.table_offset = identity.msix_table_offset();
    function.msix.pba_offset = identity.msix_pba_offset();
    function.vpd.product_name = identity.product_name();
    for (const auto& [keyword, value] : board.vpd_read_only) {
        function.vpd.read_only.push_back({keyword, value});
    }
    function.sriov.total_vfs = identity.total_vfs();
    function.sriov.first_vf_offset = identity.first_vf_offset();
    function.sriov.vf_stride = identity.vf_stride();
    function.sriov.vf_device = identity.vf_device_id();
    function.sriov.vf_bar0_log2 = log2_of(identity.vf_bar0_size());
    function.capabilities = pcie::connectx_capabilities();
    function.extended_capabilities = extended_capabilities(identity);

    pcie::EndpointConfig config;
    config.functions.push_back(std::move(function));
    config.link.one_way = card.timing().pcie_one_way();
    config.dma.request_overhead = card.timing().dma_request_overhead();
    config.dma.copy_rate = card.timing().dma_copy_rate();
    config.dma.tags = card.timing().dma_tags();
    config.dma.completion_buffer = card.timing().dma_completion_buffer();
    config.register_read = card.timing().register_read();
    return config;
}

firmware_stub::FirmwareConfig firmware_config(const model::CardData& card,
                                              const model::BoardIdentity& board) {
    const model::Identity& identity = card.identity();
    const model::FirmwareTiming& timing = card.timing();
    firmware_stub::FirmwareConfig config;
    config.firmware_major = identity.firmware_major();
    config.firmware_minor = identity.firmware_minor();
    config.firmware_subminor = identity.firmware_subminor();
    config.psid = identity.psid();
    config.hw_id = identity.hw_id();
    config.node_description = identity.node_description();
    config.device_id = identity.device_id();
    config.device_frequency_khz =
        card.capabilities().max_value("cmd_hca_cap", "device_frequency_khz");
    config.node_guid = board.node_guid;
    config.system_image_guid = board.system_image_guid;
    config.base_mac = board.mac;
    config.capabilities = &card.capabilities();
    config.limits = firmware_stub::limits_from(card.capabilities(), identity.bar0_size().value);
    config.interrupt_vectors = identity.msix_vectors();

    config.command_processors = timing.processors();
    auto& cost = config.command_timing;
    cost[Cost::query] = timing.query();
    cost[Cost::set] = timing.set();
    cost[Cost::create_object] = timing.create_object();
    cost[Cost::modify_object] = timing.modify_object();
    cost[Cost::destroy_object] = timing.destroy_object();
    cost[Cost::pages] = timing.pages();
    cost[Cost::access_register] = timing.access_register();
    cost[Cost::enable_hca] = timing.enable();
    cost[Cost::init_hca] = timing.initialize();
    cost[Cost::teardown_hca] = timing.teardown();
    cost[Cost::steering] = timing.steering();
    cost[Cost::refusal] = timing.refusal();
    cost.per_page = timing.per_page();
    config.queue_timing.doorbell = timing.doorbell();
    config.queue_timing.wqe_execute = timing.wqe_execute();
    config.queue_timing.completion_write = timing.completion_write();
    config.queue_timing.event_write = timing.event_write();
    config.queue_timing.clock_period = model::picoseconds(static_cast<std::int64_t>(
        1'000'000'000 / config.device_frequency_khz));  // a cycle of the free-running clock
    config.initialisation_time = timing.initialization();
    config.health_period = timing.health_period();
    config.pages = {timing.boot_pages(), timing.init_pages(), timing.pages_low_water(),
                    timing.pages_high_water()};
    config.context_caches.entries = {timing.icm_queue_contexts(), timing.icm_cq_contexts(),
                                     timing.icm_mkeys(), timing.icm_translations()};
    config.context_caches.reads = timing.icm_reads();
    config.context_caches.ahead = timing.icm_ahead().value;
    config.port = firmware_stub::port_config(identity, card.capabilities());
    return config;
}

roce::TransportTiming transport_timing(const model::CardData& card) {
    const model::FirmwareTiming& data = card.timing();
    roce::TransportTiming timing;
    timing.message_per_qp = data.roce_message_per_qp();
    timing.message = data.roce_message();
    timing.packet = data.roce_packet();
    timing.transmit = data.roce_transmit();
    timing.receive = data.roce_receive();
    timing.look_up = data.roce_look_up();
    timing.acknowledge = data.roce_acknowledge();
    timing.read = data.roce_read();
    timing.atomic = data.roce_atomic();
    timing.atomic_forward = data.roce_atomic_forward();
    timing.nak = data.roce_nak();
    timing.nak_read = data.roce_nak_read();
    timing.retransmit = data.roce_retransmit();
    timing.loopback = data.roce_loopback();
    timing.psn_window = data.roce_psn_window();
    timing.request_window = data.roce_request_window();
    timing.acknowledge_coalesce = data.roce_acknowledge_coalesce();
    timing.adaptive_timers = data.roce_adaptive_timers() != 0;
    return timing;
}

eth::PipelineOptions pipeline_options(const model::CardData& card) {
    const auto offload = [&](const char* field) {
        return card.capabilities().max_value("per_protocol_networking_offload_caps", field);
    };
    eth::PipelineOptions options;
    options.multi_packet = offload("enhanced_multi_pkt_send_wqe") != 0;
    options.software_parser = offload("swp") != 0;
    options.full_checksum = offload("cqe_checksum_full") != 0;
    options.constant_outer_id = offload("tunnel_lso_const_out_ip_id") != 0;
    options.lro_timestamps = offload("lro_time_stamp") != 0;
    options.lro_merge_psh = offload("lro_psh_flag") != 0;
    options.lro_min_mss = static_cast<std::uint32_t>(offload("lro_min_mss_size"));
    options.transmit = card.timing().ethernet_transmit();
    options.receive = card.timing().ethernet_receive();
    return options;
}

Card::Card(model::Kernel& kernel, const CardSetup& setup)
    : setup_(setup),
      statistics_(setup.name),
      data_(model::load_shared_card(setup.model, setup.options)),
      board_(model::make_board(*data_, setup.seed, setup.instance)),
      firmware_config_(firmware_config(*data_, board_)) {
    model::FramePool& frames = setup_.frames != nullptr ? *setup_.frames : own_frames_;
    port_ = std::make_unique<eth::Mac>(kernel.calendar(),
                                       eth::mac_config(data_->timing(), board_.mac), frames,
                                       statistics_);
    pcie::EndpointConfig pci = endpoint_config(*data_, board_);
    pci.seed = setup.seed;
    endpoint_ = std::make_unique<pcie::Endpoint>(
        (setup.name + "_endpoint").c_str(), kernel.calendar(), pci,
        pcie::builtin_host_profile(setup.host_profile, setup.options.overrides));
    model::HostBus& bus = setup_.wrap_bus ? setup_.wrap_bus(*endpoint_) : *endpoint_;
    firmware_config_.statistics = &statistics_;
    firmware_ = std::make_unique<firmware_stub::Firmware>(firmware_config_, bus,
                                                          kernel.calendar());
    endpoint_->attach(*firmware_);
    firmware_->attach_port(*port_);

    const model::FunctionId id{0};
    firmware_stub::FunctionState& function = firmware_->function(id);
    const eth::Pipeline pipeline{id,
                                 kernel.calendar(),
                                 bus,
                                 function.resources(),
                                 function.queues(),
                                 function.steering(),
                                 function.vport().counters,
                                 function.vport().gate,
                                 frames,
                                 *port_,
                                 pipeline_options(*data_),
                                 function.caches()};
    receiver_ = std::make_unique<eth::Receiver>(pipeline);
    transmitter_ = std::make_unique<eth::Transmitter>(pipeline, *receiver_);
    roce_addresses_ = std::make_unique<RoceAddresses>(function, *port_);
    transport_ = std::make_unique<roce::Transport>(roce::TransportSetup{
        id, kernel.calendar(), bus, function.queues().qp_queues(), frames, *port_,
        function.vport().counters, function.vport().gate, *roce_addresses_, *receiver_,
        function.congestion, *port_, transport_timing(*data_), setup_.synthetic,
        function.caches()});
    port_->set_receiver(transport_.get());
    function.queues().set_packet_sink(transmitter_.get());
    function.queues().set_transport(transport_.get());
}

// The host may be gone already: the link that goes down must not make the firmware write events.
Card::~Card() {
    port_->set_listener(nullptr);
    port_->set_receiver(nullptr);
    port_->disconnect();
    firmware_->function(model::FunctionId{0}).queues().set_packet_sink(nullptr);
    firmware_->function(model::FunctionId{0}).queues().set_transport(nullptr);
}

}  // namespace cxsim::scenarios
