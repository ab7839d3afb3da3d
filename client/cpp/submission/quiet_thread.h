// SPDX-License-Identifier: Apache-2.0
//
// Quiet threads: threads that a library uses for its own purposes, such as a
// thread that calls functions between the steps of a graph.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_QUIET_THREAD_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_QUIET_THREAD_H_

namespace holdfast {

// Makes the calling thread quiet, or makes it an ordinary thread again. The
// next call that waits reports a fault, or the failure of a command without a
// waiting caller, and reports it once. A call from a quiet thread does not use
// up this report: the call fails after a fault, but a later call from an
// ordinary thread still reports the fault and every failure.
void SetQuietThread(bool quiet);
bool IsQuietThread();

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_QUIET_THREAD_H_
