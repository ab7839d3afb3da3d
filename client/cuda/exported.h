// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_EXPORTED_H_
#define HOLDFAST_CLIENT_CUDA_EXPORTED_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/sharing/export.h"
#include "client/cpp/state/resource.h"

namespace holdfast::libcuda {

// The export of one buffer or event to other processes of the program's tenant.
// The export ends with this object. Thread-safe.
class Exported {
 public:
  // Returns the token of the export: 16 bytes, valid for 24 hours from the call
  // that made it. Calls within 12 hours of that call return the same token. A
  // call that makes a token waits for the daemon. Fails as ExportResource does.
  absl::StatusOr<std::string> Token(const Resource& resource,
                                    ExportOptions options,
                                    const std::string& tenant);

 private:
  absl::Mutex mutex_;
  std::unique_ptr<ScopedExport> export_ ABSL_GUARDED_BY(mutex_);
  // The export before, whose token is valid for 12 hours more.
  std::unique_ptr<ScopedExport> previous_ ABSL_GUARDED_BY(mutex_);
  absl::Time renewal_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_EXPORTED_H_
