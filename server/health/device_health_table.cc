// SPDX-License-Identifier: Apache-2.0
#include "server/health/device_health_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/log.h"

namespace holdfast {
namespace {

using Health = v1::DeviceHealth;

void Set(absl::Time time, google::protobuf::Timestamp* proto) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  proto->set_seconds(seconds);
  proto->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

void Set(absl::Duration duration, google::protobuf::Duration* proto) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  proto->set_seconds(seconds);
  proto->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(duration - absl::Seconds(seconds))));
}

}  // namespace

void DeviceHealthTable::SetState(Health::State state, Health* health) const {
  if (health->state() == state) return;
  health->set_state(state);
  Set(absl::Now(), health->mutable_since());
}

void DeviceHealthTable::Add(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  const auto [entry, added] = devices_.try_emplace(device);
  if (!added) return;
  entry->second.due = options_.now();
  entry->second.pause = options_.first_pause;
  SetState(Health::STATE_PROBING, &entry->second.health);
}

void DeviceHealthTable::NoteFault(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return;
  Entry& entry = found->second;
  entry.faulted = true;
  entry.health.set_faults(entry.health.faults() + 1);
  // In quarantine it is probed anyway.
  if (entry.running || entry.health.state() != Health::STATE_READY) return;
  entry.due =
      std::min(entry.due, std::max(options_.now() + options_.fault_delay,
                                   entry.began + options_.fault_pause));
  ++changes_;
}

Health DeviceHealthTable::Get(uint32_t device) const {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(device);
  return found == devices_.end() ? Health() : found->second.health;
}

absl::Time DeviceHealthTable::due(uint32_t device) const {
  absl::MutexLock lock(&mutex_);
  return devices_.at(device).due;
}

bool DeviceHealthTable::AwaitDue(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  Entry& entry = devices_.at(device);
  while (!stopped_ && entry.due > options_.now()) {
    const uint64_t seen = changes_;
    const auto changed = [this, seen]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return stopped_ || changes_ != seen;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&changed),
                            entry.due - options_.now());
  }
  if (stopped_) return false;
  if (std::exchange(entry.faulted, false) &&
      entry.health.state() == Health::STATE_READY) {
    SetState(Health::STATE_PROBING, &entry.health);
  }
  entry.began = options_.now();
  entry.shown_began = absl::Now();
  entry.running = true;
  return true;
}

absl::Time DeviceHealthTable::NextProbe(Entry& entry, bool passed) const {
  const absl::Time now = options_.now();
  if (!passed) {
    const absl::Duration pause = entry.pause;
    entry.pause = std::min(entry.pause * 2, options_.longest_pause);
    return now + pause;
  }
  entry.pause = options_.first_pause;
  if (entry.faulted) return std::max(now, entry.began + options_.fault_pause);
  return options_.interval > absl::ZeroDuration() ? now + options_.interval
                                                  : absl::InfiniteFuture();
}

void DeviceHealthTable::Record(uint32_t device, const absl::Status& outcome,
                               absl::Duration took) {
  const bool passed = outcome.ok();
  Health::State before;
  absl::Duration pause;
  {
    absl::MutexLock lock(&mutex_);
    Entry& entry = devices_.at(device);
    Health& health = entry.health;
    before = health.state();
    entry.running = false;
    entry.due = NextProbe(entry, passed);
    pause = entry.due - options_.now();
    SetState(passed ? Health::STATE_READY : Health::STATE_QUARANTINED, &health);
    health.set_reason(std::string(outcome.message()));
    Set(entry.shown_began, health.mutable_last_probe());
    Set(took, health.mutable_last_probe_took());
    health.set_probes(health.probes() + 1);
    if (!passed) health.set_failed_probes(health.failed_probes() + 1);
  }
  if (!passed) {
    LogError("device ", device, " is quarantined: ", outcome.message(),
             "; it is probed again in ",
             absl::FormatDuration(absl::Ceil(pause, absl::Milliseconds(1))));
  } else if (before != Health::STATE_READY) {
    LogInfo("device ", device, " is ready: a kernel ran in a fresh context ",
            "within ",
            absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))));
  }
  if (options_.on_change) options_.on_change(device, passed);
}

void DeviceHealthTable::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

bool DeviceHealthTable::stopped() const {
  absl::MutexLock lock(&mutex_);
  return stopped_;
}

}  // namespace holdfast
