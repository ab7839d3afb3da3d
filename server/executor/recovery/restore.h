// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_RESTORE_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_RESTORE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/faults.pb.h"
#include "server/executor/command/command.h"
#include "server/executor/journal/session_journal.h"
#include "server/executor/memory/inheritance.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// The resources that a restored session has lost. Their handles are in error.
struct Losses {
  static constexpr size_t kMaxNamed = 64;
  // The first kMaxNamed lost handles, with reasons.
  std::vector<v1::LostResource> named;
  uint64_t count = 0;  // of all lost handles
};

struct RestoreOptions {
  const ObjectFetcher& fetch_object;
  // The new executor's journal. Restore appends the replayed steps to it.
  SessionJournal& journal;
  // Creates an arena in the client's memory, under its earlier handle.
  std::function<absl::Status(
      Resources&, const internal::HostMemoryCreated& arena, UniqueFd memory)>
      restore_arena;
  // Report to the supervisor that no restored resource uses a chunk, or the
  // host memory of a handle.
  std::function<void(uint64_t chunk)> chunk_released;
  std::function<void(uint64_t handle)> host_memory_released;
};

// Recreates the resources of a session after its executor has ended. Replays
// the journal's steps (`records`) through the handlers of commands, and blocks
// until that is done. A step that fails puts its handles in error, and is
// counted in the result; it is no error of Restore. Runs on the submission
// thread. DATA_LOSS: the journal is damaged.
absl::StatusOr<Losses> Restore(Resources& resources, Inheritance inheritance,
                               absl::string_view records,
                               const RestoreOptions& options);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_RESTORE_H_
