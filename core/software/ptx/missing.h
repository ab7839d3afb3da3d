// SPDX-License-Identifier: Apache-2.0
//
// The PTX instructions that this implementation does not support, and the GPU
// feature that each needs. These instructions match no form (forms.h). A kernel
// with such an instruction can be loaded, so that the other kernels of its
// module can run, but it cannot be launched.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_MISSING_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_MISSING_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace holdfast::software::ptx {

// Returns the feature that the software device lacks, such as "tensor cores";
// empty if PTX has no such instruction. `words` are the dot-words after the
// opcode, without dots. REQUIRES: `opcode` and `words` match no form.
absl::string_view MissingPart(absl::string_view opcode,
                              absl::Span<const absl::string_view> words);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MISSING_H_
