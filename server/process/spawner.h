// SPDX-License-Identifier: Apache-2.0
//
// Starts the daemon's other processes. A process with threads cannot fork
// safely, so the spawner is a separate process, forked from main before any
// thread exists. It forks and executes on request, and reports the end of each
// child.
//
//   auto spawner = Spawner::Create({});                 // in main, first
//   auto child = (*spawner)->Spawn({"--role=executor"});
//   (*child)->channel().Receive(&ready);
//
// A child gets its end of the channel as descriptor kChildChannelFd, the
// standard descriptors and no others, and the environment variables that
// drivers and compilers read. SIGINT and SIGTERM do not reach it: the
// supervisor decides when it ends. When the supervisor ends for any reason, the
// kernel kills the spawner and every child.
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

// The options of one child.
struct SpawnOptions {
  Namespaces namespaces = Namespaces::kNone;
  // Further environment variables, as "NAME=value".
  std::vector<std::string> environment = {};
  // The user that the child becomes. Null: a new user of the range, if there is
  // a range.
  std::shared_ptr<const UserRange::Lease> user = nullptr;
};

// Thread-safe.
class Spawner {
 public:
  struct Options {
    // The binary that the children execute; default: this process's own binary.
    std::string executable = "/proc/self/exe";
    // The range from which Spawn takes a child's user. Null: the daemon's user.
    std::shared_ptr<UserRange> users;
  };

  // REQUIRES: the process has one thread, which lives as long as the process.
  static absl::StatusOr<std::unique_ptr<Spawner>> Create(
      const Options& options);

  // Takes over a spawner and its children that the earlier daemon has started
  // for this one. Kills a child whose user is not the one that this daemon
  // would have chosen. UNAVAILABLE: the spawner has ended.
  static absl::StatusOr<std::unique_ptr<Spawner>> Adopt(
      HandedProcesses handed, std::shared_ptr<UserRange> users);

  // Kills the spawner and its remaining children.
  ~Spawner();

  // The children that Adopt has taken over. Empty after the first call.
  struct Adopted {
    internal::HandedChild record;
    std::unique_ptr<ChildProcess> process;
  };
  std::vector<Adopted> TakeAdopted() { return std::exchange(adopted_, {}); }

  // Kills the spawner and every child at once, before the process executes
  // another binary. Returns when the spawner has ended.
  void Kill();

  // Stops every child (SIGSTOP). The program that this process executes next
  // ends them. REQUIRES: called once, and no child is used afterwards.
  LeavingSpawner LeaveBehind();

  // Starts the program in the wanted namespaces, as far as the kernel allows.
  // The flag --own-namespaces tells the child its namespaces, and --user the
  // user that it must become. UNAVAILABLE: no process could be started, or the
  // spawner has ended. Exit code 127 means that the program could not be
  // executed.
  absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(
      const std::vector<std::string>& arguments,
      const SpawnOptions& options = {});
  absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(
      const std::vector<std::string>& arguments, Namespaces namespaces) {
    return Spawn(arguments, SpawnOptions{.namespaces = namespaces});
  }

  // Leases a user for children that share one. User 0 if there is no range, or
  // no user is free.
  std::shared_ptr<const UserRange::Lease> TakeUser() const {
    return std::make_shared<const UserRange::Lease>(UserRange::Take(users_));
  }
  // Returns true if a child may have this user: one of the range, if there is a
  // range.
  bool MayUse(const UserRange::Lease& user) const {
    return (users_ != nullptr) == (user.user() != 0);
  }

  // Calls `callback` once when the spawner process has died unasked; at once if
  // it has died already. Spawn then always fails. The callback runs before the
  // ends of the children are reported. It does not run after OnGone(nullptr)
  // has returned.
  void OnGone(std::function<void()> callback);

 private:
  // Guarded by mutex_.
  struct Child {
    bool answered = false;
    absl::Status status;
    pid_t pid = 0;
    UniqueFd pidfd;  // a duplicate, once ChildProcess has the first
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
  void OnSpawned(const internal::Spawned& spawned,
                 absl::StatusOr<UniqueFd> pidfd);
  void OnExited(const internal::Exited& exited);
  void OnSpawnerGone();

  const pid_t pid_;
  Channel channel_;
  const std::shared_ptr<UserRange> users_;
  absl::Mutex mutex_;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> on_gone_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_child_ ABSL_GUARDED_BY(mutex_) = 0;
  // The children that have not ended.
  std::map<uint64_t, std::shared_ptr<Child>> children_ ABSL_GUARDED_BY(mutex_);
  std::vector<Adopted> adopted_;
  std::thread reader_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SPAWNER_H_
