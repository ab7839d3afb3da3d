// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_MPS_SERVERS_H_
#define HOLDFAST_SERVER_SUPERVISOR_MPS_SERVERS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/process/child_process.h"
#include "server/tenants/concurrency.h"

namespace holdfast {

// The control daemons of CUDA's Multi-Process Service, one for each group of
// tenants that shares servers: nvidia-cuda-mps-control, which starts a server
// when the first executor of its group connects. Thread-safe.
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
    // Starts a control daemon in the foreground, with these variables.
    std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>(
        const std::vector<std::string>& environment)>
        start;
  };

  explicit MpsServers(Options options) : options_(std::move(options)) {}
  // Ends the control daemons that it has started.
  ~MpsServers();
  MpsServers(const MpsServers&) = delete;
  MpsServers& operator=(const MpsServers&) = delete;

  // Returns the directory of the group's pipes, which a control daemon serves:
  // the policy's, or one that is started now if it does not run. Blocks for up
  // to 10 s. FAILED_PRECONDITION: this machine has no control daemon, or none
  // runs at the policy's directory; UNAVAILABLE: it could not be started.
  absl::StatusOr<std::string> PipeDirectory(const Concurrency& concurrency);

  // Returns the control daemon's path from the directories of `path`, which has
  // the form of $PATH; empty: none has it.
  static std::string FindControlDaemon(const std::string& path);

 private:
  struct ControlDaemon {
    std::string directory;
    std::unique_ptr<ChildProcess> process;
  };

  // Returns the directory of the pipes.
  absl::StatusOr<std::string> Start(const std::string& group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void End(ControlDaemon& daemon);

  const Options options_;
  absl::Mutex mutex_;
  // By group.
  std::map<std::string, ControlDaemon> control_daemons_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SUPERVISOR_MPS_SERVERS_H_
