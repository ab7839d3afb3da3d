// SPDX-License-Identifier: Apache-2.0
//
// The functions of cuda_device_runtime_api.h that this driver provides itself,
// as PTX: the cudaCG... functions, which implement the cooperative groups of a
// grid. A CUDA toolkit has these functions only as GPU machine code, in
// libcudadevrt.a.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_LIBRARY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_LIBRARY_H_

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software {

// Returns the module of these functions, which lives as long as the process.
// Each function is weak: a definition in the program's module replaces it.
// Thread-safe.
const ptx::Module& DeviceLibrary();

// Returns true if the library defines this function.
bool InDeviceLibrary(absl::string_view function);

// Returns true if the module declares, but does not define, a function of the
// library.
bool NeedsDeviceLibrary(const ptx::Module& module);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_LIBRARY_H_
