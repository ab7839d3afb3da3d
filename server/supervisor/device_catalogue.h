// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_DEVICE_CATALOGUE_H_
#define HOLDFAST_SERVER_SUPERVISOR_DEVICE_CATALOGUE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/objects.pb.h"
#include "server/memory/device_memory.h"

namespace holdfast::supervisor {

// The devices that executors have found. All executors find the same devices.
// Immutable.
//
// The first report of an executor makes the catalogue. The executor pool adds
// later reports, and gives the catalogue to the services that list devices.
class DeviceCatalogue {
 public:
  explicit DeviceCatalogue(const internal::Ready& ready) : ready_(ready) {}

  // Returns the catalogue with the report of one more executor. An executor
  // reports stream priorities only for the device of its context, and for
  // devices with the same name.
  std::shared_ptr<const DeviceCatalogue> With(
      const internal::Ready& ready) const;

  // The driver that executors have loaded: its kind and version.
  const v1::Driver& driver() const { return ready_.driver(); }
  // Returns the number of devices. Ordinals go from 0 to size() - 1.
  uint32_t size() const { return static_cast<uint32_t>(ready_.devices_size()); }
  // Returns the driver and the devices, in the order of ordinals, with their
  // free memory and without their attributes.
  v1::ListDevicesResponse List(const DeviceMemory& memory) const;
  // Returns the device with its attributes. NOT_FOUND: there is no such device;
  // the message names the number of devices.
  absl::StatusOr<v1::Device> Find(uint32_t ordinal) const;

  // Returns the code format that device 0 runs best: a cubin on a GPU, PTX on
  // the software device. It is the default for compilation requests that name
  // no target.
  v1::ObjectFormat DefaultTarget() const;
  // Returns the compute capability of device 0, such as "90"; "90" if there is
  // no device.
  std::string DefaultArch() const;

 private:
  const internal::Ready ready_;
};

// Sets the device's free memory to the present estimate; clears the field if
// there is no estimate. REQUIRES: the ordinal is set in `device`.
void SetFreeMemory(const DeviceMemory& memory, v1::Device* device);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_DEVICE_CATALOGUE_H_
