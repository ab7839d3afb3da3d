// SPDX-License-Identifier: Apache-2.0
//
// What a compiler takes and what it makes.
#ifndef HOLDFAST_CORE_COMPILE_PROGRAM_H_
#define HOLDFAST_CORE_COMPILE_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::compile {

enum class ObjectFormat { kPtx, kCubin, kLtoir };

// "PTX", "cubin", "LTO IR".
absl::string_view ObjectFormatName(ObjectFormat format);

struct ProgramSource {
  std::string name = "source.cu";  // for messages; no file is read
  std::string source;
  std::vector<std::string> options;  // one word each; see compile_options.h
  std::map<std::string, std::string> headers;  // name in #include -> text
  std::vector<std::string> name_expressions;   // "vector_add<float>"
  ObjectFormat target = ObjectFormat::kPtx;
  std::string arch;  // "sm_90", "compute_90", "90", "90a"
};

struct ObjectCode {
  std::string bytes;
  ObjectFormat format = ObjectFormat::kPtx;
  std::map<std::string, std::string> symbols;  // expression -> name in object
  std::string log;                             // warnings; may be empty
  std::string arch;                            // "sm_90" or "compute_90"
};

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_PROGRAM_H_
