// SPDX-License-Identifier: Apache-2.0
// The serving loop: cards behind vfio-user sockets, simulated time following the wall clock, and a
// control socket for questions.
#pragma once

#include <poll.h>

#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/sim/kernel.h"
#include "pcie/vfio_user/server.h"
#include "scenarios/prm_tools/card_tap.h"
#include "scenarios/prm_tools/recorder.h"
#include "scenarios/testbed/card.h"
#include "scenarios/testbed/network.h"
#include "scenarios/testbed/pacer.h"
#include "scenarios/testbed/timed_function.h"

namespace cxsim::scenarios {

/// A card and the socket it is offered on.
class ServedCard : public pcie::InterruptSink {
  public:
    ServedCard(model::Kernel& kernel, const CardSetup& setup, std::function<void()> synchronise);

    /// Throws std::runtime_error when the socket cannot be made.
    void listen(vfio_user::Server& server, const std::string& path);
    Card& card() { return card_; }
    CardTap& tap() { return tap_; }
    const TimedFunction& function() const { return function_; }
    const std::string& socket() const { return socket_; }
    const vfio_user::Endpoint* endpoint() const { return endpoint_; }

    void interrupt(model::FunctionId function, unsigned vector,
                   const pcie::MsixMessage& message) override;

  private:
    CardTap tap_;
    Card card_;
    pcie::GuestHostMemory memory_;
    TimedFunction function_;
    std::string socket_;
    vfio_user::Endpoint* endpoint_ = nullptr;
};

/// A client of the control socket that watches what a card's driver does, as a recording.
class Watcher {
  public:
    Watcher(ServedCard& card, std::vector<std::string> overrides, vfio_user::UniqueFd client);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    /// Sends what waits. False when the client has gone or does not keep up.
    bool send();
    bool waiting() const { return !pending_.empty(); }
    int fd() const { return client_.get(); }

  private:
    ServedCard& card_;
    vfio_user::UniqueFd client_;
    std::string pending_;
    std::unique_ptr<Recorder> recorder_;
};

/// Writes what the driver of a card does to a file, until the serve ends.
class FileRecording {
  public:
    /// Throws std::runtime_error when the file cannot be written.
    FileRecording(ServedCard& card, std::vector<std::string> overrides, const std::string& path);
    ~FileRecording();
    FileRecording(const FileRecording&) = delete;
    FileRecording& operator=(const FileRecording&) = delete;

  private:
    ServedCard& card_;
    std::ofstream file_;
    std::unique_ptr<Recorder> recorder_;
};

/// Whether the machine's processors have other work.
class Processors {
  public:
    Processors();
    /// Most of the time lately as many threads as there are processors wanted to run besides this
    /// one. Looks at most every few milliseconds; false where the system does not tell.
    bool wanted_by_others(model::Picoseconds now);

  private:
    unsigned count_;
    vfio_user::UniqueFd load_;
    model::Picoseconds next_look_;
    double share_ = 0;
};

class ServeLoop {
  public:
    /// `overrides` of the cards' data, for the headers of recordings.
    explicit ServeLoop(bool trace_messages, std::vector<std::string> overrides = {});

    void add(const CardSetup& setup, const std::string& socket);
    void open_control(const std::string& path);
    /// Joins the cards' ports, once all are added. Throws std::runtime_error.
    void connect(const NetworkSetup& setup);
    /// Records the card that was added as number `index`.
    void record(std::size_t index, const std::string& path);
    /// Until SIGINT or SIGTERM, or `until` of simulated time.
    void run();
    /// What `ctl` asks for, see serve_answers.cpp. JSON; an object with "error" for what is not
    /// understood.
    std::string answer(const std::string& question);
    std::vector<std::unique_ptr<ServedCard>>& cards() { return cards_; }
    model::Kernel& kernel() { return kernel_; }

  private:
    bool disk_waits() const;
    bool keep_pace(model::Picoseconds budget);
    void synchronise();
    void serve_control();
    using Words = std::vector<std::string>;
    nlohmann::ordered_json status();
    nlohmann::ordered_json card_status(ServedCard& served);
    nlohmann::ordered_json fail_firmware(const Words& words);
    nlohmann::ordered_json change_link(const Words& words);
    Card& card_named(const std::string& number);
    void watch(const std::string& question, vfio_user::UniqueFd client);
    void feed_watchers();
    int poll_sockets(model::Picoseconds time);
    void wait();
    void tell_of_captures();
    bool stores_under_way();

    model::Kernel kernel_;
    Network network_{kernel_};
    Pacer pacer_{kernel_};
    model::Picoseconds warn_at_ = model::seconds(1);  // of time given up
    std::set<const eth::PcapTap*> captures_told_of_;  // that they have failed
    model::Picoseconds control_due_;  // of Pacer::elapsed()
    std::vector<std::string> overrides_;
    std::vector<std::unique_ptr<ServedCard>> cards_;
    std::vector<std::unique_ptr<FileRecording>> recordings_;
    std::vector<std::unique_ptr<Watcher>> watchers_;
    // What wait() looks at, and for how long before it sleeps.
    std::vector<pollfd> waited_for_;
    model::Picoseconds look_ = model::microseconds(10);
    Processors processors_;
    std::string control_path_;
    vfio_user::UniqueFd control_;
    // Last, so that it goes first: leaving clients still reach devices, taps and recordings.
    vfio_user::Server server_;
};

}  // namespace cxsim::scenarios
