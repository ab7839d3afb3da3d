// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_MESSAGE_POLLER_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_MESSAGE_POLLER_H_

#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "grpcpp/completion_queue.h"

namespace holdfast {

// The thread of this process that waits for messages of long-lived calls.
//
// gRPC's synchronous streams sleep until a message arrives, and waking a thread
// takes longer than the rest of a short call. After each event, this thread
// polls for 200 us before it sleeps, on machines with enough processors, so
// that a busy call wakes no thread. All calls share one thread: if several
// threads wait for messages of one connection, one of them reads the messages
// and wakes the others.
class MessagePoller {
 public:
  // A tag of the queue: a running operation.
  class Operation {
   public:
    virtual ~Operation() = default;
    // Called by the poller's thread when the operation has ended. Must not
    // block.
    virtual void Done(bool ok) = 0;
  };

  // Returns the process's poller, which lives while it is held. The poller's
  // own thread must not release it. Thread-safe. RESOURCE_EXHAUSTED: the system
  // allows no more threads.
  static absl::StatusOr<std::shared_ptr<MessagePoller>> Get();
  // REQUIRES: no operation is running.
  ~MessagePoller();
  MessagePoller(const MessagePoller&) = delete;
  MessagePoller& operator=(const MessagePoller&) = delete;

  // The queue for operations. Every tag is an Operation*.
  grpc::CompletionQueue* queue() { return &queue_; }

 private:
  MessagePoller() = default;

  // The thread's loop, until the queue's end.
  void Run();
  // Polls for an event, then sleeps until there is one. Returns false after the
  // queue's end.
  bool Next(void** tag, bool* ok);

  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_MESSAGE_POLLER_H_
