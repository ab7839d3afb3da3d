// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_EAGER_POLLING_H_
#define HOLDFAST_SERVER_RPC_EAGER_POLLING_H_

#include <cstdint>

namespace holdfast {

// Makes gRPC's waiting thread poll for messages for the next 200 us before it
// sleeps. The daemon calls it for each message whose client waits for the
// answer, so that the client's next message wakes no thread. An idle daemon
// does not poll. Has no effect on machines with few processors
// (core/base/spin.h). Thread-safe; costs a read of the clock.
//
// gRPC has no such option. One of its threads waits for all connections of the
// process in epoll_wait, so this library replaces the C library's epoll_wait by
// a version that polls first. Holdfast's own code calls epoll_pwait.
void PollEagerly();

// Returns how often epoll_wait has polled in this process. Thread-safe.
uint64_t EagerPolls();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_EAGER_POLLING_H_
