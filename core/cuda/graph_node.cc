// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/graph_node.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/launch_attribute_list.h"

namespace holdfast::cuda {
namespace {

// INVALID_ARGUMENT for what cuda.h calls valid for launches only: a graph has
// edges and event nodes for the same purposes.
absl::Status CheckAttributes(const LaunchAttributes& set) {
  enum Where { kLaunches, kLaunchesAndNodes };
  const char* refused = nullptr;
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  if (where == kLaunches && set.name.has_value()) refused = #name;
#include "proto/launch_attributes.inc"
  if (refused == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("launch attribute ", refused,
                   ": CUDA has it for launches into streams, not for nodes of "
                   "graphs"));
}

// Padding that differs makes values differ, too.
template <typename T>
bool SameBytes(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

size_t RoundUp(size_t size, size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

GraphNode::GraphNode() : GraphNode(CU_GRAPH_NODE_TYPE_EMPTY) {}

GraphNode::GraphNode(CUgraphNodeType type) {
  // Padding and unused bytes of the union must be zero, too.
  std::memset(&params_, 0, sizeof params_);
  params_.type = type;
}

void GraphNode::CopyArguments(absl::Span<const KernelArgument> arguments) {
  constexpr size_t kAlignment = alignof(std::max_align_t);
  if (arguments.empty()) return;
  pointer_bytes_ = RoundUp(arguments.size() * sizeof(void*), kAlignment);
  for (const KernelArgument& argument : arguments) {
    argument_bytes_ += RoundUp(argument.size, kAlignment);
  }
  arguments_ = std::make_unique<std::byte[]>(pointer_bytes_ + argument_bytes_);
  auto* const pointers = reinterpret_cast<void**>(arguments_.get());
  std::byte* at = arguments_.get() + pointer_bytes_;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const KernelArgument& argument = arguments[i];
    pointers[i] = at;
    if (argument.size > 0) std::memcpy(at, argument.data, argument.size);
    at += RoundUp(argument.size, kAlignment);
  }
  params_.kernel.kernelParams = pointers;
}

bool GraphNode::IsSameAs(const GraphNode& other) const {
  if (type() != other.type()) return false;
  switch (type()) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return true;
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v3 kernel = params_.kernel;
      kernel.kernelParams = other.params_.kernel.kernelParams;
      return SameBytes(kernel, other.params_.kernel) && SameArguments(other) &&
             SameAttributes(other);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return SameBytes(params_, other.params_);
    default:
      return false;
  }
}

bool GraphNode::SameArguments(const GraphNode& other) const {
  return pointer_bytes_ == other.pointer_bytes_ &&
         argument_bytes_ == other.argument_bytes_ &&
         (argument_bytes_ == 0 ||
          std::memcmp(arguments_.get() + pointer_bytes_,
                      other.arguments_.get() + pointer_bytes_,
                      argument_bytes_) == 0);
}

bool GraphNode::SameAttributes(const GraphNode& other) const {
  return attributes_.size() == other.attributes_.size() &&
         (attributes_.empty() ||
          std::memcmp(attributes_.data(), other.attributes_.data(),
                      attributes_.size() * sizeof attributes_[0]) == 0);
}

absl::StatusOr<GraphNode> GraphNode::Launch(
    const LaunchConfig& config, const Kernel& kernel,
    absl::Span<const KernelArgument> arguments) {
  HOLDFAST_RETURN_IF_ERROR(CheckAttributes(config.attributes));
  HOLDFAST_RETURN_IF_ERROR(PrepareLaunch(config, kernel, arguments));
  GraphNode node(CU_GRAPH_NODE_TYPE_KERNEL);
  CUDA_KERNEL_NODE_PARAMS_v3& launch = node.params_.kernel;
  launch.kern = kernel.handle();
  launch.ctx = kernel.context().handle();
  launch.gridDimX = config.grid.x;
  launch.gridDimY = config.grid.y;
  launch.gridDimZ = config.grid.z;
  launch.blockDimX = config.block.x;
  launch.blockDimY = config.block.y;
  launch.blockDimZ = config.block.z;
  launch.sharedMemBytes = config.dynamic_shared_bytes;
  node.CopyArguments(arguments);
  LaunchAttributeList attributes(config);
  node.attributes_.assign(attributes.data(),
                          attributes.data() + attributes.size());
  return node;
}

GraphNode GraphNode::Copy(const Context& context, const Box& box,
                          const BoxPlace& destination, const BoxPlace& source) {
  GraphNode node(CU_GRAPH_NODE_TYPE_MEMCPY);
  node.params_.memcpy.copyCtx = context.handle();
  node.params_.memcpy.copyParams = DescribeCopy(box, destination, source);
  return node;
}

absl::StatusOr<GraphNode> GraphNode::Fill(
    const Context& context, const Box& box, CUdeviceptr destination,
    const Pitches& pitches, uint32_t pattern, uint32_t pattern_bytes) {
  HOLDFAST_RETURN_IF_ERROR(
      CheckFill(box, destination, pitches, pattern, pattern_bytes));
  GraphNode node(CU_GRAPH_NODE_TYPE_MEMSET);
  CUDA_MEMSET_NODE_PARAMS_v2& fill = node.params_.memset;
  fill.dst = destination;
  fill.value = pattern;
  fill.elementSize = pattern_bytes;
  fill.ctx = context.handle();
  // Rows without gaps are one row: CUDA can update those in more ways.
  const bool one_row = box.height == 1 || pitches.row == box.width;
  fill.width = (one_row ? box.width * box.height : box.width) / pattern_bytes;
  fill.height = one_row ? 1 : box.height;
  fill.pitch = one_row ? 0 : pitches.row;
  return node;
}

GraphNode GraphNode::Record(const Event& event) {
  GraphNode node(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  node.params_.eventRecord.event = event.handle();
  return node;
}

GraphNode GraphNode::Wait(const Event& event) {
  GraphNode node(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  node.params_.eventWait.event = event.handle();
  return node;
}

GraphNode GraphNode::BatchValues(
    const Context& context,
    absl::Span<const CUstreamBatchMemOpParams> operations) {
  GraphNode node(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  node.operations_.assign(operations.begin(), operations.end());
  node.params_.memOp.ctx = context.handle();
  node.params_.memOp.count = static_cast<unsigned>(operations.size());
  node.params_.memOp.paramArray = node.operations_.data();
  return node;
}

GraphNode GraphNode::WriteValue(const Context& context, CUdeviceptr address,
                                uint64_t value) {
  CUstreamBatchMemOpParams operation;
  std::memset(&operation, 0, sizeof operation);
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  operation.writeValue.address = address;
  operation.writeValue.value64 = value;
  operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return BatchValues(context, {&operation, 1});
}

GraphNode GraphNode::WaitValue(const Context& context, CUdeviceptr address,
                               uint64_t value) {
  CUstreamBatchMemOpParams operation;
  std::memset(&operation, 0, sizeof operation);
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  operation.waitValue.address = address;
  operation.waitValue.value64 = value;
  operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  return BatchValues(context, {&operation, 1});
}

GraphNode GraphNode::Child(CUgraph graph) {
  GraphNode node(CU_GRAPH_NODE_TYPE_GRAPH);
  node.params_.graph.graph = graph;
  return node;
}

GraphNode GraphNode::Conditional(const Context& context,
                                 CUgraphConditionalHandle condition,
                                 CUgraphConditionalNodeType type,
                                 unsigned branches) {
  GraphNode node(CU_GRAPH_NODE_TYPE_CONDITIONAL);
  node.params_.conditional.handle = condition;
  node.params_.conditional.type = type;
  node.params_.conditional.size = branches;
  node.params_.conditional.ctx = context.handle();
  return node;
}

}  // namespace holdfast::cuda
