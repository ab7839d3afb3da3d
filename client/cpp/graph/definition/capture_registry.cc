// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/capture_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/graph/definition/captured_command.h"
#include "client/cpp/graph/definition/node_kind.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

namespace holdfast {

struct CaptureRegistry::Capture {
  uint64_t origin = 0;
  GraphDefinition definition;  // ids are 1, 2, 3 ... in order
  // By stream: the nodes that its next one comes after.
  absl::flat_hash_map<uint64_t, std::vector<GraphNode>> frontiers;
  absl::Status broken;

  absl::Status Break(absl::Status error) {
    if (broken.ok()) broken = error;
    return error;
  }
  // The refusal of a later call: the stream is not free yet, and why.
  absl::Status StillBroken() const {
    return WithPrefix(
        "the stream still records a graph, and the recording has failed; to "
        "use the stream again, end the recording (StreamCapture::End; in "
        "Python end_building() or close() of the GraphBuilder). The recording "
        "failed with",
        broken);
  }
  absl::StatusOr<GraphNode> Add(uint64_t stream, uint32_t device,
                                NodeParams params) {
    return definition.Add(std::move(params).On(device), frontiers[stream]);
  }
  absl::Status AddCommand(uint64_t stream, uint32_t device,
                          absl::string_view command);
  // OK if every node of every stream comes before the origin's last ones.
  absl::Status CheckJoined() const;
};

namespace {

// Nodes by id: those that the nodes `from` depend on, and themselves.
std::vector<bool> Ancestors(const GraphDefinition& definition,
                            const std::vector<GraphNode>& from) {
  std::vector<bool> reached(definition.size() + 1);
  std::vector<uint32_t> rest;
  rest.reserve(from.size());
  for (const GraphNode& node : from) rest.push_back(node.id);
  while (!rest.empty()) {
    const uint32_t id = rest.back();
    rest.pop_back();
    if (reached[id]) continue;
    reached[id] = true;
    const auto after = definition.node(id - 1).after;
    rest.insert(rest.end(), after.begin(), after.end());
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

absl::Status CaptureRegistry::Capture::AddCommand(uint64_t stream,
                                                  uint32_t device,
                                                  absl::string_view command) {
  if (!broken.ok()) return StillBroken();
  absl::StatusOr<std::vector<NodeParams>> nodes = ToNodes(command);
  if (!nodes.ok()) return Break(nodes.status());
  std::vector<GraphNode> added;
  for (NodeParams& params : *nodes) {
    const auto node = Add(stream, device, std::move(params));
    if (!node.ok()) return Break(node.status());
    added.push_back(*node);
  }
  if (!added.empty()) frontiers[stream] = std::move(added);
  return absl::OkStatus();
}

absl::Status CaptureRegistry::Capture::CheckJoined() const {
  const std::vector<bool> joined = Ancestors(definition, frontiers.at(origin));
  for (const auto& [stream, frontier] : frontiers) {
    for (const GraphNode& node : frontier) {
      if (joined[node.id]) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "node ", node.id, " (",
          NodeKindName(definition.node(node.id - 1).params.proto()),
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

absl::StatusOr<GraphDefinition> CaptureRegistry::End(uint64_t stream) {
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
                                                 absl::string_view command) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) return std::nullopt;
  return capture->AddCommand(stream, device, command);
}

absl::StatusOr<GraphNode> CaptureRegistry::AddNode(uint64_t stream,
                                                   uint32_t device,
                                                   NodeParams params) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) return NotCapturing();
  if (!capture->broken.ok()) return capture->StillBroken();
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode node,
                            capture->Add(stream, device, std::move(params)));
  capture->frontiers[stream] = {node};
  return node;
}

absl::StatusOr<GraphCondition> CaptureRegistry::CreateCondition(
    uint64_t stream, std::optional<uint32_t> default_value) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) return NotCapturing();
  return capture->definition.CreateCondition(default_value);
}

std::optional<absl::Status> CaptureRegistry::Record(uint64_t stream,
                                                    uint64_t event) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Capture> capture = Find(stream);
  if (capture == nullptr) {
    events_.erase(event);
    return std::nullopt;
  }
  if (!capture->broken.ok()) return capture->StillBroken();
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
        "only by a node of its own (StreamCapture::Add, WaitNode; in Python "
        "GraphDefinition.wait)"));
  }
  if (capture == nullptr) capture = mark->second.capture;
  if (capture != mark->second.capture) {
    return capture->Break(absl::FailedPreconditionError(
        "the event was recorded in another capture: two captures cannot be "
        "merged"));
  }
  if (!capture->broken.ok()) return capture->StillBroken();
  std::vector<GraphNode>& frontier = capture->frontiers[stream];
  for (const GraphNode node : mark->second.nodes) {
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) {
      frontier.push_back(node);
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
