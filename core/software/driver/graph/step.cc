// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/step.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/software/driver/driver.h"
#include "core/software/driver/fault.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/watchdog.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {
namespace {

// Blocks of a cooperative launch wait for each other on several workers.
class KernelStep : public Step {
 public:
  KernelStep(KernelLaunch launch, std::unique_ptr<PreparedLaunch> prepared)
      : Step(launch.geometry.cooperative ? Place::kOwnThread
                                         : Place::kAnyThread),
        launch_(std::move(launch)),
        prepared_(std::move(prepared)) {}

  void Run(LaunchEvents&, size_t) const override {
    const Deadline deadline{
        std::chrono::seconds(GetSettings().launch_timeout_seconds)};
    ReportOutcome(prepared_->Run(launch_.parameters.data(), deadline.passed()));
  }

 private:
  const KernelLaunch launch_;  // keeps the code of `prepared_`
  const std::unique_ptr<PreparedLaunch> prepared_;
};

// Memory may have been freed since the graph was instantiated: on a GPU that
// is an illegal address, too.
void ReportFreed(absl::string_view what, uintptr_t address) {
  ReportFault(CUDA_ERROR_ILLEGAL_ADDRESS,
              absl::StrCat(what, " node of a graph: 0x", absl::Hex(address),
                           " is no longer allocated"));
}

class CopyStep : public Step {
 public:
  CopyStep(const Copy& copy, const MemoryMap& memory)
      : Step(Place::kAnyThread), copy_(copy), memory_(memory) {}

  void Run(LaunchEvents&, size_t) const override {
    const CopyLocations locations = Locate(memory_, copy_);
    if (locations.valid()) return software::Run(copy_);
    const CopyEnd& gone = locations.source == Location::kInvalid
                              ? copy_.source
                              : copy_.destination;
    ReportFreed("copy", gone.address);
  }

 private:
  const Copy copy_;
  const MemoryMap& memory_;
};

class FillStep : public Step {
 public:
  FillStep(const Fill& fill, const MemoryMap& memory)
      : Step(Place::kAnyThread), fill_(fill), memory_(memory) {}

  void Run(LaunchEvents&, size_t) const override {
    if (CheckFill(memory_, fill_) == CUDA_SUCCESS) return software::Run(fill_);
    ReportFreed("fill", fill_.address);
  }

 private:
  const Fill fill_;
  const MemoryMap& memory_;
};

class HostStep : public Step {
 public:
  explicit HostStep(const HostWork& node)
      : Step(Place::kOwnThread), node_(node) {}

  void Run(LaunchEvents&, size_t) const override {
    const cuda::HostFunctionScope scope;
    node_.function(node_.data);
  }

 private:
  const HostWork node_;
};

class EventWaitStep : public Step {
 public:
  explicit EventWaitStep(std::shared_ptr<Event> event)
      : Step(Place::kOwnThread), event_(std::move(event)) {}

  bool Ready(const LaunchEvents& events, size_t slot) const override {
    return events.slots[slot].point.Reached();
  }
  void Run(LaunchEvents&, size_t) const override {}
  Event* event() const override { return event_.get(); }

 private:
  const std::shared_ptr<Event> event_;
};

class EventRecordStep : public Step {
 public:
  explicit EventRecordStep(std::shared_ptr<Event> event)
      : Step(Place::kOwnThread), event_(std::move(event)) {}

  void Run(LaunchEvents& events, size_t slot) const override {
    events.slots[slot].recording.Reach();
    events.slots[slot].reached = true;
  }
  Event* event() const override { return event_.get(); }
  bool records() const override { return true; }

 private:
  const std::shared_ptr<Event> event_;
};

class BatchStep : public Step {
 public:
  BatchStep(std::vector<MemoryOperation> operations, const MemoryMap& memory)
      : Step(Place::kOwnThread),
        operations_(std::move(operations)),
        memory_(memory) {}

  // Waits behind a write block, since the write must not be made twice.
  bool Ready(const LaunchEvents&, size_t) const override {
    for (const MemoryOperation& operation : operations_) {
      if (operation.kind == MemoryOperation::Kind::kWrite) return true;
      if (operation.kind == MemoryOperation::Kind::kWait &&
          !Satisfied(memory_, operation)) {
        return false;
      }
    }
    return true;
  }
  void Run(LaunchEvents&, size_t) const override {
    for (const MemoryOperation& operation : operations_) {
      software::Run(memory_, operation);
    }
  }

 private:
  const std::vector<MemoryOperation> operations_;
  const MemoryMap& memory_;
};

// Makes the step of each kind of node.
struct Maker {
  const MemoryMap& memory;
  std::shared_ptr<const Step>* step;

  CUresult operator()(const KernelWork& node) const {
    const std::shared_ptr<Context> context = FindContext(node.context);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    // Attributes may have been set after the node was checked.
    LaunchGeometry geometry = node.launch.geometry;
    const CUresult result =
        CheckGeometry(*node.launch.kernel, context->device(), &geometry);
    if (result != CUDA_SUCCESS) return result;
    std::string error;
    std::unique_ptr<PreparedLaunch> prepared = node.launch.code->PrepareLaunch(
        node.launch.kernel->index(), geometry, &error);
    if (prepared == nullptr) return CUDA_ERROR_INVALID_PTX;
    *step = std::make_shared<KernelStep>(node.launch, std::move(prepared));
    return CUDA_SUCCESS;
  }
  CUresult operator()(const CopyWork& node) const {
    if (BytesOf(node.copy) == 0) return CUDA_SUCCESS;
    *step = std::make_shared<CopyStep>(node.copy, memory);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const FillWork& node) const {
    *step = std::make_shared<FillStep>(node.fill, memory);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const HostWork& node) const {
    *step = std::make_shared<HostStep>(node);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const EventWaitWork& node) const {
    *step = std::make_shared<EventWaitStep>(node.event);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const EventRecordWork& node) const {
    *step = std::make_shared<EventRecordStep>(node.event);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const ValueWork& node) const {
    *step = std::make_shared<BatchStep>(node.operations, memory);
    return CUDA_SUCCESS;
  }
  // Nodes that only order others, memory nodes, whose work is done by the call
  // that launches, and conditional nodes, whose step needs programs.
  template <typename Node>
  CUresult operator()(const Node&) const {
    return CUDA_SUCCESS;
  }
};

}  // namespace

CUresult MakeStep(const NodeWork& work, const MemoryMap& memory,
                  std::shared_ptr<const Step>* step) {
  *step = nullptr;
  return std::visit(Maker{memory, step}, work);
}

}  // namespace holdfast::software
