// SPDX-License-Identifier: Apache-2.0
//
// How long a kernel runs cannot be asked; whether an event has been reached
// can. Each launch lies between two events of its stream, start and end. A
// kernel is taken to run from the look at which its start is first found
// reached, and to have ended at the look that finds its end: so it gets the
// limit in full, and up to one period more.
//
// Events are shared: if two launches follow one another in a stream, the end of
// the first is the start of the second. Only the first launch of a stream can
// be running, so that only that one is looked at. The lock is never held while
// the driver is called, hence the numbers of entries, by which a thread sees
// that another one was faster.
#include "server/executor/submission/kernel_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

// How exactly the limit is kept: a part of it, within bounds.
absl::Duration PeriodOf(absl::Duration limit) {
  return std::clamp(limit / 10, absl::Milliseconds(1), absl::Milliseconds(100));
}

// Launches that one launch looks whether they have ended, so that no more are
// remembered than the device has waiting.
constexpr int kLooksPerLaunch = 2;

// An error is told by whatever waits for the stream; here it is an end.
bool IsDone(const cuda::Event& mark) {
  const absl::StatusOr<bool> done = mark.Query();
  return !done.ok() || *done;
}

std::string Describe(const WatchedLaunch& launch) {
  const std::string names = absl::StrJoin(launch.kernels, ", ");
  if (launch.graph_exec == 0) return absl::StrCat("kernel ", names);
  return absl::StrCat("graph_exec 0x",
                      absl::Hex(launch.graph_exec, absl::kZeroPad16), " (",
                      names.empty() ? "without kernels" : names, ")");
}

}  // namespace

KernelWatch::KernelWatch(Options options) : options_(std::move(options)) {
  if (options_.exceeded) thread_ = std::thread([this] { Run(); });
}

KernelWatch::~KernelWatch() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

// Between two commands with numbers in a row the stream is given nothing else,
// or at most a piece of a transfer.
absl::StatusOr<KernelWatch::Mark> KernelWatch::MarkStart(
    const cuda::Stream& stream, uint64_t sequence) {
  {
    absl::MutexLock lock(&mutex_);
    const auto queue = queues_.find(stream.id());
    if (queue != queues_.end() && queue->second.last_sequence + 1 == sequence) {
      return queue->second.last_end;
    }
  }
  return events_->RecordEvent(stream);
}

absl::Status KernelWatch::Launch(const cuda::Stream& stream,
                                 WatchedLaunch launch,
                                 absl::FunctionRef<absl::Status()> give) {
  HOLDFAST_ASSIGN_OR_RETURN(Mark start, MarkStart(stream, launch.sequence));
  HOLDFAST_RETURN_IF_ERROR(give());
  absl::StatusOr<Mark> end = events_->RecordEvent(stream);
  if (!end.ok()) {
    LogWarning(Describe(launch), " is not watched: ", end.status().message());
    return absl::OkStatus();
  }
  {
    absl::MutexLock lock(&mutex_);
    Queue& queue = queues_[stream.id()];
    queue.last_sequence = launch.sequence;
    queue.last_end = *end;
    queue.entries.push_back({.number = ++last_number_,
                             .launch = std::move(launch),
                             .start = std::move(start),
                             .end = *std::move(end)});
    if (watched_++ == 0) Report(Clock::now());
  }
  for (int i = 0; i < kLooksPerLaunch && DropEnded(stream.id()); ++i) {
  }
  return absl::OkStatus();
}

bool KernelWatch::DropEnded(uint64_t stream) {
  uint64_t number = 0;
  Mark end;
  {
    absl::MutexLock lock(&mutex_);
    const auto queue = queues_.find(stream);
    if (queue == queues_.end() || queue->second.entries.empty()) return false;
    number = queue->second.entries.front().number;
    end = queue->second.entries.front().end;
  }
  if (!IsDone(*end)) return false;
  Entry ended;  // Destroyed without the lock.
  absl::MutexLock lock(&mutex_);
  const auto queue = queues_.find(stream);
  if (queue == queues_.end() || queue->second.entries.empty()) return false;
  std::deque<Entry>& entries = queue->second.entries;
  // Another thread may have been faster.
  if (entries.front().number != number) return true;
  ended = std::move(entries.front());
  entries.pop_front();
  if (--watched_ == 0) Report(std::nullopt);
  return true;
}

// Notes when the stream's first launch was seen to run, and returns it if that
// is longer ago than the limit.
std::optional<KernelWatch::Overrun> KernelWatch::LookAt(uint64_t stream,
                                                        Clock::time_point now) {
  uint64_t number = 0;
  Mark start;
  {
    absl::MutexLock lock(&mutex_);
    const auto queue = queues_.find(stream);
    if (queue == queues_.end() || queue->second.entries.empty()) {
      return std::nullopt;
    }
    const Entry& first = queue->second.entries.front();
    if (first.running_since.has_value()) {
      const absl::Duration ran = absl::FromChrono(now - *first.running_since);
      if (ran <= options_.limit) return std::nullopt;
      return Overrun{first.launch, ran};
    }
    number = first.number;
    start = first.start;
  }
  if (!IsDone(*start)) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  const auto queue = queues_.find(stream);
  if (queue == queues_.end() || queue->second.entries.empty()) {
    return std::nullopt;
  }
  Entry& first = queue->second.entries.front();
  if (first.number == number) first.running_since = now;
  return std::nullopt;
}

std::vector<uint64_t> KernelWatch::Streams() const {
  absl::MutexLock lock(&mutex_);
  std::vector<uint64_t> streams;
  streams.reserve(queues_.size());
  for (const auto& [id, queue] : queues_) streams.push_back(id);
  return streams;
}

void KernelWatch::EraseIfEmpty(uint64_t stream) {
  Mark last;  // Destroyed without the lock.
  absl::MutexLock lock(&mutex_);
  const auto queue = queues_.find(stream);
  if (queue == queues_.end() || !queue->second.entries.empty()) return;
  last = std::move(queue->second.last_end);
  queues_.erase(queue);
}

std::optional<KernelWatch::Overrun> KernelWatch::Look(Clock::time_point now) {
  std::optional<Overrun> longest;
  for (const uint64_t stream : Streams()) {
    while (DropEnded(stream)) {
    }
    EraseIfEmpty(stream);
    auto overrun = LookAt(stream, now);
    if (!overrun.has_value()) continue;
    if (!longest.has_value() || overrun->ran > longest->ran) {
      longest = std::move(overrun);
    }
  }
  absl::MutexLock lock(&mutex_);
  if (watched_ > 0) Report(now);
  return longest;
}

size_t KernelWatch::watched() const {
  absl::MutexLock lock(&mutex_);
  return watched_;
}

// Sleeps without a period while nothing is watched.
bool KernelWatch::AwaitNextLook() {
  absl::MutexLock lock(&mutex_);
  const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || watched_ > 0;
  };
  mutex_.Await(absl::Condition(&wake));
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                                  PeriodOf(options_.limit));
}

void KernelWatch::Run() {
  while (AwaitNextLook()) {
    const std::optional<Overrun> overrun = Look(Clock::now());
    if (overrun.has_value()) return options_.exceeded(*overrun);
  }
}

internal::Fault TimeLimitFault(const KernelWatch::Overrun& overrun,
                               absl::Duration limit,
                               const std::string& set_by) {
  const WatchedLaunch& launch = overrun.launch;
  internal::Fault fault;
  fault.set_device(launch.device);
  if (launch.kernels.size() == 1) fault.set_kernel(launch.kernels.front());
  absl::Status status = absl::DeadlineExceededError(absl::StrCat(
      Describe(launch), ", command ", launch.sequence, ", has run for ",
      absl::FormatDuration(absl::Trunc(overrun.ran, absl::Milliseconds(1))),
      "; the limit is ", absl::FormatDuration(limit), " (", set_by, ")"));
  // As CUDA's driver answers where a display's limit ends a kernel.
  SetErrorDetail({.result = CUDA_ERROR_LAUNCH_TIMEOUT,
                  .result_name = "CUDA_ERROR_LAUNCH_TIMEOUT"},
                 &status);
  *fault.mutable_error() = ToError(status);
  return fault;
}

}  // namespace holdfast::executor
