// SPDX-License-Identifier: Apache-2.0
//
// The toolkit's compilers, for tests. No GPU: what a cubin holds is read from
// its bytes.
#ifndef HOLDFAST_TESTS_CORE_COMPILE_TOOLKIT_COMPILER_H_
#define HOLDFAST_TESTS_CORE_COMPILE_TOOLKIT_COMPILER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/compile/compiler.h"

namespace holdfast::compile {

const Compiler& TheCompiler();

// For sm_90.
ProgramSource Source(Language language, const std::string& text,
                     ObjectFormat target,
                     std::vector<std::string> options = {});
absl::StatusOr<ObjectCode> Compile(Language language, const std::string& source,
                                   ObjectFormat target,
                                   std::vector<std::string> options = {});

// Relocatable, of CUDA C++; empty after a failure, which fails the test.
std::string Cpp(const std::string& source, ObjectFormat target);

// Every part is called "part".
struct Part {
  ObjectFormat format;
  std::string bytes;
};
absl::StatusOr<ObjectCode> Link(const std::vector<Part>& parts,
                                ObjectFormat target,
                                std::vector<std::string> options = {},
                                const std::string& arch = "90");
absl::StatusOr<ObjectCode> Link(ObjectFormat format,
                                const std::vector<std::string>& parts,
                                ObjectFormat target,
                                std::vector<std::string> options = {},
                                const std::string& arch = "90");

// The result of `link` in a process of its own: after a failure, nvJitLink 13.0
// takes wrong links for right ones, or crashes. Code and message, log included.
absl::Status InChild(const std::function<absl::Status()>& link);

bool IsCubin(const ObjectCode& object, absl::string_view kernel);

}  // namespace holdfast::compile

#endif  // HOLDFAST_TESTS_CORE_COMPILE_TOOLKIT_COMPILER_H_
