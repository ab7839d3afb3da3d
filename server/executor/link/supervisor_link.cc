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
namespace {

// An answer to this question: it is done, or why not.
internal::FromExecutor AnswerTo(uint64_t question, const absl::Status& done) {
  internal::FromExecutor answer;
  answer.set_question(question);
  if (!done.ok()) *answer.mutable_error() = ToError(done);
  return answer;
}

}  // namespace

SupervisorLink::SupervisorLink(UniqueFd channel,
                               std::function<void()> after_fault)
    : channel_(std::move(channel)),
      after_fault_(std::move(after_fault)),
      reader_([this] { ReadMessages(); }) {}

SupervisorLink::~SupervisorLink() {
  {
    absl::MutexLock lock(&mutex_);
    EndWaits();
  }
  channel_.Shutdown();
  reader_.join();
}

void SupervisorLink::EndWaits() {
  shutdown_ = true;
  questions_.End(absl::UnavailableError("the session is being closed"));
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

absl::StatusOr<SupervisorLink::Questions::Answer> SupervisorLink::Ask(
    internal::FromExecutor question, Questions::Kind answer, int fd) {
  const uint64_t number = questions_.Ask(answer);
  question.set_question(number);
  const absl::Status told = Tell(question, fd);
  if (told.ok()) questions_.Wait(number, absl::InfiniteFuture());
  auto answered = questions_.Take(number);
  return told.ok() ? std::move(answered) : told;
}

void SupervisorLink::SendReady(const absl::StatusOr<internal::Ready>& ready) {
  internal::FromExecutor answer = AnswerTo(0, ready.status());
  *answer.mutable_ready() = ready.value_or(internal::Ready());
  Send(answer);
}

void SupervisorLink::SendServing(
    const absl::StatusOr<internal::Serving>& serving, int counters) {
  std::optional<uint64_t> assign;
  {
    absl::MutexLock lock(&mutex_);
    assign.swap(assign_);
  }
  if (!assign.has_value()) return;
  internal::FromExecutor answer = AnswerTo(*assign, serving.status());
  *answer.mutable_serving() = serving.value_or(internal::Serving());
  Send(answer, counters);
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

void SupervisorLink::AnswerUsage(uint64_t question) {
  internal::FromExecutor answer = AnswerTo(question, absl::OkStatus());
  internal::Usage* const usage = answer.mutable_usage();
  if (report_) report_(usage);
  Send(answer);
}

absl::Status SupervisorLink::Reserve(const internal::MemoryPlace& place,
                                     uint64_t bytes) {
  internal::FromExecutor message;
  *message.mutable_reserve()->mutable_place() = place;
  message.mutable_reserve()->set_bytes(bytes);
  return Ask(std::move(message), internal::ToExecutor::kReserveReply).status();
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
    return shutdown_ || assign_.has_value();
  };
  mutex_.Await(absl::Condition(&done));
  if (assign_.has_value()) return std::move(assignment_);
  return absl::UnavailableError("shut down before there was a session");
}

std::optional<SupervisorLink::Request> SupervisorLink::AwaitCopy() {
  absl::MutexLock lock(&mutex_);
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || assign_.has_value() || !requests_.empty();
  };
  mutex_.Await(absl::Condition(&due));
  if (shutdown_ || assign_.has_value()) return std::nullopt;
  Request request = std::move(requests_.front());
  requests_.pop_front();
  return request;
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

void SupervisorLink::Answer(const internal::ToExecutor& request,
                            const absl::Status& done, int descriptor) {
  internal::FromExecutor answer = AnswerTo(request.question(), done);
  if (request.has_quiesce()) {
    answer.mutable_quiesced();
  } else if (request.has_save_memory()) {
    answer.mutable_memory_saved();
  } else if (request.has_resume()) {
    answer.mutable_serving();
  } else {
    answer.mutable_chunk_copied();
  }
  Send(answer, descriptor);
}

absl::StatusOr<FetchedObject> SupervisorLink::FetchObject(
    absl::string_view sha256) {
  internal::FromExecutor message;
  message.mutable_fetch_object()->set_sha256(std::string(sha256));
  HOLDFAST_ASSIGN_OR_RETURN(
      const Questions::Answer answer,
      Ask(std::move(message), internal::ToExecutor::kObject));
  if (!answer.descriptor.valid()) {
    return absl::NotFoundError(absl::StrCat(
        "no object ", absl::BytesToHexString(sha256), " in the object store"));
  }
  FetchedObject object;
  HOLDFAST_ASSIGN_OR_RETURN(object.image,
                            FileMapping::Map(answer.descriptor.get(),
                                             FileMapping::Access::kReadOnly));
  const auto& symbols = answer.message.object().symbols();
  object.symbols.insert(symbols.begin(), symbols.end());
  return object;
}

absl::StatusOr<SharingAnswer> SupervisorLink::AskSharing(
    const internal::SharingRequest& request, int descriptor) {
  internal::FromExecutor message;
  *message.mutable_sharing() = request;
  HOLDFAST_ASSIGN_OR_RETURN(
      Questions::Answer answer,
      Ask(std::move(message), internal::ToExecutor::kSharing, descriptor));
  internal::SharingReply& reply = *answer.message.mutable_sharing();
  if (reply.has_error()) return FromError(reply.error());
  return SharingAnswer{std::move(reply), std::move(answer.descriptor)};
}

void SupervisorLink::SendImportReleased(uint64_t import) {
  internal::FromExecutor message;
  message.mutable_import_released()->set_import(import);
  Send(message);
}

std::string SupervisorLink::LoadCode(const std::string& key) {
  internal::FromExecutor message;
  message.mutable_load_code()->set_key(key);
  const auto code = Ask(std::move(message), internal::ToExecutor::kCode);
  if (!code.ok() || !code->descriptor.valid()) return "";
  const auto mapping =
      FileMapping::Map(code->descriptor.get(), FileMapping::Access::kReadOnly);
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
      assign_ = message.question();
      return;
    case internal::ToExecutor::kObject:
    case internal::ToExecutor::kReserveReply:
    case internal::ToExecutor::kSharing:
    case internal::ToExecutor::kCode:
      // Ours sends no other.
      if (!questions_.Check(message).ok()) return;
      return questions_.Receive(std::move(message), std::move(fd));
    case internal::ToExecutor::kShutdown:
      return EndWaits();
    case internal::ToExecutor::kReportUsage:
      return AnswerUsage(message.question());
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
      return Answer(message, absl::OkStatus());
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
    case internal::ToExecutor::MESSAGE_NOT_SET:
      return;
  }
}

}  // namespace holdfast::executor
