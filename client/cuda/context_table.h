// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_CONTEXT_TABLE_H_
#define HOLDFAST_CLIENT_CUDA_CONTEXT_TABLE_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/device.h"
#include "client/cuda/context.h"
#include "core/cuda/stream_attributes.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Every context that the program has made, and the primary context of each
// device. The handle of an ended context stays known, since it may be current
// in a thread. Thread-safe.
class ContextTable {
 public:
  struct Device {
    holdfast::Device device;
    cuda::StreamAttributes::Limits limits;
  };

  // `devices` are the program's, in the order of its numbers.
  explicit ContextTable(std::vector<Device> devices);

  std::shared_ptr<Context> Create(int ordinal, unsigned flags);
  // Returns null if the handle is no context, or one that has ended.
  std::shared_ptr<Context> Find(CUcontext handle) const;
  // Returns the device's number, also for a context that has ended; -1: the
  // handle was never a context.
  int OrdinalOf(CUcontext handle) const;
  // Ends a context of Create, and returns it so that the caller can end its
  // resources. Returns null if the handle has no such context.
  std::shared_ptr<Context> Remove(CUcontext handle);

  // The primary context of a device. Its handle never changes.
  // `Retain` makes the context if there is none, and counts a user.
  CUcontext Retain(int ordinal);
  // Drops a user. Returns false if there is none. If it was the last user, ends
  // the context and sets *ended to it.
  bool Release(int ordinal, std::shared_ptr<Context>* ended);
  // Ends the context and returns it; null if there is none. The count of users
  // does not change.
  std::shared_ptr<Context> Reset(int ordinal);
  bool IsActive(int ordinal) const;
  unsigned Flags(int ordinal) const;
  // Sets the flags of the present context and of later ones.
  void SetFlags(int ordinal, unsigned flags);
  bool IsPrimary(CUcontext handle) const;

 private:
  struct Entry {
    int ordinal = 0;
    std::shared_ptr<Context> context;
  };
  struct Primary {
    CUcontext handle = nullptr;
    unsigned flags = CU_CTX_SCHED_AUTO;
    int users = 0;
  };

  CUcontext NewHandle(int ordinal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Context> Make(int ordinal, unsigned flags,
                                CUcontext handle) const;
  Primary& Of(int ordinal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return primaries_[static_cast<size_t>(ordinal)];
  }

  const std::vector<Device> devices_;
  mutable absl::Mutex mutex_;
  std::map<CUcontext, Entry> contexts_ ABSL_GUARDED_BY(mutex_);
  std::vector<Primary> primaries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_CONTEXT_TABLE_H_
