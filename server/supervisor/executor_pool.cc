// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"

namespace holdfast::supervisor {
namespace {

// Executors that start at once for sessions that wait. A driver makes their
// contexts one after the other, but the processes load it side by side.
constexpr size_t kMaxStarts = 4;

// Sessions that the daemon before has left take executors at its start.
constexpr absl::Duration kKeepAdopted = absl::Seconds(30);

}  // namespace

ExecutorPool::ExecutorPool(Options options, Warm adopted)
    : options_(std::move(options)),
      plan_(options_.warm, options_.first_device),
      backoff_(options_.first_pause, options_.longest_pause),
      adopted_(std::move(adopted)) {
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
    const std::vector<uint32_t>& devices, absl::Time deadline) {
  return TakeProcess(devices, deadline);
}

absl::StatusOr<std::unique_ptr<ExecutorProcess>> ExecutorPool::TakeProcess(
    const std::vector<uint32_t>& devices, absl::Time deadline) {
  std::unique_ptr<ExecutorProcess> executor;
  {
    absl::MutexLock lock(&mutex_);
    plan_.NoteDemand(devices.front());
    const auto call = calls_.insert(calls_.end(), devices);
    const absl::Status status = AwaitStart(
        [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return WarmPlan::Choose(WarmDevices(), devices).has_value();
        },
        deadline);
    calls_.erase(call);
    HOLDFAST_RETURN_IF_ERROR(status);
    const size_t chosen = *WarmPlan::Choose(WarmDevices(), devices);
    executor = std::move(warm_[chosen].process);
    warm_.erase(warm_.begin() + static_cast<ptrdiff_t>(chosen));
    backoff_.NoteTaken(/*others_wait=*/!warm_.empty(), SteadyNow());
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

ExecutorPool::Statistics& ExecutorPool::Statistics::operator+=(
    const Statistics& other) {
  waiting += other.waiting;
  failing = failing || other.failing;
  started += other.started;
  failed += other.failed;
  lost += other.lost;
  return *this;
}

ExecutorPool::Statistics ExecutorPool::statistics() const {
  absl::MutexLock lock(&mutex_);
  Statistics statistics = statistics_;
  statistics.waiting = warm_.size();
  statistics.failing = backoff_.paused();
  return statistics;
}

void ExecutorPool::SetUsable(uint32_t device, bool usable) {
  bool startable = false;
  {
    absl::MutexLock lock(&mutex_);
    if (usable) {
      unusable_.erase(device);
      if (plan_.empty()) plan_.NoteDemand(device);
      return;
    }
    unusable_.insert(device);
    plan_.Forget(device);
    const std::optional<uint32_t> other = UsableDevice();
    if (plan_.empty() && other.has_value()) plan_.NoteDemand(*other);
    startable = backoff_.paused() && devices_ != nullptr;
    if (startable) backoff_.EndPause();
  }
  if (startable && options_.on_health) options_.on_health(true);
}

absl::Status ExecutorPool::AwaitStart(const std::function<bool()>& done,
                                      absl::Time deadline) {
  const auto decided = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return done() || backoff_.paused() || stopping_;
  };
  const bool in_time =
      mutex_.AwaitWithDeadline(absl::Condition(&decided), deadline);
  if (done()) return absl::OkStatus();
  if (backoff_.paused()) {
    return WithPrefix("no executor could be started",
                      absl::UnavailableError(backoff_.failure().message()));
  }
  if (!in_time) {
    return absl::DeadlineExceededError("no executor was ready in time");
  }
  return absl::UnavailableError("the daemon is stopping");
}

std::vector<uint32_t> ExecutorPool::WarmDevices() const {
  std::vector<uint32_t> devices;
  for (const Waiting& waiting : warm_) devices.push_back(waiting.device);
  return devices;
}

bool ExecutorPool::Settling() const {
  return calls_.empty() && SteadyNow() < backoff_.settled();
}

absl::Time ExecutorPool::NextLook() const {
  absl::Time look = Settling() ? backoff_.settled() : absl::InfiniteFuture();
  if (keep_until_ != absl::InfinitePast()) look = std::min(look, keep_until_);
  return look;
}

std::optional<WarmPlan::Step> ExecutorPool::NextStep() const {
  const auto step = plan_.Next(WarmDevices(), {calls_.begin(), calls_.end()});
  const bool ends = step.has_value() && step->end.has_value();
  if (ends && SteadyNow() < keep_until_) return std::nullopt;
  if (step.has_value() || devices_ != nullptr || !warm_.empty() ||
      unusable_.contains(options_.first_device)) {
    return step;
  }
  return WarmPlan::Step{.start = options_.first_device};
}

std::optional<uint32_t> ExecutorPool::UsableDevice() const {
  if (devices_ == nullptr) return std::nullopt;
  for (uint32_t device = 0; device < devices_->size(); ++device) {
    if (!unusable_.contains(device)) return device;
  }
  return std::nullopt;
}

ExecutorPool::Warm ExecutorPool::TakeLeftOver() {
  Warm left;
  if (SteadyNow() < keep_until_ || keep_until_ == absl::InfinitePast()) {
    return left;
  }
  keep_until_ = absl::InfinitePast();
  while (warm_.size() > std::max(options_.warm, calls_.size())) {
    left.push_back(std::move(warm_.front()));
    warm_.pop_front();
  }
  return left;
}

ExecutorPool::Warm ExecutorPool::TakeUnwanted() {
  Warm unwanted = TakeLeftOver();
  for (auto step = NextStep(); step.has_value() && step->end.has_value();
       step = NextStep()) {
    unwanted.push_back(std::move(warm_[*step->end]));
    warm_.erase(warm_.begin() + static_cast<ptrdiff_t>(*step->end));
  }
  return unwanted;
}

void ExecutorPool::Run() {
  AddAdopted();
  while (true) {
    Warm gone;  // Destroyed outside the lock.
    absl::Status crashed;
    std::vector<uint32_t> devices;
    {
      absl::MutexLock lock(&mutex_);
      const absl::Time later = NextLook();
      // A call that takes an executor while this waits begins a quiet time,
      // whose end nothing else would tell.
      const auto due = [this, later]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        if (stopping_ || check_warm_) return true;
        if (backoff_.paused()) return false;
        return Settling() ? NextLook() != later : NextStep().has_value();
      };
      const absl::Time until = backoff_.paused() ? backoff_.retry() : later;
      mutex_.AwaitWithTimeout(absl::Condition(&due), until - SteadyNow());
      backoff_.EndPauseAt(SteadyNow());
      if (stopping_) return;
      gone = TakeDead();
      if (backoff_.TooManyLost() && !gone.empty()) {
        crashed = *gone.back().process->ended();
      }
      if (backoff_.paused()) continue;
      for (Waiting& unwanted : TakeUnwanted()) {
        gone.push_back(std::move(unwanted));
      }
      const std::optional<WarmPlan::Step> step = NextStep();
      if (!step.has_value() || Settling()) continue;
      devices = WarmPlan::MissingForCalls(
          WarmDevices(), {calls_.begin(), calls_.end()}, kMaxStarts);
      if (devices.empty()) devices.push_back(*step->start);
    }
    gone.clear();  // The device's memory first.
    crashed.ok() ? Start(devices) : SetFailed(crashed);
  }
}

void ExecutorPool::AddAdopted() {
  if (adopted_.empty()) return;
  {
    absl::MutexLock lock(&mutex_);
    keep_until_ = SteadyNow() + kKeepAdopted;
  }
  for (Waiting& one : adopted_) {
    const absl::Status ready = AwaitReady(std::move(one.process), one.device);
    if (!ready.ok()) {
      LogWarning("an executor that the daemon before has started: ",
                 ready.message());
    }
  }
  adopted_.clear();
}

ExecutorPool::Warm ExecutorPool::TakeDead() {
  Warm dead;
  if (!std::exchange(check_warm_, false)) return dead;
  for (size_t i = 0; i < warm_.size();) {
    const std::optional<absl::Status> reason = warm_[i].process->ended();
    if (!reason.has_value()) {
      ++i;
      continue;
    }
    LogWarning("waiting executor lost: ", reason->message());
    dead.push_back(std::move(warm_[i]));
    warm_.erase(warm_.begin() + static_cast<ptrdiff_t>(i));
    backoff_.NoteLost();
    ++statistics_.lost;
  }
  return dead;
}

void ExecutorPool::Start(const std::vector<uint32_t>& devices) {
  std::vector<Started> started;
  started.reserve(devices.size());
  for (const uint32_t device : devices) {
    started.push_back(options_.start(device));
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    absl::Status ready = AwaitReady(std::move(started[i]), devices[i]);
    if (!ready.ok() && !absl::IsDeadlineExceeded(ready) && TriesAgain()) {
      LogWarning("an executor did not start: ", ready.message());
      ready = AwaitReady(options_.start(devices[i]), devices[i]);
    }
    // The remaining executors end here.
    if (!ready.ok()) return SetFailed(ready);
  }
}

absl::Status ExecutorPool::AwaitReady(Started started, uint32_t device) {
  HOLDFAST_RETURN_IF_ERROR(started.status());
  HOLDFAST_ASSIGN_OR_RETURN(
      const internal::Ready ready,
      (*started)->AwaitReady(absl::Now() + options_.start_limit));
  Add({*std::move(started), device}, ready);
  return absl::OkStatus();
}

bool ExecutorPool::TriesAgain() {
  absl::MutexLock lock(&mutex_);
  if (devices_ == nullptr || stopping_) return false;
  ++statistics_.failed;
  return true;
}

void ExecutorPool::Add(Waiting executor, const internal::Ready& ready) {
  LogDebug("executor ready pid=", executor.process->pid(), " on device ",
           executor.device);
  executor.process->OnEnd([this](absl::Status) {
    absl::MutexLock lock(&mutex_);
    check_warm_ = true;
  });
  {
    absl::MutexLock lock(&mutex_);
    if (devices_ == nullptr) {
      LogInfo("executors: ", ready.confinement());
      devices_ = std::make_shared<const DeviceCatalogue>(ready);
    } else {
      devices_ = devices_->With(ready);
    }
    backoff_.NoteReady();
    ++statistics_.started;
    warm_.push_back(std::move(executor));
  }
  if (options_.on_health) options_.on_health(true);
}

void ExecutorPool::SetFailed(const absl::Status& status) {
  absl::Duration pause;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    ++statistics_.failed;
    pause = backoff_.NoteFailed(status, SteadyNow());
  }
  LogError("no executor could be started: ", status.message(), "; next try in ",
           absl::FormatDuration(pause));
  if (options_.on_health) options_.on_health(false);
}

}  // namespace holdfast::supervisor
