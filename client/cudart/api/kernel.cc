// SPDX-License-Identifier: Apache-2.0
//
// Entry points: kernels, their attributes and their occupancy.
#include "client/cudart/call.h"
#include "client/cudart/launch_config.h"

using namespace holdfast::libcudart;

namespace {

// An attribute of a kernel. 0: the driver does not know it.
int AttributeOf(const Driver& driver, CUfunction function,
                CUfunction_attribute attribute) {
  int value = 0;
  if (driver.FuncGetAttribute(&value, attribute, function) != CUDA_SUCCESS) {
    value = 0;
  }
  return value;
}

cudaFuncAttributes Describe(const Driver& driver, CUfunction function) {
  const auto get = [&](CUfunction_attribute attribute) {
    return AttributeOf(driver, function, attribute);
  };
  const auto size = [&](CUfunction_attribute attribute) {
    return static_cast<size_t>(get(attribute));
  };
  return {
      .sharedSizeBytes = size(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
      .constSizeBytes = size(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
      .localSizeBytes = size(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
      .maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
      .numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS),
      .ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION),
      .binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION),
      .cacheModeCA = get(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA),
      .maxDynamicSharedSizeBytes =
          get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
      .preferredShmemCarveout =
          get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
      .clusterDimMustBeSet = get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET),
      .requiredClusterWidth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
      .requiredClusterHeight = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
      .requiredClusterDepth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
      .clusterSchedulingPolicyPreference =
          get(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
      .nonPortableClusterSizeAllowed =
          get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
      .reserved = {},
  };
}

}  // namespace

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                  const void* stub) {
  if (attributes == nullptr) return Record(cudaErrorInvalidValue);
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    *attributes = Describe(driver, function);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* stub, cudaFuncAttribute attribute,
                                 int value) {
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    return driver.FuncSetAttribute(
        function, static_cast<CUfunction_attribute>(attribute), value);
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* stub, cudaFuncCache config) {
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    return driver.FuncSetCacheConfig(function,
                                     static_cast<CUfunc_cache>(config));
  });
}

// There is no choice; see cudaDeviceSetSharedMemConfig.
cudaError_t cudaFuncSetSharedMemConfig(const void* stub, cudaSharedMemConfig) {
  return WithFunction(stub,
                      [](const Driver&, CUfunction) { return cudaSuccess; });
}

cudaError_t cudaFuncGetName(const char** name, const void* stub) {
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    return driver.FuncGetName(name, function);
  });
}

cudaError_t cudaFuncGetParamInfo(const void* stub, size_t index, size_t* offset,
                                 size_t* size) {
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    return driver.FuncGetParamInfo(function, index, offset, size);
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* stub) {
  if (function == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) {
    return FindFunction(driver, stub, function);
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  if (kernel == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext(
      [&](const Driver& driver) { return FindKernel(driver, stub, kernel); });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* stub, int block_size, size_t shared_memory,
    unsigned flags) {
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    return driver.OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, function, block_size, shared_memory, flags);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, const void* stub, int block_size, size_t shared_memory) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, stub, block_size, shared_memory, cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* size,
                                                      const void* stub,
                                                      int blocks,
                                                      int block_size) {
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    return driver.OccupancyAvailableDynamicSMemPerBlock(size, function, blocks,
                                                        block_size);
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(
    int* size, const void* stub, const cudaLaunchConfig_t* config) {
  if (config == nullptr) return Record(cudaErrorInvalidValue);
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    const CUlaunchConfig launch = LaunchConfig(*config);
    return driver.OccupancyMaxPotentialClusterSize(size, function, &launch);
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* count, const void* stub,
                                           const cudaLaunchConfig_t* config) {
  if (config == nullptr) return Record(cudaErrorInvalidValue);
  return WithFunction(stub, [&](const Driver& driver, CUfunction function) {
    const CUlaunchConfig launch = LaunchConfig(*config);
    return driver.OccupancyMaxActiveClusters(count, function, &launch);
  });
}

}  // extern "C"
