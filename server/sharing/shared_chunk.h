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
#include "server/supervisor/device_memory.h"
#include "server/supervisor/memory_ledger.h"

namespace holdfast {

// A chunk of device memory that several sessions may use. Its owner, each
// export that can still be redeemed and each session that has imported it hold
// it by shared_ptr; the last one frees the memory and returns what it was
// charged. Until then it is charged to its owner's session, and in the sum of
// its device also when that session has ended. Thread-safe.
class SharedChunk {
 public:
  struct Options {
    UniqueFd descriptor;
    DescriptorStore::Kept kept;
    uint32_t device = 0;
    uint64_t size = 0;  // bytes
    supervisor::MemoryGrants::Detached charge;
    // Set when the session that made it ends.
    std::shared_ptr<const std::atomic<bool>> owner_ended;
    // Is told when the memory is gone; must outlive the chunk.
    supervisor::DeviceMemory* memory = nullptr;
  };
  explicit SharedChunk(Options options) : options_(std::move(options)) {}
  ~SharedChunk();
  SharedChunk(const SharedChunk&) = delete;
  SharedChunk& operator=(const SharedChunk&) = delete;

  uint32_t device() const { return options_.device; }
  uint64_t size() const { return options_.size; }

  // Its owner's own descriptor; borrowed.
  int descriptor() const { return options_.descriptor.get(); }

  // A descriptor for a process that may have these rights. A descriptor of
  // memory in a file (the software driver's) with RIGHTS_READ cannot be mapped
  // for writing; one of a GPU's memory has no rights, and the mapping enforces
  // them. FAILED_PRECONDITION: to write, when the chunk is sealed.
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
  bool orphaned() const { return *options_.owner_ended; }

  // Charges the chunk to those whose collection it belongs to, once, however
  // many arrays and versions lie in it: the first call takes its bytes from
  // `quota`, and while the result lives each further call returns the same.
  // RESOURCE_EXHAUSTED: as Quota::Take.
  absl::StatusOr<std::shared_ptr<const Charge>> ChargeOnce(Quota& quota);

 private:
  const Options options_;
  mutable absl::Mutex mutex_;
  bool writable_elsewhere_ ABSL_GUARDED_BY(mutex_) = false;
  bool sealed_ ABSL_GUARDED_BY(mutex_) = false;
  std::weak_ptr<const Charge> charge_ ABSL_GUARDED_BY(mutex_);
};

// Is `fd` something that a driver may make of device memory of this size? A
// file that can shrink is not: who has mapped it gets SIGBUS.
absl::Status CheckChunkDescriptor(int fd, uint64_t size);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_SHARED_CHUNK_H_
