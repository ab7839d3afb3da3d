// SPDX-License-Identifier: Apache-2.0
//
// The instructions of PTX that no form (forms.h) takes, and what of a GPU they
// need. A kernel with one is loaded, so that the others of its module run, and
// refused when it is asked for.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_MISSING_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_MISSING_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace holdfast::software::ptx {

// The part that the software device lacks, such as "tensor cores"; empty: PTX
// has no such instruction. `words` are the dot-words behind the opcode, without
// dots. REQUIRES: no form takes them.
absl::string_view MissingPart(absl::string_view opcode,
                              absl::Span<const absl::string_view> words);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MISSING_H_
