// SPDX-License-Identifier: Apache-2.0
//
// Starts the daemon's child processes. A process with threads cannot fork
// safely, so the spawner is a separate process, forked from main before any
// thread exists. The spawner process forks and executes on request, and reports
// the end of each child.
//
//   auto spawner = Spawner::Create({});                 // in main, first
//   auto child = (*spawner)->Spawn({"--role=executor"});
//   (*child)->channel().Receive(&ready);
//
// A child gets its end of the channel as descriptor kChildChannelFd, the
// standard descriptors, and no other descriptors. Its environment has the
// variables that drivers and compilers read. SIGINT and SIGTERM of a terminal
// do not reach the child: the supervisor decides when it ends. When the
// supervisor ends for any reason, the kernel kills the spawner and every child.
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
  // The user that the child becomes. Null: a free user of the range, if there
  // is a range; otherwise the daemon's user.
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

  // Forks the spawner process. REQUIRES: the process has one thread, which
  // lives as long as the process.
  static absl::StatusOr<std::unique_ptr<Spawner>> Create(
      const Options& options);

  // Takes over a spawner and its children that the earlier daemon has started
  // for this daemon. Kills a child whose user is not in the range of this
  // daemon, or is leased already. UNAVAILABLE: the spawner has ended.
  static absl::StatusOr<std::unique_ptr<Spawner>> Adopt(
      HandedProcesses handed, std::shared_ptr<UserRange> users);

  // Ends the spawner and its remaining children, and waits for the spawner's
  // end.
  ~Spawner();

  // Returns the children that Adopt has taken over; an empty vector after the
  // first call.
  struct Adopted {
    internal::HandedChild record;
    std::unique_ptr<ChildProcess> process;
  };
  std::vector<Adopted> TakeAdopted() { return std::exchange(adopted_, {}); }

  // Kills the spawner and every child, before the process executes another
  // binary. Blocks until the spawner has ended.
  void Kill();

  // Stops every child (SIGSTOP), and returns the spawner with its children, for
  // the program that this process executes next, which ends them. REQUIRES:
  // called once, and no child is used afterwards.
  LeavingSpawner LeaveBehind();

  // Starts a child with `arguments`, in the namespaces of `options` as far as
  // the kernel allows. Blocks until the spawner has answered. The child gets
  // its namespaces by the flag --own-namespaces, and the user that it must
  // become by --user. UNAVAILABLE: no process could be started, or the spawner
  // has ended. RESOURCE_EXHAUSTED: no user of the range is free. If the program
  // cannot be executed, the child exits with code 127.
  absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(
      const std::vector<std::string>& arguments,
      const SpawnOptions& options = {});
  absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(
      const std::vector<std::string>& arguments, Namespaces namespaces) {
    return Spawn(arguments, SpawnOptions{.namespaces = namespaces});
  }

  // Leases a user for children that share a user. The lease has user 0 if there
  // is no range, or if no user is free.
  std::shared_ptr<const UserRange::Lease> TakeUser() const {
    return std::make_shared<const UserRange::Lease>(UserRange::Take(users_));
  }
  // Returns true if a child may have this user: a user of the range if there is
  // a range, otherwise the daemon's user (0).
  bool MayUse(const UserRange::Lease& user) const {
    return (users_ != nullptr) == (user.user() != 0);
  }

  // Sets the function that is called once when the spawner process has died by
  // itself; calls it at once if the process has died already. Spawn then always
  // fails. The callback runs in the thread that reads the spawner's events,
  // before the ends of the children are reported, and must not call this
  // object. It does not run after OnGone(nullptr) has returned.
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
