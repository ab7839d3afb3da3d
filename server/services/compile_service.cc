// SPDX-License-Identifier: Apache-2.0
#include "server/services/compile_service.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"
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

CompileCaller CompileService::CallerOf(
    const grpc::ServerContextBase& context) const {
  CompileCaller caller;
  caller.name = peers_.ClientOf(context);
  caller.deadline = absl::FromChrono(context.deadline());
  caller.gone = [&context] { return context.IsCancelled(); };
  return caller;
}

template <typename Response, typename Make>
grpc::ServerUnaryReactor* CompileService::Answer(
    grpc::CallbackServerContext* context, Response* response, Make make) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  CompileCaller caller = CallerOf(*context);
  const absl::Status running =
      threads_.Run(caller.name, [context, caller, response, reactor, make] {
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
  CompileCaller caller = CallerOf(*context);
  caller.report = [stream](const CompileStage& stage) {
    stream->Report(stage);
  };
  const absl::Status running = threads_.Run(
      caller.name,
      [caller, stream, make] { stream->Finish(Done(make(caller))); });
  if (!running.ok()) stream->Finish(running);
  return stream;
}

grpc::ServerUnaryReactor* CompileService::Compile(
    grpc::CallbackServerContext* context, const v1::CompileRequest* request,
    v1::CompileResponse* response) {
  if (auto found = compiler_.Find(*request)) {
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
  if (auto found = compiler_.Find(*request)) {
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
