// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_WATCH_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_WATCH_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "server/kept/descriptor_store.h"

namespace holdfast {

// Starts a new keeper when the daemon's own has died, and sends it every
// descriptor of the store, so that sessions again outlive the daemon. After
// kMaxStarts deaths within kStartTime no keeper is started any more; the daemon
// logs that and continues.
class KeeperWatch {
 public:
  static constexpr size_t kMaxStarts = 5;
  static constexpr absl::Duration kStartTime = absl::Seconds(30);

  // `keeper` is a pidfd; `arguments` are this daemon's. REQUIRES: the store is
  // settled, and outlives the watch.
  KeeperWatch(UniqueFd keeper, std::vector<std::string> arguments,
              DescriptorStore& store);
  ~KeeperWatch();
  KeeperWatch(const KeeperWatch&) = delete;
  KeeperWatch& operator=(const KeeperWatch&) = delete;

  // Stops, and lets the program that this process executes next continue the
  // watch. REQUIRES: the process executes it next.
  void PassOn();

 private:
  void Run();
  // Blocks until the keeper has ended. Returns false if the watch is to stop.
  bool AwaitEnd();
  // Returns false if the watch is to stop within the time.
  bool Sleep(absl::Duration time);
  // Starts a keeper, which gets all messages from then on. If that fails, the
  // last keeper stays the watched one.
  absl::Status StartKeeper();
  void Stop();

  UniqueFd keeper_;  // of the last one, which may have ended
  const std::vector<std::string> arguments_;
  DescriptorStore& store_;
  const UniqueFd stop_;  // an eventfd
  std::thread thread_;   // uses keeper_ while it runs
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_WATCH_H_
