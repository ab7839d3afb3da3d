// SPDX-License-Identifier: Apache-2.0
//
// Answers to the questions of executors: for memory and objects, and about what
// their sessions share.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"
#include "server/supervisor/executor_process.h"

namespace holdfast::supervisor {

absl::Status ExecutorProcess::AnswerReserve(const internal::Reserve& reserve) {
  absl::Status granted =
      absl::FailedPreconditionError("no session to reserve memory for");
  {
    absl::MutexLock lock(&mutex_);
    const internal::MemoryPlace& place = reserve.place();
    if (place.has_device()) HOLDFAST_RETURN_IF_ERROR(CheckOwn(place.device()));
    if (holdings_ != nullptr) {
      granted = holdings_->grants().Reserve(place, reserve.bytes());
    }
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
  absl::StatusOr<std::shared_ptr<const StoredObject>> object =
      absl::NotFoundError("no session");
  {
    absl::MutexLock lock(&mutex_);
    if (holdings_ != nullptr) object = holdings_->FindObject(sha256);
  }
  if (!object.ok()) return process_->channel().Send(message);
  reply.set_found(true);
  reply.set_size((*object)->header.size());
  *reply.mutable_symbols() = (*object)->header.symbols();
  return process_->channel().Send(message, (*object)->memory.get());
}

absl::Status ExecutorProcess::AnswerLoadCode(const std::string& key) {
  internal::ToExecutor message;
  internal::CodeReply& reply = *message.mutable_code();
  reply.set_key(key);
  const auto code = services_.code.Load(owner(), key);
  if (code == nullptr) return process_->channel().Send(message);
  reply.set_found(true);
  return process_->channel().Send(message, code->memory.get());
}

absl::Status ExecutorProcess::CheckOwn(uint32_t device) const {
  if (devices_.empty() || absl::c_linear_search(devices_, device)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it wants memory of device ", device,
                   ", and its session is on ", absl::StrJoin(devices_, ", ")));
}

absl::Status ExecutorProcess::HoldChunk(const internal::ChunkCreated& created,
                                        UniqueFd fd) {
  if (!fd.valid() || !services_.ledger.HasDevice(created.device())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it made a chunk on device ", created.device(),
        fd.valid() ? ", which does not exist" : " without a descriptor"));
  }
  absl::MutexLock lock(&mutex_);
  HOLDFAST_RETURN_IF_ERROR(CheckOwn(created.device()));
  if (holdings_ == nullptr) return absl::OkStatus();
  return holdings_->memory().Hold(created, std::move(fd));
}

absl::StatusOr<std::optional<SessionMemory::Answer>> ExecutorProcess::AskMemory(
    const internal::SharingRequest& request, int fd) {
  // Outlives the lock: its end may take the collection table's.
  std::shared_ptr<const collections::OpenVersion> opened;
  absl::MutexLock lock(&mutex_);
  if (answering_later_) {
    return absl::InvalidArgumentError("it asked before it had its answer");
  }
  if (holdings_ == nullptr) {
    SessionMemory::Answer answer;
    *answer.reply.mutable_error() =
        ToError(absl::FailedPreconditionError("no session to share for"));
    return answer;
  }
  if (services_.suspension != nullptr) {
    opened = holdings_->memory().OpenFor(request);
  }
  if (opened == nullptr || !services_.collections.NeedsResume(*opened)) {
    return holdings_->memory().Ask(request, fd);
  }
  answering_later_ = true;
  AnswerWhenResumed(request, std::move(opened));
  return std::nullopt;
}

absl::Status ExecutorProcess::AnswerSharing(
    const internal::SharingRequest& request, int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(auto answer, AskMemory(request, fd));
  if (!answer.has_value()) return absl::OkStatus();
  internal::ToExecutor message;
  *message.mutable_sharing() = std::move(answer->reply);
  return process_->channel().Send(message, answer->descriptor.get());
}

// The resumption holds the version open, so that it is not suspended again
// before the answer.
void ExecutorProcess::AnswerWhenResumed(
    const internal::SharingRequest& request,
    std::shared_ptr<const collections::OpenVersion> opened) {
  const auto gone = [later = later_] {
    absl::MutexLock lock(&later->mutex);
    return later->process == nullptr || later->process->ended().has_value();
  };
  const auto answer = [later = later_, request](const absl::Status& resumed) {
    absl::MutexLock lock(&later->mutex);
    if (later->process != nullptr) later->process->AnswerNow(request, resumed);
  };
  services_.suspension->ResumeFor(std::move(opened), gone, answer);
}

void ExecutorProcess::AnswerNow(const internal::SharingRequest& request,
                                const absl::Status& resumed) {
  {
    absl::MutexLock lock(&mutex_);
    answering_later_ = false;
  }
  std::optional<SessionMemory::Answer> answer;
  if (resumed.ok()) {
    // Fails if it has asked something else meanwhile, as none of ours does.
    auto asked = AskMemory(request, /*fd=*/-1);
    if (asked.ok()) answer = *std::move(asked);
  } else {
    *answer.emplace().reply.mutable_error() = ToError(resumed);
  }
  if (answer.has_value()) SendNow(*std::move(answer));
}

void ExecutorProcess::SendNow(SessionMemory::Answer answer) {
  internal::ToExecutor message;
  *message.mutable_sharing() = std::move(answer.reply);
  const absl::Status sent =
      process_->channel().TrySend(message, answer.descriptor.get());
  // One that has ended is noted elsewhere.
  if (sent.ok() || absl::IsUnavailable(sent)) return;
  LogWarning("the executor (pid ", pid(),
             ") is ended: it waited for a collection and does not take the "
             "answer: ",
             sent.message());
  process_->Kill();
}

}  // namespace holdfast::supervisor
