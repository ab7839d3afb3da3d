// SPDX-License-Identifier: Apache-2.0
//
// Allocates a session's handles on the client, so that creating a resource
// needs no round trip. A reused index gets a larger generation.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_HANDLE_POOL_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_HANDLE_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/handle.h"

namespace holdfast {

// Thread-safe.
class HandlePool {
 public:
  // `max_handles` is the limit of each kind, SessionLimits.max_handles; the
  // range of a handle's index limits it, too. The first handle of each index
  // has generation `first_generation`, and each reuse adds 1. By default the
  // sessions of a process begin far apart, so that the daemon refuses nearly
  // every handle of another session, instead of using a resource with the same
  // index.
  explicit HandlePool(uint32_t max_handles,
                      uint32_t first_generation = NextFirstGeneration());

  // Returns an unused handle. RESOURCE_EXHAUSTED: all handles of this kind are
  // in use; the message names the kind and the limit.
  absl::StatusOr<uint64_t> Allocate(HandleKind kind);

  // Returns true if the handle has the generation of a first use: no command of
  // this client has named the index. REQUIRES: the index was not adopted.
  bool IsFirstOfIndex(uint64_t handle) const {
    return Handle::Unpack(handle).generation == first_generation_;
  }

  // Frees a handle, after the command that ends it was submitted. Ignores 0.
  void Free(uint64_t handle);

  // Reserves the indices below `unused_from` for handles of the session's
  // earlier client. REQUIRES: no Allocate of this kind yet.
  void Skip(HandleKind kind, uint32_t unused_from);
  // Takes over a handle of the session's earlier client; Free makes its index
  // reusable. Returns false if the handle is not from that client, or was taken
  // over before.
  bool Adopt(uint64_t handle);

 private:
  static uint32_t NextFirstGeneration();

  // The handles of one kind.
  struct Kind {
    // The generation of each index's last use by this client; 0: an index of
    // the session's earlier client, which was not adopted.
    std::vector<uint32_t> generations;
    std::vector<uint32_t> free;  // indices
  };

  const uint32_t max_handles_;
  const uint32_t first_generation_;
  absl::Mutex mutex_;
  std::array<Kind, 256> kinds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_HANDLE_POOL_H_
