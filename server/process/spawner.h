// SPDX-License-Identifier: Apache-2.0
//
// Starts the daemon's other processes. A process with threads cannot fork
// safely, so the spawner is a process of its own, forked from main before any
// thread exists; it forks and executes on request, and reports each end.
//
//   auto spawner = Spawner::Create({});                 // in main, first
//   auto child = (*spawner)->Spawn({"--role=executor"});
//   (*child)->channel().Receive(&ready);
//
// A child gets its end of the channel as descriptor kChildChannelFd, and none
// but that and the standard ones, and of the environment what drivers and
// compilers read. SIGINT and SIGTERM do not reach it: the supervisor decides
// when it ends. When the supervisor ends, however that
// happens, the kernel kills the spawner and every child.
#ifndef HOLDFAST_SERVER_PROCESS_SPAWNER_H_
#define HOLDFAST_SERVER_PROCESS_SPAWNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/internal/spawner.pb.h"
#include "server/channel/channel.h"
#include "server/process/child_process.h"
#include "server/process/handed_processes.h"
#include "server/process/leaving_spawner.h"
#include "server/process/sandbox/policy.h"
#include "server/process/user_range.h"

namespace holdfast {

inline constexpr int kChildChannelFd = 3;

// How a child is started.
struct SpawnOptions {
  Namespaces namespaces = Namespaces::kNone;
  // Variables besides those that all children get, as "NAME=value".
  std::vector<std::string> environment = {};
  // The user that the child is to become; null: one of its own, if there is a
  // range of them.
  std::shared_ptr<const UserRange::Lease> user = nullptr;
};

// Thread-safe.
class Spawner {
 public:
  struct Options {
    // The binary that the children execute; default: this process's own binary.
    std::string executable = "/proc/self/exe";
    // Where Spawn takes a child's own user from. nullptr: there are none.
    std::shared_ptr<UserRange> users;
  };

  // REQUIRES: the process has one thread, and it lives as long as the process.
  static absl::StatusOr<std::unique_ptr<Spawner>> Create(
      const Options& options);

  // Takes over a spawner, and children of it, that the daemon before has
  // started for this one. UNAVAILABLE: the spawner has ended. A child ends here
  // if the daemon would have started it as another user.
  static absl::StatusOr<std::unique_ptr<Spawner>> Adopt(
      HandedProcesses handed, std::shared_ptr<UserRange> users);

  // Kills the spawner and with it the children that are left.
  ~Spawner();

  // The children that Adopt has taken over. Empty after the first call.
  struct Adopted {
    internal::HandedChild record;
    std::unique_ptr<ChildProcess> process;
  };
  std::vector<Adopted> TakeAdopted() { return std::exchange(adopted_, {}); }

  // Kills the spawner and every child at once: the process makes way for
  // another. Returns when the spawner is gone.
  void Kill();

  // Stops every child where it is (SIGSTOP): the program that this process
  // executes next ends them. REQUIRES: called once, and nothing is asked of a
  // child any more.
  LeavingSpawner LeaveBehind();

  // Starts the program in the namespaces that are wanted, as far as the kernel
  // allows; --own-namespaces tells it which they are. --user is the user that
  // it is to become, if there is a range of them. UNAVAILABLE: no process could
  // be started, or the spawner is gone. That the program cannot be executed
  // shows as exit code 127.
  absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(
      const std::vector<std::string>& arguments,
      const SpawnOptions& options = {});
  absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(
      const std::vector<std::string>& arguments, Namespaces namespaces) {
    return Spawn(arguments, SpawnOptions{.namespaces = namespaces});
  }

  // A user for children that are to have the same one; user 0 if there is no
  // range of them, or none is free.
  std::shared_ptr<const UserRange::Lease> TakeUser() const {
    return std::make_shared<const UserRange::Lease>(UserRange::Take(users_));
  }
  // Is this the user that a child must have: one of the range, if there is one?
  bool MayUse(const UserRange::Lease& user) const {
    return (users_ != nullptr) == (user.user() != 0);
  }

  // Calls `callback` once when the spawner process has died without being
  // asked to; at once if that was earlier. No process can be started from then
  // on. Nobody has heard yet that the children have ended, too. After
  // OnGone(nullptr) has returned, the callback does not run.
  void OnGone(std::function<void()> callback);

 private:
  // Guarded by mutex_.
  struct Child {
    bool answered = false;
    absl::Status status;
    pid_t pid = 0;
    UniqueFd pidfd;  // a second one, once ChildProcess has the first
    std::shared_ptr<const UserRange::Lease> user;
    std::shared_ptr<ChildExit> exit = std::make_shared<ChildExit>();
  };

  Spawner(pid_t pid, Channel channel, std::shared_ptr<UserRange> users);
  // Starts the thread that reads events.
  void Start();
  // Notes a child that runs already. REQUIRES: Start was not called.
  void Adopt(HandedProcesses::Child child);
  // Sends the request; the child's state is then set by the reader.
  absl::StatusOr<std::shared_ptr<Child>> Request(
      const std::vector<std::string>& arguments, const SpawnOptions& options,
      int child_channel);
  void ReadEvents();
  void OnSpawned(const internal::Spawned& spawned, UniqueFd pidfd);
  void OnExited(const internal::Exited& exited);
  void OnSpawnerGone();

  const pid_t pid_;
  Channel channel_;
  const std::shared_ptr<UserRange> users_;
  absl::Mutex mutex_;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> on_gone_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_child_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those that have not ended.
  std::map<uint64_t, std::shared_ptr<Child>> children_ ABSL_GUARDED_BY(mutex_);
  std::vector<Adopted> adopted_;
  std::thread reader_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SPAWNER_H_
