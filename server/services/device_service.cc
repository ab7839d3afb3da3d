// SPDX-License-Identifier: Apache-2.0
#include "server/services/device_service.h"

#include <utility>

#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/unary_call.h"

namespace holdfast {

grpc::ServerUnaryReactor* DeviceService::ListDevices(
    grpc::CallbackServerContext* context, const v1::ListDevicesRequest*,
    v1::ListDevicesResponse* response) {
  return AnswerInThread(
      context, threads_, peers_.ClientOf(*context),
      [this, context, response]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(
            const auto devices,
            pool_.Devices(absl::FromChrono(context->deadline())));
        *response = devices->List(memory_);
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* DeviceService::DescribeDevice(
    grpc::CallbackServerContext* context,
    const v1::DescribeDeviceRequest* request,
    v1::DescribeDeviceResponse* response) {
  return AnswerInThread(
      context, threads_, peers_.ClientOf(*context),
      [this, context, request, response]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(
            const auto devices,
            pool_.Devices(absl::FromChrono(context->deadline())));
        HOLDFAST_ASSIGN_OR_RETURN(*response->mutable_device(),
                                  devices->Find(request->ordinal()));
        SetFreeMemory(memory_, response->mutable_device());
        *response->mutable_driver() = devices->driver();
        return absl::OkStatus();
      });
}

}  // namespace holdfast
