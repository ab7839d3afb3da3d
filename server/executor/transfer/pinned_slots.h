// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_PINNED_SLOTS_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_PINNED_SLOTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "cuda.h"
#include "server/executor/memory/pinned_memory.h"
#include "server/executor/session/session.h"
#include "server/relay/transfer_pipe.h"

namespace holdfast::executor {

// The slots of a pipe as page-locked memory for devices. A slot is page-locked
// on its first use, and charged to the account as staging, until this object
// ends. Copies hold the object by a shared_ptr. Not thread-safe.
class PinnedSlots {
 public:
  // REQUIRES: `session` outlives this object.
  PinnedSlots(Session& session, std::shared_ptr<TransferPipe> pipe)
      : session_(session), pipe_(std::move(pipe)) {}

  // Returns the slot's address for devices. RESOURCE_EXHAUSTED: the slot cannot
  // be page-locked.
  absl::StatusOr<CUdeviceptr> AddressOf(uint32_t slot);

 private:
  absl::StatusOr<std::unique_ptr<PinnedMemory>> Pin(uint32_t slot);

  Session& session_;
  const std::shared_ptr<TransferPipe> pipe_;  // ends after the slots
  std::array<std::unique_ptr<PinnedMemory>, TransferPipe::kSlots> slots_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_PINNED_SLOTS_H_
