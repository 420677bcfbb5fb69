// SPDX-License-Identifier: Apache-2.0
// What a running serve answers to `cxsim ctl`:
//   status                     simulated time, each card's objects, counters and link
//   fail CARD SYNDROME         the card's firmware dies
//   link CARD up|down          its cable is plugged in or pulled
//   link CARD ber RATIO        bit errors of the link, both directions
//   link CARD delay TIME       its one-way delay
//   link CARD impair KEY=VALUE ...  losses and the like in its cable, both directions (serve --impair);
//                              what is not named ends
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "model/params/value.h"
#include "model/prm/command.h"
#include "scenarios/cli/serve.h"

namespace cxsim::scenarios {
namespace {

using Json = nlohmann::ordered_json;

const char* const kLinkUsage = "link CARD up, link CARD down, link CARD ber RATIO (0 to 1e-3), "
                               "link CARD delay TIME or link CARD impair KEY=VALUE ..., "
                               "e.g. link 0 ber 1e-6, link 0 impair loss=1e-3 reorder=0.01";

std::string_view fec_name(model::FecMode mode) {
    switch (mode) {
        case model::FecMode::none: return "none";
        case model::FecMode::firecode: return "FireCode";
        case model::FecMode::rs_528_514: return "RS(528,514)";
        case model::FecMode::ll_rs_271_257: return "LL-RS(271,257)";
        case model::FecMode::rs_544_514: return "RS(544,514)";
    }
    return "?";
}

std::string_view reason_name(model::LinkDownReason reason) {
    switch (reason) {
        case model::LinkDownReason::none: return "none";
        case model::LinkDownReason::no_cable: return "no cable";
        case model::LinkDownReason::admin_down: return "port disabled";
        case model::LinkDownReason::partner_down: return "no partner";
        case model::LinkDownReason::no_common_mode: return "no common speed";
        case model::LinkDownReason::no_common_fec: return "no common FEC";
        case model::LinkDownReason::training: return "training";
    }
    return "?";
}

Json nonzero(const model::stats::Group& group) {
    Json all = Json::object();
    group.visit([&](const std::string& path, const model::stats::Counter& counter) {
        if (counter.value() != 0) all[path] = counter.value();
    });
    return all;
}

// Where each frame of the function went: both ways in = out + dropped by reason.
Json pipeline_status(Card& card) {
    const eth::TransmitCounters& sent = card.transmitter().counters();
    const eth::ReceiveCounters& received = card.receiver().counters();
    const model::QueueCounters& queues =
        card.firmware().function(model::FunctionId{0}).queues().counters();
    return {{"transmit",
             {{"wqes", queues.wqes},
              {"frames", sent.frames},
              {"bytes", sent.bytes},
              {"looped", sent.looped},
              {"segmented_wqes", sent.segmented_wqes},
              {"steered_away", sent.steered_away},
              {"vport_down", sent.vport_down},
              {"no_transport", sent.no_transport},
              {"too_long", sent.too_long},
              {"gather_failures", sent.gather_failures}}},
            {"receive",
             {{"frames", received.frames},
              {"bytes", received.bytes},
              {"looped", received.looped},
              {"loop_blocked", received.loop_blocked},
              {"vport_down", received.vport_down},
              {"steered_away", received.steered_away},
              {"copies", received.copies},
              {"deliveries", received.deliveries},
              {"no_queue", received.no_queue},
              {"merged_packets", received.merged_packets},
              {"merged_frames", received.merged_frames},
              {"received", queues.received},
              {"no_buffer", queues.receive_no_buffer},
              {"not_ready", queues.receive_not_ready},
              {"too_small", queues.receive_too_small},
              {"failures", queues.receive_failures}}},
            {"cqes", queues.cqes},
            {"compressed_cqes", queues.compressed_cqes}};
}

// The same of RoCE packets, which are no frames of the pipelines.
Json transport_status(const Card& card) {
    const roce::TransportCounters& c = card.transport().counters();
    return {{"connections", card.transport().connections()},
            {"packets_sent", c.packets_sent},
            {"frames_to_port", c.frames_to_port},
            {"looped", c.looped},
            {"frames_from_port", c.frames_from_port},
            {"vport_down", c.vport_down},
            {"bad_icrc", c.bad_icrc},
            {"malformed", c.malformed},
            {"packets_received", c.packets_received},
            {"copies", c.copies},
            {"requests", c.requests},
            {"responses", c.responses},
            {"notifications", c.notifications},
            {"no_queue", c.no_queue},
            {"not_ready", c.not_ready},
            {"bad_pkey", c.bad_pkey},
            {"bad_qkey", c.bad_qkey},
            {"bad_address", c.bad_address},
            {"retransmitted", c.retransmitted},
            {"timeouts", c.timeouts},
            {"acknowledges_sent", c.acknowledges_sent},
            {"naks_sent", c.naks_sent},
            {"messages_sent", c.messages_sent},
            {"messages_received", c.messages_received},
            {"dropped_sequence", c.dropped_sequence},
            {"dropped_no_buffer", c.dropped_no_buffer},
            {"dropped_request", c.dropped_request},
            {"dropped_response", c.dropped_response}};
}

Json impairments(const eth::Impairments& asked) {
    return {{"loss", asked.loss},
            {"duplicate", asked.duplicate},
            {"reorder", asked.reorder},
            {"corrupt", asked.corrupt},
            {"reorder_time_us", asked.reorder_time.microseconds()}};
}

Json link_status(const Network& network, Card& card) {
    const Network::Place place = network.place_of(card);
    const model::PortStatus status = card.port().status();
    Json link = {{"up", status.up}};
    if (status.up) {
        link["gbit_per_second"] = static_cast<double>(status.rate.value) / 1e9;
        link["fec"] = fec_name(status.fec);
    } else {
        link["reason"] = reason_name(status.reason);
    }
    if (place.link != nullptr) {
        link["delay_us"] = place.link->delay().microseconds();
        link["bit_error_ratio"] = place.link->bit_error_ratio(place.end);
    }
    if (const auto impaired = network.impairments(card)) {
        link["impairments"] = {{"towards_card", impairments(impaired->towards)},
                               {"from_card", impairments(impaired->from)}};
    }
    return link;
}

Json captures(const Network& network) {
    Json all = Json::array();
    for (const auto& capture : network.captures()) {
        all.push_back({{"file", capture->path()},
                       {"frames", capture->frames()},
                       {"backlog_bytes", capture->backlog()}});
        if (capture->failed()) all.back()["error"] = std::strerror(capture->error());
    }
    return all;
}

}  // namespace

std::string ServeLoop::answer(const std::string& question) {
    std::istringstream text(question);
    Words words;
    for (std::string word; text >> word;) words.push_back(word);
    const std::string verb = words.empty() ? "status" : words[0];
    Json reply;
    try {
        synchronise();
        if (verb == "status" && words.size() <= 1) {
            reply = status();
        } else if (verb == "fail") {
            reply = fail_firmware(words);
        } else if (verb == "link") {
            reply = change_link(words);
        } else {
            reply = {{"error", "unknown question: " + question}};
        }
    } catch (const std::exception& error) {
        reply = {{"error", error.what()}};
    }
    return reply.dump(verb == "status" ? 2 : -1) + "\n";
}

Card& ServeLoop::card_named(const std::string& number) {
    std::size_t index = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), index);
    if (parsed.ec != std::errc{} || parsed.ptr != number.data() + number.size() ||
        index >= cards_.size()) {
        throw std::runtime_error(
            fmt::format("no card '{}': there are 0 to {}", number, cards_.size() - 1));
    }
    return cards_[index]->card();
}

Json ServeLoop::fail_firmware(const Words& words) {
    char* end = nullptr;
    const long syndrome = words.size() == 3 ? std::strtol(words[2].c_str(), &end, 0) : 0;
    if (syndrome <= 0 || syndrome > 0xff || *end != 0) {
        throw std::runtime_error("fail CARD SYNDROME, e.g. fail 0 0x1");
    }
    card_named(words[1]).firmware().raise_internal_error(
        model::FunctionId{0}, static_cast<std::uint8_t>(syndrome), 0);
    return {{"failed", words[1]}, {"syndrome", syndrome}};
}

Json ServeLoop::change_link(const Words& words) {
    if (words.size() < 3) throw std::runtime_error(kLinkUsage);
    Card& card = card_named(words[1]);
    const Network::Place place = network_.place_of(card);
    if (place.link == nullptr) throw std::runtime_error("the card has no cable: serve --wire");
    const std::string& what = words[2];
    if ((what == "up" || what == "down") && words.size() == 3) {
        place.link->set_plugged(what == "up");
    } else if (what == "ber" && words.size() == 4) {
        char* end = nullptr;
        const double ratio = std::strtod(words[3].c_str(), &end);
        if (*end != 0 || !place.link->set_bit_error_ratio(0, ratio) ||
            !place.link->set_bit_error_ratio(1, ratio)) {
            throw std::runtime_error(fmt::format("bit error ratio '{}': 0 to 1e-3", words[3]));
        }
    } else if (what == "delay" && words.size() == 4) {
        place.link->set_delay(model::parse_time(words[3]));
    } else if (what == "impair") {
        const eth::Impairments impairments = parse_impairments(std::span(words).subspan(3));
        network_.impair(card, impairments, impairments);
    } else {
        throw std::runtime_error(kLinkUsage);
    }
    return {{"card", words[1]}, {"link", link_status(network_, card)}};
}

Json ServeLoop::status() {
    Json state;
    state["simulated_seconds"] = kernel_.now().seconds();
    state["wall_seconds"] = pacer_.elapsed().seconds();
    state["given_up_seconds"] = pacer_.given_up().seconds();
    state["events_executed"] = kernel_.calendar().executed();
    for (const auto& served : cards_) state["cards"].push_back(card_status(*served));
    state["network"] = nonzero(network_.statistics());
    state["captures"] = captures(network_);
    state["frames_in_use"] = network_.frames().in_use();
    return state;
}

Json ServeLoop::card_status(ServedCard& served) {
    Card& card = served.card();
    firmware_stub::Firmware& firmware = card.firmware();
    firmware_stub::FunctionState& function = firmware.function(model::FunctionId{0});
    Json entry;
    entry["card"] = card.setup().model;
    entry["socket"] = served.socket();
    entry["connected"] = served.function().connected();
    entry["connections"] = served.function().connections();
    entry["phase"] = to_string(function.phase());
    entry["objects"] = function.resources().census();
    entry["objects_total"] = function.resources().total();
    entry["pages_held"] = function.pages().held();
    entry["pages_used"] = function.pages().used();
    entry["commands_in_flight"] = function.commands().in_flight();
    entry["commands_accepted"] = firmware.counters().accepted;
    entry["commands_refused"] = firmware.counters().refused;
    entry["commands_unimplemented"] = firmware.counters().unimplemented;
    entry["delivery_errors"] = function.commands().counters().delivery_errors;
    entry["health_syndrome"] = function.health_syndrome;
    const InterruptTimes::Summary times = served.function().times().summary();
    entry["interrupt_to_doorbell"] = {{"samples", times.count},
                                      {"median_us", times.median_us},
                                      {"min_us", times.min_us},
                                      {"max_us", times.max_us}};
    entry["driver"] = function.driver_version;
    entry["link"] = link_status(network_, card);
    entry["port"] = nonzero(card.port().counters());
    entry["pipelines"] = pipeline_status(card);
    entry["transport"] = transport_status(card);
    if (function.caches() != nullptr) entry["icm"] = nonzero(function.caches()->counters());
    Json commands = Json::array();
    for (const auto& [opcode, statistics] : firmware.opcode_statistics()) {
        commands.push_back({{"opcode", prm::opcode_name(opcode)},
                            {"count", statistics.count},
                            {"refused", statistics.refused},
                            {"mean_us", statistics.total.microseconds() /
                                            static_cast<double>(statistics.count)}});
    }
    entry["commands"] = std::move(commands);
    return entry;
}

}  // namespace cxsim::scenarios
