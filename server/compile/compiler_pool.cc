// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compiler_pool.h"

#include <utility>

#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"

namespace holdfast {

CompilerPool::CompilerPool(Options options)
    : options_(std::move(options)),
      queue_(options_.workers, options_.max_queue),
      installation_(std::make_shared<const internal::Installation>(
          options_.installation)) {
  replacer_ = std::thread([this] { Replace(); });
}

CompilerPool::~CompilerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  replacer_.join();
}

absl::Status CompilerPool::Prestart() {
  HOLDFAST_ASSIGN_OR_RETURN(const auto turn, queue_.Enter(CompileCaller()));
  absl::StatusOr<Worker> worker = Acquire();
  const absl::Status status = worker.status();
  if (worker.ok()) Release(*std::move(worker));
  return status;
}

std::string CompilerPool::backend() const {
  absl::MutexLock lock(&mutex_);
  return backend_;
}

std::string CompilerPool::confinement() const {
  absl::MutexLock lock(&mutex_);
  return confinement_;
}

absl::StatusOr<CompilerPool::Installed> CompilerPool::Installation() {
  {
    absl::MutexLock lock(&mutex_);
    if (!backend_.empty() || !installation_->identity().empty()) {
      return installation_;
    }
  }
  HOLDFAST_RETURN_IF_ERROR(Prestart());
  return KnownInstallation();
}

CompilerPool::Installed CompilerPool::KnownInstallation() const {
  absl::MutexLock lock(&mutex_);
  return installation_;
}

absl::StatusOr<CompilerWorker::Result> CompilerPool::Run(
    const CompileCaller& caller, const internal::ToCompiler& job,
    const Parts& parts) {
  Charge place;
  if (caller.budget != nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(place, caller.budget->Begin(SteadyNow()));
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto turn, queue_.Enter(caller));
  while (true) {
    CompileCaller during = caller;
    during.gone = [&] { return turn->recalled() || caller.gone(); };
    absl::StatusOr<CompilerWorker::Result> result = RunNow(during, job, parts);
    // It has made way for another client; from the start, then.
    if (!absl::IsCancelled(result.status()) || !turn->recalled()) return result;
    turn.reset();
    HOLDFAST_ASSIGN_OR_RETURN(turn, queue_.EnterAgain(caller));
  }
}

absl::StatusOr<CompilerWorker::Result> CompilerPool::RunNow(
    const CompileCaller& caller, const internal::ToCompiler& job,
    const Parts& parts) {
  if (caller.gone()) return absl::CancelledError("the caller has gone");
  UniqueFd fd;
  if (parts) {
    HOLDFAST_ASSIGN_OR_RETURN(fd, parts());
  }
  HOLDFAST_ASSIGN_OR_RETURN(Worker worker, Acquire());
  const absl::Time started = SteadyNow();
  absl::StatusOr<CompilerWorker::Result> result =
      worker->Run(job, fd.get(), options_.time_limit, caller);
  const absl::Time ended = SteadyNow();
  Count(result.status(), worker->lost(), ended - started);
  if (caller.budget != nullptr) caller.budget->AddTime(ended - started, ended);
  if (worker->lost() && !absl::IsCancelled(result.status())) {
    LogWarning("compiler worker lost: ", result.status().message());
  }
  Release(std::move(worker));
  return result;
}

void CompilerPool::Count(const absl::Status& status, bool lost,
                         absl::Duration time) {
  durations_.Observe(time);
  absl::MutexLock lock(&mutex_);
  ++(status.ok() ? statistics_.done : statistics_.failed);
  if (lost) ++statistics_.workers_lost;
}

CompilerPool::Statistics CompilerPool::statistics() const {
  absl::MutexLock lock(&mutex_);
  Statistics statistics = statistics_;
  statistics.waiting = queue_.length();
  statistics.max_waiting = options_.max_queue;
  return statistics;
}

absl::StatusOr<CompilerPool::Worker> CompilerPool::Acquire() {
  // One that was killed while it was idle is dropped.
  while (Worker worker = TakeIdle()) {
    if (worker->usable()) return worker;
  }
  return Start();
}

// Waits for one that is being started anyway. nullptr: there is none.
CompilerPool::Worker CompilerPool::TakeIdle() {
  absl::MutexLock lock(&mutex_);
  if (idle_.empty() && lost_ > promised_) {
    ++promised_;
    const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !idle_.empty() || lost_ == 0;
    };
    mutex_.Await(absl::Condition(&over));
    --promised_;
  }
  if (idle_.empty()) return nullptr;
  Worker worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

absl::StatusOr<CompilerPool::Worker> CompilerPool::Start() {
  HOLDFAST_ASSIGN_OR_RETURN(auto process, options_.start());
  HOLDFAST_ASSIGN_OR_RETURN(auto worker,
                            CompilerWorker::Create(std::move(process)));
  if (options_.on_start) options_.on_start(worker->installation());
  auto installed =
      std::make_shared<const internal::Installation>(worker->installation());
  absl::MutexLock lock(&mutex_);
  backend_ = worker->backend();
  installation_ = std::move(installed);
  confinement_ = worker->confinement();
  return worker;
}

void CompilerPool::Release(Worker worker) {
  absl::MutexLock lock(&mutex_);
  if (!worker->usable() || worker->jobs() >= options_.max_jobs) {
    ++lost_;
  } else if (idle_.size() < options_.workers) {
    idle_.push_back(std::move(worker));
  }
}

void CompilerPool::Replace() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      const auto wanted = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return lost_ > 0 || stopping_;
      };
      mutex_.Await(absl::Condition(&wanted));
      if (stopping_) return;
    }
    absl::StatusOr<Worker> worker = Start();
    absl::MutexLock lock(&mutex_);
    --lost_;
    if (worker.ok() && idle_.size() < options_.workers) {
      idle_.push_back(*std::move(worker));
    }
  }
}

}  // namespace holdfast
