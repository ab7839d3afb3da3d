// SPDX-License-Identifier: Apache-2.0
//
// Copies device memory to a file or to host memory when its session is
// suspended, and back when the session resumes.
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

// Copies between a device and the host, through a page-locked block that is
// charged to `staging` as long as the object lives. Each call blocks until its
// bytes are copied. REQUIRES: no device uses the ranges. Not thread-safe.
class MemoryCopier {
 public:
  static absl::StatusOr<std::unique_ptr<MemoryCopier>> Create(
      std::shared_ptr<const cuda::Context> context, Quota& staging);
  ~MemoryCopier();
  MemoryCopier(const MemoryCopier&) = delete;
  MemoryCopier& operator=(const MemoryCopier&) = delete;

  // Save copies from the device, and Load copies to the device. `bytes` has
  // memory.size bytes.
  absl::Status Save(DeviceRange memory, char* bytes);
  absl::Status Load(DeviceRange memory, const char* bytes);

  absl::Status Save(DeviceRange memory, FilePlace place);
  // Copies bytes of the file to the device. DATA_LOSS: the file ends before all
  // bytes of the range are read.
  absl::Status Load(DeviceRange memory, FilePlace place);

 private:
  // A part of a range: its bytes in the block, and its offset in the range.
  struct Part {
    char* bytes = nullptr;
    uint64_t size = 0;
    uint64_t offset = 0;
  };
  using Carry = absl::FunctionRef<absl::Status(Part)>;

  MemoryCopier(std::unique_ptr<cuda::Stream> stream,
               std::unique_ptr<PinnedMemory> block);

  // SaveParts copies each part from the device, and then calls `take`.
  // LoadParts calls `give` to fill each part, and then copies it to the device.
  absl::Status SaveParts(DeviceRange memory, Carry take);
  absl::Status LoadParts(DeviceRange memory, Carry give);

  const std::unique_ptr<cuda::Stream> stream_;
  const std::unique_ptr<PinnedMemory> block_;
};

// Keeps one copier, for the device of the last call. Only one, because each
// copier's block is charged: callers copy their ranges device by device. Not
// thread-safe.
class MemoryCopiers {
 public:
  explicit MemoryCopiers(std::shared_ptr<Quota> staging)
      : staging_(std::move(staging)) {}

  // Returns the copier of the context's device, valid until the next call.
  // Fails as MemoryCopier::Create.
  absl::StatusOr<MemoryCopier*> For(
      const std::shared_ptr<const cuda::Context>& context);
  // Destroys the copier.
  void Clear();

 private:
  const std::shared_ptr<Quota> staging_;
  std::shared_ptr<const cuda::Context> context_;  // the copier's
  std::unique_ptr<MemoryCopier> copier_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_MEMORY_IMAGE_H_
