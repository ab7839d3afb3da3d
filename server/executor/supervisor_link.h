// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUPERVISOR_LINK_H_
#define HOLDFAST_SERVER_EXECUTOR_SUPERVISOR_LINK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"
#include "core/memory/chunk.h"
#include "holdfast/internal/executor.pb.h"
#include "server/channel/channel.h"
#include "server/executor/command/command.h"
#include "server/executor/recovery/inheritance.h"
#include "server/executor/sharing/sharing_link.h"

namespace holdfast::executor {

// The executor's end of its channel to the supervisor: tells what happens and
// asks for objects and for memory. A thread reads what comes in. When the
// channel closes, the process exits at once: without its supervisor nobody
// could reach it. Thread-safe.
//
// Functions named Send, Release and StoreCode do not wait for an answer, and
// log if the channel is closed. Those that ask a question block until the
// supervisor has answered. It answers in order, so each kind of question has a
// mutex that lets one at a time through.
class SupervisorLink {
 public:
  // Takes over the channel and starts the reading thread.
  explicit SupervisorLink(UniqueFd channel);
  // Closes the channel, which here does not end the process. Calls that wait
  // return UNAVAILABLE.
  ~SupervisorLink();

  // The first message of an executor: what its driver found, or its error.
  void SendReady(const internal::Ready& ready);
  // `counters`, if any, is the memory of a CounterPage. The answer to Assign
  // and to Resume: the session's calls are accepted, or why not.
  void SendServing(const absl::Status& status, int counters = -1);
  // Tells what is known at once; see OnUsageAsked.
  void SendUsage(const internal::Usage& usage);
  void SendServing(const internal::Serving& serving, int counters = -1);
  // The last message: the driver has failed for good.
  void SendFault(const internal::Fault& fault);
  // Hands the supervisor a descriptor of the chunk, so that its bytes outlive
  // this process; and takes that back. `device` is the session's ordinal, as in
  // the chunk's name, `in_driver` the driver's.
  void SendChunkCreated(uint32_t device, uint32_t in_driver,
                        const memory::Chunk& chunk);
  void SendChunkReleased(uint32_t device, const memory::Chunk& chunk);
  void SendChunkReleased(uint64_t chunk);
  // The same for memory of the host.
  void SendHostMemoryCreated(const internal::HostMemoryCreated& created,
                             int memory);
  void SendHostMemoryReleased(uint64_t handle);

  // Everything that came before and with Assign. The receiver owns the
  // descriptors.
  struct Assigned {
    internal::Assign message;
    // Sockets that listen: for rpcs, and for descriptors of clients.
    UniqueFd calls;
    UniqueFd descriptors;
    UniqueFd journal;
    // The journal of the executor that this one succeeds; none: it is the
    // first.
    UniqueFd old_journal;
    Inheritance inheritance;
    UniqueFd variables;  // SavedVariables; none: the one before did not save
    // The page in which the executors of the tenant count together, and the
    // part of it that is this one's; none: the tenant has no quota.
    UniqueFd tenant_page;
    uint32_t tenant_slot = 0;
  };
  // Waits for the session; UNAVAILABLE: shut down before there was one. Once.
  absl::StatusOr<Assigned> AwaitAssign();
  // Quiesce, or a copy with its file and, to save it, the chunk.
  struct Request {
    internal::ToExecutor message;
    UniqueFd file;
    UniqueFd chunk;
  };
  // Blocks until the supervisor wants a chunk of no session copied; nullopt:
  // there is a session, or the end. Before AwaitAssign.
  std::optional<Request> AwaitCopy();
  // `chunk` is the one that was loaded.
  void SendChunkCopied(const absl::Status& status, int chunk = -1);
  // Blocks until the supervisor wants something done; nullopt: to shut down.
  // Requests come in the order in which they were sent.
  std::optional<Request> AwaitRequest();
  // With the variables as Session::Quiesce returns them.
  void SendQuiesced(const absl::StatusOr<UniqueFd>& variables);
  void SendMemorySaved(const absl::Status& status);

  // NOT_FOUND: the store does not have it. One call at a time. UNAVAILABLE:
  // shut down meanwhile.
  absl::StatusOr<FetchedObject> FetchObject(absl::string_view sha256);

  // Asks for memory that sessions take from each other, before it is taken, and
  // gives it back. RESOURCE_EXHAUSTED: the supervisor's refusal. UNAVAILABLE:
  // shut down meanwhile.
  absl::Status Reserve(const internal::MemoryPlace& place, uint64_t bytes);
  void Release(const internal::MemoryPlace& place, uint64_t bytes);

  // As SharingLink has them.
  absl::StatusOr<SharingAnswer> AskSharing(
      const internal::SharingRequest& request, int descriptor);
  void SendImportReleased(uint64_t import);

  // Machine code of kernels, which the supervisor keeps for the session's
  // owner; `key` is 64 hexadecimal digits. Load: empty if there is none. One
  // thread waits at a time.
  std::string LoadCode(const std::string& key);
  void StoreCode(const std::string& key, absl::string_view code);

  // `resume` is called by the reading thread when the client has acknowledged
  // the fault, or a suspension was given up; the supervisor is told afterwards.
  // As OnUsageAsked.
  void OnResume(std::function<void()> resume);

  // `changed`, if any, is called by the reading thread when the session has
  // other limits. As OnUsageAsked.
  void OnLimitsChanged(
      std::function<void(const internal::AccountLimits&)> changed);

  // `report`, if any, is called by the reading thread when the supervisor asks
  // for Usage. Not after the next call returned.
  void OnUsageAsked(std::function<void(internal::Usage*)> report);

 private:
  // Answers that a waiting thread has not taken yet, each with its descriptor.
  struct Reply {
    internal::ObjectReply message;
    UniqueFd image;
  };
  struct Code {
    internal::CodeReply message;
    UniqueFd memory;
  };

  void Send(const internal::FromExecutor& message, int fd = -1);
  // The thread's loop. Exits the process when the channel closes, unless this
  // object ends.
  void ReadMessages();
  // Puts a message where it is waited for, or calls its callback.
  void Handle(internal::ToExecutor& message, UniqueFd fd)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes a listening socket in the assignment.
  void Keep(const internal::ListeningSocket& message, UniqueFd fd)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerUsage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Channel channel_;
  absl::Mutex code_mutex_;  // held while a thread waits for code
  absl::Mutex mutex_;
  Assigned assignment_ ABSL_GUARDED_BY(mutex_);  // as far as it has come
  bool assigned_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Reply> reply_ ABSL_GUARDED_BY(mutex_);
  std::optional<Code> code_ ABSL_GUARDED_BY(mutex_);
  bool shutdown_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Request> requests_ ABSL_GUARDED_BY(mutex_);
  UniqueFd copy_file_ ABSL_GUARDED_BY(mutex_);  // of the next copy
  std::function<void(internal::Usage*)> report_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> resume_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const internal::AccountLimits&)> limits_changed_
      ABSL_GUARDED_BY(mutex_);
  // Held while one Reserve waits for its reply.
  absl::Mutex reserve_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::optional<internal::ReserveReply> granted_ ABSL_GUARDED_BY(mutex_);
  // Held while one SharingRequest waits for its reply.
  absl::Mutex sharing_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::optional<SharingAnswer> shared_ ABSL_GUARDED_BY(mutex_);
  std::thread reader_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUPERVISOR_LINK_H_
