// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_
#define HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/channel/channel.h"
#include "server/process/sandbox/sandbox.h"

namespace holdfast {

// Bounds of a worker. Beyond the first it exits with kOutOfMemoryExit; beyond
// the second, SIGXCPU ends it. Times of an earlier compilation do not count.
struct CompilerLimits {
  uint64_t memory_bytes = uint64_t{8} << 30;   // address space
  absl::Duration cpu_time = absl::Minutes(2);  // of one compilation
};

// Exit code of a worker that had no more memory.
inline constexpr int kOutOfMemoryExit = 70;

// Runs a compiler worker: loads the compilers, says so, and does the jobs that
// come through the channel, one at a time, until it closes. Returns the exit
// code. A source that takes too much costs this process.
//
// The sandbox closes once the compilers are loaded, before the first job: only
// their directories can be read from then on. The first message carries a memfd
// that has the process's stderr, which is emptied before each job.
int CompilerMain(Channel channel, const CompilerLimits& limits,
                 const SandboxStart& sandbox);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_
