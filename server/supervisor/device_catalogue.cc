// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/device_catalogue.h"

#include "absl/strings/str_cat.h"

namespace holdfast::supervisor {

std::shared_ptr<const DeviceCatalogue> DeviceCatalogue::With(
    const internal::Ready& ready) const {
  internal::Ready joined = ready;
  for (v1::Device& device : *joined.mutable_devices()) {
    if (device.greatest_stream_priority() != 0) continue;
    const auto known = Find(device.ordinal());
    if (!known.ok()) continue;
    device.set_least_stream_priority(known->least_stream_priority());
    device.set_greatest_stream_priority(known->greatest_stream_priority());
  }
  return std::make_shared<const DeviceCatalogue>(joined);
}

void SetFreeMemory(const DeviceMemory& memory, v1::Device* device) {
  const auto free = memory.Free(device->ordinal());
  device->clear_free_memory();
  if (free.has_value()) device->set_free_memory(*free);
}

v1::ListDevicesResponse DeviceCatalogue::List(
    const DeviceMemory& memory) const {
  v1::ListDevicesResponse response;
  *response.mutable_driver() = ready_.driver();
  for (const v1::Device& device : ready_.devices()) {
    *response.add_devices() = device;
    v1::Device& added = *response.mutable_devices()->rbegin();
    added.clear_attributes();
    SetFreeMemory(memory, &added);
  }
  return response;
}

absl::StatusOr<v1::Device> DeviceCatalogue::Find(uint32_t ordinal) const {
  for (const v1::Device& device : ready_.devices()) {
    if (device.ordinal() == ordinal) return device;
  }
  return absl::NotFoundError(
      absl::StrCat("no device ", ordinal, ": the daemon serves ",
                   ready_.devices_size(), ", numbered from 0"));
}

v1::ObjectFormat DeviceCatalogue::DefaultTarget() const {
  return driver().kind() == v1::Driver::KIND_CUDA ? v1::OBJECT_FORMAT_CUBIN
                                                  : v1::OBJECT_FORMAT_PTX;
}

std::string DeviceCatalogue::DefaultArch() const {
  if (ready_.devices().empty()) return "90";
  const v1::Device& device = ready_.devices(0);
  return absl::StrCat(device.compute_capability_major(),
                      device.compute_capability_minor());
}

}  // namespace holdfast::supervisor
