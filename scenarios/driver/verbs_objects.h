// SPDX-License-Identifier: Apache-2.0
// Protection domains, memory regions, completion queues and shared receive queues of the RDMA
// driver. Each is made on the card by its constructor and taken back by destroy(), which the
// destructor does not call: a driver that dies tells its card nothing.
#pragma once

#include "scenarios/driver/driver.h"
#include "scenarios/driver/undo_list.h"
#include "scenarios/driver/verbs_types.h"
#include "scenarios/driver/visible_writes.h"

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cxsim::scenarios {

class VerbsQp;
class VerbsSrq;

/// Host memory in one piece for program and card alike.
struct HostBuffer {
    model::HostAddress address{};
    std::span<std::byte> bytes{};  ///< as long as the buffer lives
};

/// What all objects of one card share.
struct VerbsContext {
    Driver& driver;
    VisibleWrites* visible = nullptr;  ///< null: writes are seen when the card computes them
    std::unordered_map<std::uint32_t, VerbsQp*> qps{};
    std::uint32_t terminate_key = 0x100;  ///< ends the list of a receive's pieces

    Host& host() const { return driver.host(); }
    /// Zeroed; aligned to its size up to 64 KiB, above that to 64 KiB.
    HostBuffer allocate(std::uint64_t bytes) const;
    void release(HostBuffer& buffer) const;
    /// Waits `limit` of simulated time at most until `done` holds, `next` says when it is to be
    /// looked at again if nothing happens before.
    bool wait(const std::function<bool(model::Picoseconds& next)>& done,
              model::Picoseconds limit) const;

};

class VerbsObject {
  public:
    explicit VerbsObject(VerbsContext& context) : context_(context) {}
    virtual ~VerbsObject() = default;
    VerbsObject(const VerbsObject&) = delete;
    VerbsObject& operator=(const VerbsObject&) = delete;

    std::uint32_t number() const { return number_; }
    bool alive() const { return alive_; }
    /// Takes the object back from the card and frees its memory. Throws CommandFailed while others
    /// use it; it lives on then.
    virtual void destroy();

  protected:
    /// Queue rings and buffers: freed with the object.
    HostBuffer own(std::uint64_t bytes);
    std::uint32_t made(std::uint32_t number) {
        alive_ = true;
        return number_ = number;
    }

    VerbsContext& context_;
    UndoList undo_;

  private:
    std::uint32_t number_ = 0;
    bool alive_ = false;
    std::vector<HostBuffer> owned_;
};

class VerbsPd final : public VerbsObject {
  public:
    explicit VerbsPd(VerbsContext& context);
};

struct MrOptions {
    AccessRights access = AccessRights::all();
    /// Of the translation entries: 12 to 31; 0: the smallest that needs 8192 entries or fewer.
    unsigned log_page_size = 0;
    bool remote_invalidate = false;  ///< SEND with invalidate may free the key
};

class VerbsMr final : public VerbsObject {
  public:
    /// A region over `bytes` of new memory. Throws DriverError.
    VerbsMr(VerbsContext& context, const VerbsPd& pd, std::uint64_t bytes, const MrOptions& options);
    /// A region over memory of another region, which lives longer.
    VerbsMr(VerbsContext& context, const VerbsPd& pd, const HostBuffer& memory,
            const MrOptions& options);

    std::uint32_t lkey() const { return key_; }
    std::uint32_t rkey() const { return key_; }
    std::uint64_t address() const { return memory_.address.value; }
    std::span<std::byte> bytes() const { return memory_.bytes; }
    const HostBuffer& memory() const { return memory_; }
    /// `bytes` at `offset` of the region. Not checked against its length: the card does.
    Sge sge(std::uint64_t offset, std::uint64_t bytes) const {
        return {address() + offset, static_cast<std::uint32_t>(bytes), key_};
    }

  private:
    void create(const VerbsPd& pd, const MrOptions& options);

    HostBuffer memory_;
    std::uint32_t key_ = 0;
};

enum class WindowType : std::uint8_t { any_queue = 1, one_queue = 2 };  // IBTA's types 1 and 2B

/// A memory window. Its key is what the last binding made of it; the caller posts the bindings, in
/// this order, with SendOp::bind.
class VerbsMw final : public VerbsObject {
  public:
    VerbsMw(VerbsContext& context, const VerbsPd& pd, WindowType type);

    std::uint32_t rkey() const { return key_; }
    /// Opens `bytes` at `offset` of a region under the next key.
    WindowBinding bind(const VerbsMr& region, std::uint64_t offset, std::uint64_t bytes,
                       const AccessRights& access);
    /// Closes it.
    WindowBinding close();

  private:
    WindowType type_;
    std::uint32_t key_ = 0;
};

class VerbsCq final : public VerbsObject {
  public:
    /// `entries` is rounded up to a power of two. Throws DriverError.
    VerbsCq(VerbsContext& context, std::uint32_t entries);

    std::uint32_t entries() const { return std::uint32_t{1} << log_size_; }
    /// Takes the next completion that is visible by now; false if there is none.
    bool poll(Completion& into);
    /// The same after waiting for it for `limit` of simulated time at most.
    bool wait(Completion& into, model::Picoseconds limit);
    /// Asks for one event (EventType::COMP, an interrupt) at the next completion, or at the next
    /// solicited one or error.
    void arm(bool solicited_only);
    /// When the entry that poll() would take next is visible; max() if there is none yet.
    model::Picoseconds next_visible() const;

    /// Completions of queues that exist no more.
    std::uint64_t orphans() const { return orphans_; }
    /// Drops what a queue pair left here, as drivers do when it has been reset or destroyed; what
    /// it had received from a shared queue goes back there.
    void clean(std::uint32_t qpn, VerbsSrq* srq);
    void destroy() override;

  private:
    std::span<std::byte> entry(std::uint32_t index) const;
    bool written(std::uint32_t index) const;
    void update_record();

    unsigned log_size_ = 0;
    HostBuffer ring_;
    HostBuffer record_;
    std::uint32_t consumer_ = 0;
    std::uint32_t arms_ = 0;
    std::uint64_t orphans_ = 0;
};

class VerbsSrq final : public VerbsObject {
  public:
    /// An ordinary SRQ: a receive memory pool. One entry of the ring stays unused.
    VerbsSrq(VerbsContext& context, const VerbsPd& pd, std::uint32_t entries, unsigned max_sges);

    std::uint32_t free_entries() const { return free_; }
    /// False if the queue is full. Throws DriverError for more pieces than an entry holds.
    bool post_receive(std::uint64_t id, std::span<const Sge> sges);
    /// The pieces of entry `index` as they were posted.
    std::span<const std::byte> pieces(std::uint16_t index) const;
    /// A receive of entry `index` has ended: the entry is free again. Returns the request's id.
    std::uint64_t complete(std::uint16_t index);
    /// Reports SRQ_RQ_LIMIT once when fewer receives than `limit` are left.
    void set_limit(std::uint32_t limit);

  private:
    std::span<std::byte> wqe(std::uint32_t index) const;

    unsigned log_size_ = 0;
    unsigned max_sges_;
    std::uint64_t stride_;
    HostBuffer ring_;
    HostBuffer record_;
    std::vector<std::uint64_t> ids_;
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
    std::uint32_t free_ = 0;
    std::uint16_t posted_ = 0;
};

}  // namespace cxsim::scenarios
