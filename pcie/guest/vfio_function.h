// SPDX-License-Identifier: Apache-2.0
// One PCI function of the endpoint as a vfio-user device: what a virtual machine attaches to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pcie/endpoint/endpoint.h"
#include "pcie/vfio_user/device.h"
#include "pcie/vfio_user/endpoint.h"

namespace cxsim::pcie {

/// Memory of the guests: each function sees what its own client has mapped. A function without a
/// client reaches nothing.
class GuestHostMemory : public HostMemory {
  public:
    explicit GuestHostMemory(std::size_t functions) : memories_(functions, nullptr) {}

    void set(model::FunctionId function, vfio_user::GuestMemory* memory) {
        memories_.at(function.value) = memory;
    }

    model::DmaStatus read(model::FunctionId function, model::HostAddress address,
                          std::span<std::byte> into) override;
    model::DmaStatus write(model::FunctionId function, model::HostAddress address,
                           std::span<const std::byte> from) override;

    /// Requests outside of what the clients have mapped, or refused by them.
    std::uint64_t refused() const { return refused_; }

  private:
    std::vector<vfio_user::GuestMemory*> memories_;
    std::uint64_t refused_ = 0;
};

class VfioFunction : public vfio_user::Device {
  public:
    static constexpr std::uint32_t kBar0Region = 0;

    /// `synchronise` brings simulated time up to now before an access is carried out.
    VfioFunction(Endpoint& endpoint, model::FunctionId function, model::Calendar& calendar,
                 std::function<void()> synchronise);

    /// The listening endpoint of the server, known once the socket exists.
    void connect(vfio_user::Endpoint& socket, GuestHostMemory& memory);
    /// A message of the function has arrived: to the client's eventfd. False if that was not written
    /// (no client, not listening, masked by it).
    bool interrupt(unsigned vector);

    std::uint64_t connections() const { return connections_; }
    bool connected() const { return socket_ != nullptr && socket_->connected(); }

    // vfio_user::Device
    std::span<const vfio_user::RegionInfo> regions() const override { return regions_; }
    std::span<const vfio_user::IrqInfo> irqs() const override { return irqs_; }
    vfio_user::Status read(std::uint32_t region, std::uint64_t offset,
                           std::span<std::byte> out) override;
    vfio_user::Status write(std::uint32_t region, std::uint64_t offset,
                            std::span<const std::byte> in) override;
    vfio_user::Status reset() override;
    void client_connected() override;
    void client_disconnected(std::string_view reason) override;
    void irqs_changed(std::uint32_t index, std::uint32_t start, std::uint32_t count) override;

  private:
    void read_config(std::uint64_t offset, std::span<std::byte> out);

    Endpoint& endpoint_;
    model::FunctionId function_;
    model::Calendar& calendar_;
    std::function<void()> synchronise_;
    vfio_user::Endpoint* socket_ = nullptr;
    std::vector<vfio_user::RegionInfo> regions_;
    std::vector<vfio_user::IrqInfo> irqs_;
    std::uint64_t connections_ = 0;
};

}  // namespace cxsim::pcie
