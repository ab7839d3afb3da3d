// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_EAGER_POLLING_H_
#define HOLDFAST_SERVER_RPC_EAGER_POLLING_H_

#include <cstdint>

namespace holdfast {

// Has the thread with which gRPC waits for messages look for them for the next
// 200 us before it sleeps. Called for each message of a client that waits for
// its answer, so that the next one wakes no thread; a daemon that has none pays
// nothing. Has no effect on machines with few processors (core/base/spin.h).
// Thread-safe, at the cost of reading the clock.
//
// gRPC has no such option. One of its threads at a time waits for all
// connections of the process, in epoll_wait, so a program that links this
// library has an epoll_wait of its own in place of the C library's. It does the
// same, but for the moment that it looks first. Code of ours that waits for
// other things calls epoll_pwait.
void PollEagerly();

// How often epoll_wait has looked rather than slept. Thread-safe.
uint64_t EagerLooks();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_EAGER_POLLING_H_
