// SPDX-License-Identifier: Apache-2.0
#include "tests/client/cpp/fake_daemon.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/server_builder.h"
#include "proto/metadata.h"
#include "tests/client/cpp/command_answers.h"

namespace holdfast {
namespace {

constexpr char kToken[] = "0123456789abcdef";  // 16 bytes
constexpr absl::Duration kPoll = absl::Milliseconds(5);

}  // namespace

class FakeDaemon::Sessions : public v1::SessionService::Service {
 public:
  explicit Sessions(FakeDaemon* fake) : fake_(fake) {}

  grpc::Status OpenSession(grpc::ServerContext*, const v1::OpenSessionRequest*,
                           v1::OpenSessionResponse* response) override {
    response->set_session_id("s-1");
    response->set_token(kToken);
    absl::MutexLock lock(&fake_->mutex_);
    *response->mutable_limits() = fake_->limits_;
    response->mutable_devices()->Add(fake_->devices_.begin(),
                                     fake_->devices_.end());
    return grpc::Status::OK;
  }

  grpc::Status KeepAlive(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::KeepAliveResponse, v1::KeepAliveRequest>*
          stream) override {
    v1::KeepAliveRequest request;
    v1::KeepAliveResponse response;
    stream->Read(&request);
    stream->Write(response);
    while (!context->IsCancelled()) {
      fake_->mutex_.LockWhenWithTimeout(
          absl::Condition(
              +[](std::string* ended) { return !ended->empty(); },
              &fake_->ended_),
          kPoll);
      response.set_ended_because(fake_->ended_);
      fake_->mutex_.Unlock();
      if (response.ended_because().empty()) continue;
      stream->Write(response);
      return grpc::Status::OK;
    }
    return grpc::Status::CANCELLED;
  }

  grpc::Status CloseSession(grpc::ServerContext* context,
                            const v1::CloseSessionRequest*,
                            v1::CloseSessionResponse*) override {
    {
      absl::MutexLock lock(&fake_->mutex_);
      const bool lost = std::exchange(fake_->lose_close_, false);
      const bool forgotten = !lost && fake_->lost_is_carried_out_;
      if (forgotten) return {grpc::StatusCode::NOT_FOUND, "no session"};
      fake_->closed_ = !lost || fake_->lost_is_carried_out_;
      if (!lost) return grpc::Status::OK;
    }
    while (!context->IsCancelled()) absl::SleepFor(kPoll);
    return grpc::Status::OK;
  }

 private:
  FakeDaemon* fake_;
};

class FakeDaemon::Commands : public v1::CommandService::Service {
 public:
  explicit Commands(FakeDaemon* fake) : fake_(fake) {}

  grpc::Status Run(grpc::ServerContext*, const v1::CommandBatch*,
                   v1::ResultBatch*) override {
    absl::MutexLock lock(&fake_->mutex_);
    if (fake_->lost_.empty()) return grpc::Status::OK;
    v1::ErrorDetail detail;
    detail.set_session_lost(true);
    v1::Error error;
    error.set_code(grpc::StatusCode::UNAVAILABLE);
    error.set_message(fake_->lost_);
    error.add_details()->PackFrom(detail);
    return {grpc::StatusCode::UNAVAILABLE, fake_->lost_,
            error.SerializeAsString()};
  }

  grpc::Status Execute(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>* stream)
      override {
    RingPair* rings = nullptr;
    {
      absl::MutexLock lock(&fake_->mutex_);
      fake_->execute_ = context;
      rings = fake_->rings_.get();
    }
    if (rings != nullptr) {
      context->AddInitialMetadata(kRingsKey.name, "taken");
    }
    stream->SendInitialMetadata();
    if (rings != nullptr) {
      ServeRings(rings->reader(), *context);
    } else {
      v1::CommandBatch batch;
      while (stream->Read(&batch)) {
        v1::ResultBatch results = Process(batch);
        if (results.results_size() > 0) stream->Write(results);
      }
    }
    absl::MutexLock lock(&fake_->mutex_);
    fake_->execute_ = nullptr;
    return grpc::Status::OK;
  }

 private:
  void ServeRings(RingReader& reader, const grpc::ServerContext& context) {
    while (!context.IsCancelled()) {
      reader.Await(kPoll);
      const auto message = reader.Read();
      if (!message.ok() || !message->has_value()) continue;
      v1::CommandBatch batch;
      batch.ParseFromArray((*message)->data(), (*message)->size());
      const v1::ResultBatch results = Process(batch);
      if (results.results_size() == 0) continue;
      static_cast<void>(fake_->Send(results.SerializeAsString()));
    }
  }

  v1::ResultBatch Process(const v1::CommandBatch& batch) {
    absl::MutexLock lock(&fake_->mutex_);
    fake_->batches_.push_back(batch);
    fake_->count_ += batch.commands_size();
    v1::ResultBatch results;
    for (int i = 0; i < batch.commands_size(); ++i) {
      v1::Result result;
      if (fake_->Answer(batch.first_sequence() + i, batch.commands(i),
                        &result)) {
        *results.add_results() = result;
      }
    }
    fake_->mutex_.Await(absl::Condition(
        +[](bool* held) { return !*held; }, &fake_->held_));
    return results;
  }

  FakeDaemon* fake_;
};

class FakeDaemon::Transfers : public v1::TransferService::Service {
 public:
  explicit Transfers(FakeDaemon* fake) : fake_(fake) {}

  grpc::Status Upload(grpc::ServerContext*,
                      grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override {
    v1::UploadRequest request;
    while (reader->Read(&request)) {
      absl::MutexLock lock(&fake_->mutex_);
      if (request.has_header()) {
        fake_->transfers_.push_back(request.header());
      } else {
        fake_->uploaded_ += request.data();
      }
    }
    return grpc::Status::OK;
  }

  // The bytes that were uploaded, in pieces.
  grpc::Status Download(
      grpc::ServerContext*, const v1::DownloadRequest* request,
      grpc::ServerWriter<v1::DownloadResponse>* writer) override {
    absl::MutexLock lock(&fake_->mutex_);
    fake_->transfers_.push_back(request->range());
    constexpr size_t kPiece = 100'000;
    for (size_t at = 0; at < fake_->uploaded_.size(); at += kPiece) {
      v1::DownloadResponse response;
      response.set_data(fake_->uploaded_.substr(at, kPiece));
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  FakeDaemon* fake_;
};

FakeDaemon::FakeDaemon(absl::Duration max_age)
    : sessions_service_(std::make_unique<Sessions>(this)),
      commands_service_(std::make_unique<Commands>(this)),
      transfers_service_(std::make_unique<Transfers>(this)) {
  directory_ = "/tmp/holdfast-fake-XXXXXX";
  if (mkdtemp(directory_.data()) == nullptr) abort();
  address_ = absl::StrCat("unix:", directory_, "/socket");
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(-1);
  if (max_age < absl::InfiniteDuration()) {
    builder.AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_AGE_MS,
        static_cast<int>(absl::ToInt64Milliseconds(max_age)));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 1);
  }
  builder.RegisterService(sessions_service_.get());
  builder.RegisterService(commands_service_.get());
  builder.RegisterService(transfers_service_.get());
  server_ = builder.BuildAndStart();
}

FakeDaemon::~FakeDaemon() {
  Release();
  server_->Shutdown(absl::ToChronoTime(absl::Now()));
  server_->Wait();
  std::filesystem::remove_all(directory_);
}

bool FakeDaemon::Answer(uint64_t sequence, const v1::Command& command,
                        v1::Result* result) {
  result->set_sequence(sequence);
  if (auto found = failures_.find(sequence); found != failures_.end()) {
    *result->mutable_error() = found->second;
    return true;
  }
  return AnswerCommand(command, result);
}

void FakeDaemon::set_limits(const v1::SessionLimits& limits) {
  absl::MutexLock lock(&mutex_);
  limits_ = limits;
}

void FakeDaemon::set_devices(const std::vector<uint32_t>& devices) {
  absl::MutexLock lock(&mutex_);
  devices_ = devices;
}

void FakeDaemon::TakeRings(std::unique_ptr<RingPair> rings) {
  absl::MutexLock lock(&mutex_);
  rings_ = std::move(rings);
}

absl::Status FakeDaemon::Send(const std::string& bytes) {
  absl::MutexLock lock(&mutex_);
  return rings_->writer().Write(bytes);
}

void FakeDaemon::Fail(uint64_t sequence, int code, const std::string& message) {
  absl::MutexLock lock(&mutex_);
  failures_[sequence].set_code(code);
  failures_[sequence].set_message(message);
}

void FakeDaemon::Hold() {
  absl::MutexLock lock(&mutex_);
  held_ = true;
}

void FakeDaemon::Release() {
  absl::MutexLock lock(&mutex_);
  held_ = false;
}

void FakeDaemon::LoseExecutor(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  lost_ = reason;
  held_ = false;
  if (execute_ != nullptr) execute_->TryCancel();
}

void FakeDaemon::LoseNextClose(bool carried_out) {
  absl::MutexLock lock(&mutex_);
  lose_close_ = true;
  lost_is_carried_out_ = carried_out;
}

void FakeDaemon::EndSession(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  ended_ = reason;
}

std::vector<v1::CommandBatch> FakeDaemon::batches() {
  absl::MutexLock lock(&mutex_);
  return batches_;
}

std::vector<v1::Command> FakeDaemon::commands() {
  absl::MutexLock lock(&mutex_);
  std::vector<v1::Command> commands;
  for (const auto& batch : batches_) {
    commands.insert(commands.end(), batch.commands().begin(),
                    batch.commands().end());
  }
  return commands;
}

std::string FakeDaemon::uploaded() {
  absl::MutexLock lock(&mutex_);
  return uploaded_;
}

std::vector<v1::TransferRange> FakeDaemon::transfers() {
  absl::MutexLock lock(&mutex_);
  return transfers_;
}

bool FakeDaemon::closed() {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

void FakeDaemon::WaitForCommands(size_t count) {
  const std::pair<size_t*, size_t> wanted(&count_, count);
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](const std::pair<size_t*, size_t>* wanted) {
        return *wanted->first >= wanted->second;
      },
      &wanted));
}

}  // namespace holdfast
