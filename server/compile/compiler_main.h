// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_
#define HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/channel/channel.h"
#include "server/process/sandbox/sandbox.h"

namespace holdfast {

// The limits of a worker. Beyond `memory_bytes` it exits with kOutOfMemoryExit;
// beyond `cpu_time` SIGXCPU ends it. Earlier compilations do not count.
struct CompilerLimits {
  uint64_t memory_bytes = uint64_t{8} << 30;   // address space
  absl::Duration cpu_time = absl::Minutes(2);  // of one compilation
};

// The exit code of a worker that has run out of memory.
inline constexpr int kOutOfMemoryExit = 70;

// Runs a compiler worker: loads the compilers, reports them, and runs the jobs
// of the channel, one at a time, until the channel closes. Returns the exit
// code. A source that exceeds a limit ends this process only.
//
// The sandbox is closed after the compilers are loaded, before the first job:
// then only their directories can be read. The first message has a memfd that
// receives the process's stderr; it is emptied before each job.
int CompilerMain(Channel channel, const CompilerLimits& limits,
                 const SandboxStart& sandbox);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILER_MAIN_H_
