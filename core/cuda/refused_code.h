// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_REFUSED_CODE_H_
#define HOLDFAST_CORE_CUDA_REFUSED_CODE_H_

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::cuda {

// Prints one line to standard error that explains why a driver refuses a module
// or a kernel of the program. Drivers call it because CUDA calls return only an
// error number. `reason` is the log of a compiler or a linker; only its first
// line is printed. A process prints each line once, and at most 32 lines,
// because programs repeat refused calls. Thread-safe.
void SayCodeIsRefused(CUresult result, absl::string_view reason);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_REFUSED_CODE_H_
