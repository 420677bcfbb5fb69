// SPDX-License-Identifier: Apache-2.0
#include "model/params/timing.h"

#include <fmt/format.h>

namespace cxsim::model {

void FirmwareTiming::check(const std::string& file) const {
    const auto require = [&](bool good, const ParameterBase& parameter, std::string_view rule) {
        if (good) return;
        throw ConfigError({file, 0}, std::string(parameter.name()),
                          fmt::format("{} is impossible: {}", parameter.text(), rule));
    };
    require(processors() >= 1, processors, "at least 1");
    require(health_period() > Picoseconds{}, health_period, "above 0, it is a period");
    require(health_period() <= seconds(1), health_period,
            "at most 1s: three polls of the driver without a change make it give up");
    require(initialization() < seconds(120), initialization, "the driver waits 120s");
    require(boot_pages() >= 1, boot_pages, "at least 1");
    require(pages_low_water() < pages_high_water(), pages_low_water, "below pages.high_water");
    require(init_pages() <= pages_high_water(), init_pages,
            "at most pages.high_water, or pages go back at once");
    for (const auto* size :
         {&icm_queue_contexts, &icm_cq_contexts, &icm_mkeys, &icm_translations}) {
        require((*size)() >= 1 && (*size)() <= 1U << 20, *size, "1 to 1048576");
    }
    require(icm_ahead().value <= 1U << 20, icm_ahead, "0 to 1MiB");
    require(icm_reads() >= 1 && icm_reads() <= 1024, icm_reads, "1 to 1024");
    require(dma_tags() >= 1 && dma_tags() <= 1024, dma_tags, "1 to 1024");
    require(dma_completion_buffer() >= Bytes{4096}, dma_completion_buffer,
            "at least the largest read request, 4KiB");
    require(receive_buffer() >= Bytes{32 * 1024} && receive_buffer() < Bytes{8 * 1024 * 1024},
            receive_buffer, "32KiB to 8MiB: room for frames, sizes in 16-bit counts of cells");
    require(transmit_buffer() >= Bytes{16 * 1024}, transmit_buffer, "at least the longest frame");
}

}  // namespace cxsim::model
