// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/buffer_resource.h"

#include "absl/strings/str_cat.h"
#include "server/executor/resources/handle_table.h"

namespace holdfast::executor {

absl::Status CheckAccess(uint64_t handle, const BufferResource& buffer,
                         Access access) {
  if (buffer.imported != nullptr && buffer.imported->asleep()) [[unlikely]] {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeHandle(handle),
        " is of a collection that sleeps: WakeCollection maps it again"));
  }
  if (access == Access::kRead || !buffer.read_only) [[likely]] {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat(DescribeHandle(handle),
                   " was imported with RIGHTS_READ, or is a collection's"));
}

}  // namespace holdfast::executor
