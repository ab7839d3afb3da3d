// SPDX-License-Identifier: Apache-2.0
#include "tests/core/compile/toolkit_compiler.h"

#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

// AddressSanitizer's leak check asks for it; nobody else calls it.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libnvJitLink";  // 32 bytes of some options, its own
}

namespace holdfast::compile {

const Compiler& TheCompiler() {
  static const Compiler& compiler = *Compiler::Load({}).release();
  return compiler;
}

ProgramSource Source(Language language, const std::string& text,
                     ObjectFormat target, std::vector<std::string> options) {
  ProgramSource program;
  program.name = "test";
  program.source = text;
  program.language = language;
  program.target = target;
  program.arch = "90";
  program.options = std::move(options);
  return program;
}

absl::StatusOr<ObjectCode> Compile(Language language, const std::string& source,
                                   ObjectFormat target,
                                   std::vector<std::string> options) {
  return TheCompiler().Compile(
      Source(language, source, target, std::move(options)));
}

std::string Cpp(const std::string& source, ObjectFormat target) {
  auto object = Compile(Language::kCudaCpp, source, target, {"-rdc=true"});
  EXPECT_OK(object);
  return object.ok() ? object->bytes : "";
}

absl::StatusOr<ObjectCode> Link(const std::vector<Part>& parts,
                                ObjectFormat target,
                                std::vector<std::string> options,
                                const std::string& arch) {
  LinkSource source;
  for (const Part& part : parts) {
    source.inputs.push_back({"part", part.format, part.bytes});
  }
  source.target = target;
  source.arch = arch;
  source.options = std::move(options);
  return TheCompiler().Link(source);
}

absl::StatusOr<ObjectCode> Link(ObjectFormat format,
                                const std::vector<std::string>& parts,
                                ObjectFormat target,
                                std::vector<std::string> options,
                                const std::string& arch) {
  std::vector<Part> typed;
  typed.reserve(parts.size());
  for (const std::string& part : parts) typed.push_back({format, part});
  return Link(typed, target, std::move(options), arch);
}

absl::Status InChild(const std::function<absl::Status()>& link) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError("pipe");
  const pid_t child = fork();
  if (child == 0) {
    const absl::Status status = link();
    const std::string text =
        absl::StrCat(static_cast<int>(status.code()), " ", status.message());
    const bool sent = write(ends[1], text.data(), text.size()) > 0;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  std::string text(16384, '\0');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || size <= 0) return absl::AbortedError("the child crashed");
  text.resize(static_cast<size_t>(size));
  return absl::Status(static_cast<absl::StatusCode>(std::stoi(text)),
                      text.substr(text.find(' ') + 1));
}

bool IsCubin(const ObjectCode& object, absl::string_view kernel) {
  return absl::StartsWith(object.bytes,
                          "\x7f"
                          "ELF") &&
         absl::StrContains(object.bytes, absl::StrCat(".text.", kernel));
}

}  // namespace holdfast::compile
