// SPDX-License-Identifier: Apache-2.0
// Sizes and places of the layouts that our code relies on, so that a newer kernel header that
// moves something fails here, by name, and not as a mystery in a guest. Regenerating pins.inc is
// right only after the code that uses the member was looked at.
#include "model/prm/reflect.h"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace cxsim::prm;

namespace {

struct Pin {
    const char* layout;
    const char* member;
    std::uint32_t offset;
    std::uint32_t bits;
};

const Pin kPins[] = {
#include "tests/unit/prm/pins.inc"
};

}  // namespace

TEST_CASE("the layouts in use have the pinned sizes and places", "[prm]") {
    std::string moved;
    for (const Pin& pin : kPins) {
        const LayoutInfo* layout = find_layout(pin.layout);
        const std::string place = std::string(pin.layout) + "." + pin.member;
        if (layout == nullptr) {
            moved += place + ": no such layout\n";
        } else if (*pin.member == '\0') {
            if (layout->bits != pin.bits) {
                moved += place + ": " + std::to_string(layout->bits) + " bits, pinned " +
                         std::to_string(pin.bits) + "\n";
            }
        } else if (const auto found = find_path(*layout, pin.member); !found) {
            moved += place + ": no such member\n";
        } else if (found->bit_offset != pin.offset || found->bit_width != pin.bits) {
            moved += place + ": at bit " + std::to_string(found->bit_offset) + " with " +
                     std::to_string(found->bit_width) + " bits, pinned " +
                     std::to_string(pin.offset) + " with " + std::to_string(pin.bits) + "\n";
        }
    }
    CHECK(moved == "");
    CHECK(std::size(kPins) > 600);
}
