// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_IDLE_SUSPENSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_IDLE_SUSPENSION_H_

#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/supervisor/session_registry.h"

namespace holdfast::supervisor {

// Takes sessions off their devices that have done nothing for a while: to host
// memory, until their next command. A session does something if a command
// arrives, bytes are copied, or its devices work. Thread-safe.
//
// A session that was suspended resumes by itself at its client's next command;
// clients notice a delay only.
class IdleSuspension {
 public:
  // For all sessions of the registry, which must outlive it. `idle`: how long
  // one may do nothing.
  IdleSuspension(SessionRegistry& sessions, absl::Duration idle)
      : sessions_(sessions), idle_(idle) {}
  // Waits for a look that is going on.
  ~IdleSuspension();
  IdleSuspension(const IdleSuspension&) = delete;
  IdleSuspension& operator=(const IdleSuspension&) = delete;

  // Has a thread look from now on, every quarter of the time, or every 10 s.
  // Never more often than every 50 ms. Once.
  void Start();

  // Looks at each session once, and suspends those for which nothing has
  // changed in the looks since `now - idle`; `now` is SteadyNow(). One that
  // cannot be suspended is left for as long again. One thread at a time.
  void Look(absl::Time now);

 private:
  // The state of a session at the last look.
  struct Seen {
    std::string activity;
    absl::Time since;
    bool refusal_told = false;
  };

  // Logs a refusal, the first time only.
  void Suspend(Session& session, Seen& seen);
  void Run();

  SessionRegistry& sessions_;
  const absl::Duration idle_;
  std::map<std::string, Seen> seen_;  // by session; of the looking thread
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_IDLE_SUSPENSION_H_
