// SPDX-License-Identifier: Apache-2.0
//
// Makes devices fail on purpose, for tests of the layers above the driver.
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
  kWait,   // making a context blocks while the file has this defect
};

// Parses lines of the form "ORDINAL gone", "ORDINAL fault", "ORDINAL hang" or
// "ORDINAL wait". Returns the defects by ordinal. Skips other lines.
std::map<int, Defect> ParseDefects(absl::string_view text);

// Returns the device's defect from the file that HOLDFAST_SOFTWARE_DEFECTS
// names; kNone if the variable is not set. The first call for a device, which
// the making of a context causes, reads the file; later calls for the device
// return the same defect. While the file has kWait for the device, the first
// call blocks and reads the file again. Calls for other devices do not wait.
// Thread-safe.
Defect DefectOf(int ordinal);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DEFECTS_H_
