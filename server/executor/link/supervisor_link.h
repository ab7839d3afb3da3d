// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_LINK_SUPERVISOR_LINK_H_
#define HOLDFAST_SERVER_EXECUTOR_LINK_SUPERVISOR_LINK_H_

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
#include "server/channel/pending_questions.h"
#include "server/executor/command/command.h"
#include "server/executor/imports/sharing_link.h"
#include "server/executor/memory/inheritance.h"

namespace holdfast::executor {

// The executor's end of its channel to the supervisor: reports events, and asks
// for objects and memory. A thread reads incoming messages. When the channel
// closes, the process exits at once, because it cannot be reached without its
// supervisor. Thread-safe.
//
// Functions whose names begin with Send, Answer, Release and StoreCode return
// without an answer, and log an error if the channel is closed. FetchObject,
// Reserve, AskSharing and LoadCode block until the supervisor answers; several
// threads may call them at once. The Await functions block until the supervisor
// sends a message. After the report of a fault, every function that sends a
// message calls `after_fault`.
class SupervisorLink {
 public:
  // Takes over the channel and starts the reading thread. After the process has
  // reported its fault, each thread that sends another message calls
  // `after_fault`, which does not return outside of tests.
  explicit SupervisorLink(UniqueFd channel,
                          std::function<void()> after_fault = AwaitEnd);
  // Closes the channel without ending the process. Waiting calls return
  // UNAVAILABLE.
  ~SupervisorLink();

  // The first message of an executor: the devices of its driver, or an error.
  void SendReady(const absl::StatusOr<internal::Ready>& ready);
  // Answers Assign: the session's calls are accepted, or an error. Only the
  // first call counts. `counters`, if any, is the memory of a CounterPage.
  void SendServing(const absl::StatusOr<internal::Serving>& serving,
                   int counters = -1);
  // Reports usage that is known at once; see OnUsageAsked.
  void SendUsage(const internal::Usage& usage);
  // The last message: the driver has failed for good. At this message, the
  // supervisor takes the session's holdings over. A thread that later wants to
  // report memory is stopped before it notes the memory in the journal: the
  // journal must not name memory that the supervisor does not have.
  void SendFault(const internal::Fault& fault);
  // Give the supervisor a descriptor of the chunk, so that its bytes outlive
  // this process, and withdraw it. `device` is the session's ordinal, as in the
  // chunk's name; `in_driver` is the driver's.
  void SendChunkCreated(uint32_t device, uint32_t in_driver,
                        const memory::Chunk& chunk);
  void SendChunkReleased(uint32_t device, const memory::Chunk& chunk);
  void SendChunkReleased(uint64_t chunk);
  // The same for host memory.
  void SendHostMemoryCreated(const internal::HostMemoryCreated& created,
                             int memory);
  void SendHostMemoryReleased(uint64_t handle);

  // The contents of Assign and of the messages before it. The receiver owns the
  // descriptors.
  struct Assigned {
    internal::Assign message;
    // Listening sockets: for rpcs, and for descriptors of clients.
    UniqueFd calls;
    UniqueFd descriptors;
    UniqueFd journal;
    // The journal of the executor that this one succeeds; empty for the first.
    UniqueFd old_journal;
    Inheritance inheritance;
    UniqueFd variables;  // SavedVariables; empty: none were saved
    // The tenant's executors count in one page that they share; this executor
    // writes its slot. Empty: the tenant has no name of its own, and no page.
    UniqueFd tenant_page;
    uint32_t tenant_slot = 0;
  };
  // Blocks until a session is assigned. UNAVAILABLE: shut down before that.
  // Called once.
  absl::StatusOr<Assigned> AwaitAssign();
  // A request to quiesce, or to copy memory: with its file and, for saving, the
  // chunk.
  struct Request {
    internal::ToExecutor message;
    UniqueFd file;
    UniqueFd chunk;
  };
  // Blocks until the supervisor asks for the copy of a chunk without a session;
  // nullopt: a session was assigned, or shut down. Called before AwaitAssign.
  std::optional<Request> AwaitCopy();
  // Blocks until the next request of the supervisor, in the order of sending;
  // nullopt: shut down.
  std::optional<Request> AwaitRequest();
  // Answers a request. `descriptor` is the loaded chunk, or the variables of
  // Session::Quiesce.
  void Answer(const internal::ToExecutor& request, const absl::Status& done,
              int descriptor = -1);

  // Fetches an object from the store. NOT_FOUND: the store does not have it.
  // UNAVAILABLE: shut down meanwhile.
  absl::StatusOr<FetchedObject> FetchObject(absl::string_view sha256);

  // Reserve asks for memory, which sessions compete for, before it is taken;
  // Release returns it. RESOURCE_EXHAUSTED: the supervisor refuses.
  // UNAVAILABLE: shut down meanwhile.
  absl::Status Reserve(const internal::MemoryPlace& place, uint64_t bytes);
  void Release(const internal::MemoryPlace& place, uint64_t bytes);

  // See SharingLink.
  absl::StatusOr<SharingAnswer> AskSharing(
      const internal::SharingRequest& request, int descriptor);
  void SendImportReleased(uint64_t import);

  // Load and store machine code of kernels, which the supervisor keeps for the
  // session's owner. `key` is 64 hexadecimal digits. LoadCode returns an empty
  // string if there is none.
  std::string LoadCode(const std::string& key);
  void StoreCode(const std::string& key, absl::string_view code);

  // Sets the function that the reading thread calls when the client has
  // acknowledged the fault, or a suspension was given up; the supervisor is
  // told afterwards. As OnUsageAsked.
  void OnResume(std::function<void()> resume);

  // Sets the function that the reading thread calls when the session's limits
  // change. As OnUsageAsked.
  void OnLimitsChanged(
      std::function<void(const internal::AccountLimits&)> changed);

  // Sets the function that the reading thread calls when the supervisor asks
  // for Usage; null: none. The previous function is not called after the call
  // returns.
  void OnUsageAsked(std::function<void(internal::Usage*)> report);

 private:
  using Questions = PendingQuestions<internal::ToExecutor>;

  // Waits for the end of the process.
  static void AwaitEnd();
  // Sends the message, unless the fault has been reported. Errors: the
  // channel's.
  absl::Status Tell(const internal::FromExecutor& message, int fd = -1);
  // Tells, and logs an error.
  void Send(const internal::FromExecutor& message, int fd = -1);
  // Asks, and blocks for the answer. UNAVAILABLE: shut down meanwhile.
  absl::StatusOr<Questions::Answer> Ask(internal::FromExecutor question,
                                        Questions::Kind answer, int fd = -1);
  // The thread's loop. Exits the process when the channel closes, unless this
  // object is being destroyed.
  void ReadMessages();
  // Carries out a message that needs no wait, and passes any other message on.
  void Handle(internal::ToExecutor& message, UniqueFd fd)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Stores a listening socket in the assignment.
  void Keep(const internal::ListeningSocket& message, UniqueFd fd)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerUsage(uint64_t question) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the waits of all threads.
  void EndWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Channel channel_;
  const std::function<void()> after_fault_;
  absl::Mutex send_mutex_;
  bool fault_sent_ ABSL_GUARDED_BY(send_mutex_) = false;
  Questions questions_;
  absl::Mutex mutex_;
  Assigned assignment_ ABSL_GUARDED_BY(mutex_);  // received so far
  // The number of Assign, from its arrival to its answer.
  std::optional<uint64_t> assign_ ABSL_GUARDED_BY(mutex_);
  bool shutdown_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Request> requests_ ABSL_GUARDED_BY(mutex_);
  UniqueFd copy_file_ ABSL_GUARDED_BY(mutex_);  // of the next copy
  std::function<void(internal::Usage*)> report_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> resume_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const internal::AccountLimits&)> limits_changed_
      ABSL_GUARDED_BY(mutex_);
  std::thread reader_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_LINK_SUPERVISOR_LINK_H_
