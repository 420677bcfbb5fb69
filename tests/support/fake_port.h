// SPDX-License-Identifier: Apache-2.0
// A port without a wire: comes up at once when it is enabled and a cable is plugged.
#pragma once

#include "eth/mac/port_counters.h"
#include "model/ports/port_control.h"

namespace cxsim::test {

class FakePort : public model::PortControl {
  public:
    const model::PortSettings& settings() const override { return settings_; }
    void configure(const model::PortSettings& settings) override {
        settings_ = settings;
        update();
    }
    model::PortStatus status() const override { return status_; }
    model::Bytes receive_buffer() const override { return {256 * 1024}; }
    const model::stats::Group& counters() override { return port_counters; }
    model::Picoseconds up_since() const override { return {}; }
    void set_listener(model::PortListener* listener) override { listener_ = listener; }

    void plug(bool cable) {
        status_.cable_present = cable;
        update();
    }
    /// What the link comes up with.
    void negotiate(model::LinkMode mode, model::BitsPerSecond rate, model::FecMode fec) {
        status_.mode = mode;
        status_.rate = rate;
        status_.fec = fec;
        status_.partner_modes = mask_of(mode);
    }
    void set_reason(model::LinkDownReason reason) { status_.reason = reason; }

    model::stats::Group root{"fake"};
    eth::PortCounters port_counters{root, "port0"};

  private:
    void update() {
        const bool up = settings_.admin_up && status_.cable_present;
        const bool changed = up != status_.up;
        status_.up = up;
        status_.reason = up                    ? model::LinkDownReason::none
                         : !settings_.admin_up ? model::LinkDownReason::admin_down
                                               : model::LinkDownReason::no_cable;
        if (changed && listener_ != nullptr) listener_->link_changed(up);
    }

    model::PortSettings settings_;
    model::PortStatus status_;
    model::PortListener* listener_ = nullptr;
};

}  // namespace cxsim::test
