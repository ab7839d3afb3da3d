// SPDX-License-Identifier: Apache-2.0
#include "server/services/device_service.h"

#include <utility>

#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/unary_call.h"

namespace holdfast {

DeviceService::SessionNames DeviceService::NamesFor(
    const Caller& caller) const {
  const std::string& client = caller.client();
  const bool all = show_all_ || caller.is_operator();
  SessionNames names;
  for (const auto& session : sessions_.List()) {
    if (!all && session->client() != client) continue;
    names[session->executor_pid()] = session->id();
  }
  return names;
}

void DeviceService::Update(const SessionNames& names,
                           v1::Device* device) const {
  SetFreeMemory(memory_, device);
  *device->mutable_health() = health_.Get(device->ordinal());
  const auto telemetry = telemetry_.Get(device->uuid());
  if (!telemetry.has_value()) return;
  *device->mutable_telemetry() = *telemetry;
  for (v1::DeviceProcess& process :
       *device->mutable_telemetry()->mutable_processes()) {
    const auto name = names.find(process.pid());
    if (name != names.end()) process.set_session_id(name->second);
  }
}

grpc::ServerUnaryReactor* DeviceService::ListDevices(
    grpc::CallbackServerContext* context, const v1::ListDevicesRequest*,
    v1::ListDevicesResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  return AnswerInThread(
      context, threads_, caller->client(),
      [this, context, caller = *caller, response]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(
            const auto devices,
            pool_.Devices(absl::FromChrono(context->deadline())));
        *response = devices->List(memory_);
        const SessionNames names = NamesFor(caller);
        for (v1::Device& device : *response->mutable_devices()) {
          Update(names, &device);
        }
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* DeviceService::DescribeDevice(
    grpc::CallbackServerContext* context,
    const v1::DescribeDeviceRequest* request,
    v1::DescribeDeviceResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  return AnswerInThread(
      context, threads_, caller->client(),
      [this, context, caller = *caller, request, response]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(
            const auto devices,
            pool_.Devices(absl::FromChrono(context->deadline())));
        HOLDFAST_ASSIGN_OR_RETURN(*response->mutable_device(),
                                  devices->Find(request->ordinal()));
        Update(NamesFor(caller), response->mutable_device());
        *response->mutable_driver() = devices->driver();
        return absl::OkStatus();
      });
}

}  // namespace holdfast
