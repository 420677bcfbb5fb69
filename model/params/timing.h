// SPDX-License-Identifier: Apache-2.0
// How long the card's firmware takes (timing.ini).
#pragma once

#include "model/params/parameter.h"

namespace cxsim::model {

/// Firmware times. PCIe times belong to the host profile, packet times to the pipeline's stages.
struct FirmwareTiming : ParameterGroup {
    FirmwareTiming() : ParameterGroup("timing") {}

    Parameter<Picoseconds> query{*this, "command.query", "a QUERY_* command, fetch to completion"};
    Parameter<Picoseconds> set{*this, "command.set", "a SET_* command, fetch to completion"};
    Parameter<Picoseconds> create_object{*this, "command.create_object",
                                         "creating or allocating an object"};
    Parameter<Picoseconds> destroy_object{*this, "command.destroy_object",
                                          "destroying or freeing an object"};
    Parameter<Picoseconds> modify_object{*this, "command.modify_object",
                                         "changing an object, QP state changes included"};
    Parameter<Picoseconds> pages{*this, "command.pages", "MANAGE_PAGES without its pages"};
    Parameter<Picoseconds> per_page{*this, "command.per_page", "each page of a MANAGE_PAGES"};
    Parameter<Picoseconds> access_register{*this, "command.access_register", "ACCESS_REG"};
    Parameter<Picoseconds> initialize{*this, "command.initialize", "INIT_HCA"};
    Parameter<Picoseconds> teardown{*this, "command.teardown", "TEARDOWN_HCA"};
    Parameter<Picoseconds> enable{*this, "command.enable", "ENABLE_HCA and DISABLE_HCA"};
    Parameter<Picoseconds> initialization{*this, "boot.initialization",
                                          "from reset until 'initializing' clears"};
    Parameter<Picoseconds> health_period{*this, "health.counter_period",
                                         "between two steps of the health counter"};
    Parameter<Picoseconds> link_up{*this, "port.link_up",
                                   "from PAOS 'up' with a partner until the port is active"};
};

}  // namespace cxsim::model
