// SPDX-License-Identifier: Apache-2.0
// An RDMA driver and application in one, inside this process: it makes protection domains, memory
// regions, completion queues and queue pairs on its card, posts work requests and polls, through
// BAR0 and host memory only, as mlx5_ib and an ibverbs program do together.
//
//     VerbsDriver verbs(driver, {.ipv4 = 0x0a000001});
//     verbs.open();
//     VerbsMr& mr = verbs.create_mr(verbs.pd(), 1 << 20);
//     VerbsCq& cq = verbs.create_cq(64);
//     VerbsQp& qp = verbs.create_qp(verbs.pd(), cq, cq, {});
//     connect(qp, verbs, peer_qp, peer_verbs);
//     const Sge piece = mr.sge(0, 4096);
//     qp.post_send({.op = SendOp::write, .sges = {&piece, 1}, .remote_address = …, .rkey = …});
//     Completion done;
//     cq.wait(done, model::milliseconds(1));
#pragma once

#include "scenarios/driver/verbs_qp.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::scenarios {

struct VerbsOptions {
    /// Of this card's addresses: entries 2 (RoCE v1) and 3 (RoCE v2) of its table. 0: none. The
    /// entries 0 (v1) and 1 (v2) hold the link-local IPv6 address.
    std::uint32_t ipv4 = 0;
    unsigned max_payload = 256;        ///< of PCIe requests; bytes, within the card's limit
    VisibleWrites* visible = nullptr;  ///< lets completions be seen when they are there
};

class VerbsDriver {
  public:
    static constexpr std::uint8_t kIpv6V1 = 0;  ///< places in the table of addresses
    static constexpr std::uint8_t kIpv6V2 = 1;
    static constexpr std::uint8_t kIpv4V1 = 2;
    static constexpr std::uint8_t kIpv4V2 = 3;

    /// `driver` has neither been started nor are its events open; it outlives this object.
    VerbsDriver(Driver& driver, const VerbsOptions& options);

    /// From PCI enable to RoCE enabled with addresses, a protection domain and a counter set.
    /// Throws DriverError.
    void open();
    /// Everything back, the driver stopped. Throws CommandFailed if something cannot go.
    void close();
    /// The driver dies: nothing is told to the card.
    void abandon();
    bool is_open() const { return open_; }

    Driver& driver() { return context_.driver; }
    Host& host() { return context_.host(); }
    const MacAddress& mac() const { return mac_; }
    /// Whether the port came up within `limit` of simulated time.
    bool wait_for_link(model::Picoseconds limit);

    /// An entry of the card's table of source addresses; all zero: deleted.
    void set_address(std::uint8_t index, const RoceAddress& address);
    void delete_address(std::uint8_t index);
    /// As set here. Throws DriverError for an empty entry.
    const RoceAddress& address(std::uint8_t index) const;
    /// How a peer reaches this card's address `index` from its own entry of the same index.
    AddressHandle path_to(std::uint8_t index) const;

    // ---- Objects; they live until destroy() or close() ----

    VerbsPd& pd() { return *pd_; }
    VerbsPd& create_pd();
    VerbsMr& create_mr(const VerbsPd& pd, std::uint64_t bytes, const MrOptions& options = {});
    VerbsMr& create_mr(const VerbsPd& pd, const HostBuffer& memory, const MrOptions& options = {});
    VerbsMw& create_mw(const VerbsPd& pd, WindowType type);
    VerbsCq& create_cq(std::uint32_t entries);
    VerbsSrq& create_srq(const VerbsPd& pd, std::uint32_t entries, unsigned max_sges = 4);
    /// With the driver's counter set if the options name none.
    VerbsQp& create_qp(const VerbsPd& pd, VerbsCq& send_cq, VerbsCq& receive_cq,
                       const QpOptions& options);
    /// Throws CommandFailed while others use it; it lives on then.
    void destroy(VerbsObject& object);
    std::size_t objects() const { return objects_.size(); }

    // ---- Counters ----

    std::uint8_t counter_set() const { return counter_set_; }
    /// Of the driver's counter set, by query_q_counter_out's field names. `clear`: begins anew.
    std::map<std::string, std::uint32_t> counters(bool clear = false);
    /// Throws DriverError for a name that does not exist.
    std::uint32_t counter(std::string_view name);

  private:
    void enable_roce(bool on);
    template <class Object>
    Object& keep(std::unique_ptr<Object> object);

    VerbsContext context_;
    VerbsOptions options_;
    UndoList undo_;
    std::vector<std::unique_ptr<VerbsObject>> objects_;
    VerbsPd* pd_ = nullptr;
    MacAddress mac_{};
    std::map<std::uint8_t, RoceAddress> addresses_;
    std::uint8_t counter_set_ = 0;
    bool open_ = false;
};

/// Connects two RC or UC queue pairs, of one card or of two, from reset to RTS. Fills in peers,
/// paths (from the addresses `index` of both) and matching PSNs; of the options' path only traffic
/// class and priority count, for both directions.
void connect(VerbsQp& a, VerbsDriver& a_driver, VerbsQp& b, VerbsDriver& b_driver,
             ConnectionOptions options = {}, std::uint8_t index = VerbsDriver::kIpv4V2);

}  // namespace cxsim::scenarios
