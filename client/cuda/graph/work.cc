// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/work.h"

#include <algorithm>
#include <utility>

#include "client/cpp/launch_check.h"
#include "client/cuda/answer.h"
#include "client/cuda/call_log.h"
#include "client/cuda/graph/graph_memory.h"
#include "client/cuda/graph/lowered_work.h"
#include "client/cuda/launch_parameters.h"
#include "client/cuda/value_batch.h"
#include "core/cuda/node_checks.h"
#include "core/cuda/pool_kind.h"

namespace holdfast::libcuda {
namespace {

using DriverState = Process;

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

CUresult ReadConditional(Process& process, const Graph& parent,
                         CUDA_CONDITIONAL_NODE_PARAMS& p, NodeWork* work) {
  if (!cuda::IsBodyCount(p.type, p.size)) return CUDA_ERROR_INVALID_VALUE;
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
  const CUresult shared =
      kernel.function->CheckDynamicShared(kernel.config.dynamic_shared_bytes);
  if (shared != CUDA_SUCCESS) return shared;
  const CUresult block = kernel.function->CheckBlock(kernel.config.block);
  if (block != CUDA_SUCCESS) return block;
  const absl::Status checked =
      CheckLaunch(kernel.config, *kernel.kernel, kernel.context.device);
  return kernel.config.cooperative && absl::IsOutOfRange(checked)
             ? Failed(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                      checked.message())
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
  if (p.kernelParams != nullptr && p.extra != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  result = CopyParameters(*read.function, p.kernelParams, p.extra, &read.block);
  if (result != CUDA_SUCCESS) return result;
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

CUresult SetAttribute(KernelWork& kernel, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value) {
  if (!cuda::IsNodeAttribute(id)) return CUDA_ERROR_INVALID_VALUE;
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

#include "core/cuda/node_work.inc"

}  // namespace holdfast::libcuda
