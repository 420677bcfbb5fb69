// SPDX-License-Identifier: Apache-2.0
#include "model/base/assert.h"
#include "model/params/config_error.h"
#include "model/prm/command.h"
#include "model/prm/view.h"
#include "model/trace/decode.h"
#include "model/trace/sinks.h"
#include "prm/layouts.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

using namespace cxsim::model;
using namespace cxsim::model::trace;
namespace prm = cxsim::prm;
using Catch::Matchers::ContainsSubstring;

namespace {
std::uint64_t g_allocations = 0;
}

// NOLINTBEGIN: counts allocations of this test program. Not inlined: the compiler would take the
// pair of a new that it sees and a free that it sees for a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++g_allocations;
    void* memory = std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
// std::stable_sort asks for its buffer this way and gives it back to the plain delete.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++g_allocations;
    return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
// NOLINTEND

namespace {

Command query_issi(Picoseconds start) {
    Command command{};
    command.start = static_cast<std::uint64_t>(start.value);
    command.opcode = static_cast<std::uint16_t>(prm::Opcode::QUERY_ISSI);
    command.slot = 31;
    return command;
}

/// Everything that reaches a sink.
struct Collector : Sink {
    std::vector<Record>& records;
    std::vector<std::vector<std::byte>>& bytes;
    int& finished;
    Collector(std::vector<Record>& r, std::vector<std::vector<std::byte>>& b, int& f)
        : records(r), bytes(b), finished(f) {}
    void write(const Tracer&, const Record& record, Blobs blobs) override {
        records.push_back(record);
        for (const auto& blob : blobs) bytes.emplace_back(blob.begin(), blob.end());
    }
    void finish(const Tracer&) override { ++finished; }
};

struct Collected {
    std::vector<Record> records;
    std::vector<std::vector<std::byte>> bytes;
    int finished = 0;
    std::unique_ptr<Sink> sink() { return std::make_unique<Collector>(records, bytes, finished); }
};

}  // namespace

TEST_CASE("every kind is declared once and names members that fit its payload", "[trace]") {
    for (std::uint16_t kind = 0; kind < kKindCount; ++kind) {
        const KindInfo& info = kind_info(kind);
        CAPTURE(info.name);
        CHECK_FALSE(info.name.empty());
        CHECK_FALSE(info.fields.empty());
        bool start = false;
        for (const Field& field : info.fields) {
            CAPTURE(field.name);
            CHECK(field.offset + field.size <= sizeof(Record::payload));
            CHECK((field.size <= 8 || field.format == Format::hidden));
            start |= field.name == "start";
        }
        CHECK(start == info.span);
        for (std::uint16_t other = 0; other < kind; ++other) {
            CHECK(kind_info(other).name != info.name);
        }
    }
}

TEST_CASE("a command is one readable line", "[trace]") {
    Tracer tracer;
    const auto cmdif = tracer.component("nic0.cmdif");
    tracer.record(cmdif, 0, microseconds(12), query_issi(microseconds(2)));
    CHECK(tracer.last_as_text(10) ==
          "     12.000000us nic0.cmdif f0 command opcode=QUERY_ISSI op_mod=0x0 slot=31 status=OK "
          "syndrome=0x0 delivery=OK input_bytes=0 output_bytes=0 took=10us\n");
}

TEST_CASE("values without a name are shown as numbers", "[trace]") {
    Tracer tracer;
    Command command = query_issi({});
    command.opcode = 0xfffe;
    command.status = 0x77;
    tracer.record({}, 0, {}, command);
    CHECK_THAT(tracer.last_as_text(1), ContainsSubstring("opcode=0xfffe"));
    CHECK_THAT(tracer.last_as_text(1), ContainsSubstring("status=0x77"));
}

TEST_CASE("kinds that are off leave nothing behind", "[trace]") {
    Tracer tracer;
    tracer.record({}, 0, {}, Dma{});
    CHECK(tracer.recorded() == 0);
    std::uint64_t mask = 0;
    REQUIRE(Tracer::mask_of(std::vector<std::string>{"dma", "wqe"}, mask));
    tracer.set_mask(mask);
    tracer.record({}, 0, {}, Dma{});
    tracer.record({}, 0, {}, query_issi({}));
    CHECK(tracer.recorded() == 1);
    CHECK(tracer.on<Wqe>());
    CHECK_FALSE(tracer.on<Command>());
    CHECK_FALSE(Tracer::mask_of(std::vector<std::string>{"dma", "dmas"}, mask));
    REQUIRE(Tracer::mask_of(std::vector<std::string>{"all"}, mask));
    CHECK(mask == (std::uint64_t{1} << kKindCount) - 1);
}

TEST_CASE("recording allocates nothing, on or off", "[trace]") {
    Tracer tracer;
    tracer.set_mask(~std::uint64_t{0});
    const auto component = tracer.component("nic0.dma");
    const auto message = tracer.message("bad key {:#x}");
    const std::uint64_t before = g_allocations;
    for (unsigned i = 0; i < 100'000; ++i) {
        tracer.record(component, 1, nanoseconds(i), Dma{i, i, 64, 0, 0});
        tracer.log(component, 1, nanoseconds(i), LogClass::guest, message, i);
    }
    CHECK(g_allocations == before);
    CHECK(tracer.recorded() == 200'000);
}

TEST_CASE("a ring that is full keeps the newest records", "[trace]") {
    Tracer tracer({.records = 8, .blob_bytes = 64});
    for (std::uint16_t i = 0; i < 20; ++i) {
        Command command = query_issi({});
        command.slot = i;
        tracer.record({}, 0, nanoseconds(i), command);
    }
    const std::string text = tracer.last_as_text(100);
    CHECK(std::count(text.begin(), text.end(), '\n') == 8);
    CHECK_THAT(text, ContainsSubstring("slot=12 "));
    CHECK_THAT(text, ContainsSubstring("slot=19 "));
    CHECK_THAT(tracer.last_as_text(2), !ContainsSubstring("slot=17 "));
}

TEST_CASE("a sink gets every record once, in order, however small the ring", "[trace]") {
    Collected collected;
    {
        Tracer tracer({.records = 4, .blob_bytes = 64});
        tracer.record({}, 0, {}, query_issi({}));  // before the sink: not for it
        tracer.add_sink(collected.sink());
        for (std::uint16_t i = 0; i < 103; ++i) {
            Command command = query_issi({});
            command.slot = i;
            tracer.record({}, 0, nanoseconds(i), command);
        }
        tracer.finish();
        tracer.finish();
    }
    CHECK(collected.finished == 1);
    REQUIRE(collected.records.size() == 103);
    for (std::uint16_t i = 0; i < 103; ++i) CHECK(collected.records[i].time == nanoseconds(i));
}

TEST_CASE("bytes reach the sink unharmed, also when the buffer is too small", "[trace]") {
    Collected collected;
    Tracer tracer({.records = 8, .blob_bytes = 64});
    tracer.add_sink(collected.sink());
    const std::vector<std::byte> small(20, std::byte{1});
    const std::vector<std::byte> large(1000, std::byte{2});
    tracer.record({}, 0, {}, query_issi({}), {small, small});
    CHECK(collected.records.empty());
    tracer.keep_blobs(true);
    tracer.record({}, 0, {}, query_issi({}), {small, small});
    tracer.record({}, 0, {}, query_issi({}), {large, {}});
    tracer.record({}, 0, {}, query_issi({}), {small});
    tracer.flush();
    REQUIRE(collected.records.size() == 4);
    CHECK(collected.records[0].blobs == 0);
    REQUIRE(collected.bytes.size() == 5);
    CHECK(collected.bytes[0] == small);
    CHECK(collected.bytes[1] == small);
    CHECK(collected.bytes[2] == large);
    CHECK(collected.bytes[3].empty());
    CHECK(collected.bytes[4] == small);
}

TEST_CASE("JSON Lines name the members of commands and their bytes", "[trace]") {
    prm::Buffer<prm::query_issi_in> input;
    input.view().set<prm::query_issi_in::opcode>(prm::Opcode::QUERY_ISSI);
    prm::Buffer<prm::query_issi_out> output;
    output.view().set<prm::query_issi_out::current_issi>(1);
    std::ostringstream out;
    Tracer tracer;
    tracer.keep_blobs(true);
    tracer.add_sink(std::make_unique<JsonLinesSink>(out));
    tracer.record(tracer.component("nic0"), 2, microseconds(3), query_issi(microseconds(1)),
                  {input.bytes(), output.bytes()});
    tracer.record(tracer.component("nic0"), 0, microseconds(4), Interrupt{7, 0});
    tracer.set_mask(~std::uint64_t{0});
    tracer.record(tracer.component("nic0"), 0, microseconds(4), Interrupt{7, 0});
    tracer.finish();
    std::istringstream lines(out.str());
    std::string line;
    std::getline(lines, line);
    const auto command = nlohmann::json::parse(line);
    CHECK(command["time_ps"] == 3'000'000);
    CHECK(command["start_ps"] == 1'000'000);
    CHECK(command["component"] == "nic0");
    CHECK(command["function"] == 2);
    CHECK(command["kind"] == "command");
    CHECK(command["opcode"] == "QUERY_ISSI");
    CHECK(command["status"] == "OK");
    CHECK(command["input"]["opcode"] == static_cast<unsigned>(prm::Opcode::QUERY_ISSI));
    CHECK(command["output"]["current_issi"] == 1);
    std::getline(lines, line);
    CHECK(nlohmann::json::parse(line)["vector"] == 7);
    CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("the text of bytes is decoded where a layout is known, else hexadecimal", "[trace]") {
    prm::Buffer<prm::query_issi_out> output;
    output.view().set<prm::query_issi_out::current_issi>(1);
    const std::vector<std::byte> unknown(18, std::byte{0xab});
    std::ostringstream out;
    Tracer tracer;
    tracer.keep_blobs(true);
    tracer.add_sink(std::make_unique<TextSink>(out));
    tracer.record({}, 0, {}, query_issi({}), {output.bytes(), output.bytes()});
    Command bad = query_issi({});
    bad.opcode = 0xfffe;
    tracer.record({}, 0, {}, bad, {unknown, {}});
    tracer.finish();
    CHECK_THAT(out.str(), ContainsSubstring("output (112 bytes)\n    current_issi: 0x1\n"));
    CHECK_THAT(out.str(), ContainsSubstring("    0010: ab ab\n"));
}

TEST_CASE("the timeline is valid JSON with slices, instants and named tracks", "[trace]") {
    std::ostringstream out;
    Tracer tracer;
    tracer.add_sink(std::make_unique<TimelineSink>(out));
    const auto cmdif = tracer.component("nic0.\"cmdif\"");
    tracer.record(cmdif, 0, microseconds(12), query_issi(microseconds(2)));
    tracer.record(cmdif, 0, picoseconds(13'000'001), Reset{1});
    tracer.flush();
    CHECK_NOTHROW(nlohmann::json::parse(out.str() + "]"));  // a killed run is readable too
    tracer.finish();
    const auto events = nlohmann::json::parse(out.str());
    REQUIRE(events.size() == 4);
    CHECK(events[0]["ph"] == "M");
    CHECK(events[0]["args"]["name"] == "nic0.\"cmdif\"");
    CHECK(events[1]["ph"] == "b");
    CHECK(events[1]["name"] == "QUERY_ISSI");
    CHECK(events[1]["ts"] == 2.0);
    CHECK(events[2]["ph"] == "e");
    CHECK(events[2]["id"] == events[1]["id"]);
    CHECK(events[2]["ts"] == 12.0);
    CHECK(events[3]["ph"] == "i");
    CHECK(events[3]["name"] == "function_level");
    CHECK(events[3]["ts"] == 13.000001);
}

TEST_CASE("an empty timeline is an empty array", "[trace]") {
    std::ostringstream out;
    Tracer tracer;
    tracer.add_sink(std::make_unique<TimelineSink>(out));
    tracer.finish();
    CHECK(nlohmann::json::parse(out.str()).empty());
}

TEST_CASE("log lines are formatted late and counted always", "[trace]") {
    Tracer tracer;
    const auto bad_key = tracer.message("mkey {:#x} is not valid");
    const auto other = tracer.message("opcode {:#x} is not modelled");
    CHECK(tracer.message("mkey {:#x} is not valid").value == bad_key.value);
    tracer.log(tracer.component("nic0"), 0, {}, LogClass::guest, bad_key, 0x1234);
    CHECK_THAT(tracer.last_as_text(1),
               ContainsSubstring("log log_class=guest message=mkey 0x1234 is not valid"));
    tracer.set_mask(0);
    tracer.log({}, 0, {}, LogClass::unimplemented, other, 1);
    tracer.log({}, 0, {}, LogClass::unimplemented, other, 2);
    CHECK(tracer.recorded() == 1);
    CHECK(tracer.message_count(other) == 2);
    const auto messages = tracer.logged_messages();
    REQUIRE(messages.size() == 2);
    CHECK(messages[0].first == "opcode {:#x} is not modelled");
}

TEST_CASE("the digest sees every member, and nothing else", "[trace]") {
    const auto digest_of = [](std::uint32_t syndrome, std::string_view component, int noise) {
        std::uint64_t digest = 0;
        Tracer tracer({.records = 4, .blob_bytes = 64});
        for (int i = 0; i < noise; ++i) tracer.component("unused" + std::to_string(i));
        tracer.add_sink(std::make_unique<DigestSink>(digest));
        Command command = query_issi({});
        command.syndrome = syndrome;
        tracer.record(tracer.component(component), 0, {}, command);
        tracer.finish();
        return digest;
    };
    CHECK(digest_of(1, "nic0", 0) == digest_of(1, "nic0", 3));
    CHECK(digest_of(1, "nic0", 0) != digest_of(2, "nic0", 0));
    CHECK(digest_of(1, "nic0", 0) != digest_of(1, "nic1", 0));
}

TEST_CASE("the ending of a file name chooses the format", "[trace]") {
    const auto folder = std::filesystem::temp_directory_path() / "cxsim_trace_test";
    std::filesystem::create_directories(folder);
    const auto first_line = [&](const char* name) {
        Tracer tracer;
        tracer.add_sink(open_file_sink((folder / name).string()));
        tracer.record({}, 0, {}, Reset{0});
        tracer.finish();
        std::ifstream file(folder / name);
        std::string line;
        std::getline(file, line);
        return line;
    };
    CHECK_THAT(first_line("a.jsonl"), ContainsSubstring("{\"time_ps\":0"));
    CHECK(first_line("a.json") == "[");
    CHECK_THAT(first_line("a.txt"), ContainsSubstring("reset reset=conventional"));
    CHECK_THROWS_AS(open_file_sink((folder / "none" / "a.txt").string()), ConfigError);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a failed assertion prints the last records", "[trace]") {
    int channel[2];
    REQUIRE(pipe(channel) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(channel[1], STDERR_FILENO);
        close(channel[0]);
        std::signal(SIGABRT, SIG_DFL);
        Tracer tracer;
        const AssertionTrace context(tracer);
        tracer.record(tracer.component("nic0"), 0, microseconds(5), Reset{1});
        CX_ASSERT(1 + 1 == 3, "arithmetic");
        _exit(0);
    }
    close(channel[1]);
    std::string text;
    char buffer[512];
    for (ssize_t n; (n = read(channel[0], buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(n));
    }
    close(channel[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
    CHECK_THAT(text, ContainsSubstring("arithmetic"));
    CHECK_THAT(text, ContainsSubstring("5.000000us nic0 f0 reset reset=function_level"));
}
