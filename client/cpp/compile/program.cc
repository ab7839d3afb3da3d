// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/program.h"

#include <utility>

#include "client/cpp/compile/compile_call.h"
#include "client/cpp/compile/header_search.h"
#include "client/cpp/compile/source_lines.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/request_text.h"
#include "core/base/status_macros.h"

namespace holdfast {

static_assert(kCudaCppLanguage == v1::SOURCE_LANGUAGE_CUDA_CPP);
static_assert(kPtxLanguage == v1::SOURCE_LANGUAGE_PTX);
static_assert(kNvvmIrLanguage == v1::SOURCE_LANGUAGE_NVVM_IR);
namespace {

absl::StatusOr<v1::CompileResponse> Call(Daemon& daemon,
                                         const v1::CompileRequest& request) {
  grpc::ClientContext context;
  AskForWholeLog(&context);
  v1::CompileResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(
      daemon.stubs().compiler.Compile(&context, request, &response)));
  return response;
}

absl::StatusOr<v1::CompileResponse> CallWithProgress(
    Daemon& daemon, const v1::CompileRequest& request,
    const CompileProgressCallback& on_progress) {
  grpc::ClientContext context;
  AskForWholeLog(&context);
  const auto reader =
      daemon.stubs().compiler.CompileWithProgress(&context, request);
  HOLDFAST_ASSIGN_OR_RETURN(v1::CompileProgress done,
                            AwaitDone(daemon, *reader, on_progress));
  return std::move(*done.mutable_response());
}

}  // namespace

absl::StatusOr<Compilation> Program::Compile(
    Daemon& daemon, std::vector<std::string> name_expressions,
    v1::ObjectFormat target, const CompileProgressCallback& on_progress) const {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::CompileRequest request,
                            Request(std::move(name_expressions), target));
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(request));
  NoteSource(options_.name, source_);
  HOLDFAST_ASSIGN_OR_RETURN(const v1::CompileResponse response,
                            on_progress
                                ? CallWithProgress(daemon, request, on_progress)
                                : Call(daemon, request));
  return Compilation::FromResponse(response);
}

absl::StatusOr<v1::CompileRequest> Program::Request(
    std::vector<std::string> name_expressions, v1::ObjectFormat target) const {
  v1::CompileRequest request;
  request.set_source(source_);
  request.set_language(options_.language);
  request.set_name(options_.name);
  request.set_target(target);
  request.set_arch(options_.arch);
  request.mutable_options()->Add(options_.options.begin(),
                                 options_.options.end());
  request.mutable_name_expressions()->Add(name_expressions.begin(),
                                          name_expressions.end());
  request.mutable_headers()->insert(options_.headers.begin(),
                                    options_.headers.end());
  HOLDFAST_RETURN_IF_ERROR(AddHeaders(&request));
  for (const auto& [name, source] : options_.extra_sources) {
    v1::ExtraSource& extra = *request.add_extra_sources();
    extra.set_name(name);
    extra.set_source(source);
  }
  return request;
}

absl::Status Program::AddHeaders(v1::CompileRequest* request) const {
  const HeaderSearch search = {options_.include_path, options_.pre_include,
                               options_.source_folder, options_.name};
  if (search.empty()) return absl::OkStatus();
  if (options_.language > v1::SOURCE_LANGUAGE_CUDA_CPP) {
    return absl::InvalidArgumentError(
        "include_path and pre_include are for CUDA C++; PTX and NVVM IR "
        "include "
        "nothing");
  }
  HOLDFAST_ASSIGN_OR_RETURN(SourceWithHeaders whole,
                            CollectHeaders(source_, options_.headers, search));
  request->set_source(std::move(whole.source));
  request->clear_headers();
  for (auto& [name, text] : whole.headers) {
    (*request->mutable_headers())[name] = std::move(text);
  }
  return absl::OkStatus();
}

}  // namespace holdfast
