// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/destroyed_streams.h"

#include <utility>
#include <vector>

#include "core/base/status_macros.h"

namespace holdfast::executor {

void DestroyedStreams::Add(StreamResource& stream,
                           std::shared_ptr<const cuda::Event> end, bool idle,
                           CompletionWatcher& watcher) {
  if (!idle) AddEnd(end);
  if (stream.mark != nullptr) {
    marks_[stream.device].push_back(std::move(stream.mark));
  }
  ++*left_;
  auto kept = std::make_shared<std::vector<InlineStaging::Span>>(
      std::exchange(stream.kept, {}));
  watcher.Watch({std::move(end)}, [left = left_, kept = std::move(kept)](
                                      const absl::Status& done) {
    if (done.ok()) --*left;
  });
}

void DestroyedStreams::AddEnd(std::shared_ptr<const cuda::Event> end) {
  ends_.push_back(std::move(end));
  if (ends_.size() < prune_ends_at_) return;
  std::erase_if(ends_, [](const auto& left) {
    const auto done = left->Query();
    return done.ok() && *done;
  });
  prune_ends_at_ = 2 * ends_.size() + kPruneEndsFrom;
}

absl::StatusOr<bool> DestroyedStreams::AreDone() {
  for (const auto& end : ends_) {
    HOLDFAST_ASSIGN_OR_RETURN(const bool done, end->Query());
    if (!done) return false;
  }
  ends_.clear();
  return true;
}

CompletionWatcher::Events DestroyedStreams::TakeMarks(uint32_t device) {
  const auto found = marks_.find(device);
  if (found == marks_.end()) return {};
  CompletionWatcher::Events marks = std::move(found->second);
  marks_.erase(found);
  return marks;
}

}  // namespace holdfast::executor
