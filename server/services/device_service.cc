// SPDX-License-Identifier: Apache-2.0
#include "server/services/device_service.h"

#include "absl/time/time.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

grpc::Status DeviceService::ListDevices(grpc::ServerContext* context,
                                        const v1::ListDevicesRequest*,
                                        v1::ListDevicesResponse* response) {
  const auto devices = pool_.Devices(absl::FromChrono(context->deadline()));
  if (!devices.ok()) return ToGrpcStatus(devices.status());
  *response = (*devices)->List();
  return grpc::Status::OK;
}

grpc::Status DeviceService::DescribeDevice(
    grpc::ServerContext* context, const v1::DescribeDeviceRequest* request,
    v1::DescribeDeviceResponse* response) {
  const auto devices = pool_.Devices(absl::FromChrono(context->deadline()));
  if (!devices.ok()) return ToGrpcStatus(devices.status());
  auto device = (*devices)->Find(request->ordinal());
  if (!device.ok()) return ToGrpcStatus(device.status());
  *response->mutable_device() = *std::move(device);
  *response->mutable_driver() = (*devices)->driver();
  return grpc::Status::OK;
}

}  // namespace holdfast
