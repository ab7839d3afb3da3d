// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_MPS_SERVERS_H_
#define HOLDFAST_SERVER_SUPERVISOR_MPS_SERVERS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/process/child_process.h"
#include "server/tenants/concurrency.h"

namespace holdfast::supervisor {

// The control daemons of CUDA's Multi-Process Service
// (nvidia-cuda-mps-control), one for each group of tenants that shares servers.
// A control daemon starts a server when the first executor of its group
// connects. Thread-safe.
//
// A tenant's policy puts it in a group; its executors then connect to the
// group's server, which runs their kernels at the same time instead of in
// turns. The owner of an executor holds the pipes of its group while the
// executor lives:
//
//   auto pipes = servers.PipeDirectory(tenant.concurrency());
//   // CUDA_MPS_PIPE_DIRECTORY=**pipes in the executor's environment
class MpsServers {
 public:
  struct Options {
    // True if executors run kernels on GPUs. False: on the software device,
    // which runs the kernels of all executors at the same time anyway, so no
    // control daemon is needed.
    bool on_gpus = true;
    // The path of nvidia-cuda-mps-control; empty: this machine has none.
    std::string control_daemon;
    // The parent of the directories of pipes and logs. Every user must be able
    // to enter it, because a server runs as the user of its group's executors.
    std::string directory = "/tmp";
    // Starts the control daemon in the foreground, with these environment
    // variables, as the leader of its own process group.
    std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>(
        const std::string& control_daemon,
        const std::vector<std::string>& environment)>
        start;
    // The time after a failed start in which calls for the group fail with the
    // same error.
    absl::Duration start_pause = absl::Seconds(5);
    // The time for a control daemon to end its server and itself, after which
    // both are killed.
    absl::Duration end_time = absl::Seconds(1);
  };

  // The directory of a group's pipes. A control daemon that this object has
  // started runs until its last Pipes is destroyed, or until End.
  using Pipes = std::shared_ptr<const std::string>;

  explicit MpsServers(Options options) : options_(std::move(options)) {}
  ~MpsServers() { End(); }
  MpsServers(const MpsServers&) = delete;
  MpsServers& operator=(const MpsServers&) = delete;

  // Returns the group's pipes: the policy's directory if it names one, or the
  // pipes of a control daemon, which is started if it does not run. Blocks for
  // up to 10 s; calls for one group run one after the other.
  // FAILED_PRECONDITION: this machine has no control daemon, or no control
  // daemon serves the policy's directory. UNAVAILABLE: the control daemon could
  // not be started now, or a start has failed less than `start_pause` ago, or
  // End was called.
  absl::StatusOr<Pipes> PipeDirectory(const Concurrency& concurrency);

  // Releases the control daemons of all groups but the groups of `tenants`. A
  // released control daemon ends with the last use of its pipes. Called for a
  // new policy. This class neither starts nor ends control daemons whose
  // directory the policy names.
  void Retain(const std::vector<Concurrency>& tenants);

  // Ends the started control daemons and their servers. PipeDirectory starts no
  // daemon from then on. Blocks for up to `end_time`.
  void End();

  // Searches the directories of `path`, which has the form of $PATH, for the
  // control daemon. Returns its path; empty if there is none.
  static std::string FindControlDaemon(const std::string& path);

 private:
  // A running control daemon and its directory; mps_servers.cc.
  class ControlDaemon;
  // The mutex of a group is held while its control daemon starts, so that a
  // slow start does not delay other groups.
  struct Group {
    absl::Mutex mutex;
    std::shared_ptr<ControlDaemon> daemon ABSL_GUARDED_BY(mutex);
    absl::Status failure ABSL_GUARDED_BY(mutex);  // of the last start
    absl::Time retry ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  };

  // Returns the group, which is made if there is none. UNAVAILABLE: End was
  // called.
  absl::StatusOr<std::shared_ptr<Group>> GroupOf(const std::string& name);
  // Makes directories, starts the process, and waits until it serves. On an
  // error, ends the process and removes the directories. UNAVAILABLE: the
  // process does not serve, or End was called.
  absl::StatusOr<std::shared_ptr<ControlDaemon>> Start(
      const std::string& group);
  // Registers the daemon, so that End ends it. UNAVAILABLE: End was called.
  absl::Status Register(const std::shared_ptr<ControlDaemon>& daemon);

  // Returns true if End was called.
  bool ended();

  const Options options_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Group>> groups_ ABSL_GUARDED_BY(mutex_);
  // All started daemons, also of groups that have ended.
  std::vector<std::weak_ptr<ControlDaemon>> started_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_MPS_SERVERS_H_
