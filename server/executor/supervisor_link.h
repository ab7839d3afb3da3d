// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUPERVISOR_LINK_H_
#define HOLDFAST_SERVER_EXECUTOR_SUPERVISOR_LINK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
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
#include "server/executor/command.h"

namespace holdfast::executor {

// The executor's end of its channel to the supervisor: tells what happens and
// asks for objects. A thread reads what comes in. When the channel closes, the
// process exits at once: without its supervisor nobody could reach it.
// Thread-safe.
class SupervisorLink {
 public:
  explicit SupervisorLink(UniqueFd channel);
  ~SupervisorLink();

  void SendReady(const internal::Ready& ready);
  void SendServing(const absl::Status& status);
  void SendUsage(uint64_t memory_bytes);
  // Hands the supervisor a descriptor of the chunk, so that its bytes outlive
  // this process; and takes that back.
  void SendChunkCreated(uint32_t device, const memory::Chunk& chunk);
  void SendChunkReleased(uint32_t device, const memory::Chunk& chunk);

  struct Assigned {
    internal::Assign message;
    UniqueFd blocks;  // SharedBlocks; none: the supervisor relays nothing
  };
  // Waits for the session; UNAVAILABLE: shut down before there was one. Once.
  absl::StatusOr<Assigned> AwaitAssign();
  void AwaitShutdown();

  // NOT_FOUND: the store does not have it. One call at a time.
  absl::StatusOr<FetchedObject> FetchObject(absl::string_view sha256);

  // `report`, if any, is called by the reading thread when the supervisor asks
  // for Usage: adds to what is known here. Not after the next call returned.
  void OnUsageAsked(std::function<void(internal::Usage*)> report);

 private:
  struct Reply {
    internal::ObjectReply message;
    UniqueFd image;
  };

  void Send(const internal::FromExecutor& message, int fd = -1);
  void ReadMessages();
  void AnswerUsage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Channel channel_;
  absl::Mutex mutex_;
  std::optional<Assigned> assigned_ ABSL_GUARDED_BY(mutex_);
  std::optional<Reply> reply_ ABSL_GUARDED_BY(mutex_);
  bool shutdown_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void(internal::Usage*)> report_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> memory_bytes_{0};
  std::thread reader_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUPERVISOR_LINK_H_
