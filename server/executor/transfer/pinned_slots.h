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

// The slots of a pipe, as devices use them: page-locked one by one, when the
// first bytes come in one, and charged to the account as staging. They stay
// until no copy holds them any more. Used by one thread at a time.
class PinnedSlots {
 public:
  // `session` must outlive it.
  PinnedSlots(Session& session, std::shared_ptr<TransferPipe> pipe)
      : session_(session), pipe_(std::move(pipe)) {}

  // Where devices find the slot. RESOURCE_EXHAUSTED: it cannot be page-locked.
  absl::StatusOr<CUdeviceptr> AddressOf(uint32_t slot);

 private:
  absl::StatusOr<std::unique_ptr<PinnedMemory>> Pin(uint32_t slot);

  Session& session_;
  const std::shared_ptr<TransferPipe> pipe_;  // ends after the slots
  std::array<std::unique_ptr<PinnedMemory>, TransferPipe::kSlots> slots_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_PINNED_SLOTS_H_
