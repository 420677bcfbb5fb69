// SPDX-License-Identifier: Apache-2.0
// A run in a process of its own, told as one number: SystemC elaborates once in a process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace cxsim::test {

/// What `run()` returns in a forked child, which must be forked before SystemC has elaborated
/// anything; 0 if the child could not tell it.
template <class Run>
std::uint64_t digest_in_child(Run&& run) {
    int ends[2];
    if (::pipe(ends) != 0) return 0;
    const pid_t child = ::fork();
    if (child == 0) {
        const std::uint64_t digest = run();
        const bool written = ::write(ends[1], &digest, sizeof digest) == sizeof digest;
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::uint64_t digest = 0;
    if (::read(ends[0], &digest, sizeof digest) != sizeof digest) digest = 0;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return digest;
}

}  // namespace cxsim::test
