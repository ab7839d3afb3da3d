// SPDX-License-Identifier: Apache-2.0
//
// The handles of one session that are in use. The client chooses them, so that
// creating a resource needs no answer: the lowest costs are a free list, and a
// generation that grows each time an index is used again.
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
  // `max_handles` of each kind; SessionLimits.max_handles. Bounded by what a
  // handle can hold.
  explicit HandlePool(uint32_t max_handles);

  // RESOURCE_EXHAUSTED: all are in use. Names the kind and the limit.
  absl::StatusOr<uint64_t> Allocate(HandleKind kind);

  // Call after the command that ends the handle was submitted. Ignores 0.
  void Free(uint64_t handle);

  // Leaves indices below `unused_from` to another client, which has used the
  // session before. REQUIRES: there was no Allocate of this kind.
  void Skip(HandleKind kind, uint32_t unused_from);
  // Takes over a handle of that client; Free gives its index out again. False:
  // it is none of that client's, or was taken over before.
  bool Adopt(uint64_t handle);

 private:
  // The handles of one kind.
  struct Kind {
    // By index: of its last use by this client; 0: there was none.
    std::vector<uint32_t> generations;
    std::vector<uint32_t> free;  // indices
  };

  const uint32_t max_handles_;
  absl::Mutex mutex_;
  std::array<Kind, 256> kinds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_HANDLE_POOL_H_
