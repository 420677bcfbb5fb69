// SPDX-License-Identifier: Apache-2.0
//
// Flow tables against the plain matcher: the input is a list of steps - tables, groups, rules,
// misses, roots, deletions and packets of both directions - whose bytes choose from small sets, so
// that rules meet packets. Both must agree on destinations, tags, registers and metadata; counters
// must add up.
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/naive_steering.h"
#include "tests/support/steering_bench.h"

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace {

using namespace cxsim;
using fuzz::broken;
using fuzz::Input;
using model::FlowKey;
using model::FlowTableType;
using test::SteeringBench;
using namespace model::flow_action;

constexpr std::size_t kMaxSteps = 200;
constexpr std::size_t kMaxTables = 12;
constexpr std::size_t kMaxGroups = 32;
constexpr std::uint32_t kGroupSize = 4;

struct Group {
    std::uint32_t number;
    std::uint32_t start;
    FlowTableType type;
    FlowKey mask;
};

class Session {
  public:
    explicit Session(Input& input) : input_(input) {
        for (const std::uint32_t field : {0x49U, 0x50U, 0x51U, 0x52U, 0x58U}) {
            rewrites_.push_back(bench_.rewrite({SteeringBench::set_action(field, 1)}));
        }
        for (int i = 0; i < 4; ++i) counters_.push_back(bench_.counter());
        // Something to start from, so that short inputs get far.
        for (const auto wanted : {FlowTableType::nic_rx, FlowTableType::nic_tx}) {
            for (int i = 0; i < 3; ++i) tables_[wanted].push_back(bench_.table(wanted));
            roots_[wanted] = tables_[wanted][0];
            bench_.steering.set_root(wanted, roots_[wanted]);
            for (const std::uint32_t table : tables_[wanted]) {
                make_group(wanted, table, 4);
                make_group(wanted, table, 1);
            }
        }
    }

    void run() {
        for (std::size_t step = 0; step < kMaxSteps && !input_.empty(); ++step) {
            switch (input_.byte() % 10) {
                case 0:
                    add_table();
                    break;
                case 1:
                    add_group();
                    break;
                case 2:
                    set_root();
                    break;
                case 3:
                    set_miss();
                    break;
                case 4:
                    remove_rule();
                    break;
                case 5:
                case 6:
                    set_rule();
                    break;
                default:
                    send_packet();
                    break;
            }
        }
        for (const auto& [number, hits] : naive_.hits) {
            if (!cut_ && bench_.resources.flow_counters.find(number)->packets != hits) {
                broken("a flow counter differs");
            }
        }
        // As a driver leaves; then nothing may be left to meet.
        for (const Group& group : groups_) {
            auto& entries = bench_.resources.flow_groups.find(group.number)->entries;
            while (!entries.empty()) bench_.remove(group.number, entries.begin()->first);
            bench_.destroy_group(group.number);
        }
        for (const auto type : {FlowTableType::nic_rx, FlowTableType::nic_tx}) {
            for (const std::uint32_t table : tables_[type]) bench_.modify_miss(table, {});
            for (const std::uint32_t table : tables_[type]) bench_.destroy_table(table);
        }
        test::KeyPacket packet;
        if (!bench_.receive(packet).empty()) broken("a delivery without any table");
    }

  private:
    FlowTableType type() {
        return input_.byte() % 2 == 0 ? FlowTableType::nic_rx : FlowTableType::nic_tx;
    }
    /// Two bits for each of eight places: few values, so that rules meet packets.
    FlowKey key() {
        static constexpr std::array<std::size_t, 8> kPlaces{0, 7, 66, 130, 214, 219, 300, 511};
        FlowKey made;
        const std::uint16_t word = input_.word();
        for (std::size_t i = 0; i < kPlaces.size(); ++i) {
            made.bytes[kPlaces[i]] = static_cast<std::byte>(word >> (2 * i) & 3);
        }
        return made;
    }
    std::optional<std::uint32_t> any_table(FlowTableType type) {
        const auto& list = tables_[type];
        if (list.empty()) return std::nullopt;
        return list[input_.byte() % list.size()];
    }

    void add_table() {
        const FlowTableType wanted = type();
        if (tables_[wanted].size() == kMaxTables) return;
        tables_[wanted].push_back(bench_.table(wanted, any_table(wanted)));
    }
    void add_group() {
        const FlowTableType wanted = type();
        const auto table = any_table(wanted);
        if (!table || groups_.size() == kMaxGroups) return;
        make_group(wanted, *table, input_.byte() % 16);
    }
    void make_group(FlowTableType wanted, std::uint32_t table, std::uint32_t place) {
        const std::uint32_t start = kGroupSize * place;
        if (bench_.resources.flow_tables.find(table)->groups.contains(start)) return;
        Group group{0, start, wanted, key()};
        group.number = bench_.group(table, start, start + kGroupSize - 1, group.mask);
        groups_.push_back(group);
    }
    void set_root() {
        const FlowTableType wanted = type();
        roots_[wanted] = input_.byte() % 8 == 0 ? std::nullopt : any_table(wanted);
        bench_.steering.set_root(wanted, roots_[wanted]);
    }
    void set_miss() {
        const FlowTableType wanted = type();
        const auto table = any_table(wanted);
        if (table) {
            bench_.modify_miss(*table, input_.byte() % 4 == 0 ? std::nullopt : any_table(wanted));
        }
    }
    void remove_rule() {
        if (groups_.empty()) return;
        const Group& group = groups_[input_.byte() % groups_.size()];
        const std::uint32_t index = group.start + input_.byte() % kGroupSize;
        if (bench_.resources.flow_groups.find(group.number)->entries.contains(index)) {
            bench_.remove(group.number, index);
        }
    }
    void set_rule() {
        if (groups_.empty()) return;
        const Group& group = groups_[input_.byte() % groups_.size()];
        const std::uint32_t index = group.start + input_.byte() % kGroupSize;
        const std::uint8_t what = input_.byte();
        test::RuleSpec spec;
        spec.value = key();
        for (std::size_t i = 0; i < spec.value.bytes.size(); ++i) {
            spec.value.bytes[i] &= group.mask.bytes[i];
        }
        if (what % 4 == 0) {
            spec.action = kDrop;
        } else if (what % 4 == 1 && group.type == FlowTableType::nic_tx) {
            spec.action = kAllow;
        } else {
            spec.action = kForward;
            for (int i = 0; i <= what % 3; ++i) {
                const std::uint8_t where = input_.byte();
                const auto table = any_table(group.type);
                spec.destinations.push_back(where % 2 == 0 && group.type == FlowTableType::nic_rx
                                                ? test::to_tir(1U + where)
                                                : test::to_table(*table));
            }
        }
        if ((what & 0x20) != 0) {
            spec.action |= kCount;
            spec.counters = {counters_[input_.byte() % counters_.size()]};
        }
        if ((what & 0x40) != 0 && spec.action != kDrop && (spec.action & kDrop) == 0) {
            spec.action |= kModifyHeader;
            spec.modify_header = rewrites_[input_.byte() % rewrites_.size()];
        }
        if ((what & 0x80) != 0) spec.flow_tag = input_.byte();
        const auto& entries = bench_.resources.flow_groups.find(group.number)->entries;
        if (const auto old = entries.find(index); old != entries.end()) {
            const auto value = prm::ConstView<prm::flow_context>(old->second.context)
                                   .bytes<prm::flow_context::match_value>();
            std::copy(value.begin(), value.end(), spec.value.bytes.begin());
        }
        bench_.rule(group.number, index, spec);
    }
    void send_packet() {
        const FlowTableType wanted = type();
        const FlowKey sent = key();
        test::KeyPacket packet(sent);
        const std::uint64_t no_room = bench_.counted()[wanted][model::DropReason::no_room];
        const auto& deliveries =
            wanted == FlowTableType::nic_tx ? bench_.transmit(packet) : bench_.receive(packet);
        naive_.run(wanted, roots_[wanted], sent);
        const auto& space = bench_.counted()[wanted];
        if (space.packets != space.delivered + space.dropped) broken("packets got lost");
        if (space[model::DropReason::no_room] != no_room) {
            cut_ = true;  // which branches are cut is not the plain matcher's business
            return;
        }
        if (deliveries.size() != naive_.results.size()) broken("other destinations");
        if (deliveries.drops() != naive_.drops.size()) broken("other drops");
        if (!naive_.drops.empty() && deliveries.drop_reason() != naive_.drops.back()) {
            broken("another reason to drop");
        }
        for (std::size_t i = 0; i < deliveries.size(); ++i) {
            const auto& expected = naive_.results[i];
            if (deliveries[i].kind != expected.kind || deliveries[i].number != expected.number) {
                broken("another destination");
            }
            if (deliveries[i].flow_tag != expected.flow_tag) broken("another flow tag");
            if (deliveries[i].metadata != expected.register_b) broken("another register B");
            if (deliveries[i].packet->key().bytes != expected.key.bytes) broken("another packet");
        }
    }

    Input& input_;
    SteeringBench bench_;
    test::NaiveSteering naive_{bench_.resources};
    std::map<FlowTableType, std::vector<std::uint32_t>> tables_;
    std::map<FlowTableType, std::optional<std::uint32_t>> roots_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> rewrites_;
    std::vector<std::uint32_t> counters_;
    bool cut_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Session session(input);
    session.run();
    return 0;
}
