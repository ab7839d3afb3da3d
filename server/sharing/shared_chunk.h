// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SHARING_SHARED_CHUNK_H_
#define HOLDFAST_SERVER_SHARING_SHARED_CHUNK_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/sharing_commands.pb.h"
#include "server/account/quota.h"
#include "server/kept/descriptor_store.h"
#include "server/kept/kept_name.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/memory/suspended_memory.h"

namespace holdfast {

// A chunk of device memory that several sessions may use. Its owner, each
// redeemable export and each importing session hold it by shared_ptr. The last
// holder frees the memory and its charge. The chunk is charged to its owner,
// the session that made it. After the session has released it, the chunk is
// charged to the session's tenant and in the sum of its device.
//
// A chunk that only suspended versions of collections hold may leave its
// device: its bytes are then in a file, and it holds and is charged for no
// device memory until it returns. Thread-safe.
class SharedChunk {
 public:
  struct Options {
    UniqueFd descriptor;
    DescriptorStore::Kept kept;
    // The store, and the name of the descriptor in it: "chunk" for memory of a
    // session, "owned" for memory of a collection. Null: the descriptor is not
    // kept.
    DescriptorStore* store = nullptr;
    KeptName name;
    uint32_t device = 0;
    uint64_t size = 0;  // bytes
    MemoryGrants::Detached charge;
    // The bytes, if an earlier daemon has suspended the chunk; there is no
    // descriptor then.
    std::unique_ptr<const SuspendedMemory> saved;
    // Becomes true when the session that made the chunk ends.
    std::shared_ptr<const std::atomic<bool>> owner_ended;
    // Notified when the memory is freed or moved. REQUIRES: not null; outlives
    // the chunk.
    DeviceMemory* memory = nullptr;
  };
  explicit SharedChunk(Options options);
  ~SharedChunk();
  SharedChunk(const SharedChunk&) = delete;
  SharedChunk& operator=(const SharedChunk&) = delete;

  // Facts that can be read without holding the chunk, because a chunk that
  // others hold cannot be suspended.
  struct Footprint {
    uint32_t device = 0;
    uint64_t size = 0;  // bytes
    std::shared_ptr<const std::atomic<bool>> owner_ended;
    std::atomic<bool> resident = true;
    // True once the chunk has left its device for the first time. Since then,
    // no session is charged for it.
    std::atomic<bool> detached = false;

    // True if the chunk is on its device and is charged to no live session.
    bool orphaned() const { return resident && (detached || *owner_ended); }
  };
  std::shared_ptr<const Footprint> footprint() const { return footprint_; }

  uint32_t device() const { return footprint_->device; }
  uint64_t size() const { return footprint_->size; }

  // Returns the descriptor of the device memory; borrowed. REQUIRES: the chunk
  // is resident, and stays resident while the result is used.
  int descriptor() const;

  // True if the bytes are on the device; false if they are in a file.
  bool resident() const { return footprint_->resident; }
  // Returns the descriptor of the file with the bytes; borrowed. -1 if the
  // chunk is resident.
  int saved_descriptor() const;

  // The place of the bytes: device memory or a file. The destructor may take
  // seconds. It first removes the place's name from the store, whose descriptor
  // also holds the memory, and returns the charge last.
  struct Place {
    MemoryGrants::Detached charge;  // of the device
    UniqueFd descriptor;
    std::unique_ptr<const SuspendedMemory> saved;  // null: none
    KeptName name;
    DescriptorStore::Kept kept;
  };
  // Return a new place that has the same bytes already, and keep its descriptor
  // in the store. While the store has both places, the next daemon would find
  // both and use the file.
  Place InFile(std::unique_ptr<const SuspendedMemory> saved) const;
  Place OnDevice(UniqueFd descriptor, MemoryGrants::Detached charge) const;
  // Moves the chunk to `place`. Returns the old place, which the caller
  // destroys. REQUIRES: `place` is from InFile or OnDevice of this chunk, and
  // no process has the bytes mapped.
  [[nodiscard]] Place Move(Place place);

  // Returns a new descriptor for a process that gets these rights. With
  // RIGHTS_READ, memory in a file (the software driver's) cannot be mapped for
  // writing; a GPU's memory has no rights, so the mapping enforces them.
  // FAILED_PRECONDITION: the chunk is not resident, or is sealed and the rights
  // include writing.
  absl::StatusOr<UniqueFd> Open(v1::Rights rights);

  // Seals the chunk: from now on, Open gives no process the right to write.
  // Returns false if the chunk was sealed before. FAILED_PRECONDITION: Open has
  // given a process this right.
  absl::StatusOr<bool> Seal();
  // Reverses Seal.
  void Unseal();
  bool sealed() const {
    absl::MutexLock lock(&mutex_);
    return sealed_;
  }

  // Returns true if the session that made the chunk has ended.
  bool orphaned() const { return *footprint_->owner_ended; }

  // Charges the chunk to the owner of its collection once, however many arrays
  // and versions it holds: the first call takes its bytes from `quota`, and
  // later calls return the same charge while it lives. RESOURCE_EXHAUSTED: as
  // Quota::Take.
  absl::StatusOr<std::shared_ptr<const Charge>> ChargeOnce(Quota& quota);

  // Charges the chunk to `quota` until the last holder releases the chunk.
  // Called when the session that made the chunk releases it; `quota` is of the
  // session's tenant. A tenant therefore cannot exceed its quota by ending
  // sessions. If the chunk is charged for a collection, `quota` is not charged.
  // Ends the charge of the tenant's chunks (Detached::of_tenant).
  void ChargeMaker(Quota& quota);

 private:
  // Keeps `fd` in the store under a name of this kind. Returns a place that has
  // only the name and the Kept.
  Place Keep(const char* kind, int fd) const;

  const std::shared_ptr<Footprint> footprint_;
  DeviceMemory* const memory_;
  DescriptorStore* const store_;
  mutable absl::Mutex mutex_;
  Place place_ ABSL_GUARDED_BY(mutex_);
  bool writable_elsewhere_ ABSL_GUARDED_BY(mutex_) = false;
  bool sealed_ ABSL_GUARDED_BY(mutex_) = false;
  std::weak_ptr<const Charge> charge_ ABSL_GUARDED_BY(mutex_);
  // The charge to the tenant of the session that made the chunk, after this
  // session has released it.
  Charge makers_charge_ ABSL_GUARDED_BY(mutex_);
};

// Checks that `fd` can be device memory of this size. INVALID_ARGUMENT: it
// cannot. A file that can shrink is refused, because it could cause SIGBUS in
// processes that have mapped it.
absl::Status CheckChunkDescriptor(int fd, uint64_t size);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_SHARED_CHUNK_H_
