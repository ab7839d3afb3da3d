// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/turn_keeper.h"

#include <utility>

#include "core/base/start_thread.h"
#include "proto/command_facts.h"

namespace holdfast::executor {

using Turn = DeviceTurns::Turn;

TurnKeeper::TurnKeeper(Resources& resources, std::function<void()> wake)
    : resources_(resources),
      turns_(*resources.options().turns),
      wake_(std::move(wake)) {
  resources_.stream_work().OnRoom(wake_);
}

TurnKeeper::~TurnKeeper() {
  SetWaiting(std::nullopt);
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  turns_.Wake();
  if (thread_.joinable()) thread_.join();
}

std::optional<uint32_t> TurnKeeper::DeviceOf(const v1::Command& command) {
  const CommandFacts facts = FactsOf(command);
  if (facts.work == CommandWork::kNone) return std::nullopt;
  const auto stream = resources_.streams.Find(facts.stream);
  if (!stream.ok()) return std::nullopt;  // The handler says what is wrong.
  const uint32_t device =
      resources_.options().placement.InDriver((*stream)->device);
  if (device >= DeviceTurns::kMaxDevices) return std::nullopt;
  return device;
}

bool TurnKeeper::MayProceed(const v1::Command& command) {
  const std::optional<uint32_t> device = DeviceOf(command);
  if (!device.has_value()) return true;
  const uint32_t seen = turns_.changes();
  const Turn turn = turns_.turn(*device);
  if (turn == Turn::kWait) {
    SetWaiting(device);
    if (WakeAfter(seen)) return false;
    // A command out of turn is better than one that nothing wakes.
    SetWaiting(std::nullopt);
    return true;
  }
  if (turn == Turn::kOwn && !resources_.stream_work().HasRoom(*device)) {
    SetWaiting(device);
    return false;
  }
  if (waiting_.has_value()) SetWaiting(std::nullopt);
  return true;
}

void TurnKeeper::SetWaiting(std::optional<uint32_t> device) {
  if (waiting_ == device) return;
  if (waiting_.has_value()) turns_.SetWaiting(*waiting_, false);
  if (device.has_value()) turns_.SetWaiting(*device, true);
  waiting_ = device;
}

bool TurnKeeper::WakeAfter(uint32_t seen) {
  if (!thread_.joinable()) {
    auto thread = StartThread("turns at devices", [this] { Run(); });
    if (!thread.ok()) return false;
    thread_ = *std::move(thread);
  }
  absl::MutexLock lock(&mutex_);
  seen_ = seen;
  return true;
}

void TurnKeeper::Run() {
  while (true) {
    uint32_t seen = 0;
    {
      absl::MutexLock lock(&mutex_);
      const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || seen_.has_value();
      };
      mutex_.Await(absl::Condition(&due));
      if (stopping_) return;
      seen = *std::exchange(seen_, std::nullopt);
    }
    turns_.AwaitChange(seen);
    wake_();
  }
}

}  // namespace holdfast::executor
