// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_EAGER_POLLING_H_
#define HOLDFAST_SERVER_RPC_EAGER_POLLING_H_

#include <cstdint>

namespace holdfast {

// Makes gRPC's waiting thread poll for messages for the next 200 us before it
// sleeps. Called for each message of a client that waits for its answer, so
// that the next message wakes no thread; an idle daemon pays nothing. Has no
// effect on machines with few processors (core/base/spin.h). Thread-safe; costs
// a read of the clock.
//
// gRPC has no such option. One of its threads waits for all connections of the
// process in epoll_wait, so this library replaces the C library's epoll_wait by
// a version that polls first. Holdfast's own code calls epoll_pwait.
void PollEagerly();

// Returns the number of times that epoll_wait has polled. Thread-safe.
uint64_t EagerPolls();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_EAGER_POLLING_H_
