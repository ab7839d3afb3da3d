// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_answers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

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

SessionMemory::Answer Refusal(const absl::Status& status) {
  SessionMemory::Answer answer;
  *answer.reply.mutable_error() = ToError(status);
  return answer;
}

}  // namespace

ExecutorAnswers::ExecutorAnswers(const Services& services)
    : services_(services) {
  absl::MutexLock lock(&waiting_->mutex);
  waiting_->answers = this;
}

void ExecutorAnswers::End() {
  absl::MutexLock lock(&waiting_->mutex);
  waiting_->answers = nullptr;
}

absl::Status ExecutorAnswers::Answer(const internal::FromExecutor& question,
                                     int fd) {
  switch (question.message_case()) {
    case internal::FromExecutor::kFetchObject:
      return AnswerFetch(question);
    case internal::FromExecutor::kReserve:
      return AnswerReserve(question);
    case internal::FromExecutor::kLoadCode:
      return AnswerLoadCode(question);
    default:
      return AnswerSharing(question, fd);
  }
}

absl::Status ExecutorAnswers::AnswerReserve(
    const internal::FromExecutor& question) {
  absl::Status granted;
  HOLDFAST_RETURN_IF_ERROR(
      services_.session.Reserve(question.reserve(), &granted));
  internal::ToExecutor answer = AnswerTo(question);
  answer.mutable_reserve_reply();
  if (!granted.ok()) *answer.mutable_error() = ToError(granted);
  return services_.process.channel().Send(answer);
}

absl::Status ExecutorAnswers::AnswerFetch(
    const internal::FromExecutor& question) {
  const std::shared_ptr<const StoredObject> object =
      services_.session.FindObject(question.fetch_object().sha256());
  internal::ToExecutor answer = AnswerTo(question);
  answer.mutable_object();
  if (object == nullptr) return services_.process.channel().Send(answer);
  *answer.mutable_object()->mutable_symbols() = object->header.symbols();
  return services_.process.channel().Send(answer, object->memory.get());
}

absl::Status ExecutorAnswers::AnswerLoadCode(
    const internal::FromExecutor& question) {
  internal::ToExecutor answer = AnswerTo(question);
  const auto code = services_.code.Load(services_.session.owner(),
                                        question.load_code().key());
  answer.mutable_code();
  return services_.process.channel().Send(
      answer, code == nullptr ? -1 : code->memory.get());
}

absl::Status ExecutorAnswers::AnswerSharing(
    const internal::FromExecutor& question, int fd) {
  auto answered = Ask(question, fd);
  if (!answered.has_value()) return absl::OkStatus();
  internal::ToExecutor answer = AnswerTo(question);
  *answer.mutable_sharing() = std::move(answered->reply);
  return services_.process.channel().Send(answer, answered->descriptor.get());
}

std::optional<SessionMemory::Answer> ExecutorAnswers::Ask(
    const internal::FromExecutor& question, int fd) {
  const internal::SharingRequest& request = question.sharing();
  // Held until the answer, so that the version is not suspended before it.
  std::shared_ptr<const collections::OpenVersion> opened;
  if (services_.suspension != nullptr) {
    opened = services_.session.OpenFor(request);
  }
  if (opened == nullptr || !services_.collections.NeedsResume(*opened)) {
    return services_.session.Ask(request, fd);
  }
  if (!TakePlace()) {
    return Refusal(absl::ResourceExhaustedError(absl::StrCat(
        kMaxResuming, " collections are being resumed for it already")));
  }
  AnswerWhenResumed(question, std::move(opened));
  return std::nullopt;
}

bool ExecutorAnswers::TakePlace() {
  absl::MutexLock lock(&mutex_);
  if (places_taken_ == kMaxResuming) return false;
  ++places_taken_;
  return true;
}

void ExecutorAnswers::LeavePlace() {
  absl::MutexLock lock(&mutex_);
  --places_taken_;
}

void ExecutorAnswers::AnswerWhenResumed(
    const internal::FromExecutor& question,
    std::shared_ptr<const collections::OpenVersion> opened) {
  const auto gone = [waiting = waiting_] {
    absl::MutexLock lock(&waiting->mutex);
    return waiting->answers == nullptr;
  };
  const auto answer = [waiting = waiting_,
                       question](const absl::Status& resumed) {
    absl::MutexLock lock(&waiting->mutex);
    if (waiting->answers != nullptr) {
      waiting->answers->AnswerNow(question, resumed);
    }
  };
  services_.suspension->ResumeFor(std::move(opened), gone, answer);
}

void ExecutorAnswers::AnswerNow(const internal::FromExecutor& question,
                                const absl::Status& resumed) {
  LeavePlace();
  auto answered = resumed.ok() ? Ask(question, /*fd=*/-1) : Refusal(resumed);
  if (!answered.has_value()) return;
  internal::ToExecutor answer = AnswerTo(question);
  *answer.mutable_sharing() = std::move(answered->reply);
  const absl::Status sent =
      services_.process.channel().TrySend(answer, answered->descriptor.get());
  // One that has ended is noted elsewhere.
  if (sent.ok() || absl::IsUnavailable(sent)) return;
  LogWarning("the executor (pid ", services_.process.pid(),
             ") is ended: it waited for a collection and does not take the "
             "answer: ",
             sent.message());
  services_.process.Kill();
}

}  // namespace holdfast::supervisor
