// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/event_resource.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/resources/handle_table.h"

namespace holdfast::executor {

absl::Status CheckOwn(uint64_t handle, const EventResource& event) {
  if (event.imported == nullptr) [[likely]]
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(DescribeHandle(handle),
                   " was imported; the session that made it records "
                   "it"));
}

absl::Status CheckPlain(uint64_t handle, const EventResource& event) {
  HOLDFAST_RETURN_IF_ERROR(CheckOwn(handle, event));
  if (event.published == nullptr) [[likely]]
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      DescribeHandle(handle),
      " is interprocess; it is recorded and awaited by commands of a stream"));
}

}  // namespace holdfast::executor
