// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_UUID_TEXT_H_
#define HOLDFAST_CORE_BASE_UUID_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns a device's UUID as nvidia-smi, CUDA_VISIBLE_DEVICES and DCGM have it:
// "GPU-a1af0764-711c-...". A UUID that has not 16 bytes becomes hexadecimal
// digits.
std::string UuidText(absl::string_view uuid);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_UUID_TEXT_H_
