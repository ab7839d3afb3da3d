// SPDX-License-Identifier: Apache-2.0
//
// Entry points: kernels and functions, their attributes and occupancy.
#include <algorithm>

#include "core/software/driver/call.h"
#include "core/software/driver/cluster.h"
#include "core/software/driver/kernel_launch.h"

using namespace holdfast::software;

namespace {

// body(Kernel&) with a CUfunction or CUkernel, which are one here.
// `error_of_null` is the error for the handle 0, which CUDA does not refuse
// alike in all calls.
template <typename Body>
CUresult WithKernel(void* handle, Body body,
                    CUresult error_of_null = CUDA_ERROR_INVALID_HANDLE) {
  return WithDriver([&](Driver& driver) -> CUresult {
    if (handle == nullptr) return error_of_null;
    const std::shared_ptr<Kernel> kernel =
        driver.code.FindKernel(static_cast<CUfunction>(handle));
    return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*kernel);
  });
}

// WithKernel for the calls in which the handle 0 is an invalid value.
template <typename Body>
CUresult WithGivenKernel(void* handle, Body body) {
  return WithKernel(handle, body, CUDA_ERROR_INVALID_VALUE);
}

CUresult ParameterInfo(void* handle, size_t index, size_t* offset,
                       size_t* size) {
  return WithGivenKernel(handle, [&](Kernel& kernel) {
    const auto& parameters = kernel.properties().parameters;
    if (offset == nullptr || index >= parameters.size()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = parameters[index].offset;
    if (size != nullptr) *size = parameters[index].size;
    return CUDA_SUCCESS;
  });
}

CUresult Name(void* handle, const char** name) {
  return WithGivenKernel(handle, [&](Kernel& kernel) {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = kernel.properties().name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult GetAttribute(int* value, CUfunction_attribute attribute, void* handle,
                      CUdevice device) {
  return WithKernel(handle, [&](Kernel& kernel) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : kernel.GetAttribute(attribute, device, value);
  });
}

CUresult SetAttribute(CUfunction_attribute attribute, int value, void* handle,
                      CUdevice device) {
  return WithKernel(handle, [&](Kernel& kernel) {
    return kernel.SetAttribute(attribute, device, value);
  });
}

CUresult ActiveBlocks(int* blocks, CUfunction function, int threads,
                      size_t shared) {
  return WithKernel(function, [&](Kernel& kernel) {
    if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = kernel.BlocksPerMultiprocessor(
        Driver::Get().CurrentDevice().ordinal(), threads, shared);
    return CUDA_SUCCESS;
  });
}

// The largest block of those that keep most threads resident.
CUresult PotentialBlock(int* grid, int* block, CUfunction function,
                        CUoccupancyB2DSize shared_of_block, size_t shared,
                        int limit) {
  return WithKernel(function, [&](Kernel& kernel) {
    if (AnyNull(grid, block)) return CUDA_ERROR_INVALID_VALUE;
    const int most = kernel.properties().max_threads_per_block;
    const int start = limit > 0 ? std::min(limit, most) : most;
    int best = 0;
    const Device& device = Driver::Get().CurrentDevice();
    const int warp = DeviceLimits::kWarpSize;
    for (int threads = start; threads > 0;
         threads = (threads - 1) / warp * warp) {
      const int blocks = kernel.BlocksPerMultiprocessor(
          device.ordinal(), threads,
          shared_of_block ? shared_of_block(threads) : shared);
      if (blocks * threads > best) {
        best = blocks * threads;
        *block = threads;
        *grid = blocks * device.multiprocessors();
      }
    }
    return best > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// Answers with answer(kernel, device, geometry, blocks that fit one
// multiprocessor); 0 if a block does not fit at all.
template <typename Answer>
CUresult WithClusters(int* number, CUfunction function,
                      const CUlaunchConfig* config, Answer answer) {
  return WithKernel(function, [&](Kernel& kernel) {
    LaunchGeometry geometry;
    CUresult result = ReadConfig(config, &geometry);
    if (result != CUDA_SUCCESS) return result;
    const uint64_t threads =
        uint64_t{geometry.block[0]} * geometry.block[1] * geometry.block[2];
    if (number == nullptr || threads == 0 || geometry.grid[0] == 0 ||
        geometry.grid[1] == 0 || geometry.grid[2] == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Device& device = Driver::Get().CurrentDevice();
    const int each = threads > DeviceLimits::kThreadsPerBlock
                         ? 0
                         : kernel.BlocksPerMultiprocessor(
                               device.ordinal(), static_cast<int>(threads),
                               geometry.dynamic_shared_bytes);
    if (each > 0) {
      result = ResolveCluster(kernel, device, &geometry);
      if (result != CUDA_SUCCESS) return result;
    }
    *number = each == 0 ? 0 : answer(kernel, device, geometry, each);
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                            CUfunction function) {
  return WithDriver([&](Driver& driver) {
    return GetAttribute(value, attribute, function,
                        driver.CurrentDevice().ordinal());
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  return WithDriver([&](Driver& driver) {
    return SetAttribute(attribute, value, function,
                        driver.CurrentDevice().ordinal());
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute,
                              CUkernel kernel, CUdevice device) {
  return WithDevice(device, [&](Device&) {
    return GetAttribute(value, attribute, kernel, device);
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                              CUkernel kernel, CUdevice device) {
  return WithDevice(device, [&](Device&) {
    return SetAttribute(attribute, value, kernel, device);
  });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return WithKernel(function, [](Kernel&) { return CUDA_SUCCESS; });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache,
                                CUdevice device) {
  return WithDevice(device, [&](Device&) {
    return WithKernel(kernel, [](Kernel&) { return CUDA_SUCCESS; });
  });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return Name(function, name);
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return Name(kernel, name);
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                            size_t* size) {
  return WithContext([&](Driver&, Context&) {
    return ParameterInfo(function, index, offset, size);
  });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                              size_t* size) {
  return WithContext([&](Driver&, Context&) {
    return ParameterInfo(kernel, index, offset, size);
  });
}

// A function of a library belongs to the module that stands for it.
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return WithContext([&](Driver& driver, Context&) {
    return WithGivenKernel(function, [&](Kernel&) {
      if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *module = driver.code.ModuleWith(function);
      if (*module != nullptr) return CUDA_SUCCESS;
      return cuLibraryGetModule(module, driver.code.LibraryWith(function));
    });
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return WithDriver([&](Driver& driver) {
    return WithKernel(kernel, [&](Kernel&) {
      if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *library = driver.code.LibraryWith(reinterpret_cast<CUfunction>(kernel));
      return *library == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
    });
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return WithContext([&](Driver&, Context&) {
    return WithKernel(kernel, [&](Kernel&) {
      if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *function = reinterpret_cast<CUfunction>(kernel);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  return WithKernel(function, [&](Kernel&) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction function) {
  return WithKernel(function, [](Kernel&) { return CUDA_SUCCESS; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                     CUfunction function,
                                                     int threads,
                                                     size_t shared) {
  return ActiveBlocks(blocks, function, threads, shared);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t shared,
    unsigned flags) {
  if ((flags & ~CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return ActiveBlocks(blocks, function, threads, shared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                          CUfunction function,
                                          CUoccupancyB2DSize shared_of_block,
                                          size_t shared, int limit) {
  return PotentialBlock(grid, block, function, shared_of_block, shared, limit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
    int* grid, int* block, CUfunction function,
    CUoccupancyB2DSize shared_of_block, size_t shared, int limit,
    unsigned flags) {
  if ((flags & ~CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return PotentialBlock(grid, block, function, shared_of_block, shared, limit);
}

CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                            const CUlaunchConfig* config) {
  return WithClusters(
      blocks, function, config,
      [](const Kernel& kernel, const Device& device, const LaunchGeometry&,
         int) { return MaxClusterBlocks(kernel, device); });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  return WithClusters(
      clusters, function, config,
      [](const Kernel&, const Device& device, const LaunchGeometry& geometry,
         int each) {
        const auto blocks = static_cast<int>(ClusterBlocks(geometry));
        if (blocks == 0) return 0;
        // A cluster runs on one thread, so that one always fits.
        return std::max(each * device.multiprocessors() / blocks, 1);
      });
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* shared,
                                                 CUfunction function,
                                                 int blocks, int threads) {
  return WithKernel(function, [&](Kernel& kernel) {
    using Limits = DeviceLimits;
    if (shared == nullptr || blocks <= 0 ||
        kernel.BlocksPerMultiprocessor(Driver::Get().CurrentDevice().ordinal(),
                                       threads, 0) < blocks) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const size_t each = Limits::kSharedPerMultiprocessor / blocks -
                        Limits::kSharedReservedPerBlock;
    const size_t rest = std::min<size_t>(each, Limits::kSharedPerBlockOptIn) -
                        kernel.properties().static_shared_bytes;
    // No launch may have more than the kernel was allowed.
    const int allowed =
        kernel.max_dynamic_shared(Driver::Get().CurrentDevice().ordinal());
    *shared = std::min(rest, static_cast<size_t>(allowed));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
