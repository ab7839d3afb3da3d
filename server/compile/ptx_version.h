// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
#define HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// How much of a PTX module PtxVersionWarning wants to see.
inline constexpr size_t kPtxHeadBytes = 4096;

// What is to be said about PTX that this driver cannot load because it is of a
// later version; empty if there is nothing. `head`: the module's beginning.
// `driver_version`: as cuDriverGetVersion has it, 13000; 0 if unknown.
std::string PtxVersionWarning(absl::string_view head, int driver_version);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
