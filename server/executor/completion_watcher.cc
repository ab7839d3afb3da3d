// SPDX-License-Identifier: Apache-2.0
#include "server/executor/completion_watcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {
namespace {

// A pass over all events without success is followed by a pause: none at first,
// since most waits are short, and then longer ones.
constexpr int kEagerPasses = 200;
constexpr absl::Duration kFirstPause = absl::Microseconds(20);
constexpr absl::Duration kLongestPause = absl::Milliseconds(1);

}  // namespace

absl::StatusOr<std::shared_ptr<const cuda::Event>> Mark(
    const cuda::Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(auto event,
                            cuda::Event::Create(stream.shared_context(), {}));
  HOLDFAST_RETURN_IF_ERROR(event->Record(stream));
  return std::shared_ptr<const cuda::Event>(std::move(event));
}

CompletionWatcher::CompletionWatcher() : thread_([this] { Run(); }) {}

CompletionWatcher::~CompletionWatcher() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void CompletionWatcher::Watch(Events events, Callback callback) {
  absl::MutexLock lock(&mutex_);
  added_.push_back({std::move(events), std::move(callback)});
}

absl::Status CompletionWatcher::Watch(const cuda::Stream& stream,
                                      Callback callback) {
  HOLDFAST_ASSIGN_OR_RETURN(auto event, Mark(stream));
  Watch({std::move(event)}, std::move(callback));
  return absl::OkStatus();
}

std::vector<std::pair<CompletionWatcher::Callback, absl::Status>>
CompletionWatcher::Poll(std::vector<Entry>& entries) {
  std::vector<std::pair<Callback, absl::Status>> done;
  auto finished = [&done](Entry& entry) {
    absl::Status status;
    while (!entry.events.empty()) {
      const absl::StatusOr<bool> complete = entry.events.back()->Query();
      if (complete.ok() && !*complete) return false;
      if (!complete.ok()) {
        status = complete.status();
        break;
      }
      entry.events.pop_back();
    }
    done.emplace_back(std::move(entry.callback), status);
    return true;
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), finished),
                entries.end());
  return done;
}

void CompletionWatcher::Run() {
  std::vector<Entry> entries;
  int idle_passes = 0;
  absl::Duration pause = kFirstPause;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !added_.empty();
      };
      if (entries.empty()) {
        mutex_.Await(absl::Condition(&wake));
      } else if (idle_passes > kEagerPasses) {
        mutex_.AwaitWithTimeout(absl::Condition(&wake), pause);
        pause = std::min(2 * pause, kLongestPause);
      }
      if (!added_.empty()) idle_passes = 0;
      std::move(added_.begin(), added_.end(), std::back_inserter(entries));
      added_.clear();
      if (stopping_) break;
    }
    const auto done = Poll(entries);
    for (const auto& [callback, status] : done) callback(status);
    ++idle_passes;
    if (!done.empty()) {
      idle_passes = 0;
      pause = kFirstPause;
    }
  }
  for (const Entry& entry : entries) {
    entry.callback(absl::CancelledError("the session is being closed"));
  }
}

}  // namespace holdfast::executor
