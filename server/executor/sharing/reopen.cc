// SPDX-License-Identifier: Apache-2.0
#include "server/executor/sharing/reopen.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {

absl::StatusOr<std::shared_ptr<ImportedMemory>> Reopen(Resources& resources,
                                                       uint64_t handle,
                                                       uint32_t ordinal) {
  const uint64_t import = resources.devices.inheritance().ImportOf(handle);
  if (import == 0) {
    return absl::NotFoundError(
        absl::StrCat(DescribeHandle(handle), " had imported nothing"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(ordinal));
  internal::SharingRequest request;
  request.set_reopen(import);
  HOLDFAST_ASSIGN_OR_RETURN(SharingAnswer answer,
                            resources.sharing().ask(request, -1));
  return ImportedMemory::Map(
      device->context,
      {device->allocator->addresses(),
       resources.devices.inheritance().ImportAddressOf(handle)},
      std::move(answer), resources.sharing().released);
}

}  // namespace holdfast::executor
