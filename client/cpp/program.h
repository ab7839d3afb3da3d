// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_PROGRAM_H_
#define HOLDFAST_CLIENT_CPP_PROGRAM_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/daemon.h"
#include "client/cpp/object_code.h"

namespace holdfast {

struct ProgramOptions {
  // What the compiler's messages call the source.
  std::string name = "source.cu";
  // "sm_90", "compute_90", "90" ...; empty: what device 0 is.
  std::string arch;
  // As NVRTC takes them, one word each: "--fmad=false".
  std::vector<std::string> options;
  // What the source may include: name in #include -> text.
  std::map<std::string, std::string> headers;
};

struct Compilation {
  ObjectCode object;
  // Warnings and remarks of the compiler.
  std::string log;
  std::vector<std::string> warnings;
  // "NVRTC 13.0", "sm_90".
  std::string compiler;
  std::string arch;
  bool cache_hit = false;
  // Where it was found.
  v1::CacheTier cache_tier = v1::CACHE_TIER_UNSPECIFIED;
  // In the compiler; 0 for a hit.
  absl::Duration time;
};

// Called now and then while a compilation waits or runs.
using CompileProgressCallback = std::function<void(const v1::CompileProgress&)>;

// CUDA C++ source. Immutable.
class Program {
 public:
  explicit Program(std::string source, ProgramOptions options = {})
      : source_(std::move(source)), options_(std::move(options)) {}

  // Compiles in the daemon, or finds what was compiled before.
  // `name_expressions`: the instantiations that are wanted,
  // "vector_add<float>". `target`: default is what device 0 runs best.
  // INVALID_ARGUMENT: the source does not compile; GetErrorDetail(status)->log
  // is the whole log.
  absl::StatusOr<Compilation> Compile(
      Daemon& daemon, std::vector<std::string> name_expressions = {},
      v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED,
      const CompileProgressCallback& on_progress = nullptr) const;

 private:
  v1::CompileRequest Request(std::vector<std::string> name_expressions,
                             v1::ObjectFormat target) const;

  std::string source_;
  ProgramOptions options_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_PROGRAM_H_
