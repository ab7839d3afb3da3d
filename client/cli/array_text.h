// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_ARRAY_TEXT_H_
#define HOLDFAST_CLIENT_CLI_ARRAY_TEXT_H_

#include <cstddef>
#include <string>

#include "client/cli/npy.h"

namespace holdfast::cli {

// Formats the elements for display, in C order: "[0, 1.5, 3]". If there are
// more than `limit` elements, shows the first elements and the last one: "[0,
// 1, 2, ..., 99]".
std::string ElementsText(const Array& array, size_t limit = 64);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ARRAY_TEXT_H_
