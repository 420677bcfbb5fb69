// SPDX-License-Identifier: Apache-2.0
// Plays a recording against a fresh card, through its command interface, and tells what differs.
#pragma once

#include "scenarios/driver/command_port.h"
#include "scenarios/driver/event_queue.h"
#include "scenarios/prm_tools/message.h"
#include "scenarios/prm_tools/recording.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cxsim::scenarios {

/// One thing that came out otherwise than recorded.
struct Difference {
    std::uint64_t command = 0;  ///< number in the recording; 0 for events
    std::size_t line = 0;       ///< in the recording
    std::string name;           ///< "CREATE_CQ", "event PAGE_REQUEST"
    std::string member;         ///< "status", "syndrome", or the output's member
    std::string expected;
    std::string got;

    /// "command 12 QUERY_HCA_CAP (line 30): capability.cmd_hca_cap.log_max_qp: expected ..., got
    /// ..."
    std::string text() const;
};

struct ReplayResult {
    std::vector<Difference> differences;
    std::uint64_t commands = 0;  ///< run
    std::uint64_t events = 0;    ///< compared
    /// Commands that could not be run, and why: never delivered or lost in the recording, another
    /// function, or in need of an object that only the recording's card made.
    struct Skipped {
        std::uint64_t command;
        std::size_t line;
        std::string name;
        std::string reason;
        bool consequence;  ///< of a difference
    };
    std::vector<Skipped> skipped;
    model::Picoseconds simulated;

    bool same() const { return differences.empty(); }
};

class Replayer {
  public:
    /// The host's card must not have been used. All outlive the replayer.
    Replayer(Host& host, const Recording& recording);
    ~Replayer();

    /// `progress` is called after each block with how many are done. Throws DriverError when the
    /// card stops answering.
    ReplayResult run(const std::function<void(std::size_t done)>& progress = {});

  private:
    struct Buffer {
        std::vector<std::uint64_t> pages;
        std::uint64_t page_bytes = 4096;
    };
    struct Reference {
        std::string symbol;        ///< "$cq3"; empty: a number
        std::uint64_t addend = 0;  ///< or the number
        std::uint64_t count = 0;   ///< of a list
        bool list = false;
        bool anonymous = false;  ///< "*[8]": pages that the card hands back
    };

    void command(const Block& block);
    void event(const Block& block);
    void reset(const Block& block);
    void open_queue();
    /// False if a symbol is not known; `missing` is it.
    bool fill_input(const Block& block, std::vector<std::byte>& input, std::string& missing);
    void compare(const Block& block, std::span<const std::byte> input, const CommandResult& result);
    bool expect(const Block& block, const Message& message, std::span<const std::byte> got,
                std::vector<std::byte>& expected);
    bool put(const Message& message, const Block& block, const RecordedValue& value,
             std::span<std::byte> data, std::string& missing);
    void differ(const Block& block, std::string member, std::string expected, std::string got);
    void before(const Block& block, std::span<const std::byte> input);
    void after(const Block& block, std::span<const std::byte> input, const CommandResult& result);
    void collect_events();
    std::uint64_t page(const std::string& symbol);
    const Buffer& buffer(const std::string& symbol, std::uint64_t count, std::uint64_t page_bytes);
    static Reference parse(const Block& block, const RecordedValue& value);
    static std::uint64_t page_bytes_of(const Block& block);

    Host& host_;
    const Recording& recording_;
    CommandPort port_;
    ReplayResult result_;
    bool enabled_ = false;
    std::map<std::string, std::uint64_t> objects_;
    std::map<std::string, std::uint64_t> pages_;
    std::map<std::string, Buffer> buffers_;
    std::set<std::string> wanted_;   ///< objects that the card should have made and has not
    std::set<std::uint64_t> given_;  ///< pages that the firmware has
    std::vector<std::unique_ptr<EventQueue>> queues_;
    std::unique_ptr<EventQueue> next_queue_;
    std::map<std::pair<std::uint8_t, std::uint8_t>, std::deque<Event>> seen_;
};

/// The result as a JUnit file: one case for each command that was compared.
std::string junit(const Recording& recording, const std::string& name, const ReplayResult& result,
                  double wall_seconds);

}  // namespace cxsim::scenarios
