// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/work.h"

#include <algorithm>
#include <utility>

#include "client/cpp/launch_check.h"
#include "client/cuda/answer.h"
#include "client/cuda/graph/graph_memory.h"
#include "client/cuda/graph/lowered_work.h"
#include "client/cuda/launch_parameters.h"
#include "client/cuda/value_batch.h"
#include "core/cuda/pool_kind.h"

namespace holdfast::libcuda {
namespace {

// A module's function runs in the module's context.
CUresult FindKernelContext(Process& process, const Function& function,
                           CUcontext named, NodeContext* context) {
  const std::shared_ptr<Module> module = function.module();
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext own = module->context();
  return FindContext(process, own != nullptr ? own : named, context);
}

// Finds the kernel of a function in its context.
CUresult FindKernel(Process& process, KernelWork* work) {
  const auto context = process.contexts().Find(work->context.handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  HOLDFAST_ANSWER_OR_ASSIGN(work->kernel, work->function->In(*context));
  return CUDA_SUCCESS;
}

CUresult FindEvent(Process& process, CUevent handle,
                   std::shared_ptr<ProgramEvent>* event) {
  *event = process.events.Find(handle);
  return *event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult ReadChild(Process& process, const Graph& parent,
                   const CUDA_CHILD_GRAPH_NODE_PARAMS& p, NodeWork* work) {
  const std::shared_ptr<Graph> child = process.graphs.graphs.Find(p.graph);
  if (child == nullptr || p.ownership < CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE ||
      p.ownership > CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ChildWork read;
  const CUresult result = p.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
                              ? parent.MoveChild(child, &read)
                              : parent.CopyChild(*child, &read);
  if (result == CUDA_SUCCESS) *work = std::move(read);
  return result;
}

bool IsBodyCount(CUgraphConditionalNodeType type, unsigned count) {
  // The limit for a switch is that of a daemon's definitions.
  constexpr unsigned kMostBodies = 1 << 16;
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return count == 1 || count == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
      return count == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return count > 0 && count <= kMostBodies;
    default:
      return false;
  }
}

CUresult ReadConditional(Process& process, const Graph& parent,
                         CUDA_CONDITIONAL_NODE_PARAMS& p, NodeWork* work) {
  if (!IsBodyCount(p.type, p.size)) return CUDA_ERROR_INVALID_VALUE;
  ConditionalWork read;
  read.type = p.type;
  CUresult result = FindContext(process, p.ctx, &read.context);
  if (result != CUDA_SUCCESS) return result;
  read.condition = parent.FindCondition(p.handle);
  if (read.condition == nullptr || read.condition->is_tested) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  result = parent.MakeBodies(p.size, &read);
  if (result != CUDA_SUCCESS) return result;
  p.phGraph_out = read.handles->data();
  *work = std::move(read);
  return CUDA_SUCCESS;
}

bool IsNodeAttribute(CUlaunchAttributeID id) {
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

CUresult FindContext(Process& process, CUcontext handle, NodeContext* context) {
  if (handle == nullptr) handle = CurrentContext();
  const std::shared_ptr<Context> found = process.contexts().Find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *context = {handle, found->device().ordinal()};
  return CUDA_SUCCESS;
}

CUresult AcceptWork(Process& process, NodeWork work, NodeWork* accepted) {
  HOLDFAST_ANSWER_IF_ERROR(Lower(process.memory, work, {}).status());
  *accepted = std::move(work);
  return CUDA_SUCCESS;
}

CUresult CheckKernel(const KernelWork& kernel) {
  if (!HasWholeClusters(kernel.config)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  if (kernel.config.dynamic_shared_bytes >
      kernel.function->dynamic_shared_limit()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult block = kernel.function->CheckBlock(kernel.config.block);
  if (block != CUDA_SUCCESS) return block;
  const absl::Status checked =
      CheckLaunch(kernel.config, *kernel.kernel, kernel.context.device);
  return kernel.config.cooperative && absl::IsOutOfRange(checked)
             ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
             : Answer(checked);
}

CUresult ReadKernel(Process& process, const CUDA_KERNEL_NODE_PARAMS& p,
                    NodeWork* work) {
  KernelWork read;
  read.handle =
      p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  read.function = process.code.FindFunction(read.handle);
  if (read.function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result =
      FindKernelContext(process, *read.function,
                        p.func != nullptr ? nullptr : p.ctx, &read.context);
  if (result != CUDA_SUCCESS) return result;
  result = FindKernel(process, &read);
  if (result != CUDA_SUCCESS) return result;
  if ((p.kernelParams != nullptr && p.extra != nullptr) ||
      !CopyParameters(*read.function, p.kernelParams, p.extra, &read.block)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  read.config = {.grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
                 .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
                 .dynamic_shared_bytes = p.sharedMemBytes};
  result = CheckKernel(read);
  if (result == CUDA_SUCCESS) *work = std::move(read);
  return result;
}

CUresult ReadCopy(Process& process, const CUDA_MEMCPY3D& p, CUcontext context,
                  NodeWork* work) {
  CopyWork read{.parameters = p};
  CUresult result = FindContext(process, context, &read.context);
  if (result == CUDA_SUCCESS) result = Describe(p, &read.copy);
  return result != CUDA_SUCCESS ? result : AcceptWork(process, read, work);
}

CUresult ReadFill(Process& process, const CUDA_MEMSET_NODE_PARAMS& p,
                  CUcontext context, NodeWork* work) {
  FillWork read{.parameters = p};
  const CUresult result = FindContext(process, context, &read.context);
  if (result != CUDA_SUCCESS) return result;
  const size_t element = p.elementSize;
  if ((element != 1 && element != 2 && element != 4) || p.width == 0 ||
      p.height == 0 || p.dst % element != 0 || p.width > SIZE_MAX / element ||
      (p.height > 1 &&
       (p.pitch < p.width * element || p.pitch % element != 0))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // As on a GPU, the higher bits of the value do not count.
  read.parameters.value &= UINT32_MAX >> (8 * (4 - element));
  return AcceptWork(process, read, work);
}

CUresult ReadValues(Process& process, const CUDA_BATCH_MEM_OP_NODE_PARAMS& p,
                    NodeWork* work) {
  ValueWork read;
  const CUresult result = FindContext(process, p.ctx, &read.context);
  if (result != CUDA_SUCCESS) return result;
  if (p.flags != 0 || p.paramArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ValueBatch::Parameters parameters(p.paramArray, p.count);
  HOLDFAST_ANSWER_OR_ASSIGN(const ValueBatch batch,
                            ValueBatch::Read(process.memory, parameters));
  const std::shared_ptr<Context> context =
      process.contexts().Find(read.context.handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  HOLDFAST_ANSWER_IF_ERROR(batch.CheckSupport(
      process.connection().devices()[static_cast<size_t>(context->ordinal())]));
  read.operations.assign(parameters.begin(), parameters.end());
  *work = std::move(read);
  return CUDA_SUCCESS;
}

CUresult ReadHost(const CUDA_HOST_NODE_PARAMS& p, NodeWork* work) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *work = HostWork{p.fn, p.userData};
  return CUDA_SUCCESS;
}

CUresult ReadEventWait(Process& process, CUevent event, NodeWork* work) {
  EventWaitWork read{event, nullptr};
  const CUresult result = FindEvent(process, event, &read.event);
  if (result == CUDA_SUCCESS) *work = std::move(read);
  return result;
}

CUresult ReadEventRecord(Process& process, CUevent event, NodeWork* work) {
  EventRecordWork read{event, nullptr};
  const CUresult result = FindEvent(process, event, &read.event);
  if (result == CUDA_SUCCESS) *work = std::move(read);
  return result;
}

CUresult ReadAllocation(Process& process, CUDA_MEM_ALLOC_NODE_PARAMS* p,
                        NodeWork* work) {
  const CUmemPoolProps& pool = p->poolProps;
  const size_t devices = process.connection().devices().size();
  if (pool.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      (p->accessDescCount > 0 && p->accessDescs == nullptr) ||
      p->accessDescCount > devices) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int ordinal = 0;  // of pinned memory that names no device
  const auto context = process.contexts().Find(CurrentContext());
  if (context != nullptr) ordinal = context->ordinal();
  if (pool.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    ordinal = pool.location.id;
    if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
  }
  const auto kind = cuda::PoolKindOf(pool.allocType, pool.location,
                                     static_cast<int>(devices));
  if (!kind.has_value()) return CUDA_ERROR_INVALID_VALUE;
  AllocationWork read{.parameters = *p};
  read.access.assign(p->accessDescs, p->accessDescs + p->accessDescCount);
  const CUresult result = GraphMemory::Get().Create(
      process, *kind, ordinal, p->bytesize, &read.allocation);
  if (result != CUDA_SUCCESS) return result;
  p->dptr = read.parameters.dptr = read.allocation->address();
  *work = std::move(read);
  return CUDA_SUCCESS;
}

CUresult ReadFree(CUdeviceptr address, NodeWork* work) {
  std::shared_ptr<GraphAllocation> found = GraphMemory::Get().Find(address);
  if (found == nullptr || found->has_free_node) return CUDA_ERROR_INVALID_VALUE;
  *work = FreeWork{std::move(found)};
  return CUDA_SUCCESS;
}

CUresult ReadWork(Process& process, const Graph& parent, CUgraphNodeParams* p,
                  NodeWork* work) {
  if (std::any_of(std::begin(p->reserved0), std::end(p->reserved0),
                  [](int unused) { return unused != 0; }) ||
      p->reserved2 != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto& k = p->kernel;
      return ReadKernel(
          process,
          {k.func, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY,
           k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra, k.kern,
           k.ctx},
          work);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (p->memcpy.flags != 0) return CUDA_ERROR_INVALID_VALUE;
      return ReadCopy(process, p->memcpy.copyParams, p->memcpy.copyCtx, work);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto& m = p->memset;
      return ReadFill(
          process, {m.dst, m.pitch, m.value, m.elementSize, m.width, m.height},
          m.ctx, work);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return ReadHost({p->host.fn, p->host.userData}, work);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return ReadChild(process, parent, p->graph, work);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      *work = EmptyWork{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return ReadEventWait(process, p->eventWait.event, work);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return ReadEventRecord(process, p->eventRecord.event, work);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      auto& a = p->alloc;
      CUDA_MEM_ALLOC_NODE_PARAMS first{a.poolProps, a.accessDescs,
                                       a.accessDescCount, a.bytesize, a.dptr};
      const CUresult result = ReadAllocation(process, &first, work);
      a.dptr = first.dptr;
      return result;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return ReadFree(p->free.dptr, work);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return ReadConditional(process, parent, p->conditional, work);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const auto& m = p->memOp;
      return ReadValues(process, {m.ctx, m.count, m.paramArray, m.flags}, work);
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUDA_KERNEL_NODE_PARAMS KernelParameters(Node& node) {
  auto& kernel = std::get<KernelWork>(node.work);
  const LaunchConfig& config = kernel.config;
  node.values.clear();
  for (const auto& parameter : kernel.function->parameters()) {
    node.values.push_back(kernel.block.data() + parameter.offset());
  }
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = kernel.handle;
  p.gridDimX = config.grid.x;
  p.gridDimY = config.grid.y;
  p.gridDimZ = config.grid.z;
  p.blockDimX = config.block.x;
  p.blockDimY = config.block.y;
  p.blockDimZ = config.block.z;
  p.sharedMemBytes = config.dynamic_shared_bytes;
  p.kernelParams = node.values.empty() ? nullptr : node.values.data();
  p.ctx = kernel.context.handle;
  return p;
}

CUDA_BATCH_MEM_OP_NODE_PARAMS ValueParameters(ValueWork& work) {
  return {work.context.handle, static_cast<unsigned>(work.operations.size()),
          work.operations.data(), 0};
}

CUDA_MEM_ALLOC_NODE_PARAMS AllocationParameters(const AllocationWork& work) {
  CUDA_MEM_ALLOC_NODE_PARAMS p = work.parameters;
  p.accessDescs = work.access.empty() ? nullptr : work.access.data();
  return p;
}

CUresult KeepAttributes(const NodeWork& before, NodeWork* after) {
  const auto* from = std::get_if<KernelWork>(&before);
  auto* to = std::get_if<KernelWork>(after);
  if (from == nullptr || to == nullptr) return CUDA_SUCCESS;
  for (const auto& [id, value] : from->attributes) {
    const CUresult result = SetAttribute(*to, id, value);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult SetAttribute(KernelWork& kernel, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value) {
  if (!IsNodeAttribute(id)) return CUDA_ERROR_INVALID_VALUE;
  CUlaunchAttribute attribute{};
  attribute.id = id;
  attribute.value = value;
  KernelWork changed = kernel;
  if (!ApplyAttribute(attribute, &changed.config)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const CUresult result = CheckKernel(changed);
  if (result != CUDA_SUCCESS) return result;
  changed.attributes[id] = value;
  kernel = std::move(changed);
  return CUDA_SUCCESS;
}

CUresult GetAttribute(const KernelWork& kernel, CUlaunchAttributeID id,
                      CUlaunchAttributeValue* value) {
  if (!IsNodeAttribute(id)) return CUDA_ERROR_INVALID_VALUE;
  const auto set = kernel.attributes.find(id);
  *value =
      set == kernel.attributes.end() ? CUlaunchAttributeValue{} : set->second;
  return CUDA_SUCCESS;
}

}  // namespace holdfast::libcuda
