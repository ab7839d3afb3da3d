// SPDX-License-Identifier: Apache-2.0
//
// The inputs and outputs of compilers and linkers.
#ifndef HOLDFAST_CORE_COMPILE_PROGRAM_H_
#define HOLDFAST_CORE_COMPILE_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::compile {

enum class Language { kCudaCpp, kPtx, kNvvmIr };
enum class ObjectFormat { kPtx, kCubin, kLtoir, kFatbin, kObject, kLibrary };

// Returns "CUDA C++", "PTX" or "NVVM IR".
absl::string_view LanguageName(Language language);
// Returns "PTX", "cubin", "LTO IR", "fatbin", "object" or "library".
absl::string_view ObjectFormatName(ObjectFormat format);

// One more module of an NVVM program.
struct ExtraSource {
  std::string name;  // for messages
  std::string source;
};

// The input of a compilation: the source text, and everything else that
// determines the result, except for the compilers.
struct ProgramSource {
  std::string name = "source.cu";  // for messages; no file is read
  std::string source;
  Language language = Language::kCudaCpp;
  std::vector<std::string> options;  // one word each; see compile_options.h
  std::map<std::string, std::string> headers;  // name in #include -> text
  std::vector<std::string> name_expressions;   // "vector_add<float>"
  std::vector<ExtraSource> extra_sources;      // NVVM IR only
  ObjectFormat target = ObjectFormat::kPtx;
  std::string arch;  // "sm_90", "compute_90", "90", "90a"
};

struct LinkInput {
  std::string name;  // for messages
  ObjectFormat format = ObjectFormat::kPtx;
  absl::string_view bytes;  // borrowed; must outlive the link
};

// The input of a link.
struct LinkSource {
  std::vector<LinkInput> inputs;
  std::vector<std::string> options;
  ObjectFormat target = ObjectFormat::kCubin;
  std::string arch;
};

// The type of a kernel's parameter, as far as PTX distinguishes types.
enum class ParameterKind {
  kOther,    // a struct, or unknown
  kInteger,  // or a pointer
  kFloat,
};

// The parameters of each kernel, by its name in the object.
using KernelParameters = std::map<std::string, std::vector<ParameterKind>>;

// The result of a compilation or a link.
struct ObjectCode {
  std::string bytes;
  ObjectFormat format = ObjectFormat::kPtx;
  std::map<std::string, std::string> symbols;  // expression -> name in object
  KernelParameters kernels;     // of a cubin, too, if it was made of PTX
  std::string log;              // warnings; may be empty
  std::string arch;             // "sm_90" or "compute_90"
  std::string backend;          // "NVRTC"
  std::string backend_version;  // "13.0"
};

// Returns the text without the terminating zero byte that libraries add to PTX.
std::string WithoutTerminator(std::string text);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_PROGRAM_H_
