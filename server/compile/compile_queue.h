// SPDX-License-Identifier: Apache-2.0
//
// Decides which caller may compile next. Each caller has a line of its own, and
// the lines take turns: however much one asks for, another waits for one
// compilation at most. Where several run at once, one slot is left to the
// others: they wait for no compilation of a caller who has taken the rest.
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

// Thread-safe.
class CompileQueue {
 private:
  struct Running {
    std::string name;
    absl::Duration since;
    std::atomic<bool> recalled = false;
  };

 public:
  // A caller counts as known for so long after its last request.
  static constexpr absl::Duration kKnown = absl::Minutes(1);
  // A caller waits so long before it takes a slot from one who has all.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // The time since some start, which never goes back.
  using Clock = std::function<absl::Duration()>;
  static absl::Duration SteadyTime();

  // A slot, until it is destroyed; then it is free for the line whose turn it
  // is.
  class Turn {
   public:
    ~Turn() { queue_.Leave(running_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // True: another caller has waited for kPatience and this one has every
    // slot. The job has to end; it may enter again.
    bool recalled() const { return running_->recalled; }

   private:
    friend class CompileQueue;
    Turn(CompileQueue& queue, std::list<Running>::iterator running)
        : queue_(queue), running_(running) {}

    CompileQueue& queue_;
    const std::list<Running>::iterator running_;
  };

  // `slots` compilations run at once, `max_waiting` requests wait. A caller may
  // have another one wait as long as it has fewer than are left, and always
  // one.
  CompileQueue(size_t slots, size_t max_waiting, Clock clock = &SteadyTime)
      : slots_(slots), max_waiting_(max_waiting), clock_(std::move(clock)) {}

  // Waits for the caller's turn, telling it of its place. A caller gets all
  // slots but one, and all of them only while no other is known.
  // RESOURCE_EXHAUSTED: the queue is full. CANCELLED: the caller has gone.
  absl::StatusOr<std::unique_ptr<Turn>> Enter(const CompileCaller& caller);
  // The same for a job that was recalled: it is the first of its line, and
  // never one too many.
  absl::StatusOr<std::unique_ptr<Turn>> EnterAgain(const CompileCaller& caller);

  // Requests that wait in Enter. As of now.
  size_t length() const;

 private:
  struct Ticket {
    absl::Duration since;
    std::unique_ptr<Turn> turn;  // once it is served
  };
  struct Line {
    std::string name;
    std::deque<Ticket*> tickets;  // of threads that are in Enter
  };
  using Lines = std::list<Line>;

  absl::StatusOr<std::unique_ptr<Turn>> Await(const CompileCaller& caller,
                                              Ticket* ticket);
  absl::Status CheckRoom(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the ticket to the caller's line, and serves it if a slot is free.
  void Join(const std::string& name, bool first, Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // end(): the caller has no line.
  Lines::iterator LineOf(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For a caller that has gone. REQUIRES: the ticket was not served.
  void Remove(const std::string& name, const Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CompileStage StageOf(const std::string& name, const Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(std::list<Running>::iterator running);

  // Gives free slots to the first lines that may have one, each of which then
  // goes to the end.
  void ServeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Serve(Lines::iterator line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayHaveOneMore(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool OthersAreKnown(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Recalls the job that has run for the longest time, if one other caller has
  // every slot and the ticket has waited long enough.
  void RecallFor(const std::string& name, const Ticket& ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t slots_;
  const size_t max_waiting_;
  const Clock clock_;
  mutable absl::Mutex mutex_;
  std::list<Running> running_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  // Callers by their last request; the daemon's own has no name.
  std::map<std::string, absl::Duration> known_ ABSL_GUARDED_BY(mutex_);
  Lines lines_
      ABSL_GUARDED_BY(mutex_);  // none is empty; the front has its turn
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_QUEUE_H_
