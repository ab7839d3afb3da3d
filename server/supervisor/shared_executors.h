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

// The executors of tenants that share MPS servers. An executor becomes a client
// of its group's server when it starts, so each Concurrency (group, pipes and
// share of the multiprocessors) has its own pool of warm executors. The first
// session of a Concurrency makes its pool. Thread-safe.
class SharedExecutors {
 public:
  // The settings that an executor of a group is started with.
  struct Start {
    uint32_t device = 0;
    std::string group;
    // Must be held until the executor has ended.
    MpsServers::Pipes pipes;
    std::vector<std::string> environment;
  };
  using Starter =
      std::function<absl::StatusOr<std::unique_ptr<ExecutorProcess>>(
          const Start& start)>;

  // `servers` must outlive this object. Each pool keeps `warm` executors
  // waiting.
  SharedExecutors(MpsServers& servers, Starter start, size_t warm)
      : servers_(servers), start_(std::move(start)), warm_(warm) {}
  SharedExecutors(const SharedExecutors&) = delete;
  SharedExecutors& operator=(const SharedExecutors&) = delete;

  // Takes an executor from the pool of `concurrency`, as ExecutorPool::Take
  // does. Also returns the errors of MpsServers::PipeDirectory. If a control
  // daemon has to be started, blocks for up to 10 s longer. REQUIRES:
  // concurrency.shared().
  absl::StatusOr<std::unique_ptr<Executor>> Take(
      const Concurrency& concurrency, const std::vector<uint32_t>& devices,
      absl::Time deadline);

  // Ends the pools whose Concurrency is not among `tenants`.
  void Retain(const std::vector<Concurrency>& tenants);

  // Calls ExecutorPool::SetUsable for all pools, present and later.
  void SetUsable(uint32_t device, bool usable);

  // Returns the sums of each group's pools, including ended pools. A group is
  // listed from its first session until Retain is called without any of its
  // tenants.
  std::map<std::string, ExecutorPool::Statistics> statistics() const;

 private:
  // The executors of one Concurrency.
  struct Pool {
    MpsServers::Pipes pipes;  // of its executors
    std::shared_ptr<ExecutorPool> executors;
  };

  // Returns the pool of `concurrency`, and makes it if there is none. Replaces
  // a pool with other pipes, because their control daemon has ended. A new pool
  // starts its first executor on `device`.
  std::shared_ptr<ExecutorPool> PoolOf(const Concurrency& concurrency,
                                       const MpsServers::Pipes& pipes,
                                       uint32_t device);
  // Makes a pool, whose executors get the pipes and their share of the
  // multiprocessors by environment variables.
  std::shared_ptr<ExecutorPool> MakePool(const Concurrency& concurrency,
                                         const MpsServers::Pipes& pipes,
                                         uint32_t device) const;
  // Adds the sums of a pool that ends, without its warm executors, to ended_.
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
