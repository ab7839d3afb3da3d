// SPDX-License-Identifier: Apache-2.0
//
// Threads that a library uses on its own behalf, such as one that calls
// functions between the steps of a graph.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_QUIET_THREAD_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_QUIET_THREAD_H_

namespace holdfast {

// Makes the calling thread quiet, or an ordinary one again. A fault, or the
// failure of a command without a waiting caller, is reported once, by the next
// call that waits. A call of a quiet thread does not count: it fails with a
// fault, too, but another thread is still told of it, and of every failure.
void SetQuietThread(bool quiet);
bool IsQuietThread();

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_QUIET_THREAD_H_
