// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_UPGRADE_H_
#define HOLDFAST_SERVER_RESTART_UPGRADE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/kept/descriptor_store.h"
#include "server/process/leaving_spawner.h"
#include "server/process/successor_spawner.h"
#include "server/restart/successor.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// Replaces the daemon by its successor in the same process. The first step can
// be refused, the second cannot be undone:
//
//   Prepare   the new binary confirms that it accepts the state; its executors
//             make their contexts while sessions are served; then every
//             session's work ends, and new commands wait in the session's ring
//             or in the client
//   Execute   clients are notified; the executors end, or are stopped and end
//             after the executors of the new binary have taken over; the
//             process executes the new binary
//
// Thread-safe.
class DaemonUpgrade {
 public:
  // Starts executors of the binary, and blocks until they are ready or
  // `deadline` has passed. Returns null if none is ready; the next daemon then
  // starts all of its executors itself.
  using StartAhead = std::function<std::unique_ptr<SuccessorSpawner>(
      const std::string& binary, absl::Time deadline)>;

  // `addresses`: see kTakenAddresses. `sessions` and `store` must outlive it.
  DaemonUpgrade(Successor successor, std::string addresses,
                supervisor::SessionRegistry& sessions, DescriptorStore& store,
                StartAhead start_ahead)
      : successor_(std::move(successor)),
        addresses_(std::move(addresses)),
        sessions_(sessions),
        store_(store),
        start_ahead_(std::move(start_ahead)) {}

  // True if the daemon's file was replaced.
  bool IsDue() const { return successor_.IsNew(); }

  // Prepares the upgrade. Blocks until all work of sessions has ended, at most
  // until about `deadline`. Returns the new binary's version; the caller then
  // calls Execute. On an error, sessions continue; the errors are those of
  // AdminService.Upgrade.
  absl::StatusOr<std::string> Prepare(absl::Time deadline);
  // Returns true if Prepare has succeeded and Refuse was not called since.
  bool prepared() const {
    absl::MutexLock lock(&mutex_);
    return prepared_;
  }

  // Like Prepare, for an rpc: Execute then waits for at most 2 s until
  // NoteAnswered reports that the client has the answer.
  absl::StatusOr<std::string> PrepareForCall(absl::Time deadline);
  void NoteAnswered();

  // Makes a running and every further call of Prepare fail with `reason`. If
  // Prepare has succeeded, undoes it: sessions continue, and Execute must not
  // be called.
  void Refuse(const absl::Status& reason);

  // Executes the upgrade. Returns only on an error, after which the process
  // cannot continue serving. `end_children` ends every child process of the
  // daemon. If `leave` is true, it may stop them instead, and return their
  // spawner. REQUIRES: prepared().
  using EndChildren = std::function<LeavingSpawner(bool leave)>;
  absl::Status Execute(const EndChildren& end_children);

 private:
  // Starts the successor's executors, and parks the sessions: waits until their
  // work has ended, and holds back new work.
  absl::Status MakeReady(absl::Time deadline);
  // Returns all descriptors that the successor gets.
  std::vector<KeptDescriptor> HandOver();
  // True if every session has an executor that was started ahead.
  bool AllAhead();

  const Successor successor_;
  const std::string addresses_;
  supervisor::SessionRegistry& sessions_;
  DescriptorStore& store_;
  const StartAhead start_ahead_;
  mutable absl::Mutex mutex_;
  bool preparing_ ABSL_GUARDED_BY(mutex_) = false;
  bool prepared_ ABSL_GUARDED_BY(mutex_) = false;
  bool answered_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
  // Null: no executor was started ahead, or the upgrade is not prepared.
  std::unique_ptr<SuccessorSpawner> ahead_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_UPGRADE_H_
