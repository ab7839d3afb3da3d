// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/fake_executor.h"

#include <fcntl.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"
#include "tests/client/cpp/command_answers.h"

namespace holdfast::testing {
namespace {

// A descriptor of our own of a socket that is borrowed.
UniqueFd Duplicate(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, /*lowest=*/0));
}

}  // namespace

class FakeExecutor::Commands final : public v1::CommandService::Service {
 public:
  explicit Commands(FakeExecutor& executor) : executor_(executor) {}

  grpc::Status Run(grpc::ServerContext*, const v1::CommandBatch* batch,
                   v1::ResultBatch* results) override {
    *results = executor_.Process(*batch);
    return grpc::Status::OK;
  }

  grpc::Status Execute(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>* stream)
      override {
    stream->SendInitialMetadata();
    v1::CommandBatch batch;
    while (stream->Read(&batch)) {
      const v1::ResultBatch results = executor_.Process(batch);
      if (results.results_size() > 0) stream->Write(results);
    }
    return grpc::Status::OK;
  }

 private:
  FakeExecutor& executor_;
};

FakeExecutor::FakeExecutor(const SessionHoldings::Services& services)
    : services_(services) {}

FakeExecutor::~FakeExecutor() { StopServing(); }

absl::StatusOr<internal::Serving> FakeExecutor::Serve(
    const supervisor::SessionStart& start, absl::Time) {
  absl::MutexLock lock(&mutex_);
  if (succeeds_) {
    HOLDFAST_RETURN_IF_ERROR(holdings_->BeginRestore(start.assign.epoch()));
  } else {
    holdings_ = std::make_unique<SessionHoldings>(services_);
    HOLDFAST_RETURN_IF_ERROR(holdings_->Open(start.assign, start.tenant));
  }
  HOLDFAST_ASSIGN_OR_RETURN(journal_,
                            journal::JournalWriter::Map(holdings_->journal()));
  received_ = start.assign.received_through();
  journal_->SetReceived(received_);
  journal_->Resume(received_);
  journal_->SetCompleted(received_);
  reserves_buffers_ = start.assign.limits().reserve_buffers();
  calls_ = Duplicate(start.calls);
  descriptors_ = Duplicate(start.descriptors);
  if (succeeds_) {
    holdings_->EndRestore();  // Resume lets clients in.
  } else {
    HOLDFAST_RETURN_IF_ERROR(Listen());
  }
  return internal::Serving();
}

absl::Status FakeExecutor::Resume(absl::Time) {
  absl::MutexLock lock(&mutex_);
  return Listen();
}

absl::Status FakeExecutor::Listen() {
  commands_ = std::make_unique<Commands>(*this);
  grpc::ServerBuilder builder;
  builder.RegisterService(commands_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::UnavailableError("the fake executor's server did not start");
  }
  accept_calls_ = std::make_unique<AcceptThread>(
      std::move(calls_), "the fake executor's calls",
      [server = server_.get()](UniqueFd connection) {
        grpc::AddInsecureChannelFromFd(server, connection.Release());
      });
  // A client that offers rings finds them refused.
  accept_descriptors_ = std::make_unique<AcceptThread>(
      std::move(descriptors_), "the fake executor's descriptors",
      [](UniqueFd) {});
  return absl::OkStatus();
}

void FakeExecutor::StopServing() {
  std::unique_ptr<Commands> commands;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<AcceptThread> accept_calls, accept_descriptors;
  {
    absl::MutexLock lock(&mutex_);
    commands = std::move(commands_);
    server = std::move(server_);
    accept_calls = std::move(accept_calls_);
    accept_descriptors = std::move(accept_descriptors_);
  }
  accept_calls = nullptr;  // It hands connections to the server.
  if (server == nullptr) return;
  server->Shutdown(absl::ToChronoTime(absl::Now()));
  server->Wait();
}

v1::ResultBatch FakeExecutor::Process(const v1::CommandBatch& batch) {
  absl::MutexLock lock(&mutex_);
  v1::ResultBatch results;
  uint64_t sequence = batch.first_sequence();
  for (const v1::Command& command : batch.commands()) {
    received_ = sequence;
    journal_->SetReceived(sequence);
    journal_->Begin(sequence, command.operation_case(), /*stream=*/0, "");
    v1::Result result;
    const absl::Status reserved = command.has_allocate_buffer()
                                      ? Reserve(command.allocate_buffer())
                                      : absl::OkStatus();
    if (!reserved.ok()) *result.mutable_error() = ToError(reserved);
    if (!reserved.ok() || AnswerCommand(command, &result)) {
      result.set_sequence(sequence);
      results.add_results()->Swap(&result);
    }
    journal_->SetProcessed(sequence);
    journal_->SetCompleted(sequence);
    ++sequence;
  }
  return results;
}

absl::Status FakeExecutor::Reserve(const v1::AllocateBuffer& buffer) {
  if (!reserves_buffers_ || holdings_ == nullptr) return absl::OkStatus();
  internal::MemoryPlace place;
  place.set_buffers(true);
  return holdings_->grants().Reserve(place, buffer.size());
}

void FakeExecutor::Crash(const internal::Fault& fault) {
  StopServing();
  std::function<void(absl::Status)> on_end;
  {
    absl::MutexLock lock(&mutex_);
    fault_ = fault;
    on_end = on_end_;
  }
  on_end(absl::UnavailableError("the fake executor has crashed"));
}

absl::StatusOr<uint64_t> FakeExecutor::ReceivedThrough() {
  absl::MutexLock lock(&mutex_);
  return received_;
}

void FakeExecutor::Inherit(std::unique_ptr<SessionHoldings> holdings) {
  absl::MutexLock lock(&mutex_);
  holdings_ = std::move(holdings);
  succeeds_ = true;
}

std::unique_ptr<SessionHoldings> FakeExecutor::TakeHoldings() {
  absl::MutexLock lock(&mutex_);
  return std::move(holdings_);
}

std::optional<internal::Fault> FakeExecutor::fault() const {
  absl::MutexLock lock(&mutex_);
  return fault_;
}

void FakeExecutor::OnEnd(std::function<void(absl::Status)> callback) {
  absl::MutexLock lock(&mutex_);
  on_end_ = std::move(callback);
}

void FakeExecutor::Stop(absl::Time) {
  if (on_stop_) on_stop_();
  StopServing();
}

}  // namespace holdfast::testing
