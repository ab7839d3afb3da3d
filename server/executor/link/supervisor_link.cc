// SPDX-License-Identifier: Apache-2.0
#include "server/executor/link/supervisor_link.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {

SupervisorLink::SupervisorLink(UniqueFd channel,
                               std::function<void()> after_fault)
    : channel_(std::move(channel)),
      after_fault_(std::move(after_fault)),
      reader_([this] { ReadMessages(); }) {}

SupervisorLink::~SupervisorLink() {
  {
    absl::MutexLock lock(&mutex_);
    shutdown_ = true;
  }
  channel_.Shutdown();
  reader_.join();
}

void SupervisorLink::AwaitEnd() {
  while (true) pause();
}

absl::Status SupervisorLink::Tell(const internal::FromExecutor& message,
                                  int fd) {
  {
    absl::MutexLock lock(&send_mutex_);
    if (!fault_sent_) {
      fault_sent_ = message.has_fault();
      return channel_.Send(message, fd);
    }
  }
  after_fault_();
  return absl::UnavailableError("the process has reported its fault");
}

void SupervisorLink::Send(const internal::FromExecutor& message, int fd) {
  const absl::Status status = Tell(message, fd);
  if (!status.ok()) LogWarning("to the supervisor: ", status.message());
}

void SupervisorLink::SendReady(const internal::Ready& ready) {
  internal::FromExecutor message;
  *message.mutable_ready() = ready;
  Send(message);
}

void SupervisorLink::SendServing(const absl::Status& status, int counters) {
  internal::FromExecutor message;
  message.mutable_serving();
  if (!status.ok()) {
    *message.mutable_serving()->mutable_error() = ToError(status);
  }
  Send(message, counters);
}

void SupervisorLink::SendServing(const internal::Serving& serving,
                                 int counters) {
  internal::FromExecutor message;
  *message.mutable_serving() = serving;
  Send(message, counters);
}

void SupervisorLink::SendFault(const internal::Fault& fault) {
  internal::FromExecutor message;
  *message.mutable_fault() = fault;
  Send(message);
}

void SupervisorLink::OnResume(std::function<void()> resume) {
  absl::MutexLock lock(&mutex_);
  resume_ = std::move(resume);
}

void SupervisorLink::SendUsage(const internal::Usage& usage) {
  internal::FromExecutor message;
  *message.mutable_usage() = usage;
  Send(message);
}

void SupervisorLink::OnLimitsChanged(
    std::function<void(const internal::AccountLimits&)> changed) {
  absl::MutexLock lock(&mutex_);
  limits_changed_ = std::move(changed);
}

void SupervisorLink::OnUsageAsked(
    std::function<void(internal::Usage*)> report) {
  absl::MutexLock lock(&mutex_);
  report_ = std::move(report);
}

void SupervisorLink::AnswerUsage() {
  internal::FromExecutor message;
  internal::Usage& usage = *message.mutable_usage();
  usage.set_asked_for(true);
  if (report_) report_(&usage);
  Send(message);
}

absl::Status SupervisorLink::Reserve(const internal::MemoryPlace& place,
                                     uint64_t bytes) {
  internal::FromExecutor message;
  *message.mutable_reserve()->mutable_place() = place;
  message.mutable_reserve()->set_bytes(bytes);
  absl::MutexLock reserve_lock(&reserve_mutex_);
  HOLDFAST_RETURN_IF_ERROR(Tell(message));
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || granted_.has_value();
  };
  mutex_.Await(absl::Condition(&done));
  if (!granted_.has_value()) {
    return absl::UnavailableError("the session is being closed");
  }
  const internal::ReserveReply reply = *std::exchange(granted_, std::nullopt);
  return reply.has_error() ? FromError(reply.error()) : absl::OkStatus();
}

void SupervisorLink::Release(const internal::MemoryPlace& place,
                             uint64_t bytes) {
  internal::FromExecutor message;
  *message.mutable_release()->mutable_place() = place;
  message.mutable_release()->set_bytes(bytes);
  Send(message);
}

void SupervisorLink::SendChunkCreated(uint32_t device, uint32_t in_driver,
                                      const memory::Chunk& chunk) {
  internal::FromExecutor message;
  internal::ChunkCreated& created = *message.mutable_chunk_created();
  created.set_chunk(ChunkName(device, chunk.id()));
  created.set_device(in_driver);
  created.set_address(chunk.address());
  created.set_size(chunk.size());
  Send(message, chunk.descriptor());
}

void SupervisorLink::SendChunkReleased(uint32_t device,
                                       const memory::Chunk& chunk) {
  SendChunkReleased(ChunkName(device, chunk.id()));
}

void SupervisorLink::SendChunkReleased(uint64_t chunk) {
  internal::FromExecutor message;
  message.mutable_chunk_released()->set_chunk(chunk);
  Send(message);
}

void SupervisorLink::SendHostMemoryCreated(
    const internal::HostMemoryCreated& created, int memory) {
  internal::FromExecutor message;
  *message.mutable_host_memory_created() = created;
  Send(message, memory);
}

void SupervisorLink::SendHostMemoryReleased(uint64_t handle) {
  internal::FromExecutor message;
  message.mutable_host_memory_released()->set_handle(handle);
  Send(message);
}

absl::StatusOr<SupervisorLink::Assigned> SupervisorLink::AwaitAssign() {
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || assigned_;
  };
  mutex_.Await(absl::Condition(&done));
  if (assigned_) return std::move(assignment_);
  return absl::UnavailableError("shut down before there was a session");
}

std::optional<SupervisorLink::Request> SupervisorLink::AwaitCopy() {
  absl::MutexLock lock(&mutex_);
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || assigned_ || !requests_.empty();
  };
  mutex_.Await(absl::Condition(&due));
  if (shutdown_ || assigned_) return std::nullopt;
  Request request = std::move(requests_.front());
  requests_.pop_front();
  return request;
}

void SupervisorLink::SendChunkCopied(const absl::Status& status, int chunk) {
  internal::FromExecutor message;
  message.mutable_chunk_copied();
  if (!status.ok()) {
    *message.mutable_chunk_copied()->mutable_error() = ToError(status);
  }
  Send(message, chunk);
}

std::optional<SupervisorLink::Request> SupervisorLink::AwaitRequest() {
  absl::MutexLock lock(&mutex_);
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || !requests_.empty();
  };
  mutex_.Await(absl::Condition(&due));
  if (shutdown_) return std::nullopt;
  Request request = std::move(requests_.front());
  requests_.pop_front();
  return request;
}

void SupervisorLink::SendQuiesced(const absl::StatusOr<UniqueFd>& variables) {
  internal::FromExecutor message;
  message.mutable_quiesced();
  if (variables.ok()) return Send(message, variables->get());
  *message.mutable_quiesced()->mutable_error() = ToError(variables.status());
  Send(message);
}

void SupervisorLink::SendMemorySaved(const absl::Status& status) {
  internal::FromExecutor message;
  message.mutable_memory_saved();
  if (!status.ok()) {
    *message.mutable_memory_saved()->mutable_error() = ToError(status);
  }
  Send(message);
}

absl::StatusOr<FetchedObject> SupervisorLink::FetchObject(
    absl::string_view sha256) {
  internal::FromExecutor message;
  message.mutable_fetch_object()->set_sha256(std::string(sha256));
  HOLDFAST_RETURN_IF_ERROR(Tell(message));
  Reply reply;
  {
    absl::MutexLock lock(&mutex_);
    const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return shutdown_ || reply_.has_value();
    };
    mutex_.Await(absl::Condition(&done));
    if (!reply_.has_value()) {
      return absl::UnavailableError("the session is being closed");
    }
    reply = *std::move(reply_);
    reply_.reset();
  }
  if (!reply.message.found()) {
    return absl::NotFoundError(absl::StrCat(
        "no object ", absl::BytesToHexString(sha256), " in the object store"));
  }
  FetchedObject object;
  HOLDFAST_ASSIGN_OR_RETURN(
      object.image,
      FileMapping::Map(reply.image.get(), FileMapping::Access::kReadOnly));
  object.symbols.insert(reply.message.symbols().begin(),
                        reply.message.symbols().end());
  return object;
}

absl::StatusOr<SharingAnswer> SupervisorLink::AskSharing(
    const internal::SharingRequest& request, int descriptor) {
  internal::FromExecutor message;
  *message.mutable_sharing() = request;
  absl::MutexLock one_at_a_time(&sharing_mutex_);
  HOLDFAST_RETURN_IF_ERROR(Tell(message, descriptor));
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || shared_.has_value();
  };
  mutex_.Await(absl::Condition(&done));
  if (!shared_.has_value()) {
    return absl::UnavailableError("the session is being closed");
  }
  SharingAnswer answer = *std::exchange(shared_, std::nullopt);
  if (answer.reply.has_error()) return FromError(answer.reply.error());
  return answer;
}

void SupervisorLink::SendImportReleased(uint64_t import) {
  internal::FromExecutor message;
  message.mutable_import_released()->set_import(import);
  Send(message);
}

std::string SupervisorLink::LoadCode(const std::string& key) {
  absl::MutexLock one_at_a_time(&code_mutex_);
  internal::FromExecutor message;
  message.mutable_load_code()->set_key(key);
  if (!Tell(message).ok()) return "";
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || code_.has_value();
  };
  mutex_.Await(absl::Condition(&done));
  if (!code_.has_value()) return "";
  const Code code = *std::exchange(code_, std::nullopt);
  if (!code.message.found()) return "";
  const auto mapping =
      FileMapping::Map(code.memory.get(), FileMapping::Access::kReadOnly);
  return mapping.ok() ? std::string(mapping->bytes()) : "";
}

void SupervisorLink::StoreCode(const std::string& key, absl::string_view code) {
  const auto memory = CreateSealedMemfd("holdfast-code", code);
  if (!memory.ok()) return;
  internal::FromExecutor message;
  message.mutable_store_code()->set_key(key);
  Send(message, memory->get());
}

void SupervisorLink::ReadMessages() {
  while (true) {
    internal::ToExecutor message;
    absl::StatusOr<UniqueFd> fd = channel_.Receive(&message);
    absl::MutexLock lock(&mutex_);
    if (!fd.ok()) {
      if (shutdown_) return;
      LogError("the supervisor is gone: ", fd.status().message());
      _exit(1);
    }
    Handle(message, *std::move(fd));
  }
}

void SupervisorLink::Keep(const internal::ListeningSocket& message,
                          UniqueFd fd) {
  const bool calls =
      message.purpose() == internal::ListeningSocket::PURPOSE_CALLS;
  (calls ? assignment_.calls : assignment_.descriptors) = std::move(fd);
}

void SupervisorLink::Handle(internal::ToExecutor& message, UniqueFd fd) {
  switch (message.message_case()) {
    case internal::ToExecutor::kListeningSocket:
      return Keep(message.listening_socket(), std::move(fd));
    case internal::ToExecutor::kAssign:
      assignment_.message = std::move(*message.mutable_assign());
      assigned_ = true;
      return;
    case internal::ToExecutor::kObject:
      reply_ = {std::move(*message.mutable_object()), std::move(fd)};
      return;
    case internal::ToExecutor::kReserveReply:
      granted_ = std::move(*message.mutable_reserve_reply());
      return;
    case internal::ToExecutor::kSharing:
      shared_ = {std::move(*message.mutable_sharing()), std::move(fd)};
      return;
    case internal::ToExecutor::kShutdown:
      shutdown_ = true;
      return;
    case internal::ToExecutor::kReportUsage:
      return AnswerUsage();
    case internal::ToExecutor::kJournal:
      assignment_.journal = std::move(fd);
      return;
    case internal::ToExecutor::kRestoreJournal:
      assignment_.old_journal = std::move(fd);
      return;
    case internal::ToExecutor::kRestoreChunk:
      assignment_.inheritance.chunks[message.restore_chunk().chunk()] = {
          message.restore_chunk(), std::move(fd)};
      return;
    case internal::ToExecutor::kRestoreHostMemory:
      assignment_.inheritance.host[message.restore_host_memory().handle()] =
          std::move(fd);
      return;
    case internal::ToExecutor::kRestoreVariables:
      assignment_.variables = std::move(fd);
      return;
    case internal::ToExecutor::kResume:
      if (resume_) resume_();
      return SendServing(absl::OkStatus());
    case internal::ToExecutor::kQuiesce:
    case internal::ToExecutor::kSaveMemory:
      requests_.push_back({std::move(message), std::move(fd), UniqueFd()});
      return;
    case internal::ToExecutor::kCopyFile:
      copy_file_ = std::move(fd);
      return;
    case internal::ToExecutor::kSaveChunk:
    case internal::ToExecutor::kLoadChunk:
      requests_.push_back(
          {std::move(message), std::move(copy_file_), std::move(fd)});
      return;
    case internal::ToExecutor::kTenantPage:
      assignment_.tenant_page = std::move(fd);
      assignment_.tenant_slot = message.tenant_page().slot();
      return;
    case internal::ToExecutor::kUpdateLimits:
      if (limits_changed_) limits_changed_(message.update_limits());
      return;
    case internal::ToExecutor::kCode:
      code_ = {std::move(*message.mutable_code()), std::move(fd)};
      return;
    case internal::ToExecutor::MESSAGE_NOT_SET:
      return;
  }
}

}  // namespace holdfast::executor
