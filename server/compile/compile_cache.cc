// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_cache.h"

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "core/base/quota_exceeded.h"
#include "core/base/steady_time.h"

namespace holdfast {
namespace {

uint64_t SizeOf(const CompiledProgram& program) {
  return program.object->header.size() + program.response.ByteSizeLong();
}

}  // namespace

bool CompileCache::TouchIsDue(const Kept& kept) const {
  return kept.touched + touch_interval_ <= SteadyNow();
}

// Lives as long as somebody waits for it.
struct CompileCache::InFlight {
  explicit InFlight(const std::string& client) : name(client) {}

  const std::string name;  // of the client that began it, and takes the turn
  // Under the cache's mutex.
  size_t joined = 0;  // who wait beside the one who began it
  CompileStage stage;
  bool runs = false;  // a worker compiles it
  // True if it has ended because another flight made the program, or began to
  // make it, while it waited for a turn. Its callers try again.
  bool overtaken = false;

  // Waiting threads hold this as readers, so that all are woken at once; one
  // after the other, each would have to wake the next.
  absl::Mutex mutex;
  bool done ABSL_GUARDED_BY(mutex) = false;
  // Not changed any more once it is done.
  absl::StatusOr<Outcome> outcome = absl::UnknownError("not compiled yet");

  // False while it waits for a turn of another client. A client with a long
  // line of its own would otherwise have others wait in that line. Under the
  // cache's mutex.
  bool Helps(const CompileCaller& caller) const {
    return stage.queue_position == 0 || name == caller.name;
  }

  bool AwaitDone() {
    absl::ReaderMutexLock lock(&mutex);
    return mutex.AwaitWithTimeout(absl::Condition(&done), kCallerInterval);
  }
};

// A flight that its first caller's quota has refused says nothing of the others
// who wait for it. Each of them tries again, with its own.
absl::StatusOr<CompileCache::Answer> CompileCache::Get(
    const std::string& key, const CompileCaller& caller,
    const Compile& compile) {
  while (true) {
    bool joined = false;
    absl::StatusOr<std::optional<Answer>> answer =
        GetOnce(key, caller, compile, &joined);
    if (joined && GetQuotaExceeded(answer.status()).has_value()) continue;
    if (!answer.ok()) return answer.status();
    if (answer->has_value()) return **std::move(answer);
  }
}

absl::StatusOr<std::optional<CompileCache::Answer>> CompileCache::GetOnce(
    const std::string& key, const CompileCaller& caller, const Compile& compile,
    bool* joined) {
  std::shared_ptr<InFlight> flight;
  Program found;
  {
    absl::MutexLock lock(&mutex_);
    if (const auto kept = by_key_.find(key); kept != by_key_.end()) {
      found = Use(kept->second);
      if (!TouchIsDue(*kept->second)) {
        return Answer{std::move(found), Tier::kMemory};
      }
      kept->second->touched = SteadyNow();
    } else if (const auto begun = in_flight_.find(key);
               begun != in_flight_.end() && begun->second->Helps(caller)) {
      flight = begun->second;
      *joined = true;
      ++flight->joined;
    } else {
      flight = in_flight_[key] = std::make_shared<InFlight>(caller.name);
    }
  }
  if (*joined) return Join(*flight, caller);
  if (found == nullptr) return Compute(key, caller, compile, flight);
  if (disk_ != nullptr) disk_->Touch(key);
  return Answer{std::move(found), Tier::kMemory};
}

absl::StatusOr<std::optional<CompileCache::Answer>> CompileCache::Compute(
    const std::string& key, const CompileCaller& caller, const Compile& compile,
    const std::shared_ptr<InFlight>& flight) {
  Tier tier = Tier::kDisk;
  absl::StatusOr<Outcome> outcome = LoadFromDisk(key);
  if (outcome->program == nullptr) {
    tier = Tier::kNone;
    outcome = compile(CallersOf(caller, key, flight));
  }
  Publish(key, outcome, tier, flight);
  if (flight->overtaken) return std::nullopt;
  if (!outcome.ok()) return outcome.status();
  // Those who wait have been answered.
  if (tier == Tier::kNone && outcome->keep && disk_ != nullptr) {
    disk_->Store(key, *outcome->program);
  }
  return Answer{std::move(outcome->program), tier};
}

CompileCache::Outcome CompileCache::LoadFromDisk(const std::string& key) {
  return {disk_ == nullptr ? nullptr : disk_->Load(key)};
}

void CompileCache::Publish(const std::string& key,
                           const absl::StatusOr<Outcome>& outcome, Tier tier,
                           const std::shared_ptr<InFlight>& flight) {
  {
    absl::MutexLock lock(&mutex_);
    // One that was abandoned, or that another client did not wait for, may
    // have a successor.
    const auto begun = in_flight_.find(key);
    if (begun != in_flight_.end() && begun->second == flight) {
      in_flight_.erase(begun);
    }
    flight->overtaken = flight->overtaken && !outcome.ok();
    if (tier == Tier::kNone && !flight->overtaken) ++statistics_.misses;
    if (outcome.ok() && outcome->keep) Insert(key, outcome->program);
  }
  absl::MutexLock lock(&flight->mutex);
  flight->outcome = outcome;
  flight->done = true;
}

CompileCache::Program CompileCache::Find(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || TouchIsDue(*found->second)) return nullptr;
  return Use(found->second);
}

CompileCache::Program CompileCache::Use(Order::iterator kept) {
  order_.splice(order_.begin(), order_, kept);
  ++statistics_.hits;
  kept->used = absl::Now();
  return kept->program;
}

CompileCaller CompileCache::CallersOf(const CompileCaller& first,
                                      const std::string& key,
                                      const std::shared_ptr<InFlight>& flight) {
  CompileCaller callers;
  callers.name = first.name;
  callers.owner = first.owner;
  callers.budget = first.budget;
  callers.gone = [this, &first, &key, &flight] {
    return (first.gone() && Abandon(key, flight)) || IsOvertaken(key, flight);
  };
  callers.report = [this, &first, &key, &flight](const CompileStage& stage) {
    Note(key, flight, stage);
    first.report(stage);
  };
  return callers;
}

// If nobody waits for it, nobody can join it any more.
bool CompileCache::Abandon(const std::string& key,
                           const std::shared_ptr<InFlight>& flight) {
  absl::MutexLock lock(&mutex_);
  if (flight->joined > 0) return false;
  const auto begun = in_flight_.find(key);
  if (begun != in_flight_.end() && begun->second == flight)
    in_flight_.erase(begun);
  return true;
}

void CompileCache::Note(const std::string& key,
                        const std::shared_ptr<InFlight>& flight,
                        const CompileStage& stage) {
  absl::MutexLock lock(&mutex_);
  flight->stage = stage;
  flight->runs = stage.queue_position == 0;
  if (!flight->runs) return;
  flight->overtaken = false;  // It got its turn before it left the queue.
  // Others join it rather than a flight that still waits, or than none: a
  // flight that replaced it may have been abandoned.
  std::shared_ptr<InFlight>& begun = in_flight_[key];
  if (begun == nullptr || !begun->runs) begun = flight;
}

bool CompileCache::IsOvertaken(const std::string& key,
                               const std::shared_ptr<InFlight>& flight) {
  absl::MutexLock lock(&mutex_);
  if (flight->stage.queue_position == 0) return false;
  const auto begun = in_flight_.find(key);
  flight->overtaken = by_key_.contains(key) ||
                      (begun != in_flight_.end() && begun->second->runs);
  return flight->overtaken;
}

absl::StatusOr<std::optional<CompileCache::Answer>> CompileCache::Join(
    InFlight& flight, const CompileCaller& caller) {
  while (!flight.AwaitDone()) {
    const bool gone = caller.gone();
    CompileStage stage;
    {
      absl::MutexLock lock(&mutex_);
      if (gone) {
        --flight.joined;
        ++statistics_.misses;
        return absl::CancelledError("the caller has gone");
      }
      if (!flight.Helps(caller)) {
        --flight.joined;
        return std::nullopt;
      }
      stage = flight.stage;
    }
    caller.report(stage);
  }
  absl::MutexLock lock(&mutex_);
  if (flight.overtaken) return std::nullopt;
  if (!flight.outcome.ok()) {
    ++statistics_.misses;
    return flight.outcome.status();
  }
  ++statistics_.hits;
  return Answer{flight.outcome->program, Tier::kMemory};
}

void CompileCache::Insert(const std::string& key, Program program) {
  const uint64_t size = SizeOf(*program);
  // The first of two clients that have made it at once has put it there.
  if (size > max_bytes_ || by_key_.contains(key)) return;
  statistics_.bytes += size;
  ++statistics_.entries;
  order_.push_front(
      {{key, std::move(program), size, absl::Now()}, SteadyNow()});
  by_key_[key] = order_.begin();
  while (statistics_.bytes > max_bytes_ || order_.size() > max_entries_) {
    EvictLast();
  }
}

void CompileCache::EvictLast() {
  statistics_.bytes -= order_.back().bytes;
  --statistics_.entries;
  ++statistics_.evictions;
  by_key_.erase(order_.back().key);
  order_.pop_back();
}

size_t CompileCache::Clear() {
  Order dropped;  // freed after the lock
  absl::MutexLock lock(&mutex_);
  dropped.swap(order_);
  by_key_.clear();
  statistics_.entries = statistics_.bytes = 0;
  return dropped.size();
}

std::vector<CompileCache::Entry> CompileCache::List() const {
  absl::MutexLock lock(&mutex_);
  return {order_.begin(), order_.end()};
}

CompileCache::Statistics CompileCache::statistics() const {
  absl::MutexLock lock(&mutex_);
  return statistics_;
}

}  // namespace holdfast
