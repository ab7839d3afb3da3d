// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/program.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

Compilation FromResponse(const v1::CompileResponse& response) {
  Compilation compilation;
  compilation.object = ObjectCode::FromHeader(response.object());
  compilation.log = response.log();
  compilation.warnings = {response.warnings().begin(),
                          response.warnings().end()};
  compilation.compiler =
      absl::StrCat(response.backend(), " ", response.backend_version());
  compilation.arch = response.arch();
  compilation.cache_hit = response.cache_hit();
  compilation.time = absl::Seconds(response.compile_time().seconds()) +
                     absl::Nanoseconds(response.compile_time().nanos());
  return compilation;
}

}  // namespace

absl::StatusOr<Compilation> Program::Compile(
    Daemon& daemon, std::vector<std::string> name_expressions,
    v1::ObjectFormat target) const {
  v1::CompileRequest request;
  request.set_source(source_);
  request.set_language(v1::SOURCE_LANGUAGE_CUDA_CPP);
  request.set_name(options_.name);
  request.set_target(target);
  request.set_arch(options_.arch);
  request.mutable_options()->Add(options_.options.begin(),
                                 options_.options.end());
  request.mutable_name_expressions()->Add(name_expressions.begin(),
                                          name_expressions.end());
  request.mutable_headers()->insert(options_.headers.begin(),
                                    options_.headers.end());
  grpc::ClientContext context;
  v1::CompileResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(daemon.compiler().Compile(&context, request, &response)));
  return FromResponse(response);
}

}  // namespace holdfast
