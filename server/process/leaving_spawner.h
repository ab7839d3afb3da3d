// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_LEAVING_SPAWNER_H_
#define HOLDFAST_SERVER_PROCESS_LEAVING_SPAWNER_H_

#include <sys/types.h>

#include <utility>
#include <vector>

#include "core/base/unique_fd.h"

namespace holdfast {

// The spawner of the daemon that ran in this process before an upgrade, and its
// stopped children; see Spawner::LeaveBehind. While a CUDA context ends, it
// holds the driver's lock for a tenth of a second, so the children are ended
// only after their sessions have other executors. The children also end with
// this object and with this process. Move-only.
class LeavingSpawner {
 public:
  LeavingSpawner() = default;
  // `channel` is the channel to the spawner; the spawner ends when the channel
  // closes. `children` are pidfds.
  LeavingSpawner(pid_t pid, UniqueFd channel, std::vector<UniqueFd> children)
      : pid_(pid),
        channel_(std::move(channel)),
        children_(std::move(children)) {}
  LeavingSpawner(LeavingSpawner&& other) noexcept { *this = std::move(other); }
  LeavingSpawner& operator=(LeavingSpawner&& other) noexcept;
  ~LeavingSpawner() { End(); }

  // Returns the spawner's process id; 0: there is no spawner.
  pid_t pid() const { return pid_; }

  // Kills the children and the spawner, and waits for the spawner's end. Kills
  // rather than asks, because a client continues only when the connection to
  // its old executor has ended. Has no effect if there is no spawner.
  void End();

  // Gives up ownership: returns the descriptors, for the program that this
  // process executes next.
  struct Descriptors {
    UniqueFd channel;
    std::vector<UniqueFd> children;
  };
  Descriptors PassOn();

 private:
  pid_t pid_ = 0;
  UniqueFd channel_;
  std::vector<UniqueFd> children_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_LEAVING_SPAWNER_H_
