// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_REFUSED_CODE_H_
#define HOLDFAST_CORE_CUDA_REFUSED_CODE_H_

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::cuda {

// Explains on standard error, in one line, why a driver refuses a module or a
// kernel of the program. For calls whose only answer is the error's number.
// `reason` is the log of a compiler or a linker, of which the first line is
// said. Says each line once for each process, and at most 32 lines, since
// programs ask again. Thread-safe.
void SayCodeIsRefused(CUresult result, absl::string_view reason);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_REFUSED_CODE_H_
