// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_EXPORTED_H_
#define HOLDFAST_CLIENT_CUDA_EXPORTED_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/resource.h"
#include "client/cpp/sharing/export.h"

namespace holdfast::libcuda {

// The export of one memory or event to other processes of the program's tenant,
// which ends with this object. Thread-safe.
class Exported {
 public:
  // Returns the token of the export: 16 bytes, the same at every call, until it
  // nears the end of the longest lifetime that a daemon grants. The first call
  // waits for the daemon. Fails as ExportResource.
  absl::StatusOr<std::string> Token(const Resource& resource,
                                    ExportOptions options,
                                    const std::string& tenant);

 private:
  absl::Mutex mutex_;
  std::unique_ptr<ScopedExport> export_ ABSL_GUARDED_BY(mutex_);
  absl::Time renewal_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_EXPORTED_H_
