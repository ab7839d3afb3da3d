// SPDX-License-Identifier: Apache-2.0
//
// Decides which caller may compile next. Each caller has a line of its own, and
// the lines take turns: however much one asks for, another waits for one
// compilation at most.
//
//   HOLDFAST_RETURN_IF_ERROR(queue.Enter(caller));
//   ...
//   queue.Leave();
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_QUEUE_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_QUEUE_H_

#include <cstddef>
#include <deque>
#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/compile/compile_caller.h"

namespace holdfast {

// Thread-safe.
class CompileQueue {
 public:
  // `slots` compilations run at once, `max_waiting` requests wait. A caller may
  // have another one wait as long as it has fewer than are left, and always
  // one.
  CompileQueue(size_t slots, size_t max_waiting)
      : max_waiting_(max_waiting), free_(slots) {}

  // Waits for the caller's turn, telling it of its place. RESOURCE_EXHAUSTED:
  // the queue is full. CANCELLED: the caller has gone. Otherwise, Leave has to
  // follow.
  absl::Status Enter(const CompileCaller& caller);

  // Frees the slot, for the line whose turn it is.
  void Leave();

  // Requests that wait in Enter. As of now.
  size_t length() const;

 private:
  struct Ticket {
    bool served = false;
  };
  struct Line {
    std::string name;
    std::deque<Ticket*> tickets;  // of threads that are in Enter
  };
  using Lines = std::list<Line>;

  // Appends the ticket to the caller's line, and serves it if a slot is free.
  absl::Status Join(const std::string& name, Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // end(): the caller has no line.
  Lines::iterator LineOf(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For a caller that has gone. REQUIRES: the ticket was not served.
  void Remove(const std::string& name, const Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CompileStage StageOf(const std::string& name, const Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives a free slot to the front line, which then goes to the end.
  // REQUIRES: a slot is free, and a ticket waits.
  void ServeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_waiting_;
  mutable absl::Mutex mutex_;
  size_t free_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  Lines lines_
      ABSL_GUARDED_BY(mutex_);  // none is empty; the front has its turn
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_QUEUE_H_
