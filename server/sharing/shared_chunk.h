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
#include "server/executor/account/quota.h"
#include "server/restart/descriptor_store.h"
#include "server/restart/kept_name.h"
#include "server/supervisor/device_memory.h"
#include "server/supervisor/memory_ledger.h"
#include "server/supervisor/suspended_memory.h"

namespace holdfast {

// A chunk of device memory that several sessions may use. Its owner, each
// export that can still be redeemed and each session that has imported it hold
// it by shared_ptr; the last one frees the memory and returns what it was
// charged. Until then it is charged to its owner's session, and, when that
// session has let go of it, to the session's tenant and in the sum of its
// device.
//
// A chunk that only suspended versions of collections hold may leave its
// device: its bytes are in a file, and nothing of the device is held or charged
// until they are back. Thread-safe.
class SharedChunk {
 public:
  struct Options {
    UniqueFd descriptor;
    DescriptorStore::Kept kept;
    // The name of the descriptor in that store: "chunk" as a session's memory,
    // "owned" as a collection's; null: it is not kept.
    DescriptorStore* store = nullptr;
    KeptName name;
    uint32_t device = 0;
    uint64_t size = 0;  // bytes
    supervisor::MemoryGrants::Detached charge;
    // The bytes, if an earlier daemon has suspended it: then there is no
    // descriptor.
    std::unique_ptr<const supervisor::SuspendedMemory> saved;
    // Set when the session that made it ends.
    std::shared_ptr<const std::atomic<bool>> owner_ended;
    // Is told when the memory is gone; must outlive the chunk.
    supervisor::DeviceMemory* memory = nullptr;
  };
  explicit SharedChunk(Options options);
  ~SharedChunk();
  SharedChunk(const SharedChunk&) = delete;
  SharedChunk& operator=(const SharedChunk&) = delete;

  // Facts that may be asked for without holding the chunk, which would keep it
  // from being suspended.
  struct Footprint {
    uint32_t device = 0;
    uint64_t size = 0;  // bytes
    std::shared_ptr<const std::atomic<bool>> owner_ended;
    std::atomic<bool> resident = true;
    // It has been off its device: no session is charged for it any more.
    std::atomic<bool> detached = false;

    // It lies on a device, and is charged to no session that is there.
    bool orphaned() const { return resident && (detached || *owner_ended); }
  };
  std::shared_ptr<const Footprint> footprint() const { return footprint_; }

  uint32_t device() const { return footprint_->device; }
  uint64_t size() const { return footprint_->size; }

  // Its owner's own descriptor; borrowed. REQUIRES: it stays on the device.
  int descriptor() const;

  // The bytes are on the device, and not in a file.
  bool resident() const { return footprint_->resident; }
  // The file; borrowed. -1: it is resident.
  int saved_descriptor() const;

  // Where the bytes are: in memory of the device, or in a file. Its end, which
  // may take seconds, takes back its name first, for the store holds the memory
  // as well, and the charge last.
  struct Place {
    supervisor::MemoryGrants::Detached charge;  // of the device
    UniqueFd descriptor;
    std::unique_ptr<const supervisor::SuspendedMemory> saved;  // null: none
    KeptName name;
    DescriptorStore::Kept kept;
  };
  // A place that has the same bytes, in the store already: from now on, until
  // one of the two ends, the next daemon finds both, and takes the file.
  Place InFile(std::unique_ptr<const supervisor::SuspendedMemory> saved) const;
  Place OnDevice(UniqueFd descriptor,
                 supervisor::MemoryGrants::Detached charge) const;
  // The bytes are there now. Returns where they were, for the caller to let go
  // of. REQUIRES: `place` is this chunk's, and nobody has the bytes mapped.
  [[nodiscard]] Place Move(Place place);

  // A descriptor for a process that may have these rights. A descriptor of
  // memory in a file (the software driver's) with RIGHTS_READ cannot be mapped
  // for writing; one of a GPU's memory has no rights, and the mapping enforces
  // them. FAILED_PRECONDITION: to write, when the chunk is sealed; it is not
  // resident.
  absl::StatusOr<UniqueFd> Open(v1::Rights rights);

  // From now on nobody gets the right to write. Returns false if it was sealed
  // before. FAILED_PRECONDITION: somebody has that right.
  absl::StatusOr<bool> Seal();
  void Unseal();
  bool sealed() const {
    absl::MutexLock lock(&mutex_);
    return sealed_;
  }

  // The session that made it has ended.
  bool orphaned() const { return *footprint_->owner_ended; }

  // Charges the chunk to those whose collection it belongs to, once, however
  // many arrays and versions lie in it: the first call takes its bytes from
  // `quota`, and while the result lives each further call returns the same.
  // RESOURCE_EXHAUSTED: as Quota::Take.
  absl::StatusOr<std::shared_ptr<const Charge>> ChargeOnce(Quota& quota);

  // The session that made it lets go of it: from now on its bytes count in
  // `quota`, that of the session's tenant, until the last holder lets go. So a
  // tenant cannot have more than its quota by sessions that end. Not if the
  // chunk is charged for a collection.
  void ChargeMaker(Quota& quota);

 private:
  // With the descriptor in the store under a name of this kind.
  Place Keep(const char* kind, int fd) const;

  const std::shared_ptr<Footprint> footprint_;
  supervisor::DeviceMemory* const memory_;
  DescriptorStore* const store_;
  mutable absl::Mutex mutex_;
  Place place_ ABSL_GUARDED_BY(mutex_);
  bool writable_elsewhere_ ABSL_GUARDED_BY(mutex_) = false;
  bool sealed_ ABSL_GUARDED_BY(mutex_) = false;
  std::weak_ptr<const Charge> charge_ ABSL_GUARDED_BY(mutex_);
  // Of its maker's tenant, when its maker has let go of it.
  Charge makers_charge_ ABSL_GUARDED_BY(mutex_);
};

// Is `fd` something that a driver may make of device memory of this size? A
// file that can shrink is not: who has mapped it gets SIGBUS.
absl::Status CheckChunkDescriptor(int fd, uint64_t size);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_SHARED_CHUNK_H_
