// SPDX-License-Identifier: Apache-2.0
// What the packet pipelines of one function work with.
#pragma once

#include <cstdint>

#include "eth/offloads/headers.h"
#include "model/memory/context_caches.h"
#include "model/ports/frame.h"
#include "model/ports/host_bus.h"
#include "model/ports/vport_traffic.h"
#include "model/ports/wire_port.h"
#include "model/queues/queue_engines.h"
#include "model/resources/resources.h"
#include "model/sim/calendar.h"
#include "model/steering/steering.h"

namespace cxsim::eth {

/// From the card's data: its capabilities, and how long a frame is on its way through the pipeline.
struct PipelineOptions {
    bool multi_packet = false;       ///< enhanced_multi_pkt_send_wqe
    bool software_parser = false;    ///< per_protocol_networking_offload_caps.swp
    bool full_checksum = false;      ///< cqe_checksum_full
    bool constant_outer_id = false;  ///< tunnel_lso_const_out_ip_id
    bool lro_timestamps = false;     ///< lro_time_stamp
    bool lro_merge_psh = false;      ///< lro_psh_flag
    bool lro_max_counts_headers = false;  ///< of lro_max_ip_payload_size: headers, too
    std::uint32_t lro_min_mss = 0;   ///< lro_min_mss_size
    model::Picoseconds transmit{};   ///< payload read until the frame is at the port
    model::Picoseconds receive{};    ///< frame arrived until it is steered
};

struct Pipeline {
    model::FunctionId function;
    model::Calendar& calendar;
    model::HostBus& host;
    model::Resources& resources;
    model::QueueEngines& queues;
    model::Steering& steering;
    model::VportTraffic& traffic;
    model::VportGate& gate;
    model::FramePool& frames;
    model::WirePort& port;
    PipelineOptions options;
    model::ContextCaches* caches = nullptr;  ///< null: keys and translations are at hand
};

/// Ports that the driver registered for VXLAN, as the parser wants them.
void follow_vxlan_ports(const model::Resources& resources, ParserConfig& parser);

enum class Cast : std::uint8_t { unicast, multicast, broadcast };
Cast cast_of(const model::Frame& frame);

/// The frame's destination as a number, its first octet highest; 0 of less than six bytes.
std::uint64_t destination_of(const model::Frame& frame);

}  // namespace cxsim::eth
