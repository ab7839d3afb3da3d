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
#include "server/kept/descriptor_store.h"
#include "server/restart/successor.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// Replaces the daemon by its successor in the same process. The first step can
// be refused, the second cannot be undone:
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

  // True if the daemon's file was replaced.
  bool IsDue() const { return successor_.IsNew(); }

  // Prepares the upgrade; work has until `deadline` to end. Returns the new
  // binary's version; call Execute then. Fails as AdminService.Upgrade, without
  // having changed anything. Blocks.
  absl::StatusOr<std::string> Prepare(absl::Time deadline);
  bool prepared() const {
    absl::MutexLock lock(&mutex_);
    return prepared_;
  }

  // The same for an rpc: Execute waits until NoteAnswered tells that the client
  // has the answer, for kAnswerTime at most.
  absl::StatusOr<std::string> PrepareForCall(absl::Time deadline);
  void NoteAnswered();

  // Makes Prepare fail with `reason`. If it has succeeded, sessions continue,
  // and Execute must not be called.
  void Refuse(const absl::Status& reason);

  // Executes the upgrade. Returns only on an error, after which the process
  // cannot continue. `end_children` ends every child process of the daemon.
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
