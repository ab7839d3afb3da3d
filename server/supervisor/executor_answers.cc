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
namespace {

// Questions of one executor that wait for collections to be resumed. One of
// ours asks for one collection after the other.
constexpr int kMaxResuming = 4;

internal::ToExecutor AnswerTo(const internal::FromExecutor& question) {
  internal::ToExecutor answer;
  answer.set_question(question.question());
  return answer;
}

std::optional<SessionMemory::Answer> Refusal(const absl::Status& status) {
  SessionMemory::Answer answer;
  *answer.reply.mutable_error() = ToError(status);
  return answer;
}

}  // namespace

absl::Status ExecutorProcess::AnswerReserve(
    const internal::FromExecutor& question) {
  absl::Status granted =
      absl::FailedPreconditionError("no session to reserve memory for");
  {
    absl::MutexLock lock(&mutex_);
    const internal::Reserve& reserve = question.reserve();
    const internal::MemoryPlace& place = reserve.place();
    if (place.has_device()) HOLDFAST_RETURN_IF_ERROR(CheckOwn(place.device()));
    if (holdings_ != nullptr) {
      granted = holdings_->grants().Reserve(place, reserve.bytes());
    }
  }
  internal::ToExecutor answer = AnswerTo(question);
  answer.mutable_reserve_reply();
  if (!granted.ok()) *answer.mutable_error() = ToError(granted);
  return process_->channel().Send(answer);
}

absl::Status ExecutorProcess::AnswerFetch(
    const internal::FromExecutor& question) {
  std::shared_ptr<const StoredObject> object;
  {
    absl::MutexLock lock(&mutex_);
    if (holdings_ != nullptr) {
      object = holdings_->objects()
                   .Find(question.fetch_object().sha256())
                   .value_or(nullptr);
    }
  }
  internal::ToExecutor answer = AnswerTo(question);
  answer.mutable_object();
  if (object == nullptr) return process_->channel().Send(answer);
  *answer.mutable_object()->mutable_symbols() = object->header.symbols();
  return process_->channel().Send(answer, object->memory.get());
}

absl::Status ExecutorProcess::AnswerLoadCode(
    const internal::FromExecutor& question) {
  internal::ToExecutor answer = AnswerTo(question);
  const auto code = services_.code.Load(owner(), question.load_code().key());
  answer.mutable_code();
  return process_->channel().Send(answer,
                                  code == nullptr ? -1 : code->memory.get());
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

std::optional<SessionMemory::Answer> ExecutorProcess::AskMemory(
    const internal::FromExecutor& question, int fd) {
  // Outlives the lock: its end may take the collection table's.
  std::shared_ptr<const collections::OpenVersion> opened;
  const internal::SharingRequest& request = question.sharing();
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) {
    return Refusal(absl::FailedPreconditionError("no session to share for"));
  }
  if (services_.suspension != nullptr) {
    opened = holdings_->memory().OpenFor(request);
  }
  if (opened == nullptr || !services_.collections.NeedsResume(*opened)) {
    return holdings_->memory().Ask(request, fd);
  }
  if (resuming_ == kMaxResuming) {
    return Refusal(absl::ResourceExhaustedError(absl::StrCat(
        kMaxResuming, " collections are being resumed for it already")));
  }
  ++resuming_;
  AnswerWhenResumed(question, std::move(opened));
  return std::nullopt;
}

absl::Status ExecutorProcess::AnswerSharing(
    const internal::FromExecutor& question, int fd) {
  auto answered = AskMemory(question, fd);
  if (!answered.has_value()) return absl::OkStatus();
  internal::ToExecutor answer = AnswerTo(question);
  *answer.mutable_sharing() = std::move(answered->reply);
  return process_->channel().Send(answer, answered->descriptor.get());
}

// The resumption holds the version open, so that it is not suspended again
// before the answer.
void ExecutorProcess::AnswerWhenResumed(
    const internal::FromExecutor& question,
    std::shared_ptr<const collections::OpenVersion> opened) {
  const auto gone = [later = later_] {
    absl::MutexLock lock(&later->mutex);
    return later->process == nullptr || later->process->ended().has_value();
  };
  const auto answer = [later = later_, question](const absl::Status& resumed) {
    absl::MutexLock lock(&later->mutex);
    if (later->process != nullptr) later->process->AnswerNow(question, resumed);
  };
  services_.suspension->ResumeFor(std::move(opened), gone, answer);
}

void ExecutorProcess::AnswerNow(const internal::FromExecutor& question,
                                const absl::Status& resumed) {
  {
    absl::MutexLock lock(&mutex_);
    --resuming_;
  }
  auto answered =
      resumed.ok() ? AskMemory(question, /*fd=*/-1) : Refusal(resumed);
  if (!answered.has_value()) return;
  internal::ToExecutor answer = AnswerTo(question);
  *answer.mutable_sharing() = std::move(answered->reply);
  const absl::Status sent =
      process_->channel().TrySend(answer, answered->descriptor.get());
  // One that has ended is noted elsewhere.
  if (sent.ok() || absl::IsUnavailable(sent)) return;
  LogWarning("the executor (pid ", pid(),
             ") is ended: it waited for a collection and does not take the "
             "answer: ",
             sent.message());
  process_->Kill();
}

}  // namespace holdfast::supervisor
