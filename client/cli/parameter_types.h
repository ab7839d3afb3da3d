// SPDX-License-Identifier: Apache-2.0
//
// The types of a kernel's parameters, as far as they are known: an object has
// their sizes alone.
#ifndef HOLDFAST_CLIENT_CLI_PARAMETER_TYPES_H_
#define HOLDFAST_CLIENT_CLI_PARAMETER_TYPES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/element_type.h"

namespace holdfast::cli {

// Returns the types in the order of the parameters, "float const*": those that
// a mangled symbol tells, else those of the declaration of `symbol` in
// `source`, which may be empty. Empty: they are not known.
std::vector<std::string> ParameterTypes(absl::string_view symbol,
                                        absl::string_view source);

// Whether elements of the type fit behind a parameter that is a pointer, or,
// with `is_scalar`, into one that is none. Elements of another size do not, nor
// do integers for floats. True for types that are not of C++ itself, and for
// bytes, which may be of anything.
bool Fits(ElementType type, bool is_scalar, absl::string_view parameter);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_PARAMETER_TYPES_H_
