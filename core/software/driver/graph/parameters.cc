// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/parameters.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/cuda/node_checks.h"
#include "core/cuda/pool_kind.h"
#include "core/software/driver/cluster.h"
#include "core/software/driver/copy_description.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/driver/memory_pool.h"
#include "core/software/runtime/graph_condition.h"

namespace holdfast::software {
namespace {

using DriverState = Driver;

// The context that a node names; the current one if it names none.
std::shared_ptr<Context> ContextOf(CUcontext handle) {
  return FindContext(handle == nullptr ? CurrentContext() : handle);
}

// A module's function runs in the module's context, whichever is current.
std::shared_ptr<Context> ContextOf(Driver& driver, const Kernel& kernel,
                                   CUcontext handle) {
  const std::shared_ptr<Context> context = ContextOf(handle);
  if (context != nullptr && kernel.code().UsableIn(*context)) return context;
  for (const std::shared_ptr<Context>& other : driver.contexts().All()) {
    if (kernel.code().UsableIn(*other)) return other;
  }
  return nullptr;
}

CUresult ReadConditional(Driver&, const Graph& parent,
                         CUDA_CONDITIONAL_NODE_PARAMS& p, NodeWork* node) {
  if (!cuda::IsBodyCount(p.type, p.size)) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = ContextOf(p.ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ConditionalWork decoded;
  decoded.type = p.type;
  decoded.context = context->handle();
  decoded.condition = parent.FindCondition(p.handle);
  if (decoded.condition == nullptr || decoded.condition->taken) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = parent.MakeBodies(p.size, &decoded);
  if (result != CUDA_SUCCESS) return result;
  p.phGraph_out = decoded.handles->data();
  *node = std::move(decoded);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult ReadKernel(Driver& driver, const CUDA_KERNEL_NODE_PARAMS& p,
                    NodeWork* node) {
  KernelWork decoded;
  decoded.function =
      p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  std::shared_ptr<Kernel> kernel = driver.code.FindKernel(decoded.function);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context =
      ContextOf(driver, *kernel, p.func != nullptr ? nullptr : p.ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  decoded.context = context->handle();
  const CUresult result =
      PrepareLaunch(std::move(kernel), *context,
                    {{p.gridDimX, p.gridDimY, p.gridDimZ},
                     {p.blockDimX, p.blockDimY, p.blockDimZ},
                     p.sharedMemBytes},
                    p.kernelParams, p.extra, &decoded.launch);
  if (result == CUDA_SUCCESS) *node = std::move(decoded);
  return result;
}

CUresult ReadCopy(Driver& driver, const CUDA_MEMCPY3D& p, CUcontext handle,
                  NodeWork* node) {
  const std::shared_ptr<Context> context = ContextOf(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  CopyWork decoded{p, {}, context->handle()};
  const CUresult result = DescribeCopy(p, &decoded.copy);
  if (result != CUDA_SUCCESS) return result;
  if (BytesOf(decoded.copy) > 0 &&
      !Locate(driver.memory, decoded.copy).valid()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *node = decoded;
  return CUDA_SUCCESS;
}

CUresult ReadFill(Driver& driver, const CUDA_MEMSET_NODE_PARAMS& p,
                  CUcontext handle, NodeWork* node) {
  const std::shared_ptr<Context> context = ContextOf(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (p.width == 0 || p.height == 0) return CUDA_ERROR_INVALID_VALUE;
  // As on a GPU, the higher bits of the value do not count.
  const uint32_t mask = UINT32_MAX >> (8 * (4 - p.elementSize));
  const Fill fill{p.dst,         p.pitch, p.value & mask,
                  p.elementSize, p.width, p.height};
  const CUresult result = CheckFill(driver.memory, fill);
  if (result == CUDA_SUCCESS) *node = FillWork{fill, context->handle()};
  return result;
}

CUresult ReadValues(Driver& driver, const CUDA_BATCH_MEM_OP_NODE_PARAMS& p,
                    NodeWork* node) {
  const std::shared_ptr<Context> context = ContextOf(p.ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (p.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ValueWork decoded;
  decoded.context = context->handle();
  CUresult result = ParseOperations(p.paramArray, p.count, &decoded.operations);
  if (result == CUDA_SUCCESS) {
    result = CheckOperations(driver.memory, decoded.operations);
  }
  if (result != CUDA_SUCCESS) return result;
  decoded.parameters.assign(p.paramArray, p.paramArray + p.count);
  *node = std::move(decoded);
  return CUDA_SUCCESS;
}

CUresult ReadAllocation(Driver& driver, CUDA_MEM_ALLOC_NODE_PARAMS* p,
                        NodeWork* node) {
  const CUmemPoolProps& pool = p->poolProps;
  if (pool.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      (p->accessDescCount > 0 && p->accessDescs == nullptr) ||
      p->accessDescCount > static_cast<size_t>(driver.device_count())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_on_device = pool.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const std::shared_ptr<Context> context = ContextOf(nullptr);
  Device* device = is_on_device         ? driver.FindDevice(pool.location.id)
                   : context == nullptr ? driver.FindDevice(0)
                                        : &context->device();
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::optional<cuda::PoolKind> kind =
      cuda::PoolKindOf(pool.allocType, pool.location, driver.device_count());
  if (!kind.has_value()) return CUDA_ERROR_INVALID_VALUE;
  AllocationWork decoded{*p, {}, nullptr};
  decoded.access.assign(p->accessDescs, p->accessDescs + p->accessDescCount);
  const CUresult result = GraphMemory::Get().Create(
      *device,
      *kind == cuda::PoolKind::kDevice ? MemoryKind::kGraph
                                       : RegionKindOf(*kind),
      driver.memory, p->bytesize, &decoded.allocation);
  if (result != CUDA_SUCCESS) return result;
  p->dptr = decoded.parameters.dptr = decoded.allocation->address();
  *node = std::move(decoded);
  return CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS KernelParameters(GraphNode& node) {
  auto& kernel = std::get<KernelWork>(node.work);
  const LaunchGeometry& g = kernel.launch.geometry;
  node.values.clear();
  for (const KernelParameter& p :
       kernel.launch.kernel->properties().parameters) {
    node.values.push_back(kernel.launch.parameters.data() + p.offset);
  }
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = kernel.function;
  p.gridDimX = g.grid[0];
  p.gridDimY = g.grid[1];
  p.gridDimZ = g.grid[2];
  p.blockDimX = g.block[0];
  p.blockDimY = g.block[1];
  p.blockDimZ = g.block[2];
  p.sharedMemBytes = static_cast<unsigned>(g.dynamic_shared_bytes);
  p.kernelParams = node.values.empty() ? nullptr : node.values.data();
  p.ctx = kernel.context;
  return p;
}

CUDA_MEMSET_NODE_PARAMS FillParameters(const FillWork& node) {
  const Fill& fill = node.fill;
  return {fill.address, fill.pitch,
          fill.value,   static_cast<unsigned>(fill.element),
          fill.width,   fill.height};
}

CUDA_BATCH_MEM_OP_NODE_PARAMS ValueParameters(ValueWork& node) {
  return {node.context, static_cast<unsigned>(node.parameters.size()),
          node.parameters.data(), 0};
}

CUresult SetAttribute(KernelWork& node, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value) {
  if (!cuda::IsNodeAttribute(id)) return CUDA_ERROR_INVALID_VALUE;
  CUlaunchAttribute attribute{};
  attribute.id = id;
  attribute.value = value;
  const std::shared_ptr<Context> context = ContextOf(node.context);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  LaunchGeometry geometry = node.launch.geometry;
  CUresult result = ApplyAttribute(attribute, &geometry);
  if (result == CUDA_SUCCESS) {
    result = ResolveCluster(*node.launch.kernel, context->device(), &geometry);
  }
  if (result != CUDA_SUCCESS) return result;
  node.launch.geometry = geometry;
  node.attributes[id] = value;
  return CUDA_SUCCESS;
}

#include "core/cuda/node_work.inc"

}  // namespace holdfast::software
