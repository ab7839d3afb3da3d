// SPDX-License-Identifier: Apache-2.0
#include "server/executor/imports/semaphore_waits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::executor {
namespace {

// Waits that are kept before one more looks for those that are over.
constexpr size_t kLookFrom = 64;

}  // namespace

// A device that has failed answers every question with its error: its waits are
// over, too.
void SemaphoreWaits::RemovePassed() {
  const auto passed = [](const Wait& wait) {
    const absl::StatusOr<bool> done = wait.passed->Query();
    return !done.ok() || *done;
  };
  waits_.erase(std::remove_if(waits_.begin(), waits_.end(), passed),
               waits_.end());
}

absl::Status SemaphoreWaits::CheckRoom() {
  absl::MutexLock lock(&mutex_);
  if (waits_.size() < kMaxPending) return absl::OkStatus();
  RemovePassed();
  if (waits_.size() < kMaxPending) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      waits_.size(), " waits for semaphores are pending, which is the limit"));
}

void SemaphoreWaits::Add(uint64_t semaphore, uint64_t stream, uint64_t value,
                         std::shared_ptr<const cuda::Event> passed) {
  absl::MutexLock lock(&mutex_);
  if (waits_.size() % kLookFrom == kLookFrom - 1) RemovePassed();
  waits_.push_back({semaphore, stream, value, std::move(passed)});
}

bool SemaphoreWaits::AnyPending() {
  absl::MutexLock lock(&mutex_);
  RemovePassed();
  return !waits_.empty();
}

void SemaphoreWaits::Report(v1::SessionUsage* usage) {
  absl::MutexLock lock(&mutex_);
  RemovePassed();
  for (const Wait& wait : waits_) {
    if (usage->waits_size() == kMaxReported) return;
    v1::SemaphoreWait& report = *usage->add_waits();
    report.set_semaphore(wait.semaphore);
    report.set_stream(wait.stream);
    report.set_value(wait.value);
  }
}

}  // namespace holdfast::executor
