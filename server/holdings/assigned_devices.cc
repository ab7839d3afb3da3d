// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/assigned_devices.h"

namespace holdfast {

std::vector<uint32_t> DevicesOf(const internal::Assign& assign) {
  if (assign.has_moved_to() && assign.devices_size() == 1) {
    return {assign.moved_to()};
  }
  return {assign.devices().begin(), assign.devices().end()};
}

void SetDevice(uint32_t device, internal::Assign* assign) {
  assign->clear_moved_to();
  if (device != assign->devices(0)) assign->set_moved_to(device);
}

}  // namespace holdfast
