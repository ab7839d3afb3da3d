// SPDX-License-Identifier: Apache-2.0
//
// Device memory in a file, or in memory of this process, while its session is
// suspended.
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_MEMORY_IMAGE_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_MEMORY_IMAGE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/cuda/stream.h"
#include "cuda.h"
#include "server/account/quota.h"
#include "server/executor/memory/pinned_memory.h"

namespace holdfast::executor {

struct DeviceRange {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // bytes
};

struct FilePlace {
  int file = -1;  // borrowed
  uint64_t offset = 0;
};

// Copies between a device and the host, by way of a page-locked block that is
// charged to `staging`. Copies block until the bytes are there. REQUIRES: no
// device uses the ranges. Not thread-safe.
class MemoryCopier {
 public:
  static absl::StatusOr<std::unique_ptr<MemoryCopier>> Create(
      std::shared_ptr<const cuda::Context> context, Quota& staging);
  ~MemoryCopier();
  MemoryCopier(const MemoryCopier&) = delete;
  MemoryCopier& operator=(const MemoryCopier&) = delete;

  absl::Status Save(DeviceRange memory, char* bytes);
  absl::Status Load(DeviceRange memory, const char* bytes);

  absl::Status Save(DeviceRange memory, FilePlace place);
  // DATA_LOSS: the file is shorter.
  absl::Status Load(DeviceRange memory, FilePlace place);

 private:
  // Bytes of a part, and the offset at which it lies in the whole.
  struct Part {
    char* bytes = nullptr;
    uint64_t size = 0;
    uint64_t offset = 0;
  };
  using Carry = absl::FunctionRef<absl::Status(Part)>;

  MemoryCopier(std::unique_ptr<cuda::Stream> stream,
               std::unique_ptr<PinnedMemory> block);

  // `take` gets each part of the memory; `give` fills each in.
  absl::Status SaveParts(DeviceRange memory, Carry take);
  absl::Status LoadParts(DeviceRange memory, Carry give);

  const std::unique_ptr<cuda::Stream> stream_;
  const std::unique_ptr<PinnedMemory> block_;
};

// The copier of the device that was asked for last: ranges come device by
// device, and a copier's block is charged. Not thread-safe.
class MemoryCopiers {
 public:
  explicit MemoryCopiers(std::shared_ptr<Quota> staging)
      : staging_(std::move(staging)) {}

  // It is valid until the next call. As MemoryCopier::Create.
  absl::StatusOr<MemoryCopier*> For(
      const std::shared_ptr<const cuda::Context>& context);
  void Clear();

 private:
  const std::shared_ptr<Quota> staging_;
  std::shared_ptr<const cuda::Context> context_;  // the copier's
  std::unique_ptr<MemoryCopier> copier_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_MEMORY_IMAGE_H_
