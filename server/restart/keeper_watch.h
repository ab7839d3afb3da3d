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

// Watches the daemon's keeper on a thread of its own. When the keeper has died,
// starts a new keeper and sends it every descriptor of the store, so that
// sessions again outlive the daemon. After kMaxStarts starts within kStartTime,
// the watch starts no more keepers; it logs that, and the daemon continues. Not
// thread-safe.
class KeeperWatch {
 public:
  static constexpr size_t kMaxStarts = 5;
  static constexpr absl::Duration kStartTime = absl::Seconds(30);

  // `keeper` is a pidfd; `arguments` are this daemon's. REQUIRES:
  // DescriptorStore::Settle was called on the store, which outlives the watch.
  KeeperWatch(UniqueFd keeper, std::vector<std::string> arguments,
              DescriptorStore& store);
  // Stops watching. Does not end the keeper.
  ~KeeperWatch();
  KeeperWatch(const KeeperWatch&) = delete;
  KeeperWatch& operator=(const KeeperWatch&) = delete;

  // Stops watching, and passes the keeper to the program that this process
  // executes next, which can continue the watch (TakeKeeper). REQUIRES: the
  // process executes the program next.
  void PassOn();

 private:
  void Run();
  // Blocks until the keeper has ended, and returns true; false if the watch is
  // to stop.
  bool AwaitEnd();
  // Sleeps for `time`. Returns false at once if the watch is to stop.
  bool Sleep(absl::Duration time);
  // Starts a keeper, and directs all further messages for the service manager
  // to it. On an error, keeper_ is unchanged.
  absl::Status StartKeeper();
  void Stop();

  UniqueFd keeper_;  // a pidfd of the last keeper, which may have ended
  const std::vector<std::string> arguments_;
  DescriptorStore& store_;
  const UniqueFd stop_;  // an eventfd
  std::thread thread_;   // uses keeper_ while it runs
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_WATCH_H_
