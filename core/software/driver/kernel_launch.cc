// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/kernel_launch.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/software/driver/cluster.h"
#include "core/software/driver/context.h"
#include "core/software/driver/device.h"
#include "core/software/driver/fault.h"
#include "core/software/driver/refusal.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/watchdog.h"

namespace holdfast::software {
namespace {

bool WithinLimits(const uint32_t (&value)[3], const unsigned (&limit)[3]) {
  for (int i = 0; i < 3; ++i) {
    if (value[i] == 0 || value[i] > limit[i]) return false;
  }
  return true;
}

// The parameter block from one pointer a parameter.
void Gather(const KernelProperties& p, void** values, std::string* block) {
  for (size_t i = 0; i < p.parameters.size(); ++i) {
    memcpy(&(*block)[p.parameters[i].offset], values[i], p.parameters[i].size);
  }
}

// The parameter block from `extra`: pairs of a name and a value. As CUDA's
// driver, takes a buffer that ends early, and refuses a longer one. The bytes
// that it lacks are 0.
CUresult ReadExtra(void** extra, std::string* block) {
  const void* buffer = nullptr;
  const size_t* size = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = static_cast<const size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (buffer == nullptr || size == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (*size > block->size()) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  memcpy(&(*block)[0], buffer, *size);
  return CUDA_SUCCESS;
}

CUresult ReadParameters(const KernelProperties& p, void** values, void** extra,
                        std::string* block) {
  block->resize(p.parameter_bytes);
  if (p.parameters.empty()) return CUDA_SUCCESS;
  if (values != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) return ReadExtra(extra, block);
  if (values == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Gather(p, values, block);
  return CUDA_SUCCESS;
}

std::string ToString(const uint32_t (&shape)[3]) {
  return absl::StrCat("(", shape[0], ", ", shape[1], ", ", shape[2], ")");
}

CUresult RefuseGeometry(const KernelProperties& p, absl::string_view reason) {
  return Refuse(CUDA_ERROR_INVALID_VALUE,
                absl::StrCat("kernel ", p.name, reason));
}

// The block that .reqntid, __block_size__ or a compiler's directive fixes.
CUresult CheckRequiredBlock(const KernelProperties& p,
                            const LaunchGeometry& g) {
  if (p.required_block[0] == 0 ||
      std::equal(p.required_block, p.required_block + 3, g.block)) {
    return CUDA_SUCCESS;
  }
  return RefuseGeometry(
      p, absl::StrCat(" requires blocks of ", ToString(p.required_block),
                      " threads (.reqntid); this one is ", ToString(g.block)));
}

void Assign(unsigned x, unsigned y, unsigned z, uint32_t (&dims)[3]) {
  dims[0] = x;
  dims[1] = y;
  dims[2] = z;
}

}  // namespace

CUresult RefuseUnsupported(const Kernel& kernel) {
  const KernelProperties& p = kernel.properties();
  return RefuseCode(CUDA_ERROR_NOT_SUPPORTED,
                    absl::StrCat("kernel ", p.name, " at ", p.unsupported));
}

CUresult CheckGeometry(const Kernel& kernel, const Device& device,
                       LaunchGeometry* geometry) {
  const LaunchGeometry& g = *geometry;
  using Limits = DeviceLimits;
  const KernelProperties& p = kernel.properties();
  if (!p.unsupported.empty()) return RefuseUnsupported(kernel);
  if (!WithinLimits(g.grid, Limits::kGridDim) ||
      !WithinLimits(g.block, Limits::kBlockDim)) {
    return RefuseGeometry(
        p, absl::StrCat(" cannot have a grid ", ToString(g.grid), " of blocks ",
                        ToString(g.block)));
  }
  const uint32_t threads = g.block[0] * g.block[1] * g.block[2];
  if (threads > static_cast<uint32_t>(p.max_threads_per_block)) {
    return RefuseGeometry(
        p, absl::StrCat(" has at most ", p.max_threads_per_block,
                        " threads a block; this one has ", threads));
  }
  const CUresult required = CheckRequiredBlock(p, g);
  if (required != CUDA_SUCCESS) return required;
  const auto shared =
      static_cast<size_t>(kernel.max_dynamic_shared(device.ordinal()));
  if (g.dynamic_shared_bytes > shared) {
    return RefuseGeometry(
        p, absl::StrCat(" has at most ", shared,
                        " bytes of dynamic shared memory a block "
                        "(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES); "
                        "the launch asks for ",
                        g.dynamic_shared_bytes));
  }
  const CUresult cluster = ResolveCluster(kernel, device, geometry);
  if (cluster != CUDA_SUCCESS) return cluster;
  if (g.cooperative) {
    // All blocks must be resident at a time.
    const uint64_t resident =
        static_cast<uint64_t>(kernel.BlocksPerMultiprocessor(
            device.ordinal(), threads, g.dynamic_shared_bytes)) *
        device.multiprocessors();
    const uint64_t blocks = uint64_t{g.grid[0]} * g.grid[1] * g.grid[2];
    if (blocks > resident) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_SUCCESS;
}

CUresult ApplyAttribute(const CUlaunchAttribute& attribute,
                        LaunchGeometry* geometry) {
  constexpr CUresult kHint = CUDA_SUCCESS;
  constexpr CUresult kRefused = CUDA_ERROR_NOT_SUPPORTED;
  constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;
  const CUlaunchAttributeValue& value = attribute.value;
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) {
    const auto& size = value.preferredClusterDim;
    Assign(size.x, size.y, size.z, geometry->preferred_cluster);
  }
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      geometry->cooperative = value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      Assign(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z,
             geometry->cluster);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
      return CUDA_SUCCESS;
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  case CU_LAUNCH_ATTRIBUTE_##CUDA_ID:                                  \
    return software;
#include "proto/launch_attributes.inc"
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult ReadConfig(const CUlaunchConfig* config, LaunchGeometry* geometry) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *geometry = {{config->gridDimX, config->gridDimY, config->gridDimZ},
               {config->blockDimX, config->blockDimY, config->blockDimZ},
               config->sharedMemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUresult result = ApplyAttribute(config->attrs[i], geometry);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult PrepareLaunch(std::shared_ptr<Kernel> kernel, const Context& context,
                       LaunchGeometry geometry, void** values, void** extra,
                       KernelLaunch* launch) {
  if (!kernel->code().UsableIn(context)) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = CheckGeometry(*kernel, context.device(), &geometry);
  if (result != CUDA_SUCCESS) return result;
  context.GetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, &geometry.print_bytes);
  context.GetLimit(CU_LIMIT_STACK_SIZE, &geometry.stack_bytes);
  std::string parameters;
  result = ReadParameters(kernel->properties(), values, extra, &parameters);
  if (result != CUDA_SUCCESS) return result;
  std::shared_ptr<Executable> code = kernel->code().For(context);
  if (code == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *launch = {std::move(kernel), std::move(code), geometry,
             std::move(parameters), DefectOf(context.device().ordinal())};
  return CUDA_SUCCESS;
}

void ReportOutcome(const LaunchOutcome& outcome) {
  if (outcome.result != CUDA_SUCCESS) {
    ReportFault(outcome.result, outcome.message);
  }
}

void Run(const KernelLaunch& launch) {
  while (launch.defect == Defect::kHang) sleep(1);
  if (launch.defect == Defect::kFault) {
    return ReportFault(CUDA_ERROR_ECC_UNCORRECTABLE,
                       "the device is defective, as the test wants it");
  }
  const Deadline deadline{
      std::chrono::seconds(GetSettings().launch_timeout_seconds)};
  ReportOutcome(launch.code->Launch(launch.kernel->index(), launch.geometry,
                                    launch.parameters.data(),
                                    deadline.passed()));
}

}  // namespace holdfast::software
