// SPDX-License-Identifier: Apache-2.0
//
// Decides which caller may compile next. Each caller has a queue of its own (a
// line), and the lines take turns: a caller waits for at most one compilation
// of each other caller. If there are several slots, a caller gets the last free
// slot only while no other caller waits or has sent a request within kKnown.
// The daemon's own requests, which have an empty name, may take every slot.
//
//   HOLDFAST_ASSIGN_OR_RETURN(const auto turn, queue.Enter(caller));
//   ... compile, and give up if turn->recalled() ...
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_QUEUE_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/compile/compile_caller.h"

namespace holdfast {

// A fair queue for a fixed number of compilation slots. Thread-safe.
class CompileQueue {
 private:
  struct Running {
    std::string name;
    absl::Duration since;
    std::atomic<bool> recalled = false;
  };

 public:
  // A caller counts as known for this long after its last request.
  static constexpr absl::Duration kKnown = absl::Minutes(1);
  // A request waits this long before a job of a caller with all slots is
  // recalled for it.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // A clock that never goes back.
  using Clock = std::function<absl::Duration()>;
  static absl::Duration SteadyTime();

  // A slot in use. The destructor passes the slot to the next line.
  class Turn {
   public:
    ~Turn() { queue_.Leave(running_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Returns true if another caller needs the slot, because it has waited for
    // kPatience while this caller had every slot. The job must then end and
    // destroy the turn, and may call EnterAgain.
    bool recalled() const { return running_->recalled; }

   private:
    friend class CompileQueue;
    Turn(CompileQueue& queue, std::list<Running>::iterator running)
        : queue_(queue), running_(running) {}

    CompileQueue& queue_;
    const std::list<Running>::iterator running_;
  };

  // At most `slots` compilations run at a time. About `max_waiting` requests
  // may wait: a caller may always have one waiting request, and more as long as
  // it has fewer than the queue has free places.
  CompileQueue(size_t slots, size_t max_waiting, Clock clock = &SteadyTime)
      : slots_(slots), max_waiting_(max_waiting), clock_(std::move(clock)) {}

  // Blocks until the caller gets a slot, and reports the request's place in the
  // queue meanwhile. REQUIRES: the queue outlives the turn.
  // RESOURCE_EXHAUSTED: no slot is free, and the queue has no place for another
  // request of the caller. CANCELLED: the caller has gone.
  absl::StatusOr<std::unique_ptr<Turn>> Enter(const CompileCaller& caller);
  // Like Enter, for a recalled job. The request becomes the first of its line,
  // and is never refused for lack of room.
  absl::StatusOr<std::unique_ptr<Turn>> EnterAgain(const CompileCaller& caller);

  // The number of requests that wait for a slot now.
  size_t length() const;

 private:
  // One waiting request.
  struct Ticket {
    absl::Duration since;
    std::unique_ptr<Turn> turn;  // null: not served yet
  };
  struct Line {
    std::string name;
    std::deque<Ticket*> tickets;  // on the stacks of threads in Await
  };
  using Lines = std::list<Line>;

  absl::StatusOr<std::unique_ptr<Turn>> Await(const CompileCaller& caller,
                                              Ticket* ticket);
  // Checks whether another request of the caller may wait. RESOURCE_EXHAUSTED:
  // see Enter.
  absl::Status CheckRoom(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the ticket to the caller's line, and serves it if a slot is free.
  void Join(const std::string& name, bool first, Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns lines_.end() if the caller has no line.
  Lines::iterator LineOf(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the ticket of a caller that has gone. REQUIRES: it was not served.
  void Remove(const std::string& name, const Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CompileStage StageOf(const std::string& name, const Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(std::list<Running>::iterator running);

  // Gives free slots to the first lines that may have one more. A served line
  // moves to the end.
  void ServeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Serve(Lines::iterator line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayHaveOneMore(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool OthersAreKnown(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Recalls the longest-running job if one other caller has every slot and the
  // ticket has waited long enough.
  void RecallFor(const std::string& name, const Ticket& ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t slots_;
  const size_t max_waiting_;
  const Clock clock_;
  mutable absl::Mutex mutex_;
  std::list<Running> running_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  // The times of the callers' last requests, without the daemon's own requests.
  std::map<std::string, absl::Duration> known_ ABSL_GUARDED_BY(mutex_);
  // No line is empty. The front is served next.
  Lines lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_QUEUE_H_
