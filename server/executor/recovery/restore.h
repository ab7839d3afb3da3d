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

// The resources that a restored session has lost: their handles, which are in
// error, and the reasons.
struct Losses {
  static constexpr size_t kMaxNamed = 64;
  std::vector<v1::LostResource> named;
  uint64_t count = 0;
};

struct RestoreOptions {
  const ObjectFetcher& fetch_object;
  // The journal that the steps are written to again.
  SessionJournal& journal;
  // Makes an arena of a client's memory, and puts it under its handle.
  std::function<absl::Status(
      Resources&, const internal::HostMemoryCreated& arena, UniqueFd memory)>
      restore_arena;
  // Tell the supervisor that a chunk, or host memory, is not used any more.
  std::function<void(uint64_t chunk)> chunk_released;
  std::function<void(uint64_t handle)> host_memory_released;
};

// Makes the resources of a session whose executor has died again, by replaying
// its journal (`records`) through the handlers of commands. Runs on the
// submission thread. DATA_LOSS: the journal is damaged.
absl::StatusOr<Losses> Restore(Resources& resources, Inheritance inheritance,
                               absl::string_view records,
                               const RestoreOptions& options);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_RESTORE_H_
