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

// Suspends idle sessions to host memory until their next command. A session is
// idle while no command arrives, no bytes are copied, and its devices do no
// work. Thread-safe.
//
// A session that was suspended resumes by itself at its client's next command,
// so clients notice only a delay.
class IdleSuspension {
 public:
  // Suspends sessions of `sessions` that have been idle for the time `idle`.
  // `sessions` must outlive this object.
  IdleSuspension(SessionRegistry& sessions, absl::Duration idle)
      : sessions_(sessions), idle_(idle) {}
  // Stops the thread. Waits for the end of a running Look.
  ~IdleSuspension();
  IdleSuspension(const IdleSuspension&) = delete;
  IdleSuspension& operator=(const IdleSuspension&) = delete;

  // Starts a thread that calls Look every `idle` / 4, but at least every 10 s
  // and at most every 50 ms. Called once.
  void Start();

  // Reads the activity of each session, and suspends a session whose activity
  // has not changed since `now - idle`; `now` is SteadyNow(). A session that
  // cannot be suspended is tried again after `idle`. REQUIRES: one thread at a
  // time.
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
  std::map<std::string, Seen> seen_;  // by session; used by Look only
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_IDLE_SUSPENSION_H_
