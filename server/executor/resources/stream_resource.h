// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_RESOURCE_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_RESOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cuda/event.h"
#include "core/cuda/stream.h"
#include "server/executor/memory/inline_staging.h"

namespace holdfast::executor {

struct StreamResource {
  uint32_t device = 0;
  std::unique_ptr<cuda::Stream> stream;
  // For the account of GPU time: work was given after the last mark, and the
  // mark behind all work, if there is one that nobody has asked for yet.
  bool unmarked = false;
  std::shared_ptr<const cuda::Event> mark;
  // Bytes that its work still uses, and nobody watches yet; see
  // StreamWork::KeepUntilDone.
  std::vector<InlineStaging::Span> kept;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_RESOURCE_H_
