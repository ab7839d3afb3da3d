// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/linker.h"

#include <utility>

#include "client/cpp/compile/compile_call.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/request_text.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

absl::StatusOr<v1::LinkResponse> Call(Daemon& daemon,
                                      const v1::LinkRequest& request) {
  grpc::ClientContext context;
  AskForWholeLog(&context);
  v1::LinkResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(
      daemon.stubs().compiler.Link(&context, request, &response)));
  return response;
}

absl::StatusOr<v1::LinkResponse> CallWithProgress(
    Daemon& daemon, const v1::LinkRequest& request,
    const CompileProgressCallback& on_progress) {
  grpc::ClientContext context;
  AskForWholeLog(&context);
  const auto reader =
      daemon.stubs().compiler.LinkWithProgress(&context, request);
  HOLDFAST_ASSIGN_OR_RETURN(v1::CompileProgress done,
                            AwaitDone(daemon, *reader, on_progress));
  return std::move(*done.mutable_link_response());
}

}  // namespace

Linker& Linker::Add(const ObjectCode& object, std::string name) {
  inputs_.push_back({object, std::move(name)});
  return *this;
}

absl::StatusOr<Compilation> Linker::Link(
    Daemon& daemon, v1::ObjectFormat target,
    const CompileProgressCallback& on_progress) const {
  const v1::LinkRequest request = Request(target);
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(request));
  HOLDFAST_ASSIGN_OR_RETURN(const v1::LinkResponse response,
                            on_progress
                                ? CallWithProgress(daemon, request, on_progress)
                                : Call(daemon, request));
  return Compilation::FromResponse(response);
}

v1::LinkRequest Linker::Request(v1::ObjectFormat target) const {
  v1::LinkRequest request;
  request.set_target(target);
  request.set_arch(options_.arch);
  request.mutable_options()->Add(options_.options.begin(),
                                 options_.options.end());
  for (const Input& added : inputs_) {
    v1::LinkInput& input = *request.add_inputs();
    input.set_sha256(added.object.sha256);
    input.set_format(added.object.format);
    input.set_name(added.name);
  }
  return request;
}

}  // namespace holdfast
