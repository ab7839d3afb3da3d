// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COLLECTIONS_COLLECTION_SUSPENSION_H_
#define HOLDFAST_SERVER_COLLECTIONS_COLLECTION_SUSPENSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/collections/collection_table.h"
#include "server/collections/move_turns.h"
#include "server/memory/chunk_copier.h"
#include "server/memory/memory_ledger.h"
#include "server/memory/suspended_memory.h"

namespace holdfast::collections {

// Moves versions of collections off their devices and back, one at a time.
// Executors without a session copy the bytes. No memory is released before all
// bytes of a version are in their new place, so a move that fails or is
// cancelled leaves the version unchanged. Thread-safe.
class CollectionSuspension {
 public:
  // Returns an executor with a context on the device; the caller owns it.
  using Take = std::function<absl::StatusOr<std::unique_ptr<ChunkCopier>>(
      uint32_t device, absl::Time deadline)>;
  struct Options {
    Take take;
    // The directory of the files of suspended memory. Empty: memory can be
    // suspended to host memory only.
    std::string directory;
  };
  // Returns true if the move is not needed any more. Called several times a
  // second, by the thread that moves or waits.
  using Cancelled = std::function<bool()>;
  struct Moved {
    uint64_t version = 0;
    uint64_t bytes = 0;  // bytes that were copied
  };

  // REQUIRES: `table` and `ledger` outlive this object.
  CollectionSuspension(CollectionTable& table, const MemoryLedger& ledger,
                       Options options);
  // Cancels the present move and the waiting moves, and blocks until they have
  // ended. The `done` functions of waiting resumptions are not called.
  ~CollectionSuspension();
  CollectionSuspension(const CollectionSuspension&) = delete;
  CollectionSuspension& operator=(const CollectionSuspension&) = delete;

  // Suspend or resume a version; `version` 0 is the latest. `on_disk`: the
  // memory goes to a file in the directory, else to host memory. Both block
  // until the bytes are moved, and fail as the calls of CollectionService do.
  // CANCELLED: `cancelled` returned true, or this object is being destroyed.
  // RESOURCE_EXHAUSTED: there is no memory for the bytes, or too many calls of
  // the viewer wait. DEADLINE_EXCEEDED: the copy took too long.
  absl::StatusOr<Moved> Suspend(const CollectionTable::Viewer& viewer,
                                const std::string& name, uint64_t version,
                                bool on_disk, const Cancelled& cancelled);
  absl::StatusOr<Moved> Resume(const CollectionTable::Viewer& viewer,
                               const std::string& name, uint64_t version,
                               const Cancelled& cancelled);

  // Resumes the version for a reader if its memory is still suspended. Does not
  // block: another thread moves the memory, and calls `done` with the outcome
  // unless `cancelled` returns true. The version is held open until `done`
  // returns.
  void ResumeFor(std::shared_ptr<const OpenVersion> opened, Cancelled cancelled,
                 std::function<void(const absl::Status&)> done);

 private:
  struct Waiting {
    std::unique_ptr<MoveTurns::Place> place;
    std::shared_ptr<const OpenVersion> opened;
    Cancelled cancelled;
    std::function<void(const absl::Status&)> done;
  };
  void Run();
  absl::Status ResumeOpened(const Waiting& waiting);
  // Copy the chunks of a move, and finish or cancel the move.
  absl::StatusOr<Moved> Save(const CollectionTable::Move& move, bool on_disk,
                             const Cancelled& given_up);
  absl::StatusOr<Moved> Load(const CollectionTable::Move& move,
                             const Cancelled& given_up);
  absl::StatusOr<CollectionTable::Places> SaveChunks(
      const CollectionTable::Move& move, bool on_disk,
      const Cancelled& given_up);
  absl::StatusOr<CollectionTable::Places> LoadChunks(
      const CollectionTable::Move& move, const Cancelled& given_up);
  absl::Status CheckDirectory() const;
  // Makes room for one chunk's bytes, in host memory charged to the owner.
  absl::StatusOr<std::unique_ptr<const SuspendedMemory>> MakeRoom(
      const CollectionVersion& version, uint64_t bytes, bool on_disk) const;
  Cancelled OrStopping(Cancelled cancelled) const;

  CollectionTable& table_;
  const MemoryLedger& ledger_;
  const Options options_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  MoveTurns turns_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // serves waiting_
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_SUSPENSION_H_
