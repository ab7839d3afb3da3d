// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CALLBACK_THREAD_H_
#define HOLDFAST_SERVER_RPC_CALLBACK_THREAD_H_

namespace holdfast {

// Starts a thread that waits for the events of gRPC's callback services until
// the process ends. Call it once in a process.
//
// gRPC 1.51 has up to 16 threads of its own for this. Each of them sleeps for
// 100 ms when there was no event for a second, and all begin at the same time.
// In a process that has been idle, one call in ten would therefore wait up to
// 100 ms for a thread. The thread that this function starts does not sleep in
// this way.
void StartCallbackThread();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALLBACK_THREAD_H_
