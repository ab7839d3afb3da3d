// SPDX-License-Identifier: Apache-2.0
//
// Captures of streams.
#include <optional>
#include <utility>

#include "client/c/error.h"
#include "client/c/graph/graph_handles.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

extern "C" {

hf_error* hf_capture_begin(const hf_stream* stream, hf_capture** capture) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream, capture);
    HOLDFAST_ASSIGN_OR_RETURN(auto begun,
                              holdfast::StreamCapture::Begin(stream->stream));
    return Give(std::move(begun), capture);
  });
}

hf_error* hf_capture_end(hf_capture* capture, hf_definition** definition) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(capture, definition);
    HOLDFAST_ASSIGN_OR_RETURN(auto captured, capture->capture.End());
    return Give(std::move(captured), definition);
  });
}

void hf_capture_free(hf_capture* capture) { delete capture; }

hf_error* hf_capture_create_condition(hf_capture* capture,
                                      const uint32_t* default_value,
                                      uint32_t* condition) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(capture, condition);
    HOLDFAST_ASSIGN_OR_RETURN(
        const holdfast::GraphCondition made,
        capture->capture.CreateCondition(default_value == nullptr
                                             ? std::optional<uint32_t>()
                                             : *default_value));
    *condition = made.id;
    return absl::OkStatus();
  });
}

hf_error* hf_capture_add(hf_capture* capture, const hf_stream* stream,
                         const hf_node* node, uint32_t* id) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(capture, stream, node, id);
    HOLDFAST_ASSIGN_OR_RETURN(
        const holdfast::GraphNode added,
        capture->capture.Add(stream->stream, node->params));
    *id = added.id;
    return absl::OkStatus();
  });
}

bool hf_stream_is_capturing(const hf_stream* stream) {
  return stream->stream.IsCapturing();
}

}  // extern "C"
