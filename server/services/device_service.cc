// SPDX-License-Identifier: Apache-2.0
#include "server/services/device_service.h"

#include <utility>

#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/unary_call.h"

namespace holdfast {

DeviceService::DeviceService(supervisor::ExecutorPool& pool,
                             const DeviceMemory& memory,
                             const DeviceHealthTable& health,
                             const DeviceTelemetry& telemetry,
                             const supervisor::SessionRegistry& sessions,
                             const Callers& callers, CallThreads& threads,
                             bool show_all)
    : pool_(pool),
      memory_(memory),
      health_(health),
      telemetry_(telemetry),
      sessions_(sessions),
      callers_(callers),
      threads_(threads),
      show_all_(show_all) {}

DeviceService::~DeviceService() = default;

DeviceService::View DeviceService::ViewOf(const Caller& caller) const {
  const std::string& client = caller.client();
  View view = {.all = show_all_ || caller.is_operator(), .sessions = {}};
  for (const auto& session : sessions_.List()) {
    if (!view.all && session->client() != client) continue;
    view.sessions[session->executor_pid()] = session->id();
  }
  return view;
}

void DeviceService::Update(const View& view, v1::Device* device) const {
  supervisor::SetFreeMemory(memory_, device);
  *device->mutable_health() = health_.Get(device->ordinal());
  const auto telemetry = telemetry_.Get(device->uuid());
  if (!telemetry.has_value()) return;
  *device->mutable_telemetry() = *telemetry;
  device->mutable_telemetry()->clear_processes();
  for (const v1::DeviceProcess& process : telemetry->processes()) {
    const auto session = view.sessions.find(process.pid());
    const bool known = session != view.sessions.end();
    if (!known && !view.all) continue;
    v1::DeviceProcess& shown = *device->mutable_telemetry()->add_processes();
    shown = process;
    if (known) shown.set_session_id(session->second);
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
        const View view = ViewOf(caller);
        for (v1::Device& device : *response->mutable_devices()) {
          Update(view, &device);
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
        Update(ViewOf(caller), response->mutable_device());
        *response->mutable_driver() = devices->driver();
        return absl::OkStatus();
      });
}

}  // namespace holdfast
