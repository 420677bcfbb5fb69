// SPDX-License-Identifier: Apache-2.0
// How long the card takes, and how much it can have under way (timing.ini).
#pragma once

#include "model/params/parameter.h"

#include <cstdint>

namespace cxsim::model {

/// The card's side only: root complex and memory belong to the host profile.
struct FirmwareTiming : ParameterGroup {
    FirmwareTiming() : ParameterGroup("timing") {}

    Parameter<Picoseconds> query{*this, "command.query", "a QUERY_* command, fetch to completion"};
    Parameter<Picoseconds> set{*this, "command.set", "a SET_* command, fetch to completion"};
    Parameter<Picoseconds> create_object{*this, "command.create_object",
                                         "creating or allocating an object"};
    Parameter<Picoseconds> destroy_object{*this, "command.destroy_object",
                                          "destroying or freeing an object"};
    Parameter<Picoseconds> modify_object{*this, "command.modify_object",
                                         "changing an object, QP state changes included"};
    Parameter<Picoseconds> pages{*this, "command.pages", "MANAGE_PAGES without its pages"};
    Parameter<Picoseconds> per_page{*this, "command.per_page", "each page of a MANAGE_PAGES"};
    Parameter<Picoseconds> access_register{*this, "command.access_register", "ACCESS_REG"};
    Parameter<Picoseconds> initialize{*this, "command.initialize", "INIT_HCA"};
    Parameter<Picoseconds> teardown{*this, "command.teardown", "TEARDOWN_HCA"};
    Parameter<Picoseconds> enable{*this, "command.enable", "ENABLE_HCA and DISABLE_HCA"};
    Parameter<Picoseconds> steering{*this, "command.steering",
                                    "a rule, group or table of steering"};
    Parameter<Picoseconds> refusal{*this, "command.refusal", "a command that is refused at once"};
    Parameter<std::uint32_t> processors{*this, "command.processors", "commands worked on at once"};

    Parameter<Picoseconds> initialization{*this, "boot.initialization",
                                          "from reset until 'initializing' clears"};
    Parameter<Picoseconds> health_period{*this, "health.counter_period",
                                         "between two steps of the health counter"};
    Parameter<Picoseconds> link_up{*this, "port.link_up",
                                   "from PAOS 'up' with a partner until the port is active"};
    Parameter<Picoseconds> mac_latency{*this, "port.mac_latency",
                                       "MAC and PCS of one direction of one card, without FEC"};
    Parameter<Picoseconds> fec_firecode{*this, "port.fec_firecode",
                                        "decoding a FireCode block after its last bit"};
    Parameter<Picoseconds> fec_rs528{*this, "port.fec_rs528",
                                     "decoding an RS(528,514) codeword after its last bit"};
    Parameter<Picoseconds> fec_rs544{*this, "port.fec_rs544",
                                     "decoding an RS(544,514) codeword after its last bit"};
    Parameter<Bytes> receive_buffer{*this, "port.receive_buffer",
                                    "receive buffer of the port, all priorities"};
    Parameter<Bytes> transmit_buffer{*this, "port.transmit_buffer",
                                     "frames of one priority that wait for the wire before "
                                     "senders are held back"};

    Parameter<std::uint32_t> boot_pages{*this, "pages.boot", "4 KiB pages asked for at boot"};
    Parameter<std::uint32_t> init_pages{*this, "pages.init", "4 KiB pages asked for by INIT_HCA"};
    Parameter<std::uint32_t> pages_low_water{*this, "pages.low_water",
                                             "fewer free pages make the card ask for more"};
    Parameter<std::uint32_t> pages_high_water{*this, "pages.high_water",
                                              "more free pages make the card offer some back"};

    Parameter<std::uint32_t> icm_queue_contexts{*this, "icm.queue_contexts",
                                                "contexts of QPs, SQs and RQs at hand on the card"};
    Parameter<std::uint32_t> icm_cq_contexts{*this, "icm.cq_contexts",
                                             "contexts of CQs at hand on the card"};
    Parameter<std::uint32_t> icm_mkeys{*this, "icm.mkeys", "memory keys at hand on the card"};
    Parameter<std::uint32_t> icm_translations{*this, "icm.translations",
                                              "pages of memory keys at hand on the card"};
    Parameter<Bytes> icm_ahead{*this, "icm.ahead",
                               "of a message that is sent, translations are asked for so far ahead"};
    Parameter<std::uint32_t> icm_reads{*this, "icm.reads",
                                       "reads of contexts under way at once, at most"};

    Parameter<Picoseconds> doorbell{*this, "queue.doorbell",
                                    "UAR write seen until the queue is worked on"};
    Parameter<Picoseconds> wqe_execute{*this, "queue.wqe_execute",
                                       "a fetched WQE, without its memory accesses"};
    Parameter<Picoseconds> completion_write{*this, "queue.completion_write",
                                            "work done until its CQE goes out"};
    Parameter<Picoseconds> event_write{*this, "queue.event_write",
                                       "event decided until its EQE goes out"};

    Parameter<Picoseconds> roce_message_per_qp{*this, "roce.message_per_qp",
                                               "between two messages of one QP"};
    Parameter<Picoseconds> roce_message{*this, "roce.message",
                                        "between two messages of the whole card"};
    Parameter<Picoseconds> roce_packet{*this, "roce.packet", "the packetizer, each packet"};
    Parameter<Picoseconds> roce_transmit{*this, "roce.transmit",
                                         "payload read until the frame is at the port"};
    Parameter<Picoseconds> roce_receive{*this, "roce.receive",
                                        "frame arrived until its headers are decided on"};
    Parameter<Picoseconds> roce_look_up{
        *this, "roce.look_up", "keys and translations for data that a packet brings or asks for"};
    Parameter<Picoseconds> roce_acknowledge{*this, "roce.acknowledge",
                                            "last write of a message posted until its ACK leaves"};
    Parameter<Picoseconds> ethernet_transmit{*this, "ethernet.transmit",
                                             "payload read until the frame is at the port"};
    Parameter<Picoseconds> ethernet_receive{*this, "ethernet.receive",
                                            "frame arrived until it is steered"};

    Parameter<Picoseconds> roce_read{*this, "roce.read",
                                     "between two READs that the card answers"};
    Parameter<Picoseconds> roce_atomic{*this, "roce.atomic",
                                       "between two atomics of the whole card"};
    Parameter<Picoseconds> roce_atomic_forward{*this, "roce.atomic_forward",
                                               "between two atomics on one address"};
    Parameter<Picoseconds> roce_nak{*this, "roce.nak",
                                    "packet out of sequence seen until the NAK leaves"};
    Parameter<Picoseconds> roce_nak_read{*this, "roce.nak_read",
                                         "gap in READ responses seen until the request goes again"};
    Parameter<Picoseconds> roce_retransmit{*this, "roce.retransmit",
                                           "NAK seen until the first packet goes again"};
    Parameter<Picoseconds> roce_loopback{*this, "roce.loopback",
                                         "packet for the card itself sent until it arrives"};
    Parameter<std::uint32_t> roce_psn_window{*this, "roce.psn_window",
                                             "packets of one QP under way, at most"};
    Parameter<std::uint32_t> roce_request_window{*this, "roce.request_window",
                                                 "work requests of one QP under way, at most"};
    Parameter<std::uint32_t> roce_acknowledge_coalesce{
        *this, "roce.acknowledge_coalesce", "requests that one ACK answers, at most"};
    Parameter<std::uint32_t> roce_adaptive_timers{
        *this, "roce.adaptive_timers", "1: retransmission timers adapt (roce_adp_retrans)"};

    Parameter<Picoseconds> pcie_one_way{*this, "pcie.one_way",
                                        "a TLP's way between card and root port, bits apart"};
    Parameter<Picoseconds> register_read{*this, "pcie.register_read",
                                         "a BAR read understood until its completion is ready"};
    Parameter<Picoseconds> dma_request_overhead{*this, "pcie.request_overhead",
                                                "a DMA request until its first TLP is ready"};
    Parameter<BitsPerSecond> dma_copy_rate{*this, "pcie.copy_rate",
                                           "between PCIe and the unit that uses the data"};
    Parameter<std::uint32_t> dma_tags{*this, "pcie.tags", "outstanding read requests"};
    Parameter<Bytes> dma_completion_buffer{*this, "pcie.completion_buffer",
                                           "room for requested read data"};

    /// Throws ConfigError for values that cannot be together.
    void check(const std::string& file) const;
};

}  // namespace cxsim::model
