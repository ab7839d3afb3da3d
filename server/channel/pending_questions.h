// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CHANNEL_PENDING_QUESTIONS_H_
#define HOLDFAST_SERVER_CHANNEL_PENDING_QUESTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

// The unanswered questions of one end of a channel, by number. A question is a
// message that the other end answers with one message. `Message` is the type of
// the other end's messages: ToExecutor or FromExecutor. Thread-safe: any thread
// may call Ask; the thread that reads the channel calls Check and Receive.
//
//   const uint64_t number = questions.Ask(internal::FromExecutor::kQuiesced);
//   message.set_question(number);
//   ...  // sends it
//   questions.Wait(number, deadline);
//   HOLDFAST_ASSIGN_OR_RETURN(auto answer, questions.Take(number));
template <typename Message>
class PendingQuestions {
 public:
  using Kind = typename Message::MessageCase;
  struct Answer {
    Message message;
    UniqueFd descriptor;
  };

  // Registers a question and returns its number. The answer is one message of
  // the kind `answer`. If `taken` is true, the caller must call Take once. If
  // it is false, Receive drops the answer, and the caller may call Wait.
  uint64_t Ask(Kind answer, bool taken = true) {
    absl::MutexLock lock(&mutex_);
    pending_[next_] = {answer, taken};
    return next_++;
  }

  // Blocks until the answer has come, or End was called, and returns true.
  // Returns false if the deadline passes before.
  bool Wait(uint64_t number, absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      const auto found = pending_.find(number);
      return found == pending_.end() || found->second.answer.has_value() ||
             ended_.has_value();
    };
    return mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
  }

  // Returns the answer, its error, or the reason of End, without blocking.
  // DEADLINE_EXCEEDED: the answer has not come, and is dropped when it comes.
  // REQUIRES: the question was asked with `taken`, and Take was not called for
  // it yet.
  absl::StatusOr<Answer> Take(uint64_t number) {
    absl::MutexLock lock(&mutex_);
    Pending& pending = pending_.at(number);
    pending.taken = false;
    if (!pending.answer.has_value()) {
      return ended_.value_or(absl::DeadlineExceededError("no answer came"));
    }
    Answer answer = *std::move(pending.answer);
    pending_.erase(number);
    if (answer.message.has_error()) return FromError(answer.message.error());
    return answer;
  }

  // Checks a message before Receive. INVALID_ARGUMENT: no pending question has
  // the number of the answer, or that question expects another kind.
  absl::Status Check(const Message& answer) const {
    absl::MutexLock lock(&mutex_);
    const auto found = pending_.find(answer.question());
    if (found != pending_.end() && !found->second.answer.has_value() &&
        found->second.kind == answer.message_case()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "it sent answer ", static_cast<int>(answer.message_case()),
        " to question ", answer.question(), ", which does not wait for it"));
  }

  // Delivers the answer to its question. REQUIRES: Check has returned OK for
  // it.
  void Receive(Message answer, UniqueFd descriptor) {
    absl::MutexLock lock(&mutex_);
    const auto found = pending_.find(answer.question());
    if (found->second.taken) {
      found->second.answer = {std::move(answer), std::move(descriptor)};
    } else {
      pending_.erase(found);
    }
  }

  // Ends all present and later waits, because no answer will come; Take then
  // returns `reason`. Only the first call has an effect.
  void End(const absl::Status& reason) {
    absl::MutexLock lock(&mutex_);
    if (!ended_.has_value()) ended_ = reason;
  }

 private:
  struct Pending {
    Kind kind;
    bool taken = true;  // a call of Take will follow
    std::optional<Answer> answer = std::nullopt;
  };

  mutable absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Pending> pending_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_CHANNEL_PENDING_QUESTIONS_H_
