// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TURNS_TURN_KEEPER_H_
#define HOLDFAST_SERVER_EXECUTOR_TURNS_TURN_KEEPER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/resources/resources.h"
#include "server/executor/turns/device_turns.h"

namespace holdfast::executor {

// Keeps a session's commands to its turns: a command that gives work to a
// device that another tenant has waits, and in its own turn a session gives a
// little work at a time, since work that is given cannot be taken back. Belongs
// to the submission thread.
class TurnKeeper {
 public:
  // `wake` is called, from any thread, when a command that had to wait may be
  // tried again. The resources must outlive the keeper, and be used by nobody
  // yet.
  TurnKeeper(Resources& resources, std::function<void()> wake);
  ~TurnKeeper();
  TurnKeeper(const TurnKeeper&) = delete;
  TurnKeeper& operator=(const TurnKeeper&) = delete;

  // Whether commands have to be asked about.
  bool paced() {
    if (turns_.paced()) [[unlikely]]
      return true;
    if (waiting_.has_value()) [[unlikely]]
      SetWaiting(std::nullopt);
    return false;
  }

  // Whether the command may be carried out now. If not, it has to be tried
  // again after `wake`.
  bool MayProceed(const v1::Command& command);

 private:
  // The device that the command gives work to: the driver's ordinal.
  std::optional<uint32_t> DeviceOf(const v1::Command& command);
  void SetWaiting(std::optional<uint32_t> device);
  // Has `wake` called once the turns are not those of `seen` any more.
  void WakeAfter(uint32_t seen);
  void Run();

  Resources& resources_;
  DeviceTurns& turns_;
  const std::function<void()> wake_;
  std::optional<uint32_t> waiting_;  // for the turn at this device
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<uint32_t> seen_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // once a command has had to wait
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TURNS_TURN_KEEPER_H_
