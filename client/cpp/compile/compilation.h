// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_COMPILATION_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_COMPILATION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cpp/compile/object_code.h"

namespace holdfast {

namespace v1 {
class CompileResponse;
class LinkResponse;
enum CacheTier : int;
enum ParameterKind : int;
}  // namespace v1

// Values of v1::ParameterKind, for programs that do not include its header. Any
// other kind is a struct, or unknown.
inline constexpr v1::ParameterKind kIntegerParameter{1};  // or a pointer
inline constexpr v1::ParameterKind kFloatParameter{2};

// The result of Program::Compile and Linker::Link. A value type.
struct Compilation {
  ObjectCode object;
  // The parameters of the object's kernels, by the kernels' names in the
  // object. Empty: the daemon does not have them. CompileResponse.kernels
  // documents for which objects the daemon has them.
  std::map<std::string, std::vector<v1::ParameterKind>> kernels;
  // Warnings and remarks of the compiler.
  std::string log;
  std::vector<std::string> warnings;
  // "NVRTC 13.0".
  std::string compiler;
  // "sm_90" of a cubin, "compute_90" of PTX and LTO IR.
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
