// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/capture_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/graph/captured_command.h"
#include "client/cpp/graph/conditions.h"
#include "client/cpp/graph/node_kind.h"
#include "core/base/error_detail.h"

namespace holdfast {

struct CaptureRegistry::Capture {
  uint64_t origin = 0;
  v1::GraphDefinition definition;  // ids are 1, 2, 3 ... in order
  ConditionIds used_conditions;    // that it and those in it declare
  // By stream: the nodes that its next one comes after.
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> frontiers;
  absl::Status broken;

  absl::Status Break(absl::Status error) {
    if (broken.ok()) broken = error;
    return error;
  }
  uint32_t Add(uint64_t stream, uint32_t device, v1::GraphNode node);
  absl::Status AddCommand(uint64_t stream, uint32_t device,
                          const v1::Command& command);
  // OK if every node of every stream comes before the origin's last ones.
  absl::Status CheckJoined() const;
};

namespace {

// Nodes by id: those that the nodes `from` depend on, and themselves.
std::vector<bool> Ancestors(const v1::GraphDefinition& definition,
                            std::vector<uint32_t> from) {
  std::vector<bool> reached(definition.nodes_size() + 1);
  while (!from.empty()) {
    const uint32_t id = from.back();
    from.pop_back();
    if (reached[id]) continue;
    reached[id] = true;
    const auto& after = definition.nodes(static_cast<int>(id) - 1).after();
    from.insert(from.end(), after.begin(), after.end());
  }
  return reached;
}

absl::Status NotCapturing() {
  return absl::FailedPreconditionError("the stream does not capture");
}

absl::Status Refusal(absl::string_view call) {
  return absl::FailedPreconditionError(absl::StrCat(
      call,
      " cannot be captured: the work is only recorded, and runs when the "
      "graph is launched"));
}

}  // namespace

uint32_t CaptureRegistry::Capture::Add(uint64_t stream, uint32_t device,
                                       v1::GraphNode node) {
  std::vector<uint32_t>& frontier = frontiers[stream];
  const auto id = static_cast<uint32_t>(definition.nodes_size()) + 1;
  node.set_id(id);
  node.set_device(device);
  node.mutable_after()->Assign(frontier.begin(), frontier.end());
  *definition.add_nodes() = std::move(node);
  return id;
}

absl::Status CaptureRegistry::Capture::AddCommand(uint64_t stream,
                                                  uint32_t device,
                                                  const v1::Command& command) {
  if (!broken.ok()) return broken;
  absl::StatusOr<std::vector<v1::GraphNode>> nodes = ToNodes(command);
  if (!nodes.ok()) return Break(nodes.status());
  std::vector<uint32_t> added;
  for (v1::GraphNode& node : *nodes) {
    added.push_back(Add(stream, device, std::move(node)));
  }
  if (!added.empty()) frontiers[stream] = std::move(added);
  return absl::OkStatus();
}

absl::Status CaptureRegistry::Capture::CheckJoined() const {
  const std::vector<bool> joined = Ancestors(definition, frontiers.at(origin));
  for (const auto& [stream, frontier] : frontiers) {
    for (const uint32_t id : frontier) {
      if (joined[id]) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "node ", id, " (",
          NodeKindName(definition.nodes(static_cast<int>(id) - 1)),
          ") was captured on another stream, which the stream that the capture "
          "began on does not wait for at the end"));
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<CaptureRegistry::Capture> CaptureRegistry::Find(
    uint64_t stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second;
}

std::shared_ptr<CaptureRegistry::Capture> CaptureRegistry::Remove(
    uint64_t stream) {
  std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr || capture->origin != stream) return nullptr;
  absl::erase_if(streams_, [&capture](const auto& entry) {
    return entry.second == capture;
  });
  absl::erase_if(events_, [&capture](const auto& entry) {
    return entry.second.capture == capture;
  });
  active_.fetch_sub(1, std::memory_order_relaxed);
  return capture;
}

bool CaptureRegistry::IsCapturing(uint64_t stream) const {
  if (!any()) return false;
  absl::MutexLock lock(&mutex_);
  return Find(stream) != nullptr;
}

absl::Status CaptureRegistry::Begin(uint64_t stream) {
  absl::MutexLock lock(&mutex_);
  if (Find(stream) != nullptr) {
    return absl::FailedPreconditionError("the stream captures already");
  }
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->frontiers[stream] = {};
  streams_[stream] = std::move(capture);
  active_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::StatusOr<v1::GraphDefinition> CaptureRegistry::End(uint64_t stream) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Remove(stream);
  if (capture == nullptr) {
    if (Find(stream) == nullptr) return NotCapturing();
    return absl::FailedPreconditionError(
        "the capture began on another stream: end it there");
  }
  if (!capture->broken.ok()) {
    return WithPrefix("the capture failed", capture->broken);
  }
  if (const absl::Status joined = capture->CheckJoined(); !joined.ok()) {
    return joined;
  }
  return std::move(capture->definition);
}

void CaptureRegistry::Abandon(uint64_t stream) {
  absl::MutexLock lock(&mutex_);
  Remove(stream);
}

std::optional<absl::Status> CaptureRegistry::Add(uint64_t stream,
                                                 uint32_t device,
                                                 const v1::Command& command) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) return std::nullopt;
  return capture->AddCommand(stream, device, command);
}

absl::StatusOr<uint32_t> CaptureRegistry::AddNode(uint64_t stream,
                                                  uint32_t device,
                                                  v1::GraphNode node) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) return NotCapturing();
  if (!capture->broken.ok()) return capture->broken;
  MakeConditionsUnique(capture->used_conditions, node);
  const uint32_t id = capture->Add(stream, device, std::move(node));
  capture->frontiers[stream] = {id};
  return id;
}

absl::Status CaptureRegistry::AddCondition(uint64_t stream,
                                           const v1::GraphCondition& added) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) return NotCapturing();
  capture->used_conditions.insert(added.id());
  *capture->definition.add_conditions() = added;
  return absl::OkStatus();
}

std::optional<absl::Status> CaptureRegistry::Record(uint64_t stream,
                                                    uint64_t event) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) {
    events_.erase(event);
    return std::nullopt;
  }
  if (!capture->broken.ok()) return capture->broken;
  events_[event] = {capture, capture->frontiers[stream]};
  return absl::OkStatus();
}

std::optional<absl::Status> CaptureRegistry::Wait(uint64_t stream,
                                                  uint64_t event) {
  absl::MutexLock lock(&mutex_);
  const auto mark = events_.find(event);
  std::shared_ptr<Capture>& capture = streams_[stream];
  if (mark == events_.end()) {
    if (capture == nullptr) {
      streams_.erase(stream);
      return std::nullopt;
    }
    return capture->Break(absl::FailedPreconditionError(
        "the event was recorded outside the capture: a graph can wait for it "
        "only by a node of its own (StreamCapture::Add, WaitNode)"));
  }
  if (capture == nullptr) capture = mark->second.capture;
  if (capture != mark->second.capture) {
    return capture->Break(absl::FailedPreconditionError(
        "the event was recorded in another capture: two captures cannot be "
        "merged"));
  }
  if (!capture->broken.ok()) return capture->broken;
  std::vector<uint32_t>& frontier = capture->frontiers[stream];
  for (const uint32_t id : mark->second.nodes) {
    if (std::find(frontier.begin(), frontier.end(), id) == frontier.end()) {
      frontier.push_back(id);
    }
  }
  return absl::OkStatus();
}

absl::Status CaptureRegistry::RefuseOnStream(uint64_t stream,
                                             absl::string_view call) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  return capture == nullptr ? absl::OkStatus() : capture->Break(Refusal(call));
}

absl::Status CaptureRegistry::RefuseOnEvent(uint64_t event,
                                            absl::string_view call) {
  absl::MutexLock lock(&mutex_);
  const auto mark = events_.find(event);
  if (mark == events_.end()) return absl::OkStatus();
  return mark->second.capture->Break(Refusal(call));
}

absl::Status CaptureRegistry::RefuseOnAny(absl::string_view call) {
  absl::MutexLock lock(&mutex_);
  absl::Status refusal;
  for (const auto& [stream, capture] : streams_) {
    refusal = capture->Break(Refusal(call));
  }
  return refusal;
}

}  // namespace holdfast
