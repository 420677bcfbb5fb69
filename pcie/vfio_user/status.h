// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace cxsim::vfio_user {

// Success, or the errno value that says what went wrong. The protocol carries errno values, so
// there is no translation between this and the wire.
class [[nodiscard]] Status {
  public:
    constexpr Status() = default;
    constexpr explicit Status(int error) : error_(error) {}
    constexpr bool ok() const { return error_ == 0; }
    constexpr int error() const { return error_; }
    friend constexpr bool operator==(Status, Status) = default;

  private:
    int error_ = 0;
};

// A value or the errno value that says why there is none.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}
    Result(Status status) : status_(status) {}
    bool ok() const { return status_.ok(); }
    int error() const { return status_.error(); }
    Status status() const { return status_; }
    T& value() { return value_; }
    const T& value() const { return value_; }

  private:
    T value_{};
    Status status_;
};

}  // namespace cxsim::vfio_user
