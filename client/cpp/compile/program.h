// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_PROGRAM_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_PROGRAM_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/compile/compilation.h"
#include "client/cpp/compile/compile_progress.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast {

namespace v1 {
class CompileRequest;
enum SourceLanguage : int;
}  // namespace v1

// The values of v1::SourceLanguage, for programs that do not include its
// header, which needs Protocol Buffers.
inline constexpr v1::SourceLanguage kCudaCppLanguage{1};
inline constexpr v1::SourceLanguage kPtxLanguage{2};
inline constexpr v1::SourceLanguage kNvvmIrLanguage{3};

// The daemon's cache has a result only for a source with equal options.
struct ProgramOptions {
  // The name of the source in the compiler's messages.
  std::string name = "source.cu";
  // "sm_90", "compute_90", "90" ...; empty: the architecture of device 0.
  std::string arch = {};
  // Options of NVRTC, one word each: "--fmad=false".
  std::vector<std::string> options = {};
  // Headers that the source may include: the text, by the name in #include.
  std::map<std::string, std::string> headers = {};
  // Folders on this machine to search for headers; only headers that the source
  // includes are sent (HeaderSearch). For CUDA C++ only, like pre_include and
  // source_folder.
  std::vector<std::string> include_path = {};
  // Headers that are included before the source's first line.
  std::vector<std::string> pre_include = {};
  // The first folder to search for #include "..." of the source itself; empty:
  // none.
  std::string source_folder = {};
  v1::SourceLanguage language = kCudaCppLanguage;
  // For NVVM IR only: the IR of more modules of the program, by the modules'
  // names.
  std::map<std::string, std::string> extra_sources = {};
};

// Source code: CUDA C++, or the language in its options. Immutable.
//
// Compiling needs a daemon and no session:
//
//   const Program program(source, {.arch = "sm_90"});
//   HOLDFAST_ASSIGN_OR_RETURN(
//       const Compilation compiled,
//       program.Compile(*daemon, {"vector_add<float>"}));
//   // session->Load(compiled.object)
class Program {
 public:
  // Checks nothing yet.
  explicit Program(std::string source, ProgramOptions options = {})
      : source_(std::move(source)), options_(std::move(options)) {}

  // Compiles in the daemon, or returns the cached result of an equal program.
  // `name_expressions` are the required instantiations, "vector_add<float>".
  // `target` defaults to the best format for device 0. Blocks, for seconds if
  // the source is large; this thread calls `on_progress` meanwhile.
  // INVALID_ARGUMENT: the source does not compile (GetErrorDetail(status)->log
  // is the whole log), or a text is not UTF-8. Also fails as CollectHeaders
  // (header_search.h) does.
  absl::StatusOr<Compilation> Compile(
      Daemon& daemon, std::vector<std::string> name_expressions = {},
      v1::ObjectFormat target = {},
      const CompileProgressCallback& on_progress = nullptr) const;

 private:
  absl::StatusOr<v1::CompileRequest> Request(
      std::vector<std::string> name_expressions, v1::ObjectFormat target) const;
  // Adds the headers that include_path, pre_include and source_folder lead to.
  absl::Status AddHeaders(v1::CompileRequest* request) const;

  std::string source_;
  ProgramOptions options_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_PROGRAM_H_
