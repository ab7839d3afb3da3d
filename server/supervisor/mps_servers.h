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

// The control daemons of CUDA's Multi-Process Service, one for each group of
// tenants that shares servers: nvidia-cuda-mps-control, which starts a server
// when the first executor of its group connects. Thread-safe.
//
// A tenant's policy puts it in a group; its executors then connect to the
// group's server, which runs their kernels at the same time instead of in
// turns. An executor is started with the pipes of its group and holds them as
// long as it lives:
//
//   auto pipes = servers.PipeDirectory(tenant.concurrency());
//   // CUDA_MPS_PIPE_DIRECTORY=**pipes in the executor's environment
class MpsServers {
 public:
  struct Options {
    // Executors run kernels on GPUs. False: on the software device, which runs
    // every executor's kernels at the same time anyway, so no control daemon
    // is needed.
    bool on_gpus = true;
    // nvidia-cuda-mps-control; empty: this machine has none.
    std::string control_daemon;
    // Where directories of pipes and logs are made. Every user has to be able
    // to pass it: a server runs as the user of its group's executors.
    std::string directory = "/tmp";
    // Starts that control daemon in the foreground, with these variables, as
    // the leader of its own process group.
    std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>(
        const std::string& control_daemon,
        const std::vector<std::string>& environment)>
        start;
    // After a start that failed, the group gets that error for so long.
    absl::Duration start_pause = absl::Seconds(5);
  };

  // The directory of a group's pipes. A control daemon that was started here
  // runs while somebody has its pipes, at the latest until End.
  using Pipes = std::shared_ptr<const std::string>;

  explicit MpsServers(Options options) : options_(std::move(options)) {}
  ~MpsServers() { End(); }
  MpsServers(const MpsServers&) = delete;
  MpsServers& operator=(const MpsServers&) = delete;

  // Returns the group's pipes, which a control daemon serves: the policy's, or
  // one that is started now if it does not run. Blocks for up to 10 s, calls
  // for the same group one after the other. FAILED_PRECONDITION: this machine
  // has no control daemon, or none runs at the policy's directory; UNAVAILABLE:
  // it could not be started. Executors get an error of the last start for
  // `start_pause` after it, without another try.
  absl::StatusOr<Pipes> PipeDirectory(const Concurrency& concurrency);

  // Lets go of the control daemons of groups that none of these tenants is in:
  // each ends when nobody has its pipes any more. For a new policy. Groups
  // whose pipes the policy names are not started here, nor ended.
  void Retain(const std::vector<Concurrency>& tenants);

  // Ends the control daemons that it has started, with their servers. From then
  // on PipeDirectory starts none. Blocks for up to 1 s.
  void End();

  // Returns the control daemon's path from the directories of `path`, which has
  // the form of $PATH; empty: none has it.
  static std::string FindControlDaemon(const std::string& path);

 private:
  // A running control daemon and its directory; mps_servers.cc.
  class ControlDaemon;
  // The mutex of each group is held while its control daemon starts, so that
  // one that does not start holds up no other group.
  struct Group {
    absl::Mutex mutex;
    std::shared_ptr<ControlDaemon> daemon ABSL_GUARDED_BY(mutex);
    absl::Status failure ABSL_GUARDED_BY(mutex);  // of the last start
    absl::Time retry ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  };

  // UNAVAILABLE: after End.
  absl::StatusOr<std::shared_ptr<Group>> GroupOf(const std::string& name);
  // Makes directories, starts the process and waits until it serves. Removes
  // all of that when it fails.
  absl::StatusOr<std::shared_ptr<ControlDaemon>> Start(
      const std::string& group);
  // From now on End ends it. UNAVAILABLE: after End.
  absl::Status Register(const std::shared_ptr<ControlDaemon>& daemon);

  const Options options_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Group>> groups_ ABSL_GUARDED_BY(mutex_);
  // Also those of groups that are gone.
  std::vector<std::weak_ptr<ControlDaemon>> started_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_MPS_SERVERS_H_
