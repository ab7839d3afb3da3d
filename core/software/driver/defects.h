// SPDX-License-Identifier: Apache-2.0
//
// Devices that fail on purpose, for tests of the layers above the driver.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_DEFECTS_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_DEFECTS_H_

#include <map>

#include "absl/strings/string_view.h"

namespace holdfast::software {

enum class Defect {
  kNone,
  kGone,   // no context can be made: CUDA_ERROR_DEVICE_UNAVAILABLE
  kFault,  // kernels end with CUDA_ERROR_ECC_UNCORRECTABLE
  kHang,   // kernels never end
  kWait,   // no context is made while the file has this
};

// Parses lines of "ORDINAL gone", "ORDINAL fault", "ORDINAL hang" or "ORDINAL
// wait". Skips other lines.
std::map<int, Defect> ParseDefects(absl::string_view text);

// Returns the device's defect from the file that HOLDFAST_SOFTWARE_DEFECTS
// names. The first call for a device, which makes a context, reads the file;
// later calls for the device return the same defect. While the file gives kWait
// for the device, the first call blocks and reads the file again; calls for
// other devices do not wait. Thread-safe.
Defect DefectOf(int ordinal);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DEFECTS_H_
