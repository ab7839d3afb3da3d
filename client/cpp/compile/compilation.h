// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_COMPILATION_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_COMPILATION_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cpp/compile/object_code.h"

namespace holdfast {

namespace v1 {
class CompileResponse;
class LinkResponse;
enum CacheTier : int;
}  // namespace v1

// The result of Program::Compile and Linker::Link. A value type.
struct Compilation {
  ObjectCode object;
  // Warnings and remarks of the compiler.
  std::string log;
  std::vector<std::string> warnings;
  // "NVRTC 13.0", "sm_90".
  std::string compiler;
  std::string arch;
  bool cache_hit = false;
  // The cache that had the result, if any.
  v1::CacheTier cache_tier = {};
  // The time in the compiler; 0 if a cache had the result.
  absl::Duration time;

  static Compilation FromResponse(const v1::CompileResponse& response);
  static Compilation FromResponse(const v1::LinkResponse& response);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_COMPILATION_H_
