// SPDX-License-Identifier: Apache-2.0
//
// The toolkit's compilers, for tests. Needs no GPU: the tests inspect the bytes
// of a cubin.
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

// Returns a program named "test" for sm_90.
ProgramSource Source(Language language, const std::string& text,
                     ObjectFormat target,
                     std::vector<std::string> options = {});
absl::StatusOr<ObjectCode> Compile(Language language, const std::string& source,
                                   ObjectFormat target,
                                   std::vector<std::string> options = {});

// Compiles CUDA C++ to relocatable code. Returns "" and fails the test on an
// error.
std::string Cpp(const std::string& source, ObjectFormat target);

// An input of a link, with the name "part".
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

// Calls `link` in a child process, because after a failure nvJitLink 13.0
// accepts wrong links or crashes. Returns its code and message, including the
// log. ABORTED: the child crashed.
absl::Status InChild(const std::function<absl::Status()>& link);

// Returns true if the object is an ELF file with code of `kernel`.
bool IsCubin(const ObjectCode& object, absl::string_view kernel);

}  // namespace holdfast::compile

#endif  // HOLDFAST_TESTS_CORE_COMPILE_TOOLKIT_COMPILER_H_
