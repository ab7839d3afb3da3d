// SPDX-License-Identifier: Apache-2.0
#include "core/compile/program.h"

namespace holdfast::compile {

absl::string_view ObjectFormatName(ObjectFormat format) {
  switch (format) {
    case ObjectFormat::kPtx:
      return "PTX";
    case ObjectFormat::kCubin:
      return "cubin";
    case ObjectFormat::kLtoir:
      return "LTO IR";
  }
  return "?";
}

}  // namespace holdfast::compile
