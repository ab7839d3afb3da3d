// SPDX-License-Identifier: Apache-2.0
//
// Device memory in a file, while its session is suspended.
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_MEMORY_IMAGE_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_MEMORY_IMAGE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "core/cuda/context.h"
#include "cuda.h"
#include "server/executor/quota.h"

namespace holdfast::executor {

struct DeviceRange {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // bytes
};

struct FilePlace {
  int file = -1;  // borrowed
  uint64_t offset = 0;
};

// Copy device memory to a file, and back. They pass through a page-locked block
// that is charged to `staging` and block until the bytes are there. REQUIRES:
// no device uses the range.
absl::Status SaveMemory(const std::shared_ptr<const cuda::Context>& context,
                        Quota& staging, DeviceRange memory, FilePlace place);
// DATA_LOSS: the file is shorter.
absl::Status LoadMemory(const std::shared_ptr<const cuda::Context>& context,
                        Quota& staging, DeviceRange memory, FilePlace place);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_MEMORY_IMAGE_H_
