// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_
#define HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/channel/channel.h"
#include "server/process/sandbox/sandbox.h"

namespace holdfast {

// The limits of a worker process. A worker that needs more than `memory_bytes`
// exits with kOutOfMemoryExit; SIGXCPU ends a worker whose compilation takes
// more than `cpu_time`.
struct CompilerLimits {
  uint64_t memory_bytes = uint64_t{8} << 30;   // address space
  absl::Duration cpu_time = absl::Minutes(2);  // of one compilation
};

// The exit code of a worker that has run out of memory.
inline constexpr int kOutOfMemoryExit = 70;

// Runs a compiler worker: loads the compilers, reports them, and runs the jobs
// of the channel, one at a time, until the channel closes. Returns the exit
// code of the process. A source that exceeds a limit ends this process, and no
// other.
//
// The sandbox is closed after the compilers are loaded and before the first
// job. From then on only the compilers' directories can be read. The first
// message has the memfd that the process's stderr is redirected to; it is
// emptied before each job.
int CompilerMain(Channel channel, const CompilerLimits& limits,
                 const SandboxStart& sandbox);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_
