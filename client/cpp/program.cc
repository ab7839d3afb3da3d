// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/program.h"

#include <utility>

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
  compilation.cache_tier = response.cache_tier();
  compilation.time = absl::Seconds(response.compile_time().seconds()) +
                     absl::Nanoseconds(response.compile_time().nanos());
  return compilation;
}

absl::StatusOr<v1::CompileResponse> Call(Daemon& daemon,
                                         const v1::CompileRequest& request) {
  grpc::ClientContext context;
  v1::CompileResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(daemon.compiler().Compile(&context, request, &response)));
  return response;
}

absl::StatusOr<v1::CompileResponse> CallWithProgress(
    Daemon& daemon, const v1::CompileRequest& request,
    const CompileProgressCallback& on_progress) {
  grpc::ClientContext context;
  const auto reader = daemon.compiler().CompileWithProgress(&context, request);
  v1::CompileProgress progress;
  while (reader->Read(&progress)) {
    if (progress.stage() != v1::CompileProgress::STAGE_DONE) {
      on_progress(progress);
    }
  }
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(reader->Finish()));
  if (progress.stage() != v1::CompileProgress::STAGE_DONE) {
    return absl::DataLossError("the daemon ended a compilation without a word");
  }
  return std::move(*progress.mutable_response());
}

}  // namespace

absl::StatusOr<Compilation> Program::Compile(
    Daemon& daemon, std::vector<std::string> name_expressions,
    v1::ObjectFormat target, const CompileProgressCallback& on_progress) const {
  const v1::CompileRequest request =
      Request(std::move(name_expressions), target);
  HOLDFAST_ASSIGN_OR_RETURN(const v1::CompileResponse response,
                            on_progress
                                ? CallWithProgress(daemon, request, on_progress)
                                : Call(daemon, request));
  return FromResponse(response);
}

v1::CompileRequest Program::Request(std::vector<std::string> name_expressions,
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
  return request;
}

}  // namespace holdfast
