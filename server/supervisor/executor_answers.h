// SPDX-License-Identifier: Apache-2.0
//
// Answers the questions of one executor. A question is a request for memory, an
// object or code, or about memory that its session shares. Each question gets
// one answer. It is answered at once, unless it opens a version of a collection
// that is not on its device: then the answer is put off until
// CollectionSuspension has resumed the version.
//
// Threads: the thread that reads the process's messages calls Answer, and may
// block on a full channel. The thread that resumes collections for all
// processes sends the answers that were put off. This thread never blocks: if
// the channel is full, it kills the process.
//
// Locks: Waiting::mutex is held while an answer that was put off is sent, so
// that End waits for it; the session's lock is taken under it. mutex_ guards
// the number of answers that wait; no other lock is taken under it.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_ANSWERS_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_ANSWERS_H_

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/internal/executor.pb.h"
#include "server/collections/collection_suspension.h"
#include "server/collections/collection_table.h"
#include "server/holdings/session_memory.h"
#include "server/process/child_process.h"
#include "server/supervisor/code_cache.h"
#include "server/supervisor/served_session.h"

namespace holdfast::supervisor {

// Thread-safe.
class ExecutorAnswers {
 public:
  // All parts must outlive this object. `suspension` is null if no collection
  // is ever suspended.
  struct Services {
    ChildProcess& process;
    ServedSession& session;
    CodeCache& code;
    collections::CollectionTable& collections;
    collections::CollectionSuspension* suspension;
  };
  explicit ExecutorAnswers(const Services& services);
  ~ExecutorAnswers() { End(); }
  ExecutorAnswers(const ExecutorAnswers&) = delete;
  ExecutorAnswers& operator=(const ExecutorAnswers&) = delete;

  // Answers the question, or puts the answer off. `fd` came with the question;
  // -1: none. INVALID_ARGUMENT: no correct executor sends this question. Other
  // errors: the channel is closed. REQUIRES: the message is a question:
  // FetchObject, Reserve, LoadCode or SharingRequest.
  absl::Status Answer(const internal::FromExecutor& question, int fd);

  // Drops the answers that were put off: none is sent after End has returned.
  // Called when the process takes no more answers. A second call has no effect.
  void End();

 private:
  // The link from running resumptions to this object. Resumptions may outlive
  // the object.
  struct Waiting {
    absl::Mutex mutex;
    ExecutorAnswers* answers ABSL_GUARDED_BY(mutex) = nullptr;  // null: ended
  };

  absl::Status AnswerFetch(const internal::FromExecutor& question);
  absl::Status AnswerReserve(const internal::FromExecutor& question);
  absl::Status AnswerLoadCode(const internal::FromExecutor& question);
  absl::Status AnswerSharing(const internal::FromExecutor& question, int fd);

  // Returns the answer to a SharingRequest; nullopt: the answer was put off.
  // RESOURCE_EXHAUSTED, in the answer: too many answers of this process wait.
  std::optional<SessionMemory::Answer> Ask(
      const internal::FromExecutor& question, int fd);
  // Puts the answer off until the version is on its device, or cannot be moved
  // there. The resumption holds the version open until the answer.
  void AnswerWhenResumed(
      const internal::FromExecutor& question,
      std::shared_ptr<const collections::OpenVersion> opened);
  // Sends an answer that was put off, or puts it off again. `resumed` says
  // whether the version is on its device.
  void AnswerNow(const internal::FromExecutor& question,
                 const absl::Status& resumed);
  // Count the answers that wait. TakePlace returns false if too many wait.
  bool TakePlace();
  void LeavePlace();

  const Services services_;
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  absl::Mutex mutex_;
  int places_taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_ANSWERS_H_
