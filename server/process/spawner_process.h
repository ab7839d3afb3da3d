// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
#define HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "server/channel/channel.h"

namespace holdfast {

// What the spawner does from its fork to its exit, which comes when the
// channel closes or the supervisor ends. It has one thread, always.
[[noreturn]] void RunSpawnerProcess(pid_t supervisor,
                                    const std::string& executable,
                                    Channel channel);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
