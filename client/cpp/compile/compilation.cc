// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/compilation.h"

#include "absl/strings/str_cat.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast {

static_assert(kIntegerParameter == v1::PARAMETER_KIND_INTEGER);
static_assert(kFloatParameter == v1::PARAMETER_KIND_FLOAT);

namespace {

template <typename Response>
Compilation From(const Response& response,
                 const google::protobuf::Duration& time) {
  Compilation compilation;
  compilation.object = ObjectCode::FromHeader(response.object());
  for (const v1::CompiledKernel& kernel : response.kernels()) {
    std::vector<v1::ParameterKind>& kinds = compilation.kernels[kernel.name()];
    for (const int kind : kernel.parameters()) {
      kinds.push_back(static_cast<v1::ParameterKind>(kind));
    }
  }
  compilation.log = response.log();
  compilation.warnings = {response.warnings().begin(),
                          response.warnings().end()};
  compilation.compiler =
      absl::StrCat(response.backend(), " ", response.backend_version());
  compilation.arch = response.arch();
  compilation.cache_hit = response.cache_hit();
  compilation.cache_tier = response.cache_tier();
  compilation.time =
      absl::Seconds(time.seconds()) + absl::Nanoseconds(time.nanos());
  return compilation;
}

}  // namespace

Compilation Compilation::FromResponse(const v1::CompileResponse& response) {
  return From(response, response.compile_time());
}

Compilation Compilation::FromResponse(const v1::LinkResponse& response) {
  return From(response, response.link_time());
}

}  // namespace holdfast
