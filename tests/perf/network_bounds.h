// SPDX-License-Identifier: Apache-2.0
// What limits the frames a second of one direction, from the card's data: the wire, PCIe at both
// cards, what their hosts' memory takes, and the pipeline of the send queues.
#pragma once

#include "eth/link/link_mode.h"
#include "eth/mac/mac.h"
#include "pcie/endpoint/endpoint.h"
#include "scenarios/driver/packet_driver.h"

#include <algorithm>
#include <string>
#include <vector>

namespace cxsim::perf {

struct Bound {
    std::string name;
    double frames_per_second;
};

/// IEEE 802.3: preamble and SFD 8 bytes, frame with FCS (64 at least), gap 12.
inline double wire_frames_per_second(model::LinkMode mode, std::uint32_t bytes_with_fcs) {
    return eth::facts_of(mode).rate.value / (8.0 * (20 + std::max(bytes_with_fcs, 64U)));
}

/// Bytes on the link of TLPs as PCIe frames them.
class PcieArithmetic {
  public:
    PcieArithmetic(unsigned max_payload, unsigned max_read, unsigned boundary)
        : max_payload_(max_payload), max_read_(max_read), boundary_(boundary) {}

    double write(std::uint64_t address, std::uint64_t bytes) const {
        return static_cast<double>(parts(address, bytes, max_payload_) * kRequest +
                                   padded(bytes));
    }
    double read_requests(std::uint64_t address, std::uint64_t bytes) const {
        return static_cast<double>(parts(address, bytes, max_read_) * kRequest);
    }
    /// Each completion but the last of a request ends at the boundary.
    double completions(std::uint64_t address, std::uint64_t bytes) const {
        std::uint64_t total = 0;
        for (std::uint64_t done = 0; done < bytes;) {
            const std::uint64_t at = address + done;
            const std::uint64_t request = std::min(bytes - done, max_read_ - at % max_read_);
            for (std::uint64_t in = 0; in < request;) {
                const std::uint64_t from = at + in;
                const std::uint64_t end = (from + max_payload_) / boundary_ * boundary_;
                const std::uint64_t part = std::min(request - in, end - from);
                total += kCompletion + padded(part);
                in += part;
            }
            done += request;
        }
        return static_cast<double>(total);
    }

  private:
    static constexpr std::uint64_t kRequest = 24;     // framing 8, header with 64-bit address 16
    static constexpr std::uint64_t kCompletion = 20;  // framing 8, header 12
    static std::uint64_t padded(std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; }
    static std::uint64_t parts(std::uint64_t address, std::uint64_t bytes, std::uint64_t most) {
        return (address % most + bytes + most - 1) / most;
    }
    std::uint64_t max_payload_;
    std::uint64_t max_read_;
    std::uint64_t boundary_;
};

/// Sorted, the smallest first. Sender and receiver are the same card with the same options.
inline std::vector<Bound> network_bounds(model::LinkMode mode, const model::CardData& card,
                                         const pcie::HostProfile& host,
                                         const scenarios::PacketDriver& packets) {
    const scenarios::PacketOptions& options = packets.options();
    const model::Identity& identity = card.identity();
    const model::FirmwareTiming& timing = card.timing();
    constexpr unsigned kMaxRead = 512;  // DevCtl after reset
    const PcieArithmetic pcie(options.max_payload, kMaxRead, host.read_completion_boundary);
    const double pcie_rate =
        pcie::tlp_rate(static_cast<pcie::LinkGeneration>(identity.link_generation()),
                       identity.link_width(), options.max_payload)
            .value /
        8;
    const std::uint64_t frame = options.frame_bytes;
    const double per_wqe = options.frames_per_wqe;
    const bool multi = options.frames_per_wqe > 1;

    // WQEs are read 256 bytes at a time, or what a WQE needs beyond that.
    constexpr std::uint64_t kFirstRead = 256;
    const std::uint64_t wqe = packets.blocks_per_wqe() * std::uint64_t{64};
    const double wqes_per_fetch =
        wqe >= kFirstRead ? 1 : static_cast<double>(kFirstRead / wqe);
    const std::uint64_t rest = wqe > kFirstRead ? wqe - kFirstRead : 0;
    const double frames_per_fetch = wqes_per_fetch * per_wqe;
    const double fetch_up = pcie.read_requests(0, kFirstRead) + pcie.read_requests(kFirstRead, rest);
    const double fetch_down = pcie.completions(0, kFirstRead) + pcie.completions(kFirstRead, rest);
    // Frames that WQEs point to; single ones have 18 bytes of header in the WQE.
    const std::uint64_t skip = multi ? 0 : 18;
    const std::uint64_t gathered = multi && options.inline_frames ? 0 : frame - skip;
    const double send_up = fetch_up / frames_per_fetch + pcie.read_requests(skip, gathered) +
                           pcie.write(0, 64) / (options.signal_every * per_wqe);
    const double send_down = fetch_down / frames_per_fetch + pcie.completions(skip, gathered);
    // Receive WQEs of 16 bytes are read 512 bytes at a time.
    constexpr double kReceiveWqes = 32;
    const double receive_up =
        pcie.write(0, frame) + pcie.write(0, 64) + pcie.read_requests(0, 512) / kReceiveWqes;
    const double memory = host.bandwidth.value / 8;
    // One send queue: a fetch, then its WQEs one after the other.
    const double link = (fetch_up + fetch_down) / pcie_rate;
    const double round_trip = timing.dma_request_overhead().seconds() +
                              2 * timing.pcie_one_way().seconds() + host.llc_read.seconds();
    const double reads = rest == 0 ? 1 : 2;  // the second waits for the first
    const double queue_time =
        reads * round_trip + link +
        8 * static_cast<double>(kFirstRead + rest) / timing.dma_copy_rate().value +
        wqes_per_fetch * timing.wqe_execute().seconds();

    std::vector<Bound> bounds{
        {"wire", wire_frames_per_second(mode, options.frame_bytes + 4)},
        {"PCIe of the sender, to the card", pcie_rate / send_down},
        {"PCIe of the sender, from the card", pcie_rate / send_up},
        {"PCIe of the receiver, from the card", pcie_rate / receive_up},
        {"host memory of the receiver", memory / static_cast<double>(frame + 64)},
        {"send queues: fetch and execution of WQEs",
         options.queues * frames_per_fetch / queue_time},
    };
    std::ranges::sort(bounds, {}, &Bound::frames_per_second);
    return bounds;
}

}  // namespace cxsim::perf
