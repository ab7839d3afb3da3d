// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_MESSAGE_POLLER_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_MESSAGE_POLLER_H_

#include <memory>
#include <thread>

#include "grpcpp/completion_queue.h"

namespace holdfast {

// The thread of this process that waits for messages of calls that stay open.
//
// gRPC's synchronous streams sleep until a message has come, and to wake a
// thread takes longer than all else that a short call does. This thread looks
// for the next event for 200 us after each one before it sleeps, on machines
// with processors to spare, so that a call which is busy wakes no thread. There
// is one for all calls, since of several threads that wait for messages of a
// connection, or with gRPC's default strategy of all connections, one reads
// them and wakes the others.
class MessagePoller {
 public:
  // A tag of the queue: an operation that is under way.
  class Operation {
   public:
    virtual ~Operation() = default;
    // Called by the poller's thread when the operation has ended. Must not
    // block.
    virtual void Done(bool ok) = 0;
  };

  // Returns the process's poller, which lives as long as it is held. Not to be
  // released by the poller's own thread. Thread-safe.
  static std::shared_ptr<MessagePoller> Get();
  // REQUIRES: no operation is under way.
  ~MessagePoller();
  MessagePoller(const MessagePoller&) = delete;
  MessagePoller& operator=(const MessagePoller&) = delete;

  // Where operations are started. Every tag is an Operation*.
  grpc::CompletionQueue* queue() { return &queue_; }

 private:
  MessagePoller();

  void Run();
  // Looks for an event, then sleeps until there is one. Returns false if there
  // will be none any more.
  bool Next(void** tag, bool* ok);

  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_MESSAGE_POLLER_H_
