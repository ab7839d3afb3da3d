// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/callback_thread.h"

#include <grpc/grpc.h>
#include <grpcpp/completion_queue.h>

#include <thread>

namespace holdfast {
namespace {

// The queue of all callbacks, which the caller keeps alive. gRPC has it private
// and offers no other way to it; an explicit instantiation may name what is
// private.
grpc::CompletionQueue* CallbackQueue();

template <grpc::CompletionQueue* (*get)()>
struct Opener {
  friend grpc::CompletionQueue* CallbackQueue() { return get(); }
};
template struct Opener<&grpc::CompletionQueue::CallbackAlternativeCQ>;

void Run(grpc_completion_queue* queue) {
  for (;;) {
    const grpc_event event = grpc_completion_queue_next(
        queue, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
    if (event.type == GRPC_QUEUE_SHUTDOWN) return;
    auto* const callback =
        static_cast<grpc_completion_queue_functor*>(event.tag);
    callback->functor_run(callback, event.success);
  }
}

}  // namespace

void StartCallbackThread() { std::thread(Run, CallbackQueue()->cq()).detach(); }

}  // namespace holdfast
