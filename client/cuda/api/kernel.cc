// SPDX-License-Identifier: Apache-2.0
//
// Entry points: kernels and functions, their attributes and occupancy.
#include <algorithm>

#include "client/cpp/launch.h"
#include "client/cpp/occupancy.h"
#include "client/cuda/api/call.h"
#include "client/cuda/names.h"

using namespace holdfast::libcuda;
using holdfast::Occupancy;

namespace {

// body(Process&, Function&) with a CUfunction or a CUkernel. `error_of_null` is
// the error for the handle 0: CUDA's calls differ in it.
template <typename Body>
CUresult WithFunction(void* handle, Body body,
                      CUresult error_of_null = CUDA_ERROR_INVALID_HANDLE) {
  return WithObjects([&](Process& process) -> CUresult {
    if (handle == nullptr) return error_of_null;
    const auto function =
        process.code.FindFunction(static_cast<CUfunction>(handle));
    return function == nullptr ? CUDA_ERROR_INVALID_HANDLE
                               : Answer(body(process, *function));
  });
}

// WithFunction for the calls in which the handle 0 is an invalid value.
template <typename Body>
CUresult WithGivenFunction(void* handle, Body body) {
  return WithFunction(handle, body, CUDA_ERROR_INVALID_VALUE);
}

// The daemon's number of a device: of the current context, or as it is named.
uint32_t CurrentDevice(Process& process) {
  const int ordinal = process.contexts().OrdinalOf(CurrentContext());
  return process.connection()
      .devices()[static_cast<size_t>(std::max(ordinal, 0))]
      .ordinal();
}

bool IsSettable(CUfunction_attribute attribute) {
  return attribute >= CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
}

CUresult ParameterInfo(void* handle, size_t index, size_t* offset,
                       size_t* size) {
  return WithGivenFunction(handle, [&](Process& process, Function& function) {
    if (process.contexts().Find(CurrentContext()) == nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    const auto& parameters = function.parameters();
    if (offset == nullptr || index >= static_cast<size_t>(parameters.size())) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = parameters[static_cast<int>(index)].offset();
    if (size != nullptr) *size = parameters[static_cast<int>(index)].size();
    return CUDA_SUCCESS;
  });
}

CUresult Name(void* handle, const char** name) {
  return WithGivenFunction(handle, [&](Process&, Function& function) {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = function.name().c_str();
    return CUDA_SUCCESS;
  });
}

CUresult StoreModule(Process& process, Function& function, CUmodule* module) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = process.code.HandleOf(function.module().get());
  return CUDA_SUCCESS;
}

CUresult GetAttribute(int* value, CUfunction_attribute attribute, void* handle,
                      uint32_t device) {
  return WithFunction(handle, [&](Process&, Function& function) -> CUresult {
    const std::string name = NameOf(attribute);
    if (value == nullptr || name.empty()) return CUDA_ERROR_INVALID_VALUE;
    HOLDFAST_ANSWER_OR_ASSIGN(const int64_t found,
                              function.Attribute(name, device));
    *value = static_cast<int>(found);
    return CUDA_SUCCESS;
  });
}

// Waits, so that a value that the device refuses is refused here.
CUresult SetAttribute(CUfunction_attribute attribute, int value, void* handle,
                      uint32_t device) {
  return WithFunction(
      handle, [&](Process& process, Function& function) -> CUresult {
        const std::string name = NameOf(attribute);
        if (name.empty() || !IsSettable(attribute))
          return CUDA_ERROR_INVALID_VALUE;
        HOLDFAST_ANSWER_IF_ERROR(function.SetAttribute(name, value, device));
        HOLDFAST_ANSWER_IF_ERROR(process.connection().AwaitCommands());
        if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
          function.set_dynamic_shared_limit(value);
        }
        return CUDA_SUCCESS;
      });
}

// body(uint32_t device) with the daemon's number of the program's device.
template <typename Body>
CUresult OnDevice(CUdevice device, Body body) {
  return WithDevice(device, [&](Process&, const holdfast::v1::Device& found) {
    return body(found.ordinal());
  });
}

CUresult ActiveBlocks(int* blocks, CUfunction handle, int threads,
                      size_t shared) {
  return WithFunction(
      handle, [&](Process& process, Function& function) -> CUresult {
        if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
        *blocks = 0;
        if (shared > static_cast<uint64_t>(function.dynamic_shared_limit())) {
          return CUDA_SUCCESS;
        }
        HOLDFAST_ANSWER_OR_ASSIGN(
            const uint64_t found,
            Occupancy(function.kernel(), CurrentDevice(process))
                .MaxActiveBlocksPerMultiprocessor(
                    static_cast<uint32_t>(threads), shared));
        *blocks = static_cast<int>(found);
        return CUDA_SUCCESS;
      });
}

// A function of the program that tells a block's shared memory is asked for
// the block that the device would choose without any.
CUresult PotentialBlock(int* grid, int* block, CUfunction handle,
                        CUoccupancyB2DSize shared_of_block, size_t shared,
                        int limit) {
  return WithFunction(
      handle, [&](Process& process, Function& function) -> CUresult {
        if (AnyNull(grid, block) || limit < 0) return CUDA_ERROR_INVALID_VALUE;
        const Occupancy occupancy(function.kernel(), CurrentDevice(process));
        HOLDFAST_ANSWER_OR_ASSIGN(Occupancy::BlockSize found,
                                  occupancy.MaxPotentialBlockSize(
                                      shared, static_cast<uint32_t>(limit)));
        if (shared_of_block != nullptr) {
          HOLDFAST_ANSWER_OR_ASSIGN(
              found, occupancy.MaxPotentialBlockSize(
                         shared_of_block(static_cast<int>(found.threads)),
                         static_cast<uint32_t>(limit)));
        }
        *block = static_cast<int>(found.threads);
        *grid = static_cast<int>(found.min_grid);
        return CUDA_SUCCESS;
      });
}

using ClusterQuestion = absl::StatusOr<uint64_t> (Occupancy::*)(
    const holdfast::LaunchConfig&) const;

CUresult AskClusters(int* number, CUfunction handle,
                     const CUlaunchConfig* given, ClusterQuestion question) {
  return WithFunction(
      handle, [&](Process& process, Function& function) -> CUresult {
        if (AnyNull(number, given)) return CUDA_ERROR_INVALID_VALUE;
        holdfast::LaunchConfig config{
            .grid = {given->gridDimX, given->gridDimY, given->gridDimZ},
            .block = {given->blockDimX, given->blockDimY, given->blockDimZ},
            .dynamic_shared_bytes = given->sharedMemBytes};
        for (unsigned i = 0; i < given->numAttrs; ++i) {
          const CUlaunchAttribute& attribute = given->attrs[i];
          if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
          const auto& cluster = attribute.value.clusterDim;
          config.cluster = holdfast::Dim3(cluster.x, cluster.y, cluster.z);
        }
        const Occupancy occupancy(function.kernel(), CurrentDevice(process));
        HOLDFAST_ANSWER_OR_ASSIGN(const uint64_t found,
                                  (occupancy.*question)(config));
        *number = static_cast<int>(found);
        return CUDA_SUCCESS;
      });
}

}  // namespace

extern "C" {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                            CUfunction function) {
  return WithObjects([&](Process& process) {
    return GetAttribute(value, attribute, function, CurrentDevice(process));
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  return WithObjects([&](Process& process) {
    return SetAttribute(attribute, value, function, CurrentDevice(process));
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute,
                              CUkernel kernel, CUdevice device) {
  return OnDevice(device, [&](uint32_t ordinal) {
    return GetAttribute(value, attribute, kernel, ordinal);
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                              CUkernel kernel, CUdevice device) {
  return OnDevice(device, [&](uint32_t ordinal) {
    return SetAttribute(attribute, value, kernel, ordinal);
  });
}

// Hints, which change no result.
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return WithFunction(function,
                      [](Process&, Function&) { return CUDA_SUCCESS; });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice) {
  return WithFunction(kernel, [](Process&, Function&) { return CUDA_SUCCESS; });
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) {
  return WithFunction(function,
                      [](Process&, Function&) { return CUDA_SUCCESS; });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return Name(function, name);
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return Name(kernel, name);
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                            size_t* size) {
  return ParameterInfo(function, index, offset, size);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                              size_t* size) {
  return ParameterInfo(kernel, index, offset, size);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return WithFunction(kernel, [&](Process&, Function&) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return WithGivenFunction(function, [&](Process& process, Function& found) {
    return StoreModule(process, found, module);
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return WithFunction(kernel, [&](Process& process, Function& found) {
    return StoreModule(process, found, reinterpret_cast<CUmodule*>(library));
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  return WithFunction(function, [&](Process&, Function&) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction function) {
  return WithFunction(function,
                      [](Process&, Function&) { return CUDA_SUCCESS; });
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
    return Failed(CUDA_ERROR_INVALID_VALUE);
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
    CUoccupancyB2DSize shared_of_block, size_t shared, int limit, unsigned) {
  return PotentialBlock(grid, block, function, shared_of_block, shared, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                 CUfunction handle, int blocks,
                                                 int threads) {
  return WithFunction(
      handle, [&](Process& process, Function& function) -> CUresult {
        if (bytes == nullptr || blocks <= 0 || threads <= 0) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        HOLDFAST_ANSWER_OR_ASSIGN(
            *bytes, Occupancy(function.kernel(), CurrentDevice(process))
                        .AvailableDynamicSharedPerBlock(
                            static_cast<uint32_t>(blocks),
                            static_cast<uint32_t>(threads)));
        return CUDA_SUCCESS;
      });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function,
                                            const CUlaunchConfig* config) {
  return AskClusters(size, function, config,
                     &Occupancy::MaxPotentialClusterSize);
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  return AskClusters(clusters, function, config, &Occupancy::MaxActiveClusters);
}

}  // extern "C"
