// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_UUID_TEXT_H_
#define HOLDFAST_CORE_BASE_UUID_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns a device's UUID in the form of nvidia-smi, CUDA_VISIBLE_DEVICES and
// DCGM: "GPU-a1af0764-711c-...". Returns only hexadecimal digits if `uuid` does
// not have 16 bytes.
std::string UuidText(absl::string_view uuid);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_UUID_TEXT_H_
