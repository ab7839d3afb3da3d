// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_LEAVING_SPAWNER_H_
#define HOLDFAST_SERVER_PROCESS_LEAVING_SPAWNER_H_

#include <sys/types.h>

#include <utility>
#include <vector>

#include "core/base/unique_fd.h"

namespace holdfast {

// The spawner of the earlier daemon in this process, and its stopped children;
// see Spawner::LeaveBehind. The end of a CUDA context holds the driver's lock
// for a tenth of a second, so the children are ended after their sessions have
// other executors. They also end with this object and with this process.
// Move-only.
class LeavingSpawner {
 public:
  LeavingSpawner() = default;
  // `channel` is the channel to the spawner, which ends when it closes.
  // `children` are pidfds.
  LeavingSpawner(pid_t pid, UniqueFd channel, std::vector<UniqueFd> children)
      : pid_(pid),
        channel_(std::move(channel)),
        children_(std::move(children)) {}
  LeavingSpawner(LeavingSpawner&& other) noexcept { *this = std::move(other); }
  LeavingSpawner& operator=(LeavingSpawner&& other) noexcept;
  ~LeavingSpawner() { End(); }

  // 0: there is none.
  pid_t pid() const { return pid_; }

  // Kills the children and the spawner at once, because a client continues only
  // when the connection to its old executor has ended.
  void End();

  // Passes everything to the program that this process executes next.
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
