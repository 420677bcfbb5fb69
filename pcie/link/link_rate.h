// SPDX-License-Identifier: Apache-2.0
// What a PCI Express link carries: encoding, what DLLPs and SKP ordered sets take of it, and the
// bytes that a TLP has on the wire.
#pragma once

#include "model/base/units.h"
#include "pcie/config_space/function_config.h"

#include <cstdint>

namespace cxsim::pcie {

/// Bytes on the wire around a TLP's payload: framing, sequence number and LCRC (8), header.
struct TlpOverhead {
    model::Bytes memory_write;
    model::Bytes memory_read;
    model::Bytes completion;
    model::Bytes completion_without_data;
};

/// Base Specification 2.2: 12 byte headers for completions and 32-bit addresses, 16 for 64-bit
/// addresses; 4 more with ECRC.
TlpOverhead tlp_overhead(bool address_64bit, bool ecrc);

/// Transfer rate of all lanes after 8b/10b or 128b/130b encoding.
model::BitsPerSecond encoded_rate(LinkGeneration generation, unsigned width);

/// Recommended distance between ACK (and between UpdateFC) DLLPs in bytes of TLPs: Base
/// Specification 5.0 tables 3-7 to 3-9 and 2-46 to 2-48, the same values in both. `max_payload`:
/// 128 to 4096; widths of 1 to 32.
unsigned dllp_distance(LinkGeneration generation, unsigned width, unsigned max_payload);

/// What is left for TLPs after one ACK and one UpdateFC per dllp_distance and SKP ordered sets.
/// Approximation: both directions pay it whether or not the other one sends (calibration of
/// pcie-model, the tables in tests/timing).
model::BitsPerSecond tlp_rate(LinkGeneration generation, unsigned width, unsigned max_payload);

}  // namespace cxsim::pcie
