// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SUCCESSOR_SPAWNER_H_
#define HOLDFAST_SERVER_PROCESS_SUCCESSOR_SPAWNER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "server/channel/channel.h"
#include "server/process/handed_processes.h"
#include "server/process/sandbox/policy.h"
#include "server/process/user_range.h"

namespace holdfast {

// A spawner of the binary that will replace the daemon. Its children get ready
// while the daemon still serves, and the next daemon takes them over.
//
//   auto next = SuccessorSpawner::Start("/usr/bin/holdfastd",
//                                       {"--role=spawner", ...});
//   (*next)->StartChild({.arguments = ..., .device = 0}, deadline);
//   HandedProcesses handed = (*next)->HandOver();  // then execve
//
// A child is ready when its first message waits in its channel. The daemon does
// not read the message, because the child may have another version. Not
// thread-safe.
class SuccessorSpawner {
 public:
  // Executes `binary` with these arguments (without the program's name), which
  // must make it a spawner on the channel kChildChannelFd. The spawner outlives
  // the calling thread, and ends when its channel closes.
  static absl::StatusOr<std::unique_ptr<SuccessorSpawner>> Start(
      const std::string& binary, std::vector<std::string> arguments);

  // Kills the spawner and its children, unless HandOver was called.
  ~SuccessorSpawner();
  SuccessorSpawner(const SuccessorSpawner&) = delete;
  SuccessorSpawner& operator=(const SuccessorSpawner&) = delete;

  struct Child {
    std::vector<std::string> arguments;
    Namespaces namespaces = Namespaces::kNone;
    // The user that the child becomes.
    std::shared_ptr<const UserRange::Lease> user;
    // The device of its context.
    uint32_t device = 0;
  };
  // Starts a child, and blocks until it is ready. UNAVAILABLE: the child could
  // not be started, or has ended before it was ready. DEADLINE_EXCEEDED: the
  // child was not ready at the deadline, and was killed.
  absl::Status StartChild(const Child& child, absl::Time deadline);

  // Returns the number of children that were ready and have not ended.
  size_t ready();

  // Returns the spawner and the ready children, which then outlive this object.
  // REQUIRES: the process executes the next daemon. Called once.
  HandedProcesses HandOver();

 private:
  SuccessorSpawner(pid_t pid, UniqueFd channel)
      : pid_(pid), channel_(std::move(channel)) {}

  // Waits for the spawner's answer about the child with this number. Returns
  // its pidfd, and sets its pid.
  absl::StatusOr<UniqueFd> AwaitSpawned(internal::HandedChild* child,
                                        absl::Time deadline);
  // Forgets children that have ended.
  void DropEnded();

  pid_t pid_;  // 0: handed over
  Channel channel_;
  uint64_t last_child_ = 0;
  std::vector<HandedProcesses::Child> children_;
  // The users of the children.
  std::vector<std::shared_ptr<const UserRange::Lease>> users_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SUCCESSOR_SPAWNER_H_
