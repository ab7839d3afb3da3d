// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_DEVICE_TELEMETRY_H_
#define HOLDFAST_SERVER_HEALTH_DEVICE_TELEMETRY_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/devices.pb.h"
#include "server/process/child_process.h"

namespace holdfast {

// The last report of the telemetry process (telemetry_main.h) on each device. A
// thread starts the process and reads the reports. It kills a silent process,
// and starts another process after a pause. Thread-safe.
class DeviceTelemetry {
 public:
  // A process that is silent for this time hangs in the driver. It is killed,
  // and its reports are dropped, so that old figures are not taken for new
  // ones.
  static constexpr absl::Duration kSilence = absl::Seconds(30);
  static constexpr absl::Duration kRestartPause = absl::Seconds(30);

  using Start = std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>()>;

  // Null `start`: there is no telemetry.
  explicit DeviceTelemetry(Start start);
  ~DeviceTelemetry();
  DeviceTelemetry(const DeviceTelemetry&) = delete;
  DeviceTelemetry& operator=(const DeviceTelemetry&) = delete;

  // Returns the report on the device whose UUID has these 16 bytes. nullopt:
  // NVML is missing or does not list the device, or there is no report yet.
  std::optional<v1::DeviceTelemetry> Get(const std::string& uuid) const;

 private:
  void Run();
  // Reads the reports of one process until it ends. Returns false if NVML is
  // missing, so that another process would not help.
  bool Listen(ChildProcess& process);
  bool Stopping() const;

  const Start start_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, v1::DeviceTelemetry> devices_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_DEVICE_TELEMETRY_H_
