// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_process.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

// Descriptors that one executor may have the supervisor hold.
constexpr size_t kMaxChunks = 4096;

// A process that has closed its channel is exiting; one that lingers in the
// driver's exit code is killed.
constexpr absl::Duration kExitTime = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::unique_ptr<ExecutorProcess>> ExecutorProcess::Start(
    Spawner& spawner, const std::vector<std::string>& arguments,
    Namespaces namespaces, const Services& services) {
  HOLDFAST_ASSIGN_OR_RETURN(auto process, spawner.Spawn(arguments, namespaces));
  return std::unique_ptr<ExecutorProcess>(
      new ExecutorProcess(std::move(process), services));
}

ExecutorProcess::ExecutorProcess(std::unique_ptr<ChildProcess> process,
                                 const Services& services)
    : process_(std::move(process)),
      store_(services.store),
      code_(services.code),
      ledger_(services.ledger),
      memory_(services.memory),
      grants_(services.ledger) {
  reader_ = std::thread([this] { ReadMessages(); });
}

ExecutorProcess::~ExecutorProcess() {
  OnEnd(nullptr);
  process_->Kill();
  process_->channel().Shutdown();  // Whoever else may hold its other end.
  reader_.join();
}

template <typename Answer>
absl::StatusOr<Answer> ExecutorProcess::Await(
    std::optional<Answer> ExecutorProcess::*answer, absl::string_view what,
    absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto answered = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return (this->*answer).has_value() || ended_.has_value();
  };
  if (!mutex_.AwaitWithDeadline(absl::Condition(&answered), deadline)) {
    return absl::DeadlineExceededError(absl::StrCat("the executor (pid ", pid(),
                                                    ") is not ", what,
                                                    " within the time limit"));
  }
  const std::optional<Answer>& given = this->*answer;
  if (!given.has_value()) return *ended_;
  if (given->has_error()) return FromError(given->error());
  return *given;
}

absl::StatusOr<internal::Ready> ExecutorProcess::AwaitReady(
    absl::Time deadline) {
  return Await(&ExecutorProcess::ready_, "ready", deadline);
}

absl::Status ExecutorProcess::SendSocket(
    internal::ListeningSocket::Purpose purpose, int socket) {
  internal::ToExecutor message;
  message.mutable_listening_socket()->set_purpose(purpose);
  return process_->channel().Send(message, socket);
}

absl::Status ExecutorProcess::Serve(const SessionStart& start,
                                    absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    owner_ = start.owner;
    grants_.Open(start.assign.limits(),
                 static_cast<size_t>(start.assign.devices_size()));
  }
  HOLDFAST_RETURN_IF_ERROR(
      SendSocket(internal::ListeningSocket::PURPOSE_CALLS, start.calls));
  HOLDFAST_RETURN_IF_ERROR(SendSocket(
      internal::ListeningSocket::PURPOSE_DESCRIPTORS, start.descriptors));
  internal::ToExecutor message;
  *message.mutable_assign() = start.assign;
  HOLDFAST_RETURN_IF_ERROR(process_->channel().Send(message, start.blocks));
  return Await(&ExecutorProcess::serving_, "serving", deadline).status();
}

void ExecutorProcess::OnEnd(std::function<void(absl::Status)> callback) {
  absl::MutexLock lock(&callback_mutex_);
  callback_ = std::move(callback);
  const std::optional<absl::Status> reason = ended();
  if (callback_ && reason.has_value()) {
    std::exchange(callback_, nullptr)(*reason);
  }
}

std::optional<absl::Status> ExecutorProcess::ended() const {
  absl::MutexLock lock(&mutex_);
  return ended_;
}

void ExecutorProcess::Stop(absl::Time deadline) {
  internal::ToExecutor message;
  message.mutable_shutdown();
  if (!process_->channel().Send(message).ok() ||
      !process_->Wait(deadline).has_value()) {
    process_->Kill();
  }
  process_->Wait();
  absl::MutexLock lock(&mutex_);
  GiveBackMemory();
}

void ExecutorProcess::GiveBackMemory() {
  while (!chunks_.empty()) ReleaseChunk(chunks_.begin()->first);
  grants_.Close();
  usage_.clear_usage();
}

void ExecutorProcess::ReadMessages() {
  absl::Status status;
  while (status.ok()) {
    internal::FromExecutor message;
    absl::StatusOr<UniqueFd> fd = process_->channel().Receive(&message);
    status = fd.ok() ? Handle(message, *std::move(fd)) : fd.status();
  }
  SetEnded(status);
}

absl::Status ExecutorProcess::Handle(const internal::FromExecutor& message,
                                     UniqueFd fd) {
  switch (message.message_case()) {
    case internal::FromExecutor::kFetchObject:
      return AnswerFetch(message.fetch_object().sha256());
    case internal::FromExecutor::kChunkCreated:
      return HoldChunk(message.chunk_created(), std::move(fd));
    case internal::FromExecutor::kReserve:
      return AnswerReserve(message.reserve());
    case internal::FromExecutor::kLoadCode:
      return AnswerLoadCode(message.load_code().key());
    case internal::FromExecutor::kStoreCode:
      return code_.Store(owner(), message.store_code().key(), fd.get());
    default:
      break;
  }
  absl::MutexLock lock(&mutex_);
  if (message.has_usage()) NoteUsage(message.usage());
  if (message.has_ready() && !ready_.has_value()) {
    ready_ = message.ready();
    ledger_.AddDevices(*ready_);
    NoteReady(*ready_);
  }
  if (message.has_serving()) serving_ = message.serving();
  if (message.has_chunk_released()) {
    ReleaseChunk(message.chunk_released().chunk());
  }
  if (message.has_release()) {
    return grants_.Release(message.release().place(),
                           message.release().bytes());
  }
  return absl::OkStatus();
}

void ExecutorProcess::NoteUsage(const internal::Usage& usage) {
  if (usage.asked_for()) {
    usage_ = usage;
    ++usages_;
  } else {
    *usage_.mutable_usage()->mutable_device_bytes() =
        usage.usage().device_bytes();
  }
}

internal::Usage ExecutorProcess::AskUsage(absl::Time deadline) {
  uint64_t before = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!serving_.has_value() || ended_.has_value()) return usage_;
    before = usages_;
  }
  internal::ToExecutor message;
  message.mutable_report_usage();
  const absl::Status sent = process_->channel().Send(message);
  absl::MutexLock lock(&mutex_);
  const auto answered = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return usages_ != before || ended_.has_value();
  };
  if (sent.ok()) {
    mutex_.AwaitWithDeadline(absl::Condition(&answered), deadline);
  }
  if (ended_.has_value()) return usage_;
  internal::Usage usage = usage_;
  // Known here, whatever the executor says.
  grants_.ReportReserved(usage.mutable_usage()->mutable_reserved_bytes());
  return usage;
}

absl::Status ExecutorProcess::AnswerReserve(const internal::Reserve& reserve) {
  absl::Status granted;
  {
    absl::MutexLock lock(&mutex_);
    granted = grants_.Reserve(reserve.place(), reserve.bytes());
  }
  internal::ToExecutor message;
  message.mutable_reserve_reply();
  if (!granted.ok()) {
    *message.mutable_reserve_reply()->mutable_error() = ToError(granted);
  }
  return process_->channel().Send(message);
}

absl::Status ExecutorProcess::AnswerFetch(const std::string& sha256) {
  internal::ToExecutor message;
  internal::ObjectReply& reply = *message.mutable_object();
  reply.set_sha256(sha256);
  const auto object = store_.Get(sha256);
  if (!object.ok()) return process_->channel().Send(message);
  reply.set_found(true);
  reply.set_size((*object)->header.size());
  *reply.mutable_symbols() = (*object)->header.symbols();
  return process_->channel().Send(message, (*object)->memory.get());
}

std::string ExecutorProcess::owner() const {
  absl::MutexLock lock(&mutex_);
  return owner_;
}

absl::Status ExecutorProcess::AnswerLoadCode(const std::string& key) {
  internal::ToExecutor message;
  internal::CodeReply& reply = *message.mutable_code();
  reply.set_key(key);
  const auto code = code_.Load(owner(), key);
  if (code == nullptr) return process_->channel().Send(message);
  reply.set_found(true);
  return process_->channel().Send(message, code->memory.get());
}

void ExecutorProcess::NoteReady(const internal::Ready& ready) {
  for (const v1::Device& device : ready.devices()) {
    if (!device.has_free_memory()) continue;
    memory_.NoteMeasured(device.ordinal(), device.free_memory(),
                         device.total_memory());
  }
}

absl::Status ExecutorProcess::HoldChunk(const internal::ChunkCreated& created,
                                        UniqueFd fd) {
  absl::MutexLock lock(&mutex_);
  if (chunks_.size() >= kMaxChunks) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it made more than ", kMaxChunks, " chunks of memory"));
  }
  ReleaseChunk(created.chunk());
  chunks_[created.chunk()] = {std::move(fd), created.device(), created.size()};
  memory_.NoteTaken(created.device(), created.size());
  return absl::OkStatus();
}

void ExecutorProcess::ReleaseChunk(uint64_t chunk) {
  const auto it = chunks_.find(chunk);
  if (it == chunks_.end()) return;
  memory_.NoteReturned(it->second.device, it->second.size);
  chunks_.erase(it);
}

void ExecutorProcess::SetEnded(const absl::Status& channel_status) {
  // Anything but a closed channel is a fault of the process.
  const bool closed = absl::IsUnavailable(channel_status);
  if (!closed || !process_->Wait(absl::Now() + kExitTime).has_value()) {
    process_->Kill();
  }
  const std::string how =
      closed ? process_->Wait().ToString()
             : absl::StrCat("was ended: ", channel_status.message());
  process_->Wait();
  const absl::Status reason = absl::UnavailableError(
      absl::StrCat("the executor (pid ", pid(), ") ", how));
  absl::MutexLock callback_lock(&callback_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    ended_ = reason;
    GiveBackMemory();
  }
  if (callback_) std::exchange(callback_, nullptr)(reason);
}

}  // namespace holdfast
