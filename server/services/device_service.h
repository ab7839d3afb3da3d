// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_

#include <cstdint>
#include <map>
#include <string>

#include "holdfast/v1/devices.grpc.pb.h"
#include "server/health/device_health_table.h"
#include "server/health/device_telemetry.h"
#include "server/memory/device_memory.h"
#include "server/rpc/call_threads.h"
#include "server/supervisor/executor_pool.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/callers.h"

namespace holdfast {

// Serves the list of devices that executors have found, with present health,
// telemetry and free memory.
class DeviceService final : public v1::DeviceService::CallbackService {
 public:
  // All arguments must outlive the service. Calls wait in `threads` for the
  // first executor. With `show_all`, every client sees all processes that use a
  // device, and their sessions. Otherwise only operators see all processes;
  // other clients see the processes of their own sessions.
  DeviceService(supervisor::ExecutorPool& pool, const DeviceMemory& memory,
                const DeviceHealthTable& health,
                const DeviceTelemetry& telemetry,
                const supervisor::SessionRegistry& sessions,
                const Callers& callers, CallThreads& threads, bool show_all);
  ~DeviceService() override;

  // Waits for the first executor's report, until the call's deadline.
  // UNAVAILABLE: no executor can be started.
  grpc::ServerUnaryReactor* ListDevices(
      grpc::CallbackServerContext* context,
      const v1::ListDevicesRequest* request,
      v1::ListDevicesResponse* response) override;
  // Waits as ListDevices does. NOT_FOUND: there is no device with this ordinal.
  grpc::ServerUnaryReactor* DescribeDevice(
      grpc::CallbackServerContext* context,
      const v1::DescribeDeviceRequest* request,
      v1::DescribeDeviceResponse* response) override;

 private:
  // The processes of a device that a caller may see.
  struct View {
    bool all = false;  // also those of other tenants and programs
    std::map<int64_t, std::string> sessions;  // by the pid of the executor
  };
  // Returns the present view of the caller.
  View ViewOf(const Caller& caller) const;
  // Sets the fields that change while the daemon runs.
  void Update(const View& view, v1::Device* device) const;

  supervisor::ExecutorPool& pool_;
  const DeviceMemory& memory_;
  const DeviceHealthTable& health_;
  const DeviceTelemetry& telemetry_;
  const supervisor::SessionRegistry& sessions_;
  const Callers& callers_;
  CallThreads& threads_;
  const bool show_all_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_
