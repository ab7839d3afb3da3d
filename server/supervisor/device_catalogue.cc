// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/device_catalogue.h"

#include "absl/strings/str_cat.h"

namespace holdfast {

v1::ListDevicesResponse DeviceCatalogue::List() const {
  v1::ListDevicesResponse response;
  *response.mutable_driver() = ready_.driver();
  for (const v1::Device& device : ready_.devices()) {
    *response.add_devices() = device;
    response.mutable_devices()->rbegin()->clear_attributes();
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

}  // namespace holdfast
