// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_

#include "holdfast/v1/devices.grpc.pb.h"
#include "server/supervisor/executor_pool.h"

namespace holdfast {

class DeviceService final : public v1::DeviceService::Service {
 public:
  // `pool` must outlive the service.
  explicit DeviceService(ExecutorPool& pool) : pool_(pool) {}

  grpc::Status ListDevices(grpc::ServerContext* context,
                           const v1::ListDevicesRequest* request,
                           v1::ListDevicesResponse* response) override;
  grpc::Status DescribeDevice(grpc::ServerContext* context,
                              const v1::DescribeDeviceRequest* request,
                              v1::DescribeDeviceResponse* response) override;

 private:
  ExecutorPool& pool_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_DEVICE_SERVICE_H_
