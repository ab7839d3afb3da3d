// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/lowered_work.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "client/cpp/box_copy.h"
#include "client/cuda/answer.h"
#include "client/cuda/copy.h"
#include "client/cuda/launch_parameters.h"
#include "client/cuda/value_batch.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

using Kind = LoweredWork::Kind;

absl::StatusOr<LoweredWork> AsNode(Kind kind, NodeParams params) {
  HOLDFAST_RETURN_IF_ERROR(params.status());
  return LoweredWork{kind, std::move(params), nullptr};
}

LoweredWork AsAction(HostAction action) {
  return {Kind::kAction, std::nullopt, std::move(action)};
}

NodeParams BoxNode(const BoxCopy& box, const Operand& to, const Operand& from) {
  return CopyBoxNode(
      {box.width, box.height, box.depth},
      {to.buffer(), to.offset(), box.destination.row, box.destination.slice},
      {from.buffer(), from.offset(), box.source.row, box.source.slice});
}

// Lowers one kind of work.
struct Lowering {
  const MemoryMap& memory;
  const ConditionMap& conditions;

  absl::StatusOr<LoweredWork> operator()(const KernelWork& kernel) const {
    std::vector<Argument> arguments;
    if (!ReadArguments(*kernel.function, nullptr, kernel.block, &arguments)) {
      return absl::InvalidArgumentError("parameters of the kernel are missing");
    }
    for (const auto& [i, value] : HandleParametersOf(kernel)) {
      const auto condition = conditions.find(value);
      if (condition != conditions.end()) arguments[i] = condition->second;
    }
    return AsNode(Kind::kLaunch,
                  KernelNode(kernel.config, *kernel.kernel,
                             std::span<const Argument>(arguments))
                      .On(kernel.context.device));
  }

  absl::StatusOr<LoweredWork> operator()(const CopyWork& work) const {
    if (work.copy.is_empty()) return AsNode(Kind::kEmpty, EmptyNode());
    HOLDFAST_ASSIGN_OR_RETURN(const Operand to,
                              Resolve(memory, work.copy.destination));
    HOLDFAST_ASSIGN_OR_RETURN(const Operand from,
                              Resolve(memory, work.copy.source));
    const BoxCopy box = Merged(work.copy.box);
    const uint32_t device = work.context.device;
    if (box.height == 1 && box.depth == 1 && !to.is_ordinary() &&
        !from.is_ordinary()) {
      return AsNode(Kind::kCopy,
                    CopyNode(to.place(), from.place(), box.width).On(device));
    }
    if (to.is_device() && from.is_device()) {
      return AsNode(Kind::kCopyBox, BoxNode(box, to, from).On(device));
    }
    return AsAction([to, from, box](const holdfast::Stream& side) {
      if (Answer(CopyBoxes(box, to, from, side)) == CUDA_SUCCESS) {
        Answer(side.Synchronize());
      }
    });
  }

  absl::StatusOr<LoweredWork> operator()(const FillWork& work) const {
    const CUDA_MEMSET_NODE_PARAMS& p = work.parameters;
    HOLDFAST_ASSIGN_OR_RETURN(const Operand to,
                              Operand::OnDevice(memory, p.dst));
    const absl::string_view pattern(reinterpret_cast<const char*>(&p.value),
                                    p.elementSize);
    const Rows rows{.width = p.width * p.elementSize,
                    .height = p.height,
                    .pitch = p.height > 1 ? p.pitch : 0};
    return AsNode(Kind::kFill,
                  FillNode(to.place(), rows, pattern).On(work.context.device));
  }

  absl::StatusOr<LoweredWork> operator()(const ValueWork& work) const {
    HOLDFAST_ASSIGN_OR_RETURN(const ValueBatch batch,
                              ValueBatch::Read(memory, work.operations));
    if (batch.empty()) return AsNode(Kind::kEmpty, EmptyNode());
    return AsNode(Kind::kValues,
                  ValuesNode(batch.operations()).On(work.context.device));
  }

  absl::StatusOr<LoweredWork> operator()(const HostWork& work) const {
    return AsAction(
        [work](const holdfast::Stream&) { work.function(work.data); });
  }

  absl::StatusOr<LoweredWork> operator()(const EventWaitWork& work) const {
    return AsNode(Kind::kEvent,
                  WaitNode(work.event->event).On(work.event->device));
  }
  absl::StatusOr<LoweredWork> operator()(const EventRecordWork& work) const {
    return AsNode(Kind::kEvent,
                  RecordNode(work.event->event).On(work.event->device));
  }

  // Joins its dependencies. Memory is allocated and freed by the call that
  // launches (graph_memory.h).
  template <typename Work>
  absl::StatusOr<LoweredWork> operator()(const Work&) const {
    return AsNode(Kind::kEmpty, EmptyNode());
  }
};

}  // namespace

HandleParameters HandleParametersOf(const KernelWork& kernel) {
  HandleParameters handles;
  size_t i = 0;
  for (const auto& parameter : kernel.function->parameters()) {
    const size_t position = i++;
    CUgraphConditionalHandle value = 0;
    if (parameter.size() != sizeof value) continue;
    std::memcpy(&value, kernel.block.data() + parameter.offset(), sizeof value);
    handles[position] = value;
  }
  return handles;
}

bool NamesCondition(const NodeWork& work, const ConditionMap& conditions) {
  const auto* kernel = std::get_if<KernelWork>(&work);
  if (kernel == nullptr || conditions.empty()) return false;
  const HandleParameters handles = HandleParametersOf(*kernel);
  return std::any_of(handles.begin(), handles.end(), [&](const auto& handle) {
    return conditions.contains(handle.second);
  });
}

absl::StatusOr<LoweredWork> Lower(const MemoryMap& memory, const NodeWork& work,
                                  const ConditionMap& conditions) {
  return std::visit(Lowering{memory, conditions}, work);
}

}  // namespace holdfast::libcuda
