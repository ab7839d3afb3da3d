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
    std::string directory;  // for files; empty: to host memory only
  };
  // Called several times a second. Returns true if the move is not needed any
  // more.
  using Cancelled = std::function<bool()>;
  struct Moved {
    uint64_t version = 0;
    uint64_t bytes = 0;
  };

  // `table` and `ledger` must outlive it.
  CollectionSuspension(CollectionTable& table, const MemoryLedger& ledger,
                       Options options);
  // Cancels the present move, and waits for its end. Waiting resumptions get no
  // answer.
  ~CollectionSuspension();
  CollectionSuspension(const CollectionSuspension&) = delete;
  CollectionSuspension& operator=(const CollectionSuspension&) = delete;

  // See CollectionService. Both block until the bytes are moved. CANCELLED:
  // `cancelled` returned true. RESOURCE_EXHAUSTED: also too many waiting calls
  // of the viewer. DEADLINE_EXCEEDED: the copy took too long.
  absl::StatusOr<Moved> Suspend(const CollectionTable::Viewer& viewer,
                                const std::string& name, uint64_t version,
                                bool on_disk, const Cancelled& cancelled);
  absl::StatusOr<Moved> Resume(const CollectionTable::Viewer& viewer,
                               const std::string& name, uint64_t version,
                               const Cancelled& cancelled);

  // Resumes the version for a reader, if it is still suspended, and calls
  // `done` in another thread unless it is cancelled. The version is held open
  // until `done` returns. Does not block.
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
  // Copy the chunks of a move, and finish or cancel it.
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
  std::thread thread_;  // of the readers that wait
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_SUSPENSION_H_
