// SPDX-License-Identifier: Apache-2.0
//
// Tells ThreadSanitizer how gRPC orders threads, as seen from outside: what was
// done before an operation was given to it, or completed by it, comes before
// what is done after a completion queue has returned the operation's tag.
// Inside, gRPC makes that order by lock-free queues that are not instrumented.
// As in absl_mutex.cc the linker sends all calls here.
#include <cstdint>

#include "grpc/grpc.h"

extern "C" {

void __tsan_acquire(void* address);
void __tsan_release(void* address);

// Nearly all tags are pointers.
static bool IsPointer(void* tag) {
  return reinterpret_cast<uintptr_t>(tag) >= 4096;
}
static void Acquire(void* tag) {
  if (IsPointer(tag)) __tsan_acquire(tag);
}
static void Release(void* tag) {
  if (IsPointer(tag)) __tsan_release(tag);
}

grpc_call_error __real_grpc_call_start_batch(grpc_call*, const grpc_op*, size_t,
                                             void*, void*);
grpc_call_error __wrap_grpc_call_start_batch(grpc_call* call,
                                             const grpc_op* operations,
                                             size_t count, void* tag,
                                             void* reserved) {
  Release(tag);
  return __real_grpc_call_start_batch(call, operations, count, tag, reserved);
}

grpc_event __real_grpc_completion_queue_next(grpc_completion_queue*,
                                             gpr_timespec, void*);
grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue,
                                             gpr_timespec deadline,
                                             void* reserved) {
  const grpc_event event =
      __real_grpc_completion_queue_next(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) Acquire(event.tag);
  return event;
}

grpc_event __real_grpc_completion_queue_pluck(grpc_completion_queue*, void*,
                                              gpr_timespec, void*);
grpc_event __wrap_grpc_completion_queue_pluck(grpc_completion_queue* queue,
                                              void* tag, gpr_timespec deadline,
                                              void* reserved) {
  const grpc_event event =
      __real_grpc_completion_queue_pluck(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) Acquire(event.tag);
  return event;
}

// grpc_cq_end_op: completes an operation. The absl::Status, which is no pointer
// in gRPC's own declaration, is passed by one.
// clang-format off
#define END_OP(prefix) prefix##_Z14grpc_cq_end_opP21grpc_completion_queuePvN4absl7debian36StatusEPFvS1_P18grpc_cq_completionES1_S6_b
// clang-format on
void END_OP(__real_)(grpc_completion_queue*, void*, void*, void*, void*, void*,
                     bool);
void END_OP(__wrap_)(grpc_completion_queue* queue, void* tag, void* error,
                     void* done, void* argument, void* storage, bool internal) {
  Acquire(tag);
  Release(tag);
  END_OP(__real_)(queue, tag, error, done, argument, storage, internal);
}

}  // extern "C"
