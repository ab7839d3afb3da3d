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

grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                                 const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

grpc::ServerWriteReactor<v1::CompileProgress>* FinishStream(
    grpc::CallbackServerContext* context,
    const absl::StatusOr<v1::CompileProgress>& done) {
  auto* const stream =
      new CompileProgressStream(TrailerBytesOf(*context));  // deletes itself
  stream->Finish(done);
  return stream;
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
    grpc::CallbackServerContext* context, const CompileCaller& caller,
    Response* response, Make make) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
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
    grpc::CallbackServerContext* context, CompileCaller caller, Make make) {
  auto* const stream =
      new CompileProgressStream(TrailerBytesOf(*context));  // deletes itself
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

// Who may not compile costs nothing: neither a hash nor a place among what was
// used last.
grpc::ServerUnaryReactor* CompileService::Compile(
    grpc::CallbackServerContext* context, const v1::CompileRequest* request,
    v1::CompileResponse* response) {
  const auto caller = CallerOf(*context);
  if (!caller.ok()) return Finish(context, caller.status());
  auto lookup = compiler_.Find(*request);
  if (lookup.found.has_value()) {
    *response = *std::move(lookup.found);
    return Finish(context, absl::OkStatus());
  }
  return Answer(
      context, *caller, response,
      [this, request, lookup = std::move(lookup)](const CompileCaller& from) {
        return compiler_.Compile(*request, from, lookup);
      });
}

CompileService::ProgressReactor* CompileService::CompileWithProgress(
    grpc::CallbackServerContext* context, const v1::CompileRequest* request) {
  const auto caller = CallerOf(*context);
  if (!caller.ok()) return FinishStream(context, caller.status());
  auto lookup = compiler_.Find(*request);
  if (lookup.found.has_value()) {
    return FinishStream(context, Done(*std::move(lookup.found)));
  }
  return AnswerWithProgress(
      context, *caller,
      [this, request, lookup = std::move(lookup)](const CompileCaller& from) {
        return compiler_.Compile(*request, from, lookup);
      });
}

grpc::ServerUnaryReactor* CompileService::Link(
    grpc::CallbackServerContext* context, const v1::LinkRequest* request,
    v1::LinkResponse* response) {
  const auto caller = CallerOf(*context);
  if (!caller.ok()) return Finish(context, caller.status());
  return Answer(context, *caller, response,
                [this, request](const CompileCaller& from) {
                  return compiler_.Link(*request, from);
                });
}

CompileService::ProgressReactor* CompileService::LinkWithProgress(
    grpc::CallbackServerContext* context, const v1::LinkRequest* request) {
  const auto caller = CallerOf(*context);
  if (!caller.ok()) return FinishStream(context, caller.status());
  return AnswerWithProgress(context, *caller,
                            [this, request](const CompileCaller& from) {
                              return compiler_.Link(*request, from);
                            });
}

}  // namespace holdfast
