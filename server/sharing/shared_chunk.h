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
// holder frees the memory and its charge. The chunk is charged to its owner's
// session; after the session has released it, to the session's tenant and in
// the sum of its device.
//
// A chunk that only suspended versions of collections hold may leave its
// device: its bytes are then in a file, and it holds and is charged for no
// device memory until it returns. Thread-safe.
class SharedChunk {
 public:
  struct Options {
    UniqueFd descriptor;
    DescriptorStore::Kept kept;
    // The store, and the kind of the descriptor's name in it: "chunk" for
    // memory of a session, "owned" for memory of a collection. Null: it is not
    // kept.
    DescriptorStore* store = nullptr;
    KeptName name;
    uint32_t device = 0;
    uint64_t size = 0;  // bytes
    MemoryGrants::Detached charge;
    // The bytes, if an earlier daemon has suspended the chunk; there is no
    // descriptor then.
    std::unique_ptr<const SuspendedMemory> saved;
    // Set when the session that made it ends.
    std::shared_ptr<const std::atomic<bool>> owner_ended;
    // Notified when the memory was freed. Must outlive the chunk.
    DeviceMemory* memory = nullptr;
  };
  explicit SharedChunk(Options options);
  ~SharedChunk();
  SharedChunk(const SharedChunk&) = delete;
  SharedChunk& operator=(const SharedChunk&) = delete;

  // Facts that can be read without holding the chunk, since a holder keeps it
  // from being suspended.
  struct Footprint {
    uint32_t device = 0;
    uint64_t size = 0;  // bytes
    std::shared_ptr<const std::atomic<bool>> owner_ended;
    std::atomic<bool> resident = true;
    // True once the chunk has left its device. No session is charged since
    // then.
    std::atomic<bool> detached = false;

    // True if the chunk is on its device and is charged to no live session.
    bool orphaned() const { return resident && (detached || *owner_ended); }
  };
  std::shared_ptr<const Footprint> footprint() const { return footprint_; }

  uint32_t device() const { return footprint_->device; }
  uint64_t size() const { return footprint_->size; }

  // The owner's descriptor; borrowed. REQUIRES: the chunk stays on the device.
  int descriptor() const;

  // True if the bytes are on the device; false if they are in a file.
  bool resident() const { return footprint_->resident; }
  // The file; borrowed. -1 if the chunk is resident.
  int saved_descriptor() const;

  // The place of the bytes: device memory or a file. Its destructor, which may
  // take seconds, first removes its name from the store, which holds the memory
  // as well, and returns the charge last.
  struct Place {
    MemoryGrants::Detached charge;  // of the device
    UniqueFd descriptor;
    std::unique_ptr<const SuspendedMemory> saved;  // null: none
    KeptName name;
    DescriptorStore::Kept kept;
  };
  // Return a place with the same bytes, which is in the store already. While
  // both places are there, the next daemon would find both, and use the file.
  Place InFile(std::unique_ptr<const SuspendedMemory> saved) const;
  Place OnDevice(UniqueFd descriptor, MemoryGrants::Detached charge) const;
  // Moves the chunk to `place`. Returns the old place, for the caller to
  // destroy. REQUIRES: `place` is this chunk's, and no process has the bytes
  // mapped.
  [[nodiscard]] Place Move(Place place);

  // Returns a descriptor for a process with these rights. With RIGHTS_READ,
  // memory in a file (the software driver's) cannot be mapped for writing; a
  // GPU's memory has no rights, so the mapping enforces them.
  // FAILED_PRECONDITION: the chunk is not resident, or is sealed and the rights
  // include writing.
  absl::StatusOr<UniqueFd> Open(v1::Rights rights);

  // Seals the chunk: no process gets the right to write any more. Returns false
  // if it was sealed before. FAILED_PRECONDITION: a process has that right.
  absl::StatusOr<bool> Seal();
  void Unseal();
  bool sealed() const {
    absl::MutexLock lock(&mutex_);
    return sealed_;
  }

  // True if the session that made it has ended.
  bool orphaned() const { return *footprint_->owner_ended; }

  // Charges the chunk to the owner of its collection once, however many arrays
  // and versions it holds: the first call takes its bytes from `quota`, and
  // later calls return the same charge while it lives. RESOURCE_EXHAUSTED: as
  // Quota::Take.
  absl::StatusOr<std::shared_ptr<const Charge>> ChargeOnce(Quota& quota);

  // Charges the chunk to `quota`, the tenant of the session that made it and
  // now releases it, until the last holder releases it. So ending sessions does
  // not help a tenant to exceed its quota. If the chunk is charged for a
  // collection, `quota` is not charged. Ends the charge in the tenant's chunks.
  void ChargeMaker(Quota& quota);

 private:
  // Returns a place whose descriptor is in the store, under a name of this
  // kind.
  Place Keep(const char* kind, int fd) const;

  const std::shared_ptr<Footprint> footprint_;
  DeviceMemory* const memory_;
  DescriptorStore* const store_;
  mutable absl::Mutex mutex_;
  Place place_ ABSL_GUARDED_BY(mutex_);
  bool writable_elsewhere_ ABSL_GUARDED_BY(mutex_) = false;
  bool sealed_ ABSL_GUARDED_BY(mutex_) = false;
  std::weak_ptr<const Charge> charge_ ABSL_GUARDED_BY(mutex_);
  // The charge to its maker's tenant, after the maker has released it.
  Charge makers_charge_ ABSL_GUARDED_BY(mutex_);
};

// Checks that `fd` can be device memory of this size. A file that can shrink is
// refused: it could cause SIGBUS in processes that have it mapped.
absl::Status CheckChunkDescriptor(int fd, uint64_t size);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_SHARED_CHUNK_H_
