// SPDX-License-Identifier: Apache-2.0
#include "core/compile/program.h"

namespace holdfast::compile {

absl::string_view LanguageName(Language language) {
  switch (language) {
    case Language::kCudaCpp:
      return "CUDA C++";
    case Language::kPtx:
      return "PTX";
    case Language::kNvvmIr:
      return "NVVM IR";
  }
  return "?";
}

absl::string_view ObjectFormatName(ObjectFormat format) {
  switch (format) {
    case ObjectFormat::kPtx:
      return "PTX";
    case ObjectFormat::kCubin:
      return "cubin";
    case ObjectFormat::kLtoir:
      return "LTO IR";
    case ObjectFormat::kFatbin:
      return "fatbin";
    case ObjectFormat::kObject:
      return "object";
    case ObjectFormat::kLibrary:
      return "library";
  }
  return "?";
}

std::string WithoutTerminator(std::string text) {
  if (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace holdfast::compile
