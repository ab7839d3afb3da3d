// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/pinned_slots.h"

#include "absl/status/status.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {

absl::StatusOr<CUdeviceptr> PinnedSlots::AddressOf(uint32_t slot) {
  std::unique_ptr<PinnedMemory>& memory = slots_[slot];
  if (memory == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(memory, Pin(slot));
  }
  return memory->device_address();
}

// Page-locking takes long, so it does not happen on the submission thread.
absl::StatusOr<std::unique_ptr<PinnedMemory>> PinnedSlots::Pin(uint32_t slot) {
  std::shared_ptr<Quota> quota;
  absl::StatusOr<std::shared_ptr<const cuda::Context>> context =
      absl::UnavailableError("the session is being closed");
  (void)session_.Run([&](Resources& resources) {
    const auto device = resources.devices.OpenFirst();
    if (device.ok()) {
      context = (*device)->context;
    } else {
      context = device.status();
    }
    quota = resources.account().staging_memory();
  });
  HOLDFAST_RETURN_IF_ERROR(context.status());
  return PinnedMemory::Register(*std::move(context), pipe_->data(slot),
                                TransferPipe::kSlotBytes, *quota);
}

}  // namespace holdfast::executor
