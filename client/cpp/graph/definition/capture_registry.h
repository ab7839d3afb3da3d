// SPDX-License-Identifier: Apache-2.0
//
// The captures of one session: the streams that record nodes instead of
// submitting commands, and their definitions. A capture begins on one stream,
// its origin. Another stream joins when it waits for an event of the capture,
// and the origin must wait for it before the end. Nothing is sent to the
// daemon.
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURE_REGISTRY_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURE_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/graph/definition/condition.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/definition/graph_node.h"
#include "client/cpp/graph/definition/node_value.h"

namespace holdfast {

// Streams and events are named by their handles. Functions that return an
// optional return nullopt if neither the stream nor the event takes part in a
// capture: the caller then submits its command. As in CUDA, the first error
// breaks a capture; End reports it. Thread-safe.
class CaptureRegistry {
 public:
  // Returns true if a capture is active. Costs one load.
  bool any() const { return active_.load(std::memory_order_relaxed) != 0; }
  bool IsCapturing(uint64_t stream) const;

  absl::Status Begin(uint64_t stream);
  // Ends the capture that began on this stream, and returns its definition.
  // FAILED_PRECONDITION: no capture began on this stream, the capture was
  // broken, or the origin has not waited for a stream that joined.
  absl::StatusOr<GraphDefinition> End(uint64_t stream);
  // Drops the capture that began on the stream, if there is one.
  void Abandon(uint64_t stream);

  // Adds a command of the stream, after the stream's earlier commands.
  // `command` has the command's encoded fields, and `device` is the stream's
  // device.
  std::optional<absl::Status> Add(uint64_t stream, uint32_t device,
                                  absl::string_view command);
  // Adds a node after the stream's earlier commands. The stream must capture.
  absl::StatusOr<GraphNode> AddNode(uint64_t stream, uint32_t device,
                                    NodeParams params);
  absl::StatusOr<GraphCondition> CreateCondition(
      uint64_t stream, std::optional<uint32_t> default_value);

  std::optional<absl::Status> Record(uint64_t stream, uint64_t event);
  std::optional<absl::Status> Wait(uint64_t stream, uint64_t event);

  // Refuse `call`, which would wait for work that is only recorded:
  // RefuseOnStream if the stream captures, RefuseOnEvent if the event was
  // recorded in a capture, and RefuseOnAny if there is any capture. A refusal
  // breaks the capture and is FAILED_PRECONDITION; otherwise the result is OK.
  // `call` names the operation in the message.
  absl::Status RefuseOnStream(uint64_t stream, absl::string_view call);
  absl::Status RefuseOnEvent(uint64_t event, absl::string_view call);
  absl::Status RefuseOnAny(absl::string_view call);

 private:
  struct Capture;
  struct Mark {
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode> nodes;
  };

  std::shared_ptr<Capture> Find(uint64_t stream) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the streams and events of the capture that began on `stream`, and
  // returns it; null if there is none.
  std::shared_ptr<Capture> Remove(uint64_t stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<uint32_t> active_ = 0;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Capture>> streams_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Mark> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURE_REGISTRY_H_
