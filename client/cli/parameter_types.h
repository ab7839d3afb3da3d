// SPDX-License-Identifier: Apache-2.0
//
// Finds the types of a kernel's parameters, as far as possible: an object has
// only their sizes.
#ifndef HOLDFAST_CLIENT_CLI_PARAMETER_TYPES_H_
#define HOLDFAST_CLIENT_CLI_PARAMETER_TYPES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/element_type.h"

namespace holdfast::cli {

// Returns the types, such as "float const*", in the order of the parameters.
// The types come from a mangled symbol, or else from the declaration of
// `symbol` in `source`, which may be empty. An empty list: the types are not
// known.
std::vector<std::string> ParameterTypes(absl::string_view symbol,
                                        absl::string_view source);

// Returns true if a pointer `parameter` can point to elements of `type` or,
// with `is_scalar`, if a value of `type` fits a parameter that is no pointer.
// The two types must have the same size and, except for types of 2 bytes, both
// must be integers or both floats. Returns true without a check for elements of
// 1 byte, for a parameter of unknown type, for a pointer parameter if
// `is_scalar`, and for any other parameter if not `is_scalar`.
bool Fits(ElementType type, bool is_scalar, absl::string_view parameter);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_PARAMETER_TYPES_H_
