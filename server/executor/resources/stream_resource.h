// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_RESOURCE_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_RESOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cuda/event.h"
#include "core/cuda/stream.h"
#include "server/executor/memory/inline_staging.h"
#include "server/executor/resources/stream_progress.h"

namespace holdfast::executor {

// A stream of the session.
struct StreamResource {
  uint32_t device = 0;
  std::unique_ptr<cuda::Stream> stream;
  StreamProgress progress;
  // StreamWork uses the members below, to measure GPU time. `unmarked` is true
  // if the stream got work after its last mark. `mark` is an event at the end
  // of the stream's work that no watcher waits for; may be null.
  bool unmarked = false;
  std::shared_ptr<const cuda::Event> mark;
  // The inline bytes that the stream's unwatched work still uses; see
  // StreamWork::KeepUntilDone.
  std::vector<InlineStaging::Span> kept;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_RESOURCE_H_
