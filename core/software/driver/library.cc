// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/library.h"

#include <algorithm>
#include <utility>

#include "core/software/driver/device.h"

namespace holdfast::software {

Kernel::Kernel(std::shared_ptr<Executable> executable, size_t index)
    : executable_(std::move(executable)), index_(index) {
  const auto free = DeviceLimits::kSharedPerBlock -
                    static_cast<int64_t>(properties().static_shared_bytes);
  max_dynamic_shared_ = static_cast<int>(std::max<int64_t>(free, 0));
}

CUresult Kernel::GetAttribute(CUfunction_attribute attribute,
                              int* value) const {
  const KernelProperties& p = properties();
  const auto answer = [value](size_t number) {
    *value = static_cast<int>(number);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return answer(p.max_threads_per_block);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return answer(p.static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return answer(p.constant_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return answer(p.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return answer(std::clamp(p.registers, 1, 255));
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return answer(p.ptx_version);
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return answer(0);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return answer(max_dynamic_shared_);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = carveout_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Kernel::SetAttribute(CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const auto total = static_cast<int64_t>(properties().static_shared_bytes);
      if (value < 0 || total + value > DeviceLimits::kSharedPerBlockOptIn) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      max_dynamic_shared_ = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      carveout_ = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

int Kernel::BlocksPerMultiprocessor(int threads, size_t dynamic_shared) const {
  using Limits = DeviceLimits;
  const KernelProperties& p = properties();
  if (threads < 1 || threads > p.max_threads_per_block) return 0;
  const int whole_warps = RoundUp(threads, Limits::kWarpSize);
  const size_t shared = p.static_shared_bytes + dynamic_shared;
  if (shared > Limits::kSharedPerBlockOptIn) return 0;
  const size_t by_shared = Limits::kSharedPerMultiprocessor /
                           (shared + Limits::kSharedReservedPerBlock);
  const int by_threads = Limits::kThreadsPerMultiprocessor / whole_warps;
  return std::min({by_threads, static_cast<int>(by_shared),
                   Limits::kBlocksPerMultiprocessor});
}

Library::Library(std::shared_ptr<Executable> executable, uint64_t context_id,
                 MemoryMap& memory)
    : executable_(std::move(executable)),
      context_id_(context_id),
      memory_(memory) {
  for (size_t i = 0; i < executable_->kernels().size(); ++i) {
    kernels_.push_back({nullptr, std::make_shared<Kernel>(executable_, i)});
  }
  for (const GlobalVariable& variable : executable_->globals()) {
    Region region;
    region.address = reinterpret_cast<uintptr_t>(variable.address);
    region.size = variable.size;
    region.kind = MemoryKind::kGlobal;
    memory_.Insert(std::move(region));
  }
}

Library::~Library() {
  for (const GlobalVariable& variable : executable_->globals()) {
    memory_.Remove(reinterpret_cast<uintptr_t>(variable.address),
                   {MemoryKind::kGlobal});
  }
}

bool Library::Owns(CUfunction handle) const {
  return std::any_of(
      kernels_.begin(), kernels_.end(),
      [handle](const Entry& entry) { return entry.handle == handle; });
}

const Library::Entry* Library::FindKernel(absl::string_view name) const {
  for (const Entry& entry : kernels_) {
    if (entry.kernel->properties().name == name) return &entry;
  }
  return nullptr;
}

const GlobalVariable* Library::FindGlobal(absl::string_view name) const {
  for (const GlobalVariable& variable : executable_->globals()) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

}  // namespace holdfast::software
