// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_TURN_KEEPER_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_TURN_KEEPER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/commands.pb.h"
#include "server/counters/device_turns.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// Delays the session's commands until it has its turn at a device
// (server/counters/device_turns.h). Commands that give work to a device wait
// during another tenant's turn. In its own turn the session submits little work
// at a time, because submitted work cannot be withdrawn. Not thread-safe:
// belongs to the submission thread.
class TurnKeeper {
 public:
  // Any thread calls `wake` when a command that had to wait may be tried again.
  // REQUIRES: the resources outlive the keeper, and no other thread uses them
  // yet.
  TurnKeeper(Resources& resources, std::function<void()> wake);
  ~TurnKeeper();
  TurnKeeper(const TurnKeeper&) = delete;
  TurnKeeper& operator=(const TurnKeeper&) = delete;

  // Returns true if MayProceed must be called before each command.
  bool paced() {
    if (turns_.paced()) [[unlikely]]
      return true;
    if (waiting_.has_value()) [[unlikely]]
      SetWaiting(std::nullopt);
    return false;
  }

  // Returns true if the command may be carried out now; otherwise it must be
  // tried again after `wake`.
  bool MayProceed(const v1::Command& command);

 private:
  // Returns the driver's ordinal of the device that the command gives work to;
  // nullopt if it gives no work to a device, or the device is not paced.
  std::optional<uint32_t> DeviceOf(const v1::Command& command);
  void SetWaiting(std::optional<uint32_t> device);
  // Makes thread_ call `wake` when the number of changes of the turns is not
  // `seen` any more. Returns false if the system allows no thread.
  bool WakeAfter(uint32_t seen);
  void Run();

  Resources& resources_;
  DeviceTurns& turns_;
  const std::function<void()> wake_;
  std::optional<uint32_t> waiting_;  // for the turn at this device
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<uint32_t> seen_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // started when a command has to wait
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_TURN_KEEPER_H_
