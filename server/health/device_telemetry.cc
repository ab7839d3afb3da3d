// SPDX-License-Identifier: Apache-2.0
#include "server/health/device_telemetry.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/steady_time.h"

namespace holdfast {
namespace {

constexpr absl::Duration kStopPoll = absl::Milliseconds(100);

}  // namespace

DeviceTelemetry::DeviceTelemetry(Start start) : start_(std::move(start)) {
  if (start_) thread_ = std::thread([this] { Run(); });
}

DeviceTelemetry::~DeviceTelemetry() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

std::optional<v1::DeviceTelemetry> DeviceTelemetry::Get(
    const std::string& uuid) const {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(uuid);
  if (found == devices_.end()) return std::nullopt;
  return found->second;
}

bool DeviceTelemetry::Stopping() const {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void DeviceTelemetry::Run() {
  while (!Stopping()) {
    const auto process = start_();
    if (!process.ok()) {
      LogWarning("no telemetry process: ", process.status().message());
    } else if (!Listen(**process)) {
      return;
    }
    absl::MutexLock lock(&mutex_);
    devices_.clear();
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kRestartPause);
  }
}

bool DeviceTelemetry::Listen(ChildProcess& process) {
  absl::Time heard = SteadyNow();
  while (!Stopping()) {
    v1::ListDevicesResponse message;
    const auto received =
        process.channel().Receive(&message, absl::Now() + kStopPoll);
    if (received.ok()) {
      heard = SteadyNow();
      absl::MutexLock lock(&mutex_);
      devices_.clear();
      for (const v1::Device& device : message.devices()) {
        devices_[device.uuid()] = device.telemetry();
      }
    } else if (!absl::IsDeadlineExceeded(received.status())) {
      return !process.Wait().Succeeded();
    } else if (SteadyNow() - heard > kSilence) {
      LogError("telemetry: the GPU's driver has not answered for ",
               absl::FormatDuration(kSilence), "; its process is killed");
      process.Kill();
      return true;
    }
  }
  return true;
}

}  // namespace holdfast
