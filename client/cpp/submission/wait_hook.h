// SPDX-License-Identifier: Apache-2.0
//
// Lets a thread interrupt its own waits, for languages such as Python, whose
// signal handlers (Ctrl-C) run only between two of their instructions.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_WAIT_HOOK_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_WAIT_HOOK_H_

#include "absl/synchronization/notification.h"

namespace holdfast {

// Returns false to give up the wait.
using WaitHook = bool (*)();

// Sets the calling thread's hook; null removes it. While the thread waits for
// the result of a command (Synchronize, IsDone, a Download of up to 64 KiB,
// Describe ...), the hook is called about ten times a second, with no lock
// held. When it returns false, the waiting call returns CANCELLED; the command
// itself continues.
void SetWaitHook(WaitHook hook);

// Blocks until `done`. Returns false if the calling thread's hook gave up.
bool AwaitWithHook(const absl::Notification& done);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_WAIT_HOOK_H_
