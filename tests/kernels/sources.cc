// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/sources.h"

namespace holdfast::kernels {

absl::Span<const Source> Sources() {
  static constexpr Source kSources[] = {
#include "tests/kernels/sources.inc"
  };
  return kSources;
}

}  // namespace holdfast::kernels
