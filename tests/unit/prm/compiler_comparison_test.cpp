// SPDX-License-Identifier: Apache-2.0
// The C compiler laid out the kernel's headers at build time (model/prm/CMakeLists.txt); what our
// generator understood must be the same.
#include "model/prm/reflect.h"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

using namespace cxsim::prm;

namespace {

struct CompilerRow {
    const char* layout;
    const char* field;  // empty: the layout itself
    std::size_t offset;
    std::size_t bits;  // 0 for a variable tail
};

const CompilerRow kCompilerView[] = {
#include "prm/compiler_view.inc"
};

}  // namespace

TEST_CASE("all sizes and offsets equal those of the C compiler for the same header", "[prm]") {
    // What overrides.layout replaces as a whole.
    const std::set<std::string> replaced{"query_qp_out", "query_scheduling_element_out",
                                         "create_virtio_q_counters_out",
                                         "query_virtio_q_counters_out"};
    std::size_t fields = 0;
    std::set<std::string> patched;
    std::string differences;
    for (const CompilerRow& row : kCompilerView) {
        if (replaced.contains(row.layout)) continue;
        const std::string place = std::string(row.layout) + "." + row.field;
        const LayoutInfo* layout = find_layout(row.layout);
        if (layout == nullptr) {
            differences += place + " is missing\n";
            continue;
        }
        if (*row.field == '\0') {
            if (layout->bits != row.bits) differences += place + " has another size\n";
            continue;
        }
        ++fields;
        const FieldInfo* field = layout->find(row.field);
        if (field == nullptr) {
            // Only our patches take reserved members away, see overrides.layout.
            if (std::string_view(row.field).starts_with("reserved"))
                patched.insert(row.layout);
            else
                differences += place + " is missing\n";
            continue;
        }
        const std::size_t bits = std::size_t{field->bit_width} * field->count;
        if (patched.contains(row.layout) && field->reserved) continue;
        if (field->bit_offset != row.offset || bits != row.bits) {
            // The first piece of a split reserved member keeps name and offset.
            if (field->reserved && field->bit_offset == row.offset && bits < row.bits) {
                patched.insert(row.layout);
            } else {
                differences += place + " has another place or size\n";
            }
        }
    }
    CHECK(differences == "");
    CHECK(patched == std::set<std::string>{"health_buffer", "initial_seg", "pages_req_event"});
    CHECK(fields > 6000);
}
