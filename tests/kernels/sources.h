// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_KERNELS_SOURCES_H_
#define HOLDFAST_TESTS_KERNELS_SOURCES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace holdfast::kernels {

struct Source {
  absl::string_view name;  // of the file in cu/, without ".cu"
  absl::string_view text;
};

// Every file of cu/.
absl::Span<const Source> Sources();

}  // namespace holdfast::kernels

#endif  // HOLDFAST_TESTS_KERNELS_SOURCES_H_
