// SPDX-License-Identifier: Apache-2.0
// The stages of one RDMA WRITE as a trace shows them.
#include "model/trace/sinks.h"
#include "scenarios/driver/verbs_driver.h"
#include "scenarios/prm_tools/stage_trace.h"
#include "scenarios/testbed/network.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>
#include <sstream>

using namespace cxsim;
using namespace cxsim::scenarios;
using model::Picoseconds;
using model::trace::Stage;
using model::trace::StageId;

namespace {

/// Keeps the stages, by track.
class StageSink : public model::trace::Sink {
  public:
    struct Slice {
        std::string track;
        Picoseconds start;
        Picoseconds end;
        Stage stage;
    };
    explicit StageSink(std::vector<Slice>& slices) : slices_(slices) {}
    void write(const model::trace::Tracer& tracer, const model::trace::Record& record,
               model::trace::Blobs) override {
        if (record.kind != model::trace::kind_number<Stage>()) return;
        Stage stage;
        std::memcpy(&stage, record.payload.data(), sizeof stage);
        slices_.push_back({std::string(tracer.component_name(record.component)),
                           Picoseconds{static_cast<std::int64_t>(stage.start)}, record.time,
                           stage});
    }
    void finish(const model::trace::Tracer&) override {}

  private:
    std::vector<Slice>& slices_;
};

struct TracedStation {
    TracedStation(model::Kernel& kernel, Network& network, model::trace::Tracer& tracer,
                  PacketsUnderWay& packets, std::uint16_t instance)
        : card(kernel, setup(network, instance)),
          host((tap.attach(card, kernel), fmt::format("host{}", instance).c_str()), kernel, card),
          driver(host),
          verbs(driver, {.ipv4 = 0x0a000001U + instance, .visible = visible.get()}),
          stages(tracer, card, packets) {
        tap.add(stages);
    }
    ~TracedStation() { tap.remove(stages); }
    CardSetup setup(Network& network, std::uint16_t instance) {
        CardSetup result;
        result.name = fmt::format("card{}", instance);
        result.instance = instance;
        result.frames = &network.frames();
        result = tap.tapped(std::move(result));
        result.wrap_bus = [this, tapped = result.wrap_bus](model::HostBus& bus) -> model::HostBus& {
            visible = std::make_unique<VisibleWrites>(bus);
            return tapped(*visible);
        };
        return result;
    }
    std::unique_ptr<VisibleWrites> visible;
    CardTap tap;
    Card card;
    Host host;
    Driver driver;
    VerbsDriver verbs;
    CardStages stages;
};

struct TimelineBench {
    TimelineBench() : network(kernel) {
        tracer.set_mask(model::trace::Tracer::bit<Stage>());
        tracer.add_sink(std::make_unique<StageSink>(slices));
        tracer.add_sink(std::make_unique<model::trace::TimelineSink>(json));
        std::vector<Card*> cards;
        for (std::uint16_t i = 0; i < 2; ++i) {
            stations.push_back(
                std::make_unique<TracedStation>(kernel, network, tracer, packets, i));
            cards.push_back(&stations.back()->card);
        }
        network.connect(cards, {});
        for (auto& station : stations) {
            network.observe(station->card, &station->stages);
            station->verbs.open();
        }
        for (auto& station : stations) {
            if (!station->verbs.wait_for_link(model::seconds(10))) {
                throw std::runtime_error("no link");
            }
        }
    }
    ~TimelineBench() {
        for (auto& station : stations) network.observe(station->card, nullptr);
    }

    const StageSink::Slice& only(const std::string& track) const {
        const StageSink::Slice* found = nullptr;
        for (const auto& slice : slices) {
            if (slice.track != track) continue;
            if (found != nullptr) throw std::runtime_error(track + " has two slices");
            found = &slice;
        }
        if (found == nullptr) throw std::runtime_error(track + " has no slice");
        return *found;
    }

    model::Kernel kernel;
    Network network;
    model::trace::Tracer tracer;
    PacketsUnderWay packets;
    std::vector<StageSink::Slice> slices;
    std::ostringstream json;
    std::vector<std::unique_ptr<TracedStation>> stations;
};

}  // namespace

TEST_CASE("each stage of one WRITE follows the one before without a gap", "[timeline]") {
    TimelineBench bench;
    VerbsDriver& a = bench.stations[0]->verbs;
    VerbsDriver& b = bench.stations[1]->verbs;
    VerbsMr& from = a.create_mr(a.pd(), 4096);
    VerbsMr& to = b.create_mr(b.pd(), 4096);
    VerbsCq& cq = a.create_cq(16);
    VerbsQp& qp = a.create_qp(a.pd(), cq, cq, {});
    VerbsCq& peer_cq = b.create_cq(16);
    VerbsQp& peer = b.create_qp(b.pd(), peer_cq, peer_cq, {});
    connect(qp, a, peer, b);
    bench.tracer.flush();
    bench.slices.clear();
    for (std::size_t i = 0; i < 600; ++i) from.bytes()[i] = static_cast<std::byte>(i * 7 + 1);
    cq.arm(false);
    const Picoseconds begin = bench.kernel.now();
    const Sge piece = from.sge(0, 600);
    REQUIRE(qp.post_send({.op = SendOp::write,
                          .sges = {&piece, 1},
                          .remote_address = to.address(),
                          .rkey = to.rkey()}));
    Completion done;
    REQUIRE(cq.wait(done, model::milliseconds(1)));
    REQUIRE(done.ok());
    bench.kernel.run_for(model::microseconds(5));
    bench.tracer.flush();

    // Where one ends the next begins.
    const char* chain[] = {"card0.doorbell",     "card0.wqe_fetch",     "card0.packetize",
                           "card0.payload_read", "card0.transmit",      "card1.link",
                           "card1.receive",      "card1.acknowledge",   "card0.link",
                           "card0.report",       "card0.completion"};
    Picoseconds at = bench.only(chain[0]).start;
    CHECK(at > begin);
    for (const char* track : chain) {
        INFO(track);
        const auto& slice = bench.only(track);
        CHECK(slice.start == at);
        CHECK(slice.end > slice.start);
        at = slice.end;
    }
    CHECK(at == done.time);
    // Writes are posted: the answer does not wait for the host's memory.
    CHECK(bench.only("card1.payload_write").start == bench.only("card1.receive").end);
    // No page of the regions was used before: translations are read before the memory is.
    for (const auto& [fetch, stage] : {std::pair{"card0.translation_fetch", "card0.packetize"},
                                       {"card1.translation_fetch", "card1.receive"}}) {
        const auto& slice = bench.only(fetch);
        CHECK(slice.start >= bench.only(stage).start);
        CHECK(slice.end > slice.start);
        CHECK(slice.end <= bench.only(stage).end);
        CHECK(slice.stage.bytes == 8);
    }
    const auto& event = bench.only("card0.event");
    CHECK(event.start >= bench.only("card0.completion").start);
    CHECK(bench.only("card0.interrupt").end >= event.start);

    CHECK(bench.only("card0.doorbell").stage.queue == qp.number());
    CHECK(bench.only("card0.payload_read").stage.bytes == 600);
    CHECK(bench.only("card1.payload_write").stage.bytes == 600);
    CHECK(bench.only("card1.payload_write").stage.queue == peer.number());
    CHECK(bench.only("card0.payload_read").stage.number ==
          bench.only("card1.payload_write").stage.number);
    // Arrows: work to packet, card to card, request to answer, answer to work.
    const auto flow = [&](const char* track) { return bench.only(track).stage.flow; };
    const auto other = [&](const char* track) { return bench.only(track).stage.other_flow; };
    CHECK(flow("card0.packetize") == flow("card0.wqe_fetch"));
    CHECK(other("card0.packetize") == flow("card0.payload_read"));
    CHECK(flow("card1.payload_write") == flow("card0.payload_read"));
    CHECK(other("card1.acknowledge") == flow("card1.payload_write"));
    CHECK(other("card0.report") == flow("card1.acknowledge"));
    CHECK(flow("card0.completion") == flow("card0.doorbell"));

    bench.tracer.finish();
    const auto events = nlohmann::json::parse(bench.json.str());
    std::map<std::string, unsigned> phases;
    for (const auto& each : events) ++phases[each["ph"].get<std::string>()];
    CHECK(phases["X"] >= std::size(chain) + 2);
    CHECK(phases["s"] >= 3);
    CHECK(phases["s"] == phases["f"]);
}
