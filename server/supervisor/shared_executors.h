// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SHARED_EXECUTORS_H_
#define HOLDFAST_SERVER_SUPERVISOR_SHARED_EXECUTORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/supervisor/executor_pool.h"
#include "server/supervisor/mps_servers.h"
#include "server/tenants/concurrency.h"

namespace holdfast::supervisor {

// Executors of tenants that share MPS servers. An executor becomes a client of
// its group's server when it starts, so those that wait are kept apart by group
// and part of the multiprocessors: a pool for each, made when the first session
// asks for it. Thread-safe.
class SharedExecutors {
 public:
  // The settings that an executor of a group is started with.
  struct Start {
    uint32_t device = 0;
    std::string group;
    // An executor that has started is to have them until it has ended.
    MpsServers::Pipes pipes;
    std::vector<std::string> environment;
  };
  using Starter =
      std::function<absl::StatusOr<std::unique_ptr<ExecutorProcess>>(
          const Start& start)>;

  // `servers` must outlive it. `warm`: executors that each pool keeps waiting.
  SharedExecutors(MpsServers& servers, Starter start, size_t warm)
      : servers_(servers), start_(std::move(start)), warm_(warm) {}
  SharedExecutors(const SharedExecutors&) = delete;
  SharedExecutors& operator=(const SharedExecutors&) = delete;

  // As ExecutorPool::Take, for a tenant of a group; errors also as
  // MpsServers::PipeDirectory. REQUIRES: concurrency.shared(). Blocks for up to
  // 10 s if a control daemon has to be started, in addition to the executor.
  absl::StatusOr<std::unique_ptr<Executor>> Take(
      const Concurrency& concurrency, const std::vector<uint32_t>& devices,
      absl::Time deadline);

  // Ends the executors that wait for tenants like none of these.
  void Retain(const std::vector<Concurrency>& tenants);

  // As ExecutorPool::SetUsable, for executors of all groups. Later pools start
  // with it, too.
  void SetUsable(uint32_t device, bool usable);

  // By group, over its pools, those that have ended included. A group is there
  // from its first session until Retain names no tenant of it.
  std::map<std::string, ExecutorPool::Statistics> statistics() const;

 private:
  // The executors of one Concurrency: group, part and pipes.
  struct Pool {
    MpsServers::Pipes pipes;  // of its executors
    std::shared_ptr<ExecutorPool> executors;
  };

  // Those of other pipes, whose control daemon has ended, are replaced. A new
  // pool begins on `device`.
  std::shared_ptr<ExecutorPool> PoolOf(const Concurrency& concurrency,
                                       const MpsServers::Pipes& pipes,
                                       uint32_t device);
  // Its executors get the pipes and the part of the multiprocessors by
  // environment variables.
  std::shared_ptr<ExecutorPool> MakePool(const Concurrency& concurrency,
                                         const MpsServers::Pipes& pipes,
                                         uint32_t device) const;
  // Keeps the sums of a pool that ends; none of its executors waits any more.
  void AddToEnded(const std::string& group, const Pool& pool)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  MpsServers& servers_;
  const Starter start_;
  const size_t warm_;
  mutable absl::Mutex mutex_;
  std::map<Concurrency, Pool> pools_ ABSL_GUARDED_BY(mutex_);
  // Sums of pools that have ended, by group.
  std::map<std::string, ExecutorPool::Statistics> ended_
      ABSL_GUARDED_BY(mutex_);
  std::set<uint32_t> unusable_ ABSL_GUARDED_BY(mutex_);  // devices
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SHARED_EXECUTORS_H_
