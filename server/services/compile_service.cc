// SPDX-License-Identifier: Apache-2.0
#include "server/services/compile_service.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

// So that a client can tell a long compilation from a daemon that hangs.
constexpr absl::Duration kReportInterval = absl::Seconds(1);

v1::CompileProgress ToProgress(const CompileStage& stage) {
  v1::CompileProgress progress;
  const bool queued = stage.queue_position > 0;
  progress.set_stage(queued ? v1::CompileProgress::STAGE_QUEUED
                            : v1::CompileProgress::STAGE_RUNNING);
  progress.set_queue_position(static_cast<uint32_t>(stage.queue_position));
  progress.set_queue_length(static_cast<uint32_t>(stage.queue_length));
  return progress;
}

// Writes what has changed, and something now and then.
class ProgressWriter {
 public:
  explicit ProgressWriter(grpc::ServerWriter<v1::CompileProgress>* writer)
      : writer_(writer) {}

  void Report(const CompileStage& stage) {
    const absl::Time now = absl::Now();
    if (stage == last_ && now < last_time_ + kReportInterval) return;
    last_ = stage;
    last_time_ = now;
    writer_->Write(ToProgress(stage));
  }

 private:
  grpc::ServerWriter<v1::CompileProgress>* const writer_;
  CompileStage last_;
  absl::Time last_time_ = absl::InfinitePast();
};

}  // namespace

CompileCaller CompileService::CallerOf(
    const grpc::ServerContextBase& context) const {
  CompileCaller caller;
  caller.name = peers_.Describe(context.peer());
  caller.deadline = absl::FromChrono(context.deadline());
  caller.gone = [&context] { return context.IsCancelled(); };
  return caller;
}

grpc::ServerUnaryReactor* CompileService::Compile(
    grpc::CallbackServerContext* context, const v1::CompileRequest* request,
    v1::CompileResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (auto found = compiler_.Find(*request)) {
    *response = *std::move(found);
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  const absl::Status running =
      threads_.Run([this, context, request, response, reactor] {
        auto compiled = compiler_.Compile(*request, CallerOf(*context));
        const absl::Status status = compiled.status();
        if (compiled.ok()) *response = *std::move(compiled);
        reactor->Finish(ToGrpcStatus(status));
      });
  if (!running.ok()) reactor->Finish(ToGrpcStatus(running));
  return reactor;
}

grpc::Status CompileService::CompileWithProgress(
    grpc::ServerContext* context, const v1::CompileRequest* request,
    grpc::ServerWriter<v1::CompileProgress>* writer) {
  ProgressWriter progress(writer);
  CompileCaller caller = CallerOf(*context);
  caller.report = [&progress](const CompileStage& stage) {
    progress.Report(stage);
  };
  auto compiled = compiler_.Compile(*request, caller);
  if (!compiled.ok()) return ToGrpcStatus(compiled.status());
  v1::CompileProgress done;
  done.set_stage(v1::CompileProgress::STAGE_DONE);
  *done.mutable_response() = *std::move(compiled);
  writer->Write(done);
  return grpc::Status::OK;
}

grpc::Status CompileService::Link(grpc::ServerContext* context,
                                  const v1::LinkRequest* request,
                                  v1::LinkResponse* response) {
  auto linked = compiler_.Link(*request, CallerOf(*context));
  if (!linked.ok()) return ToGrpcStatus(linked.status());
  *response = *std::move(linked);
  return grpc::Status::OK;
}

}  // namespace holdfast
