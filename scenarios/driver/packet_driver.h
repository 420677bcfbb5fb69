// SPDX-License-Identifier: Apache-2.0
// A packet generator and sink as a driver: pairs of send and receive queues with a CQ each, filled,
// emptied and polled through BAR0 and host memory as a kernel-bypass application does it.
//
//     PacketDriver packets(driver, options);
//     packets.open();
//     packets.set_speed(model::LinkMode::speed_100g_4x);  // on both sides; the link trains then
//     packets.wait_for_link(model::seconds(2));
//     packets.send(true);
//     for (;;) { host.wait_for(model::microseconds(4)); packets.poll(); }
#pragma once

#include "model/ports/port_control.h"
#include "model/prm/register_id.h"
#include "scenarios/driver/driver.h"
#include "scenarios/driver/undo_list.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cxsim::scenarios {

struct PacketOptions {
    unsigned queues = 16;               ///< pairs of SQ and RQ; a power of two
    std::uint32_t frame_bytes = 60;     ///< without FCS; 46 at least (headers), 2048 at most
    unsigned frames_per_wqe = 1;        ///< above 1: enhanced multi-packet WQEs, so many that the
                                        ///< WQE takes a power of two of basic blocks
    bool inline_frames = false;         ///< WQEs hold the frames, not pointers
    bool blue_flame = false;            ///< send_one() writes its WQE into the UAR (256 bytes at most)
    unsigned log_send_blocks = 9;       ///< of an SQ, in basic blocks of 64 bytes
    unsigned log_receive_entries = 10;  ///< of an RQ and its CQ
    unsigned signal_every = 16;         ///< WQEs to a completion
    unsigned max_payload = 256;         ///< of PCIe requests; bytes, within the card's limit
    std::array<std::uint8_t, 6> destination{0x02, 0, 0, 0, 0, 2};
};

struct PacketCounters {
    std::uint64_t posted = 0;          ///< frames in WQEs that doorbells announced
    std::uint64_t sent = 0;            ///< of them: completed
    std::uint64_t received = 0;        ///< frames with a completion
    std::uint64_t received_bytes = 0;  ///< as the completions say
    std::uint64_t wrong = 0;           ///< received ones of another size or without good checksums
    std::uint64_t doorbells = 0;
};

class PacketDriver {
  public:
    /// `driver` has neither been started nor are its events open; it outlives this object.
    PacketDriver(Driver& driver, const PacketOptions& options);

    /// From PCI enable to queues ready and buffers posted. Throws DriverError.
    void open();
    /// Everything back, the driver stopped.
    void close();

    /// Whether the port has the newer mask of speeds, which names each number of lanes.
    bool extended_speeds();
    /// Enables one speed of the port, as a driver does: port down, PTYS, port up. Throws
    /// DriverError if the card does not have it, or no extended speeds at all.
    void set_speed(model::LinkMode mode);
    /// Whether the port came up within `limit` of simulated time.
    bool wait_for_link(model::Picoseconds limit);

    /// Whether poll() keeps the send queues full.
    void send(bool on) { sending_ = on; }
    /// Puts one frame of one WQE into send queue 0; false if it is full.
    bool send_one();
    /// Takes what completed, gives buffers back, posts WQEs, rings doorbells. Throws DriverError
    /// for a completion with error.
    void poll();

    /// First bytes of the frame received last, as they lie in host memory.
    std::span<const std::byte> last_received() const { return last_; }
    const PacketCounters& counters() const { return counters_; }
    const PacketOptions& options() const { return options_; }
    /// Basic blocks of a WQE of these options.
    unsigned blocks_per_wqe() const;
    std::uint32_t wqe_bytes() const;

  private:
    struct CompletionQueue {
        std::uint32_t number = 0;
        unsigned log_size = 0;
        std::span<std::byte> ring;
        std::span<std::byte> record;
        std::uint32_t consumer = 0;
    };
    struct SendQueue {
        CompletionQueue cq;
        std::uint32_t number = 0;
        std::span<std::byte> ring;
        std::span<std::byte> record;
        std::uint16_t producer = 0;  ///< in basic blocks
        std::uint16_t consumer = 0;
        std::uint32_t wqes = 0;
    };
    struct ReceiveQueue {
        CompletionQueue cq;
        std::uint32_t number = 0;
        std::span<std::byte> record;
        std::span<std::byte> buffers;  ///< of the frame received last, see last_received()
        model::HostAddress first_buffer;
    };
    std::pair<model::HostAddress, std::span<std::byte>> memory(std::uint64_t bytes);
    void set_max_payload();
    void domains();
    CompletionQueue completion_queue(unsigned log_size);
    SendQueue send_queue(unsigned index);
    void fill_send_ring(SendQueue& queue, unsigned index);
    void fill_frame(std::span<std::byte> into, unsigned queue) const;
    ReceiveQueue receive_queue();
    void indirection();
    std::uint32_t speeds();
    void access_register(prm::RegisterId id, bool read, std::span<std::byte> data);
    void poll_sent(SendQueue& queue);
    void poll_received(ReceiveQueue& queue);
    void post(SendQueue& queue, unsigned limit);
    std::span<const std::byte> next_completion(CompletionQueue& cq);

    Driver& driver_;
    PacketOptions options_;
    PacketCounters counters_;
    UndoList undo_;
    std::vector<SendQueue> send_;
    std::vector<ReceiveQueue> receive_;
    std::uint32_t pd_ = 0;
    std::uint32_t domain_ = 0;
    std::uint32_t tisn_ = 0;
    std::uint32_t tirn_ = 0;
    std::uint32_t lkey_ = 0;
    std::uint32_t min_inline_ = 0;
    model::HostAddress records_;
    std::span<std::byte> record_bytes_;
    std::uint32_t records_used_ = 0;
    bool sending_ = false;
    std::span<const std::byte> last_;
};

}  // namespace cxsim::scenarios
