// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Executors that may die in a row while they wait, before the pool pauses.
constexpr int kMaxIdleDeaths = 3;

}  // namespace

ExecutorPool::ExecutorPool(Options options)
    : options_(std::move(options)), pause_(options_.first_pause) {
  thread_ = std::thread([this] { Run(); });
}

ExecutorPool::~ExecutorPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
  Warm warm;
  {
    absl::MutexLock lock(&mutex_);
    warm.swap(warm_);
  }
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutorPool::Take(
    absl::Time deadline) {
  std::unique_ptr<ExecutorProcess> executor;
  {
    absl::MutexLock lock(&mutex_);
    ++waiting_;
    const absl::Status status = AwaitStart(
        [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !warm_.empty(); },
        deadline);
    --waiting_;
    HOLDFAST_RETURN_IF_ERROR(status);
    executor = std::move(warm_.front());
    warm_.pop_front();
    idle_deaths_ = 0;
  }
  // Outside the lock, since its callback may be waiting for that.
  executor->OnEnd(nullptr);
  return executor;
}

absl::StatusOr<std::shared_ptr<const DeviceCatalogue>> ExecutorPool::Devices(
    absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_RETURN_IF_ERROR(AwaitStart(
      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return devices_ != nullptr; },
      deadline));
  return devices_;
}

absl::Status ExecutorPool::AwaitStart(const std::function<bool()>& done,
                                      absl::Time deadline) {
  const auto decided = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return done() || !failure_.ok() || stopping_;
  };
  const bool in_time =
      mutex_.AwaitWithDeadline(absl::Condition(&decided), deadline);
  if (done()) return absl::OkStatus();
  if (!failure_.ok()) {
    return WithPrefix("no executor could be started",
                      absl::UnavailableError(failure_.message()));
  }
  if (!in_time) {
    return absl::DeadlineExceededError("no executor was ready in time");
  }
  return absl::UnavailableError("the daemon is stopping");
}

bool ExecutorPool::WantsMore() const {
  const size_t wanted = std::max<size_t>(options_.warm, devices_ ? 0 : 1);
  return warm_.size() < wanted + waiting_;
}

void ExecutorPool::Run() {
  while (true) {
    Warm dead;  // Destroyed outside the lock.
    absl::Status crashed;
    {
      absl::MutexLock lock(&mutex_);
      const auto due = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return stopping_ || check_warm_ || (failure_.ok() && WantsMore());
      };
      if (!mutex_.AwaitWithDeadline(
              absl::Condition(&due),
              failure_.ok() ? absl::InfiniteFuture() : retry_)) {
        failure_ = absl::OkStatus();  // The pause is over.
      }
      if (stopping_) return;
      dead = TakeDead();
      if (idle_deaths_ >= kMaxIdleDeaths && !dead.empty()) {
        crashed = *dead.back()->ended();
      }
      if (!failure_.ok() || !WantsMore()) continue;
    }
    crashed.ok() ? StartOne() : SetFailed(crashed);
  }
}

ExecutorPool::Warm ExecutorPool::TakeDead() {
  Warm dead;
  if (!std::exchange(check_warm_, false)) return dead;
  for (size_t i = 0; i < warm_.size();) {
    const std::optional<absl::Status> reason = warm_[i]->ended();
    if (!reason.has_value()) {
      ++i;
      continue;
    }
    LogWarning("waiting executor lost: ", reason->message());
    dead.push_back(std::move(warm_[i]));
    warm_.erase(warm_.begin() + static_cast<ptrdiff_t>(i));
    ++idle_deaths_;
  }
  return dead;
}

void ExecutorPool::StartOne() {
  auto executor = options_.start();
  if (!executor.ok()) return SetFailed(executor.status());
  const auto ready =
      (*executor)->AwaitReady(absl::Now() + options_.start_limit);
  if (!ready.ok()) return SetFailed(ready.status());
  Add(*std::move(executor), *ready);
}

void ExecutorPool::Add(std::unique_ptr<ExecutorProcess> executor,
                       const internal::Ready& ready) {
  LogDebug("executor ready pid=", executor->pid());
  executor->OnEnd([this](absl::Status) {
    absl::MutexLock lock(&mutex_);
    check_warm_ = true;
  });
  {
    absl::MutexLock lock(&mutex_);
    if (devices_ == nullptr) {
      LogInfo("executors: ", ready.confinement());
      devices_ = std::make_shared<DeviceCatalogue>(ready);
    }
    pause_ = options_.first_pause;
    warm_.push_back(std::move(executor));
  }
  if (options_.on_health) options_.on_health(true);
}

void ExecutorPool::SetFailed(const absl::Status& status) {
  absl::Duration pause;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    pause = pause_;
    failure_ = status;
    retry_ = absl::Now() + pause_;
    pause_ = std::min(pause_ * 2, options_.longest_pause);
  }
  LogError("no executor could be started: ", status.message(), "; next try in ",
           absl::FormatDuration(pause));
  if (options_.on_health) options_.on_health(false);
}

}  // namespace holdfast
