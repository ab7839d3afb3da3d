// SPDX-License-Identifier: Apache-2.0
#include "server/services/compile_service.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/trace_context.h"
#include "server/services/compile_progress_stream.h"

namespace holdfast {
namespace {

absl::StatusOr<v1::CompileProgress> Done(
    absl::StatusOr<v1::CompileResponse> compiled) {
  HOLDFAST_RETURN_IF_ERROR(compiled.status());
  v1::CompileProgress done;
  *done.mutable_response() = *std::move(compiled);
  return done;
}

absl::StatusOr<v1::CompileProgress> Done(
    absl::StatusOr<v1::LinkResponse> linked) {
  HOLDFAST_RETURN_IF_ERROR(linked.status());
  v1::CompileProgress done;
  *done.mutable_link_response() = *std::move(linked);
  return done;
}

}  // namespace

CompileService::CompileService(ProgramCompiler& compiler,
                               const Callers& callers, size_t max_waiting)
    : compiler_(compiler), callers_(callers), threads_(max_waiting) {}

CompileService::~CompileService() = default;

absl::StatusOr<CompileCaller> CompileService::CallerOf(
    const grpc::ServerContextBase& context) const {
  HOLDFAST_ASSIGN_OR_RETURN(const Caller who, callers_.Of(context));
  CompileCaller caller;
  caller.name = who.client();
  caller.owner = who.tenant->code_owner();
  caller.budget = who.tenant->compile_budget();
  caller.deadline = absl::FromChrono(context.deadline());
  caller.gone = [&context] { return context.IsCancelled(); };
  return caller;
}

template <typename Response, typename Make>
grpc::ServerUnaryReactor* CompileService::Answer(
    grpc::CallbackServerContext* context, Response* response, Make make) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const auto of = CallerOf(*context);
  if (!of.ok()) {
    reactor->Finish(ToGrpcStatus(of.status()));
    return reactor;
  }
  const CompileCaller& caller = *of;
  const absl::Status running =
      threads_.Run(caller.name, [context, caller, response, reactor, make] {
        const LogScope scope(TraceOf(*context));
        auto made = make(caller);
        const absl::Status status = made.status();
        if (made.ok()) *response = *std::move(made);
        reactor->Finish(ToGrpcStatus(status, TrailerBytesOf(*context)));
      });
  if (!running.ok()) reactor->Finish(ToGrpcStatus(running));
  return reactor;
}

template <typename Make>
CompileService::ProgressReactor* CompileService::AnswerWithProgress(
    grpc::CallbackServerContext* context, Make make) {
  auto* const stream =
      new CompileProgressStream(TrailerBytesOf(*context));  // deletes itself
  const auto of = CallerOf(*context);
  if (!of.ok()) {
    stream->Finish(of.status());
    return stream;
  }
  CompileCaller caller = *of;
  caller.report = [stream](const CompileStage& stage) {
    stream->Report(stage);
  };
  const absl::Status running = threads_.Run(
      caller.name, [caller, stream, make, trace = TraceOf(*context)] {
        const LogScope scope(trace);
        stream->Finish(Done(make(caller)));
      });
  if (!running.ok()) stream->Finish(running);
  return stream;
}

grpc::ServerUnaryReactor* CompileService::Compile(
    grpc::CallbackServerContext* context, const v1::CompileRequest* request,
    v1::CompileResponse* response) {
  auto found = compiler_.Find(*request);
  if (found.has_value() && callers_.Of(*context).ok()) {
    *response = *std::move(found);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  return Answer(context, response,
                [this, request](const CompileCaller& caller) {
                  return compiler_.Compile(*request, caller);
                });
}

CompileService::ProgressReactor* CompileService::CompileWithProgress(
    grpc::CallbackServerContext* context, const v1::CompileRequest* request) {
  auto found = compiler_.Find(*request);
  if (found.has_value() && callers_.Of(*context).ok()) {
    auto* const stream =
        new CompileProgressStream(TrailerBytesOf(*context));  // deletes itself
    stream->Finish(Done(*std::move(found)));
    return stream;
  }
  return AnswerWithProgress(context,
                            [this, request](const CompileCaller& caller) {
                              return compiler_.Compile(*request, caller);
                            });
}

grpc::ServerUnaryReactor* CompileService::Link(
    grpc::CallbackServerContext* context, const v1::LinkRequest* request,
    v1::LinkResponse* response) {
  return Answer(context, response,
                [this, request](const CompileCaller& caller) {
                  return compiler_.Link(*request, caller);
                });
}

CompileService::ProgressReactor* CompileService::LinkWithProgress(
    grpc::CallbackServerContext* context, const v1::LinkRequest* request) {
  return AnswerWithProgress(context,
                            [this, request](const CompileCaller& caller) {
                              return compiler_.Link(*request, caller);
                            });
}

}  // namespace holdfast
