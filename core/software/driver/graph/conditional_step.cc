// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/conditional_step.h"

#include <chrono>
#include <utility>

#include "core/software/driver/fault.h"
#include "core/software/driver/graph/run.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/watchdog.h"
#include "core/software/runtime/graph_condition.h"

namespace holdfast::software {
namespace {

class ConditionalStep : public Step {
 public:
  ConditionalStep(const ConditionalWork& node,
                  std::vector<std::shared_ptr<Program>> bodies)
      : Step(Place::kOwnThread),
        type_(node.type),
        condition_(node.condition),
        bodies_(std::move(bodies)) {}

  void Run(LaunchEvents& events, size_t) const override {
    switch (type_) {
      case CU_GRAPH_COND_TYPE_IF:
        return RunBody(condition_->value() != 0 ? 0 : 1, events);
      case CU_GRAPH_COND_TYPE_SWITCH:
        return RunBody(condition_->value(), events);
      default:
        return RunWhile(events);
    }
  }

 private:
  void RunBody(size_t index, LaunchEvents& events) const {
    if (index < bodies_.size()) software::Run(*bodies_[index], events);
  }

  // A loop that never ends is cancelled as a kernel is that never ends.
  void RunWhile(LaunchEvents& events) const {
    const Deadline deadline{
        std::chrono::seconds(GetSettings().launch_timeout_seconds)};
    while (condition_->value() != 0 && LastFault() == CUDA_SUCCESS) {
      RunBody(0, events);
      if (*deadline.passed()) {
        ReportFault(CUDA_ERROR_LAUNCH_TIMEOUT,
                    "conditional node of a graph: its loop was cancelled");
      }
    }
  }

  const CUgraphConditionalNodeType type_;
  const std::shared_ptr<GraphCondition> condition_;
  const std::vector<std::shared_ptr<Program>> bodies_;
};

}  // namespace

std::shared_ptr<const Step> MakeConditionalStep(
    const ConditionalWork& node, std::vector<std::shared_ptr<Program>> bodies) {
  return std::make_shared<ConditionalStep>(node, std::move(bodies));
}

}  // namespace holdfast::software
