// SPDX-License-Identifier: Apache-2.0
//
// An executor as a child process. One channel carries the messages: the
// supervisor's questions and the process's answers, the process's questions and
// the supervisor's answers, and the process's reports. Parts:
//
//   life       the stages of the process: executor_life.h
//   session    the session that it serves, with the holdings: served_session.h
//   answers    answers to its questions: executor_answers.h
//   questions  the supervisor's questions that it has not answered yet
//
// Threads: the reading thread reads the process's messages, notes the reports,
// and hands the answers to the callers that wait. Any thread may call the
// public methods. The thread of the HangGuard ends a process that hangs.
//
// Locks: mutex_ guards the life, the usage and the counts of work. The session
// and the answers have locks of their own, and mutex_ is not held while one of
// them is taken. callback_mutex_ is held while the callback of OnEnd runs. No
// lock is held while a thread sends a question to the process or waits for the
// process.
//
// A message that a correct executor never sends, such as an answer without a
// question, ends the process: see executor_report.h.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_PROCESS_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/channel/pending_questions.h"
#include "server/collections/collection_suspension.h"
#include "server/collections/collection_table.h"
#include "server/counters/execution_totals.h"
#include "server/holdings/session_holdings.h"
#include "server/memory/chunk_copier.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/objects/object_store.h"
#include "server/process/child_process.h"
#include "server/process/spawner.h"
#include "server/sharing/export_registry.h"
#include "server/supervisor/code_cache.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/executor_answers.h"
#include "server/supervisor/executor_life.h"
#include "server/supervisor/executor_work.h"
#include "server/supervisor/hang_guard.h"
#include "server/supervisor/served_session.h"
#include "server/supervisor/share_pacer.h"

namespace holdfast::supervisor {

// Thread-safe.
class ExecutorProcess final : public Executor, public ChunkCopier {
 public:
  // The parts of the supervisor that answer the process's questions. They must
  // outlive the object.
  struct Services {
    ObjectStore& store;
    CodeCache& code;
    MemoryLedger& ledger;
    DeviceMemory& memory;  // notified of the memory that the process takes
    ExportRegistry& exports;
    collections::CollectionTable& collections;
    DescriptorStore& kept;
    ExecutionTotals& totals;  // counts the executors' work
    SharePacer& pacer;
    // Called by the reading thread when the process has ended unexpectedly,
    // with its session's devices; empty if the process had no session yet.
    std::function<void(const std::vector<uint32_t>& devices)> died;
    // True if the process is a client of an MPS server. After a fault, the
    // server takes no new client until all earlier clients have ended.
    bool shares_server = false;
    // Resumes collections that the session opens; null: none is suspended.
    collections::CollectionSuspension* suspension = nullptr;
  };

  // Starts the process, and does not wait until it is ready. Returns the errors
  // of Spawner::Spawn.
  static absl::StatusOr<std::unique_ptr<ExecutorProcess>> Start(
      Spawner& spawner, const std::vector<std::string>& arguments,
      const SpawnOptions& options, const Services& services);

  // Takes over a process that runs already, and may be ready.
  static absl::StatusOr<std::unique_ptr<ExecutorProcess>> Adopt(
      std::unique_ptr<ChildProcess> process, const Services& services);

  // Kills the process if it runs; waits for its end.
  ~ExecutorProcess() override;

  // Blocks until the process has loaded its driver. Returns the devices, or the
  // process's error. DEADLINE_EXCEEDED: the process is not ready yet; the
  // caller may call again. REQUIRES: no call has returned another result.
  absl::StatusOr<internal::Ready> AwaitReady(absl::Time deadline);

  // Returns nullopt while the process runs; afterwards UNAVAILABLE with the pid
  // and the reason of the process's end.
  std::optional<absl::Status> ended() const;

  pid_t pid() const override { return process_->pid(); }
  internal::Usage AskUsage(absl::Time deadline) override;
  absl::StatusOr<uint64_t> ReceivedThrough() override;
  absl::StatusOr<internal::Serving> Serve(const SessionStart& start,
                                          absl::Time deadline) override;
  void UpdateLimits(const internal::AccountLimits& limits) override;
  absl::Status Resume(absl::Time deadline) override;
  absl::Status Park(absl::Time deadline) override;
  void NoteIdle() override;
  absl::Status Suspend(const std::string& path, absl::Time deadline) override;
  void Inherit(std::unique_ptr<SessionHoldings> holdings) override;
  std::unique_ptr<SessionHoldings> TakeHoldings() override;
  std::optional<internal::Fault> fault() const override;
  void OnEnd(std::function<void(absl::Status)> callback) override;
  void Stop(absl::Time deadline) override;

  // REQUIRES: the process has no session and gets none.
  absl::Status SaveChunk(const ChunkCopy& copy, int chunk) override;
  absl::StatusOr<UniqueFd> LoadChunk(const ChunkCopy& copy) override;

 private:
  using Questions = PendingQuestions<internal::FromExecutor>;
  // The expected answer to a question, and how long to wait for it.
  struct Wanted {
    Questions::Kind answer = internal::FromExecutor::MESSAGE_NOT_SET;
    // Completes the message of DEADLINE_EXCEEDED: "the executor is not ...".
    absl::string_view what;
    absl::Time deadline;
    std::function<bool()> cancelled = nullptr;  // CANCELLED; null: never
  };

  // Blocks until the process has copied, or the copy is cancelled.
  absl::StatusOr<Questions::Answer> Copy(const ChunkCopy& copy,
                                         internal::ToExecutor message,
                                         int chunk);

  ExecutorProcess(std::unique_ptr<ChildProcess> process,
                  const Services& services);

  // Asks the process to finish its work until `deadline` and to take no more
  // commands; waits for the answer until a little after `deadline`.
  // `memory_stays`: the session's memory stays on its devices.
  absl::Status Quiesce(bool memory_stays, absl::Time deadline);
  // Makes the process copy the session's device memory to `path`. Waits for 30
  // s and another second for each 20 MiB, at most 10 minutes. REQUIRES: Quiesce
  // has succeeded.
  absl::Status SaveMemory(const std::string& path);
  // Sends the process its own copy of a listening socket.
  absl::Status SendSocket(internal::ListeningSocket::Purpose purpose,
                          int socket);
  // The reader's loop. Ends with the channel, or at a message that is not
  // valid.
  void ReadMessages();
  // Dispatches one message. An error ends the process.
  absl::Status Handle(internal::FromExecutor message, UniqueFd fd);
  // Notes the contents of the answer, and hands it to the waiting caller.
  absl::Status TakeAnswer(internal::FromExecutor answer, UniqueFd fd);
  // Notes that the process serves. `counters` is the page in which the process
  // counts its work; the first call maps it.
  void NoteServing(const UniqueFd& counters);
  // Moves `variables` to the session's holdings, and adds an error to the
  // answer if they cannot be held.
  absl::Status NoteQuiesced(internal::FromExecutor& answer,
                            UniqueFd& variables);
  // Notes the free memory of the devices on which the process has contexts.
  void NoteReady(const internal::Ready& ready);
  // Notes the report, and carries out the action that ExecutorLife returns for
  // it.
  void NoteFault(const internal::Fault& fault);
  // Starts the HangGuard, which calls EndHanging when the process no longer
  // checks its kernels against their limit of time.
  void GuardKernels();
  // Runs as the guard's alarm: kills the process, with DEADLINE_EXCEEDED as its
  // fault. `since` is the time since the process's last check.
  void EndHanging(absl::Duration since);
  // Notes that the session has no executor any more, even if the process still
  // runs. Calls the callback of OnEnd the first time.
  void SetEnded(const absl::Status& reason);
  // Waits for the end of the process, whose channel is closed.
  void NoteExit(const absl::Status& channel_status);
  // Sends a question, and blocks until there is an answer. Returns the
  // process's error if the answer has one, and the reason of the process's end
  // if the process has ended before it answered.
  absl::StatusOr<Questions::Answer> Ask(internal::ToExecutor message,
                                        const Wanted& wanted, int fd = -1);
  // Blocks until there is an answer, or the process has ended.
  // DEADLINE_EXCEEDED: the deadline of `wanted` has passed. CANCELLED:
  // `wanted.cancelled` has returned true.
  absl::Status Await(uint64_t question, const Wanted& wanted);

  const std::unique_ptr<ChildProcess> process_;
  const Services services_;
  Questions questions_;
  const uint64_t start_ = questions_.Ask(internal::FromExecutor::kReady);

  mutable absl::Mutex mutex_;
  internal::Usage usage_ ABSL_GUARDED_BY(mutex_);
  // The number of the ReportUsage that the process has not answered yet.
  std::optional<uint64_t> usage_asked_ ABSL_GUARDED_BY(mutex_);
  ExecutorLife life_ ABSL_GUARDED_BY(mutex_);
  ExecutorWork work_ ABSL_GUARDED_BY(mutex_);

  ServedSession session_;
  ExecutorAnswers answers_;

  // Held while the callback runs.
  absl::Mutex callback_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::function<void(absl::Status)> callback_ ABSL_GUARDED_BY(callback_mutex_);

  std::thread reader_;
  std::unique_ptr<HangGuard> guard_;  // null: there is no limit
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_PROCESS_H_
