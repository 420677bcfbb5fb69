// SPDX-License-Identifier: Apache-2.0
// A responder with one connection, requests in the order of their PSNs, and its answers.
#pragma once

#include "model/base/endian.h"
#include "roce/responder/responder.h"
#include "tests/support/roce_bench.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::test {

struct ResponderBench : RoceBench {
    static constexpr std::uint32_t kQp = 0x123;
    static constexpr std::uint32_t kPd = 5;
    static constexpr std::uint32_t kKey = 0x77aa;
    static constexpr std::uint32_t kRegionBytes = 0x10000;
    static constexpr std::uint64_t kRegion = 0x7f00'0000'0000;  ///< the peer's address of it
    static constexpr std::uint64_t kRegionHost = 0x40000;
    static constexpr std::uint64_t kBuffer = 0x10000;  ///< of receives

    roce::Responder responder{environment, connections};
    roce::Connection& connection;
    std::uint32_t psn = 0;  ///< of the next request

    explicit ResponderBench(roce::WireService service = roce::WireService::rc,
                            std::uint32_t first_psn = 100)
        : connection(connect(kQp, service,
                             [&](roce::QpAttributes& a) {
                                 a.receive_psn = first_psn;
                                 a.pd = kPd;
                                 a.mtu = 256;
                                 a.min_rnr_nak = 12;
                             })),
          psn(first_psn) {
        queues.regions[kKey] = {
            .address = kRegion, .bytes = kRegionBytes, .host = kRegionHost, .pd = kPd};
        queues.stop = [this] { responder.stop(connection); };
        responder.start(connection);
    }

    roce::TransportHeaders headers(roce::Operation operation, bool ack = false) const {
        roce::TransportHeaders h;
        h.opcode = roce::opcode_of(connection.service, operation);
        h.destination_qp = kQp;
        h.psn = psn;
        h.ack_request = ack;
        return h;
    }
    roce::TransportHeaders remote(roce::Operation operation, std::uint64_t offset,
                                  std::uint32_t bytes, bool ack = false) const {
        roce::TransportHeaders h = headers(operation, ack);
        h.address = kRegion + offset;
        h.key = kKey;
        h.dma_bytes = bytes;
        return h;
    }
    roce::TransportHeaders atomic(roce::Operation operation, std::uint64_t offset,
                                  std::uint64_t swap_add, std::uint64_t compare = 0) const {
        roce::TransportHeaders h = remote(operation, offset, 0);
        h.swap_add = swap_add;
        h.compare = compare;
        return h;
    }

    /// `bytes` bytes counting up from `seed`.
    std::span<const std::byte> data(std::size_t bytes, unsigned seed = 1) {
        auto& made = data_.emplace_back(bytes);
        for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((seed + i) % 251);
        return made;
    }
    /// Now, as it is; `psn` stays.
    void arrive(const roce::TransportHeaders& h, std::span<const std::byte> payload = {}) {
        responder.request(connection, calendar.now() + timing.receive, arrived(h, payload));
    }
    /// The next request; `psn` goes on by `packets`.
    void request(const roce::TransportHeaders& h, std::span<const std::byte> payload = {},
                 std::uint32_t packets = 1) {
        arrive(h, payload);
        psn = roce::psn_add(psn, packets);
    }
    /// Everything that is due is sent.
    void settle() { run_for(model::milliseconds(1)); }

    /// Number of packets sent of that operation.
    std::size_t sent(roce::Operation operation) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            output.packets, [=](const auto& one) { return one.operation() == operation; }));
    }
    const roce::TransportHeaders& last() const { return output.packets.back().headers(); }
    roce::NakCode last_nak() const {
        return static_cast<roce::NakCode>(roce::aeth_value(last().syndrome));
    }
    bool last_is_nak(roce::NakCode code) const {
        return last().operation() == roce::Operation::acknowledge &&
               last().syndrome ==
                   roce::aeth_syndrome(roce::AethKind::nak, static_cast<std::uint8_t>(code));
    }
    bool last_is_ack() const {
        return last().operation() == roce::Operation::acknowledge &&
               roce::aeth_kind(last().syndrome) == roce::AethKind::ack;
    }
    bool host_holds(std::uint64_t address, std::span<const std::byte> expected) {
        return std::ranges::equal(host.bytes(address, expected.size()), expected);
    }
    bool host_untouched(std::uint64_t address, std::size_t bytes) {
        return std::ranges::all_of(host.bytes(address, bytes),
                                   [](std::byte b) { return b == std::byte{0}; });
    }
    /// The only event of an error so far.
    bool failed_with(prm::EventType type) const {
        return queues.events.size() == 1 && queues.events[0].error && queues.events[0].type == type;
    }

  private:
    std::deque<std::vector<std::byte>> data_;
};

}  // namespace cxsim::test
