// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command.h"

#include <utility>

#include "server/rpc/status_conversion.h"

namespace holdfast::executor {

std::function<void(const absl::Status&, v1::Result)>
CommandContext::ReplyLater() const {
  results->Expect();
  return [queue = results, number = sequence](const absl::Status& status,
                                              v1::Result result) {
    result.set_sequence(number);
    if (!status.ok()) *result.mutable_error() = ToError(status);
    queue->Deliver(std::move(result));
  };
}

}  // namespace holdfast::executor
