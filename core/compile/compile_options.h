// SPDX-License-Identifier: Apache-2.0
//
// Options come from clients, the files that they could name are the server's.
// So only options that are known, and known to touch no file, are passed on.
#ifndef HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_
#define HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/compile/program.h"

namespace holdfast::compile {

inline constexpr size_t kMaxOptions = 256;
inline constexpr size_t kMaxOptionBytes = 4096;

// INVALID_ARGUMENT names the first option that is refused, and why: it names a
// file or directory, belongs elsewhere (the architecture), is malformed, or is
// not known. Options that take a value may have it in the same word
// ("--maxrregcount=32", "-DN=4") or in the next ("-D", "N=4").
absl::Status CheckOptions(absl::Span<const std::string> options);

// "--gpu-architecture=" for `arch` in any of its spellings: a real
// architecture for cubins, a virtual one for PTX and LTO IR.
// INVALID_ARGUMENT: not an architecture.
absl::StatusOr<std::string> ArchitectureName(absl::string_view arch,
                                             ObjectFormat target);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_
