// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_UPGRADE_H_
#define HOLDFAST_SERVER_RESTART_UPGRADE_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/restart/descriptor_store.h"
#include "server/restart/successor.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// Replaces the daemon by its successor in the same process, in two steps: what
// may be refused, then what cannot be taken back.
//
//   Prepare   the new binary says that it takes the state; every session's work
//             ends, and what comes then stays in its ring or with its client
//   Execute   clients are told; executors end; the new binary begins
//
// Thread-safe.
class DaemonUpgrade {
 public:
  // `sessions` and `store` must outlive it.
  DaemonUpgrade(Successor successor, supervisor::SessionRegistry& sessions,
                DescriptorStore& store)
      : successor_(std::move(successor)), sessions_(sessions), store_(store) {}

  // The daemon's file was replaced.
  bool IsDue() const { return successor_.IsNew(); }

  // Returns the new binary's version; Execute is to be called then. Work has
  // until `deadline` to end. Errors as AdminService.Upgrade; nothing has
  // changed then. Blocks.
  absl::StatusOr<std::string> Prepare(absl::Time deadline);
  bool prepared() const {
    absl::MutexLock lock(&mutex_);
    return prepared_;
  }

  // The same for a call that is to be answered: Execute waits until
  // NoteAnswered says that its client has the answer, for kAnswerTime at most.
  absl::StatusOr<std::string> PrepareForCall(absl::Time deadline);
  void NoteAnswered();

  // From now on Prepare fails with `reason`. If it has succeeded, sessions go
  // on again; Execute must not be called.
  void Refuse(const absl::Status& reason);

  // Returns why it failed: the process is of no more use then. `end_children`
  // ends every process of the daemon's.
  absl::Status Execute(const std::function<void()>& end_children);

 private:
  const Successor successor_;
  supervisor::SessionRegistry& sessions_;
  DescriptorStore& store_;
  mutable absl::Mutex mutex_;
  bool preparing_ ABSL_GUARDED_BY(mutex_) = false;
  bool prepared_ ABSL_GUARDED_BY(mutex_) = false;
  bool answered_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_UPGRADE_H_
