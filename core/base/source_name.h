// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_SOURCE_NAME_H_
#define HOLDFAST_CORE_BASE_SOURCE_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the name of a function in its C++ source, without parameters:
// "a::scale<float>" for "_ZN1a5scaleIfEEvPT_". Empty if the symbol is not
// mangled, has more than 1024 bytes, or repeats so many parts of itself that
// the name could take more than 1 MiB.
std::string SourceName(absl::string_view symbol);

// Returns the types of the function's parameters: "float const*" and "int" for
// "_Z1kPKfi". Empty if it has none, or SourceName is empty.
std::vector<std::string> SourceParameters(absl::string_view symbol);

// Returns the text with each mangled symbol replaced by its name in the source:
// "kernel scale<float>, block (0,0,0)". A symbol that is followed by its name
// stays: "_Z1pPi (p)".
std::string WithSourceNames(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_SOURCE_NAME_H_
