// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/library.h"

#include <algorithm>
#include <utility>

#include "core/software/driver/device.h"
#include "core/software/driver/settings.h"

namespace holdfast::software {

namespace {

// 0 of the width, and so on.
int AxisOf(CUfunction_attribute attribute) {
  return attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
}

}  // namespace

Kernel::Kernel(std::shared_ptr<Code> code, size_t index)
    : code_(std::move(code)), index_(index) {
  const auto free = DeviceLimits::kSharedPerBlock -
                    static_cast<int64_t>(properties().static_shared_bytes);
  for (DeviceSettings& device : settings_) {
    device.max_dynamic_shared = static_cast<int>(std::max<int64_t>(free, 0));
  }
}

CUresult Kernel::GetAttribute(CUfunction_attribute attribute, CUdevice device,
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
      return answer(p.ptx_version);
    // PTX is compiled for the device.
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return answer(GetSettings().arch());
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return answer(0);
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return answer(p.cluster_must_be_set);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
      uint32_t cluster[3];
      GetRequiredCluster(device, &cluster);
      return answer(cluster[AxisOf(attribute)]);
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return answer(allows_large_clusters(device));
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = settings_[device].cluster_policy;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return answer(max_dynamic_shared(device));
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = settings_[device].carveout;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Kernel::SetAttribute(CUfunction_attribute attribute, CUdevice device,
                              int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const auto total = static_cast<int64_t>(properties().static_shared_bytes);
      if (value < 0 || total + value > DeviceLimits::kSharedPerBlockOptIn) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      settings_[device].max_dynamic_shared = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      settings_[device].carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return RequireCluster(device, AxisOf(attribute), value);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      settings_[device].large_clusters = value != 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
          value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      settings_[device].cluster_policy = value;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// A size that the PTX text requires may be set again, but not changed.
CUresult Kernel::RequireCluster(CUdevice device, int axis, int blocks) {
  if (blocks < 0) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t(&required)[3] = properties().required_cluster;
  const auto number = static_cast<uint32_t>(blocks);
  if (required[0] != 0) {
    return required[axis] == number ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  settings_[device].cluster[axis] = number;
  return CUDA_SUCCESS;
}

void Kernel::GetRequiredCluster(CUdevice device, uint32_t (*cluster)[3]) const {
  const uint32_t(&required)[3] = properties().required_cluster;
  for (int i = 0; i < 3; ++i) {
    (*cluster)[i] =
        required[0] != 0 ? required[i] : settings_[device].cluster[i].load();
  }
}

int Kernel::BlocksPerMultiprocessor(CUdevice device, int threads,
                                    size_t dynamic_shared) const {
  using Limits = DeviceLimits;
  const KernelProperties& p = properties();
  if (threads < 1 || threads > p.max_threads_per_block ||
      dynamic_shared > static_cast<size_t>(max_dynamic_shared(device))) {
    return 0;
  }
  const int whole_warps = RoundUp(threads, Limits::kWarpSize);
  const size_t shared = p.static_shared_bytes + dynamic_shared;
  if (shared > Limits::kSharedPerBlockOptIn) return 0;
  const size_t by_shared = Limits::kSharedPerMultiprocessor /
                           (shared + Limits::kSharedReservedPerBlock);
  const int by_threads = Limits::kThreadsPerMultiprocessor / whole_warps;
  return std::min({by_threads, static_cast<int>(by_shared),
                   Limits::kBlocksPerMultiprocessor});
}

Library::Library(std::unique_ptr<Executable> executable, const Context* context,
                 MemoryMap& memory)
    : code_(std::make_shared<Code>(std::move(executable), context, memory)),
      context_id_(context == nullptr ? 0 : context->id()) {
  for (size_t i = 0; i < code_->image().kernels().size(); ++i) {
    kernels_.push_back({nullptr, std::make_shared<Kernel>(code_, i)});
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

CUresult Library::FindGlobal(absl::string_view name, const Context& context,
                             GlobalVariable* variable) const {
  const auto& declared = code_->image().globals();
  const auto it =
      std::find_if(declared.begin(), declared.end(),
                   [name](const GlobalVariable& v) { return v.name == name; });
  if (it == declared.end()) return CUDA_ERROR_NOT_FOUND;
  const std::shared_ptr<Executable> copy = code_->For(context);
  if (copy == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *variable = copy->globals()[static_cast<size_t>(it - declared.begin())];
  return CUDA_SUCCESS;
}

}  // namespace holdfast::software
