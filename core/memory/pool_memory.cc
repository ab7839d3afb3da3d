// SPDX-License-Identifier: Apache-2.0
#include "core/memory/pool_memory.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::memory {
namespace {

using SharedContext = std::shared_ptr<const cuda::Context>;

// An imported pool, destroyed with this object.
class ImportedPool {
 public:
  static absl::StatusOr<std::unique_ptr<const ImportedPool>> Import(
      const SharedContext& context, int descriptor) {
    const cuda::DriverApi& api = context->api();
    CUmemoryPool pool = nullptr;
    // The driver wants the number itself where a pointer stands.
    HOLDFAST_CUDA_RETURN_IF_ERROR(
        api, cuMemPoolImportFromShareableHandle(
                 &pool, reinterpret_cast<void*>(intptr_t{descriptor}),
                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return std::unique_ptr<const ImportedPool>(new ImportedPool(context, pool));
  }
  ~ImportedPool() {
    const cuda::ScopedContext current(*context_);
    if (current.status().ok()) (void)context_->api().cuMemPoolDestroy(pool_);
  }
  ImportedPool(const ImportedPool&) = delete;
  ImportedPool& operator=(const ImportedPool&) = delete;

  CUmemoryPool get() const { return pool_; }

 private:
  ImportedPool(SharedContext context, CUmemoryPool pool)
      : context_(std::move(context)), pool_(pool) {}

  const SharedContext context_;
  const CUmemoryPool pool_;
};

// An address at which memory of pools is mapped.
struct Mapped {
  size_t users = 0;  // instances of PoolMemory
  std::vector<std::unique_ptr<const ImportedPool>> pools;  // one of each
};

absl::Mutex mapped_mutex(absl::kConstInit);

std::map<CUdeviceptr, Mapped>& AllMapped()
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mapped_mutex) {
  static auto& all = *new std::map<CUdeviceptr, Mapped>;
  return all;
}

// Imports memory of the pool and counts one user more at its address. Under one
// lock with Unmap: an address of another PoolMemory is not freed meanwhile.
absl::StatusOr<CUdeviceptr> Map(const cuda::DriverApi& api,
                                std::unique_ptr<const ImportedPool> pool,
                                CUmemPoolPtrExportData data) {
  absl::MutexLock lock(&mapped_mutex);
  CUdeviceptr address = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemPoolImportPointer(&address, pool->get(), &data));
  Mapped& mapped = AllMapped()[address];
  ++mapped.users;
  mapped.pools.push_back(std::move(pool));
  return address;
}

void Unmap(const cuda::DriverApi& api, CUdeviceptr address) {
  absl::MutexLock lock(&mapped_mutex);
  const auto mapped = AllMapped().find(address);
  if (--mapped->second.users > 0) return;
  (void)api.cuMemFree(address);
  AllMapped().erase(mapped);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PoolMemory>> PoolMemory::Import(
    std::shared_ptr<const cuda::Context> context, UniqueFd descriptor,
    const CUmemPoolPtrExportData& data) {
  const cuda::DriverApi& api = context->api();
  if (api.cuMemPoolImportFromShareableHandle == nullptr ||
      api.cuMemPoolImportPointer == nullptr || api.cuMemFree == nullptr ||
      api.cuMemGetAddressRange == nullptr) {
    return absl::UnimplementedError("the driver imports no memory pools");
  }
  const cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_ASSIGN_OR_RETURN(auto pool,
                            ImportedPool::Import(context, descriptor.get()));
  HOLDFAST_ASSIGN_OR_RETURN(const CUdeviceptr address,
                            Map(api, std::move(pool), data));
  std::unique_ptr<PoolMemory> memory(
      new PoolMemory(std::move(context), address));
  CUdeviceptr base = 0;
  size_t size = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api,
                                cuMemGetAddressRange(&base, &size, address));
  memory->size_ = size - (address - base);
  return memory;
}

PoolMemory::~PoolMemory() {
  const cuda::ScopedContext current(*context_);
  if (current.status().ok()) Unmap(context_->api(), address_);
}

}  // namespace holdfast::memory
