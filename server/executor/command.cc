// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command.h"

#include <utility>

#include "server/rpc/status_conversion.h"

namespace holdfast::executor {

std::function<void(const absl::Status&, v1::Result)> CommandContext::ReplyLater(
    size_t bytes) const {
  results->Expect(bytes);
  return [queue = results, number = sequence, bytes](const absl::Status& status,
                                                     v1::Result result) {
    result.set_sequence(number);
    if (!status.ok()) *result.mutable_error() = ToError(status);
    queue->Deliver(std::move(result), bytes);
  };
}

}  // namespace holdfast::executor
