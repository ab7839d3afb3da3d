// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_HANDED_PROCESSES_H_
#define HOLDFAST_SERVER_PROCESS_HANDED_PROCESSES_H_

#include <sys/types.h>

#include <vector>

#include "core/base/unique_fd.h"
#include "holdfast/internal/spawner.pb.h"

namespace holdfast {

// A spawner and its children that a daemon has started for the daemon that
// replaces it in the same process: SuccessorSpawner starts them, and
// Spawner::Adopt takes them over.
struct HandedProcesses {
  struct Child {
    internal::HandedChild record;
    UniqueFd process;  // a pidfd
    UniqueFd channel;
  };

  pid_t spawner = 0;  // 0: there are no processes
  UniqueFd channel;   // to the spawner
  std::vector<Child> children;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_HANDED_PROCESSES_H_
