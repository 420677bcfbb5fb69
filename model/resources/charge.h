// SPDX-License-Identifier: Apache-2.0
// Host memory that the variable parts of objects take, counted as the parts grow and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace cxsim::model {

/// A share of an account. What was charged is given back when the share goes. Without an account
/// (an object outside of all tables) it counts nowhere.
class Charge {
  public:
    Charge() = default;
    ~Charge() { set(0); }
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;

    /// `account` in bytes; it must outlive this, and nothing may have been charged before.
    void open(std::uint64_t& account) { account_ = &account; }
    void set(std::uint64_t bytes) {
        if (account_ != nullptr) *account_ += bytes - bytes_;  // modulo: may also fall
        bytes_ = bytes;
    }

  private:
    std::uint64_t* account_ = nullptr;
    std::uint64_t bytes_ = 0;
};

/// A vector of bytes that is charged by its size.
class ChargedBytes {
  public:
    void open(std::uint64_t& account) { charge_.open(account); }

    std::size_t size() const { return bytes_.size(); }
    bool empty() const { return bytes_.empty(); }
    std::byte* data() { return bytes_.data(); }
    const std::byte* data() const { return bytes_.data(); }
    auto begin() { return bytes_.begin(); }
    auto end() { return bytes_.end(); }
    auto begin() const { return bytes_.begin(); }
    auto end() const { return bytes_.end(); }

    void resize(std::size_t size) {
        bytes_.resize(size);
        charge_.set(size);
    }
    template <class Iterator>
    void assign(Iterator first, Iterator last) {
        bytes_.assign(first, last);
        charge_.set(bytes_.size());
    }

  private:
    std::vector<std::byte> bytes_;
    Charge charge_;
};

/// A map by 32-bit numbers in which each entry is charged `T::kContextBytes`.
template <class T>
class ChargedMap {
    using Map = std::map<std::uint32_t, T>;

  public:
    void open(std::uint64_t& account) { charge_.open(account); }

    std::size_t size() const { return map_.size(); }
    bool empty() const { return map_.empty(); }
    bool contains(std::uint32_t key) const { return map_.contains(key); }
    auto find(std::uint32_t key) { return map_.find(key); }
    auto find(std::uint32_t key) const { return map_.find(key); }
    auto begin() { return map_.begin(); }
    auto end() { return map_.end(); }
    auto begin() const { return map_.begin(); }
    auto end() const { return map_.end(); }

    T& operator[](std::uint32_t key) {
        T& value = map_[key];
        count();
        return value;
    }
    auto erase(typename Map::iterator place) {
        const auto next = map_.erase(place);
        count();
        return next;
    }

  private:
    void count() { charge_.set(map_.size() * T::kContextBytes); }

    Map map_;
    Charge charge_;
};

}  // namespace cxsim::model
