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

// The executor's end of its channel to the supervisor. Reports events, and asks
// for objects and memory. A thread reads incoming messages. When the channel
// closes, the process exits at once, because it cannot be reached without its
// supervisor. Thread-safe.
//
// The functions Send..., Answer, Release and StoreCode do not wait for an
// answer, and log a warning if the message could not be sent. FetchObject,
// Reserve, AskSharing and LoadCode block until the supervisor answers; several
// threads may call them at once. The Await functions block until the supervisor
// sends a message.
//
// In the comments, "shut down" means that the supervisor has ended the session,
// or that this object is being destroyed.
class SupervisorLink {
 public:
  // Takes over the channel and starts the reading thread. After SendFault, each
  // thread that sends another message calls `after_fault` instead, which does
  // not return outside of tests.
  explicit SupervisorLink(UniqueFd channel,
                          std::function<void()> after_fault = AwaitEnd);
  // Closes the channel without ending the process. Waiting calls return
  // UNAVAILABLE.
  ~SupervisorLink();

  // Sends the first message of an executor: the devices of its driver, or an
  // error.
  void SendReady(const absl::StatusOr<internal::Ready>& ready);
  // Answers Assign: the session's calls are accepted, or an error. Only the
  // first call has an effect. `counters` is a memfd with the CounterPage, which
  // is borrowed; -1: none.
  void SendServing(const absl::StatusOr<internal::Serving>& serving,
                   int counters = -1);
  // Reports usage without being asked; see OnUsageAsked.
  void SendUsage(const internal::Usage& usage);
  // Sends the last message: the driver has failed for good. When it comes, the
  // supervisor takes the session's memory and descriptors over. A thread that
  // reports memory later is stopped by `after_fault` before it notes the memory
  // in the journal: the journal must not name memory that the supervisor does
  // not have.
  void SendFault(const internal::Fault& fault);
  // SendChunkCreated gives the supervisor a descriptor of the chunk, so that
  // the chunk's bytes outlive this process. SendChunkReleased makes the
  // supervisor close the descriptor. `device` is the session's ordinal, which
  // the chunk's name contains; `in_driver` is the driver's ordinal.
  void SendChunkCreated(uint32_t device, uint32_t in_driver,
                        const memory::Chunk& chunk);
  void SendChunkReleased(uint32_t device, const memory::Chunk& chunk);
  void SendChunkReleased(uint64_t chunk);
  // Like the functions for chunks, for host memory, which is named by the
  // handle of its resource.
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
    // The TenantPage in which the tenant's executors count, and the slot of
    // this executor. Empty: the session's tenant has no page.
    UniqueFd tenant_page;
    uint32_t tenant_slot = 0;
  };
  // Blocks until a session is assigned. UNAVAILABLE: shut down before that.
  // REQUIRES: called once.
  absl::StatusOr<Assigned> AwaitAssign();
  // A request to quiesce, to save a session's memory, or to copy one chunk. A
  // request to copy has the file, and the chunk if it must be saved.
  struct Request {
    internal::ToExecutor message;
    UniqueFd file;
    UniqueFd chunk;
  };
  // Blocks until the supervisor sends a request to copy a chunk before a
  // session is assigned. Returns nullopt if a session was assigned, or if shut
  // down. REQUIRES: AwaitAssign was not called yet.
  std::optional<Request> AwaitCopy();
  // Blocks until the supervisor sends a request, and returns the requests in
  // the order in which they were sent; nullopt: shut down.
  std::optional<Request> AwaitRequest();
  // Answers a request with its outcome. `descriptor` is the loaded chunk, or
  // the variables of Session::Quiesce; it is borrowed. -1: none.
  void Answer(const internal::ToExecutor& request, const absl::Status& done,
              int descriptor = -1);

  // Fetches an object from the store. NOT_FOUND: the store does not have it.
  // UNAVAILABLE: shut down meanwhile.
  absl::StatusOr<FetchedObject> FetchObject(absl::string_view sha256);

  // Reserve asks for memory of a kind that all sessions share, and must be
  // called before the memory is taken. Release gives the memory back.
  // RESOURCE_EXHAUSTED: the supervisor refuses. UNAVAILABLE: shut down
  // meanwhile.
  absl::Status Reserve(const internal::MemoryPlace& place, uint64_t bytes);
  void Release(const internal::MemoryPlace& place, uint64_t bytes);

  // Implement SharingLink::ask and SharingLink::released.
  absl::StatusOr<SharingAnswer> AskSharing(
      const internal::SharingRequest& request, int descriptor);
  void SendImportReleased(uint64_t import);

  // Load and store machine code that the driver has generated for kernels. The
  // supervisor caches it for the session's owner. `key` is 64 hexadecimal
  // digits. LoadCode returns an empty string if there is no code for the key,
  // or after an error.
  std::string LoadCode(const std::string& key);
  void StoreCode(const std::string& key, absl::string_view code);

  // Each of the three methods below sets a function that the reading thread
  // calls; null: none. When the method returns, the previous function does not
  // run any more. The function must not call these methods.

  // `resume` is called when the client has acknowledged the fault, or when a
  // suspension was given up. The supervisor gets an answer afterwards.
  void OnResume(std::function<void()> resume);

  // `changed` is called when the session's limits change.
  void OnLimitsChanged(
      std::function<void(const internal::AccountLimits&)> changed);

  // `report` is called when the supervisor asks for Usage, and fills it in.
  void OnUsageAsked(std::function<void(internal::Usage*)> report);

 private:
  using Questions = PendingQuestions<internal::ToExecutor>;

  // Blocks until the process ends.
  static void AwaitEnd();
  // Sends the message, or calls after_fault_ if the fault has been reported.
  // Fails as Channel::Send. UNAVAILABLE: also after the fault.
  absl::Status Tell(const internal::FromExecutor& message, int fd = -1);
  // Like Tell, but logs the error.
  void Send(const internal::FromExecutor& message, int fd = -1);
  // Sends a question, and blocks until the answer. UNAVAILABLE: shut down
  // meanwhile.
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
  // The question number of Assign, from its arrival to its answer.
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
