// SPDX-License-Identifier: Apache-2.0
//
// Devices that fail on purpose, for tests of what stands above the driver.
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
// wait". Lines that are neither are skipped.
std::map<int, Defect> ParseDefects(absl::string_view text);

// Returns the device's defect as the file that HOLDFAST_SOFTWARE_DEFECTS names
// has it. Read at the first call, which the making of a context is, so each
// process sees the file as it was when it started. While that says that this
// device is to wait, the call blocks and reads the file again. Thread-safe.
Defect DefectOf(int ordinal);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DEFECTS_H_
