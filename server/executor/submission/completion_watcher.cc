// SPDX-License-Identifier: Apache-2.0
//
// Looks at events in turns, on a thread of its own. How eagerly depends: all
// the time in the first 2 ms after something was added or has completed, with
// pauses that grow with the wait from then on, and rarely for work that nobody
// waits for.
#include "server/executor/submission/completion_watcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "core/base/spin.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"

namespace holdfast::executor {
namespace {

// A device that is not done within this time is looked at again after pauses.
constexpr absl::Duration kEagerTime = absl::Milliseconds(2);

// So long a thread looks itself. A kernel that does nothing takes 5 us.
constexpr absl::Duration kCloseTime = absl::Microseconds(20);

// Work that nobody waits for is looked at so often at most.
constexpr absl::Duration kIdlePause = absl::Microseconds(200);

absl::Duration PauseAfter(absl::Duration waited) {
  return absl::FromChrono(NapAfter(absl::ToChronoNanoseconds(waited)));
}

}  // namespace

template <typename Mark>
std::optional<absl::Status> CompletionWatcher::EndOf(const Mark& mark) const {
  const absl::StatusOr<bool> complete = mark.Query();
  if (!complete.ok()) return complete.status();
  if (!*complete) return std::nullopt;
  // The driver writes the output of kernels when their end is waited for; that
  // it is there does not imply it (CUDA 13, on an H200).
  return output_expected_ ? mark.Synchronize() : absl::OkStatus();
}

CompletionWatcher::CompletionWatcher(std::function<void()> hand_on_output)
    : hand_on_output_(hand_on_output ? std::move(hand_on_output) : [] {}),
      thread_([this] { Run(); }) {}

CompletionWatcher::~CompletionWatcher() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    ++changes_;
  }
  thread_.join();
}

std::optional<absl::Status> CompletionWatcher::Outcome(Events& events) const {
  while (!events.empty()) {
    const std::optional<absl::Status> outcome = EndOf(*events.back());
    if (!outcome || !outcome->ok()) return outcome;
    events.pop_back();
  }
  return absl::OkStatus();
}

void CompletionWatcher::Add(Entry entry) {
  absl::MutexLock lock(&mutex_);
  added_.push_back(std::move(entry));
  ++changes_;
}

void CompletionWatcher::Watch(Events events, Callback callback) {
  // Often it is done already: then nobody has to be woken.
  const bool waits = !events.empty();
  if (const auto outcome = Outcome(events)) {
    if (waits) HandOnOutput();
    return callback(*outcome);
  }
  Add({std::move(events), std::move(callback)});
}

template <typename Look>
std::optional<absl::Status> CompletionWatcher::LookUntil(
    const Look& look, const std::function<bool()>& idle) {
  const absl::Time deadline = SteadyNow() + kCloseTime;
  do {
    if (std::optional<absl::Status> outcome = look()) return outcome;
  } while (MaySpin() && idle() && SteadyNow() < deadline);
  return std::nullopt;
}

void CompletionWatcher::WatchClosely(Events events, Callback callback,
                                     const std::function<bool()>& idle) {
  const bool waits = !events.empty();
  const auto outcome = LookUntil([&] { return Outcome(events); }, idle);
  if (!outcome) return Add({std::move(events), std::move(callback)});
  if (waits) HandOnOutput();
  callback(*outcome);
}

std::optional<absl::Status> CompletionWatcher::LookClosely(
    const cuda::Stream& stream, const std::function<bool()>& idle) {
  auto outcome = LookUntil([&] { return EndOf(stream); }, idle);
  if (outcome) HandOnOutput();
  return outcome;
}

void CompletionWatcher::WatchIdly(Events events, Callback callback) {
  if (const auto outcome = Outcome(events)) return callback(*outcome);
  Add({std::move(events), std::move(callback), /*idle=*/true});
}

absl::Status CompletionWatcher::Watch(const cuda::Stream& stream,
                                      Callback callback) {
  HOLDFAST_ASSIGN_OR_RETURN(auto event, RecordEvent(stream));
  Watch({std::move(event)}, std::move(callback));
  return absl::OkStatus();
}

bool CompletionWatcher::AnyAwaited(const std::vector<Entry>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return !entry.idle; });
}

// Callbacks run once all entries were looked at, and those that are done are no
// longer among them.
bool CompletionWatcher::Poll(std::vector<Entry>& entries) {
  std::vector<std::pair<Callback, absl::Status>> done;
  auto finished = [this, &done](Entry& entry) {
    const auto outcome = Outcome(entry.events);
    if (outcome) done.emplace_back(std::move(entry.callback), *outcome);
    return outcome.has_value();
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), finished),
                entries.end());
  if (done.empty()) return false;
  HandOnOutput();
  for (const auto& [callback, status] : done) callback(status);
  return true;
}

bool CompletionWatcher::TakeAdded(std::vector<Entry>& entries) {
  if (entries.empty()) {
    const uint32_t seen = changes_;
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return false;
      if (!added_.empty()) {
        entries.swap(added_);
        return true;
      }
    }
    SpinThenSleep([&] { return changes_ != seen; });
  }
  absl::MutexLock lock(&mutex_);
  const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !added_.empty();
  };
  if (entries.empty()) mutex_.Await(absl::Condition(&wake));
  std::move(added_.begin(), added_.end(), std::back_inserter(entries));
  added_.clear();
  return !stopping_;
}

void CompletionWatcher::Pause(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !added_.empty();
  };
  mutex_.AwaitWithTimeout(absl::Condition(&wake), duration);
}

void CompletionWatcher::Run() {
  const PreciseSleep precise;
  std::vector<Entry> entries;
  absl::Time last_change = SteadyNow();
  absl::Time last_awaited = absl::InfinitePast();
  while (true) {
    const size_t before = entries.size();
    if (!TakeAdded(entries)) break;
    if (entries.size() > before) last_change = SteadyNow();
    const bool awaited = AnyAwaited(entries);
    const bool progress = Poll(entries);
    if (entries.empty()) continue;
    const absl::Time now = SteadyNow();
    if (progress) last_change = now;
    if (awaited) last_awaited = now;
    const absl::Duration waited = now - last_change;
    if (!AnyAwaited(entries)) {
      // The client may be about to wait.
      if (!MaySpin() || now - last_awaited > kIdlePause) {
        Pause(std::max(kIdlePause, PauseAfter(waited)));
      }
    } else if (waited < kEagerTime) {
      // Where there are few processors, the device itself may need this one.
      if (!MaySpin()) std::this_thread::yield();
    } else {
      Pause(PauseAfter(waited));
    }
  }
  for (const Entry& entry : entries) {
    entry.callback(absl::CancelledError("the session is being closed"));
  }
}

}  // namespace holdfast::executor
