// SPDX-License-Identifier: Apache-2.0
#include "model/base/random.h"

#include <bit>

#include "model/base/assert.h"

namespace cxsim::model {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t split_mix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view component) {
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a, 64 bits
    for (const char c : component) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    std::uint64_t mix = seed ^ std::rotl(hash, 32);
    for (auto& word : state_) word = split_mix(mix);
}

RandomStream::result_type RandomStream::operator()() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
    CX_ASSERT(bound > 0, "an empty range has no draw");
    Wide product = static_cast<Wide>((*this)()) * bound;
    auto low = static_cast<std::uint64_t>(product);
    if (low < bound) {
        const std::uint64_t threshold = (0 - bound) % bound;
        while (low < threshold) {
            product = static_cast<Wide>((*this)()) * bound;
            low = static_cast<std::uint64_t>(product);
        }
    }
    return static_cast<std::uint64_t>(product >> 64);
}

double RandomStream::uniform() {
    return static_cast<double>((*this)() >> 11) * 0x1.0p-53;
}

}  // namespace cxsim::model
