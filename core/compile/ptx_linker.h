// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_PTX_LINKER_H_
#define HOLDFAST_CORE_COMPILE_PTX_LINKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Joins PTX modules into one, as text: what one declares .extern is what
// another defines .visible, of several .weak definitions the first is taken,
// and names that a module keeps to itself are changed where they meet others.
// Debug information is dropped. No library of the toolkit does this; devices
// that run PTX itself need it. Thread-safe.
//
// INVALID_ARGUMENT: an input is no PTX module, or a symbol is defined twice or
// nowhere, is a function here and a variable there (the ErrorDetail's log names
// each); or there is an option other than --maxrregcount, which becomes the
// .maxnreg of each kernel that has none.
absl::StatusOr<ObjectCode> LinkPtx(const LinkSource& source);

// One PTX module as it is, where there is nothing that could compile it to see
// whether it is right: only its outline is checked, as LinkPtx does.
absl::StatusOr<ObjectCode> KeepPtx(const LinkInput& ptx,
                                   const std::string& arch);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_PTX_LINKER_H_
