// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/parameters.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/cuda/pool_kind.h"
#include "core/software/driver/cluster.h"
#include "core/software/driver/copy_description.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/driver/memory_pool.h"
#include "core/software/runtime/graph_condition.h"

namespace holdfast::software {
namespace {

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

CUresult DecodeEvent(Driver& driver, CUevent handle,
                     std::shared_ptr<Event>* event) {
  *event = driver.events.Find(handle);
  return *event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult DecodeChild(Driver& driver, const Graph& parent,
                     const CUDA_CHILD_GRAPH_NODE_PARAMS& p,
                     NodeParameters* node) {
  const std::shared_ptr<Graph> child = driver.graphs.graphs.Find(p.graph);
  if (child == nullptr || p.ownership < CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE ||
      p.ownership > CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ChildNode owner;
  const CUresult result = p.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
                              ? parent.MoveChild(child, &owner)
                              : parent.CloneChild(*child, &owner);
  if (result == CUDA_SUCCESS) *node = std::move(owner);
  return result;
}

bool ValidSize(CUgraphConditionalNodeType type, unsigned size) {
  // As many bodies as a daemon's client may make up.
  constexpr unsigned kMostBodies = 1 << 16;
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
      return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return size > 0 && size <= kMostBodies;
    default:
      return false;
  }
}

CUresult DecodeConditional(const Graph& parent, CUDA_CONDITIONAL_NODE_PARAMS& p,
                           NodeParameters* node) {
  if (!ValidSize(p.type, p.size)) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = ContextOf(p.ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ConditionalNode decoded;
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

bool IsKernelNodeAttribute(CUlaunchAttributeID id) {
  enum Where { kLaunches, kLaunchesAndNodes };
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return true;
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  case CU_LAUNCH_ATTRIBUTE_##CUDA_ID:                                  \
    return where == kLaunchesAndNodes;
#include "proto/launch_attributes.inc"
    default:
      return false;
  }
}

}  // namespace

CUresult DecodeKernel(Driver& driver, const CUDA_KERNEL_NODE_PARAMS& p,
                      NodeParameters* node) {
  KernelNode decoded;
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

CUresult DecodeCopy(Driver& driver, const CUDA_MEMCPY3D& p, CUcontext handle,
                    NodeParameters* node) {
  const std::shared_ptr<Context> context = ContextOf(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  CopyNode decoded{p, {}, context->handle()};
  const CUresult result = DescribeCopy(p, &decoded.copy);
  if (result != CUDA_SUCCESS) return result;
  if (BytesOf(decoded.copy) > 0 &&
      !Locate(driver.memory, decoded.copy).valid()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *node = decoded;
  return CUDA_SUCCESS;
}

CUresult DecodeFill(Driver& driver, const CUDA_MEMSET_NODE_PARAMS& p,
                    CUcontext handle, NodeParameters* node) {
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
  if (result == CUDA_SUCCESS) *node = FillNode{fill, context->handle()};
  return result;
}

CUresult DecodeHost(const CUDA_HOST_NODE_PARAMS& p, NodeParameters* node) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *node = HostNode{p.fn, p.userData};
  return CUDA_SUCCESS;
}

CUresult DecodeEventWait(Driver& driver, CUevent event, NodeParameters* node) {
  EventWaitNode decoded{event, nullptr};
  const CUresult result = DecodeEvent(driver, event, &decoded.event);
  if (result == CUDA_SUCCESS) *node = std::move(decoded);
  return result;
}

CUresult DecodeEventRecord(Driver& driver, CUevent event,
                           NodeParameters* node) {
  EventRecordNode decoded{event, nullptr};
  const CUresult result = DecodeEvent(driver, event, &decoded.event);
  if (result == CUDA_SUCCESS) *node = std::move(decoded);
  return result;
}

CUresult DecodeBatch(Driver& driver, const CUDA_BATCH_MEM_OP_NODE_PARAMS& p,
                     NodeParameters* node) {
  const std::shared_ptr<Context> context = ContextOf(p.ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (p.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  BatchNode decoded;
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

CUresult DecodeAllocation(Driver& driver, CUDA_MEM_ALLOC_NODE_PARAMS* p,
                          NodeParameters* node) {
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
  AllocationNode decoded{*p, {}, nullptr};
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

CUresult DecodeFree(CUdeviceptr address, NodeParameters* node) {
  std::shared_ptr<GraphAllocation> found = GraphMemory::Get().Find(address);
  if (found == nullptr || found->has_free_node) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *node = FreeNode{std::move(found)};
  return CUDA_SUCCESS;
}

CUresult Decode(Driver& driver, const Graph& parent,
                CUgraphNodeParams* parameters, NodeParameters* node) {
  CUgraphNodeParams& p = *parameters;
  if (std::any_of(std::begin(p.reserved0), std::end(p.reserved0),
                  [](int unused) { return unused != 0; }) ||
      p.reserved2 != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto& k = p.kernel;
      return DecodeKernel(
          driver,
          {k.func, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY,
           k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra, k.kern,
           k.ctx},
          node);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (p.memcpy.flags != 0) return CUDA_ERROR_INVALID_VALUE;
      return DecodeCopy(driver, p.memcpy.copyParams, p.memcpy.copyCtx, node);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto& m = p.memset;
      return DecodeFill(
          driver, {m.dst, m.pitch, m.value, m.elementSize, m.width, m.height},
          m.ctx, node);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return DecodeHost({p.host.fn, p.host.userData}, node);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return DecodeChild(driver, parent, p.graph, node);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      *node = EmptyNode{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return DecodeEventWait(driver, p.eventWait.event, node);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return DecodeEventRecord(driver, p.eventRecord.event, node);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const auto& m = p.memOp;
      return DecodeBatch(driver, {m.ctx, m.count, m.paramArray, m.flags}, node);
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      auto& a = p.alloc;
      CUDA_MEM_ALLOC_NODE_PARAMS v1{a.poolProps, a.accessDescs,
                                    a.accessDescCount, a.bytesize, a.dptr};
      const CUresult result = DecodeAllocation(driver, &v1, node);
      a.dptr = v1.dptr;
      return result;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return DecodeFree(p.free.dptr, node);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return DecodeConditional(parent, p.conditional, node);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUDA_KERNEL_NODE_PARAMS KernelParameters(GraphNode& node) {
  auto& kernel = std::get<KernelNode>(node.parameters);
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

CUDA_MEMSET_NODE_PARAMS FillParameters(const FillNode& node) {
  const Fill& fill = node.fill;
  return {fill.address, fill.pitch,
          fill.value,   static_cast<unsigned>(fill.element),
          fill.width,   fill.height};
}

CUDA_BATCH_MEM_OP_NODE_PARAMS BatchParameters(BatchNode& node) {
  return {node.context, static_cast<unsigned>(node.parameters.size()),
          node.parameters.data(), 0};
}

CUDA_MEM_ALLOC_NODE_PARAMS AllocationParameters(const AllocationNode& node) {
  CUDA_MEM_ALLOC_NODE_PARAMS p = node.parameters;
  p.accessDescs = node.access.empty() ? nullptr : node.access.data();
  return p;
}

CUresult Inherit(const NodeParameters& before, NodeParameters* after) {
  const auto* from = std::get_if<KernelNode>(&before);
  auto* to = std::get_if<KernelNode>(after);
  if (from == nullptr || to == nullptr) return CUDA_SUCCESS;
  for (const auto& [id, value] : from->attributes) {
    const CUresult result = SetAttribute(*to, id, value);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult SetAttribute(KernelNode& node, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value) {
  if (!IsKernelNodeAttribute(id)) return CUDA_ERROR_INVALID_VALUE;
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

CUresult GetAttribute(const KernelNode& node, CUlaunchAttributeID id,
                      CUlaunchAttributeValue* value) {
  if (!IsKernelNodeAttribute(id)) return CUDA_ERROR_INVALID_VALUE;
  const auto set = node.attributes.find(id);
  *value =
      set == node.attributes.end() ? CUlaunchAttributeValue{} : set->second;
  return CUDA_SUCCESS;
}

}  // namespace holdfast::software
