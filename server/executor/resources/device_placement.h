// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_DEVICE_PLACEMENT_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_DEVICE_PLACEMENT_H_

#include <cstdint>

namespace holdfast::executor {

// Maps the ordinals that a session's client uses for its devices to the
// ordinals of the driver. They are equal, unless the session was resumed on
// another device. The client's ordinals are used in resources and commands, in
// the names of chunks, and in the journal. The driver's ordinals are used for
// contexts, and in the supervisor's accounts. Immutable.
class DevicePlacement {
 public:
  // Maps each ordinal to itself.
  DevicePlacement() = default;
  // Maps `named`, the client's ordinal of the session's only device, to the
  // driver's ordinal.
  DevicePlacement(uint32_t named, uint32_t in_driver)
      : named_(named), in_driver_(in_driver) {}

  // REQUIRES, for both methods: the argument is a device of the session.
  uint32_t InDriver(uint32_t named) const {
    return named == named_ ? in_driver_ : named;
  }
  uint32_t Named(uint32_t in_driver) const {
    return in_driver == in_driver_ ? named_ : in_driver;
  }

 private:
  uint32_t named_ = 0;
  uint32_t in_driver_ = 0;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_DEVICE_PLACEMENT_H_
