// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_

#include "holdfast/v1/devices.grpc.pb.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/peer_table.h"
#include "server/supervisor/device_memory.h"
#include "server/supervisor/executor_pool.h"

namespace holdfast {

class DeviceService final : public v1::DeviceService::CallbackService {
 public:
  // All must outlive the service. Calls wait in `threads` for the first
  // executor.
  DeviceService(ExecutorPool& pool, const DeviceMemory& memory,
                const PeerTable& peers, CallThreads& threads)
      : pool_(pool), memory_(memory), peers_(peers), threads_(threads) {}

  grpc::ServerUnaryReactor* ListDevices(
      grpc::CallbackServerContext* context,
      const v1::ListDevicesRequest* request,
      v1::ListDevicesResponse* response) override;
  grpc::ServerUnaryReactor* DescribeDevice(
      grpc::CallbackServerContext* context,
      const v1::DescribeDeviceRequest* request,
      v1::DescribeDeviceResponse* response) override;

 private:
  ExecutorPool& pool_;
  const DeviceMemory& memory_;
  const PeerTable& peers_;
  CallThreads& threads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_
