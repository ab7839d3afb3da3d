// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CALLBACK_THREAD_H_
#define HOLDFAST_SERVER_RPC_CALLBACK_THREAD_H_

namespace holdfast {

// Has a thread wait for what gRPC calls callback services for, from now until
// the process ends. Once in a process.
//
// gRPC 1.51 has up to 16 threads of its own for that, but each of them naps for
// 100 ms when nothing has come for a second, and they begin at the same time:
// in a process that has been idle, one call in ten would wait up to 100 ms for
// a thread to look at it. This one never naps.
void StartCallbackThread();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALLBACK_THREAD_H_
