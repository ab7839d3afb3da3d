// SPDX-License-Identifier: Apache-2.0
//
// Records the commands of streams as a definition, without sending them:
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto capture, StreamCapture::Begin(main));
//   HOLDFAST_RETURN_IF_ERROR(Launch(main, config, first, x));
//   HOLDFAST_RETURN_IF_ERROR(side.Wait(main));  // fork
//   HOLDFAST_RETURN_IF_ERROR(Launch(side, config, second, y));
//   HOLDFAST_RETURN_IF_ERROR(main.Wait(side));  // join
//   HOLDFAST_ASSIGN_OR_RETURN(GraphDefinition graph, capture.End());
//
// As with CUDA's capture, a stream that waits for an event of the capture joins
// it, and the origin must wait for every joined stream before the end.
// Launches, copies, fills, semaphores, and allocations on the stream become
// nodes; recorded events become edges. An operation that must run at once
// breaks the capture with FAILED_PRECONDITION: a download, an upload of
// ordinary memory, a wait or query of the stream or of an event of the capture.
// So does a wait for an event from outside the capture, or from another
// capture.
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_STREAM_CAPTURE_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_STREAM_CAPTURE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/graph/definition/condition.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/definition/graph_node.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/stream.h"

namespace holdfast {

// One capture, from Begin to End. The destructor drops an unfinished capture.
// Move-only. Several threads may use the streams of a capture.
class StreamCapture {
 public:
  // Begins a capture on a stream, the capture's origin. FAILED_PRECONDITION:
  // the stream captures already.
  static absl::StatusOr<StreamCapture> Begin(const Stream& stream);

  StreamCapture(StreamCapture&& other) noexcept;
  StreamCapture& operator=(StreamCapture&& other) noexcept;
  ~StreamCapture();

  // Ends the capture, and returns the definition. FAILED_PRECONDITION: the
  // first error of the capture, or a stream that was not joined; the message
  // names its node.
  absl::StatusOr<GraphDefinition> End();

  // Adds a condition to the definition, for launches and conditional nodes.
  absl::StatusOr<GraphCondition> CreateCondition(
      std::optional<uint32_t> default_value = {});
  // Adds a node of any kind after the earlier commands of a stream of the
  // capture: a child graph, a conditional node whose body was captured on
  // another stream, an outside event. The node runs on the stream's device.
  absl::StatusOr<GraphNode> Add(const Stream& stream, NodeParams params);

 private:
  StreamCapture(std::shared_ptr<SessionState> session, uint64_t stream)
      : session_(std::move(session)), stream_(stream) {}

  std::shared_ptr<SessionState> session_;
  uint64_t stream_;  // the origin's handle; 0: ended
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_STREAM_CAPTURE_H_
