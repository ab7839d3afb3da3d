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

// The devices that executors found: all find the same. Immutable.
//
// An executor's first report makes one; the executor pool adds what later ones
// say, and hands it to the services that list devices.
class DeviceCatalogue {
 public:
  explicit DeviceCatalogue(const internal::Ready& ready) : ready_(ready) {}

  // The same, with what another executor knows in addition: an executor tells
  // stream priorities only of the device that it has a context on, and of
  // those of the same name.
  std::shared_ptr<const DeviceCatalogue> With(
      const internal::Ready& ready) const;

  // The driver that executors have loaded: its kind and version.
  const v1::Driver& driver() const { return ready_.driver(); }
  // Ordinals are below it.
  uint32_t size() const { return static_cast<uint32_t>(ready_.devices_size()); }
  // By ordinal, without their attributes.
  v1::ListDevicesResponse List(const DeviceMemory& memory) const;
  // With its attributes. NOT_FOUND names the devices that there are.
  absl::StatusOr<v1::Device> Find(uint32_t ordinal) const;

  // The code format that device 0 runs best: a cubin on a GPU, PTX on the
  // software device. The default of compilation requests that name no target.
  v1::ObjectFormat DefaultTarget() const;
  // Its compute capability: "90". "90" if there is no device.
  std::string DefaultArch() const;

 private:
  const internal::Ready ready_;
};

// As it is known now; clears the field if nothing is. `device` tells its
// ordinal.
void SetFreeMemory(const DeviceMemory& memory, v1::Device* device);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_DEVICE_CATALOGUE_H_
