// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_cache.h"

#include "absl/status/status.h"

namespace holdfast {
namespace {

uint64_t SizeOf(const CompiledProgram& program) {
  return program.object->header.size() + program.response.ByteSizeLong();
}

}  // namespace

// Under the cache's mutex; lives as long as somebody waits for it.
struct CompileCache::Flight {
  bool done = false;
  absl::StatusOr<Outcome> outcome = absl::UnknownError("not compiled yet");
};

absl::StatusOr<CompileCache::Answer> CompileCache::Get(const std::string& key,
                                                       absl::Time deadline,
                                                       const Compile& compile) {
  std::shared_ptr<Flight> flight;
  {
    absl::MutexLock lock(&mutex_);
    if (Program program = Find(key)) return Answer{std::move(program), true};
    std::shared_ptr<Flight>& slot = flights_[key];
    if (slot != nullptr) {
      flight = slot;
      return Join(*flight, deadline);
    }
    slot = flight = std::make_shared<Flight>();
    ++statistics_.misses;
  }
  absl::StatusOr<Outcome> outcome = compile();
  absl::MutexLock lock(&mutex_);
  flights_.erase(key);
  flight->outcome = outcome;
  flight->done = true;
  if (!outcome.ok()) return outcome.status();
  if (outcome->keep) Insert(key, outcome->program);
  return Answer{std::move(outcome->program), false};
}

CompileCache::Program CompileCache::Find(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  ++statistics_.hits;
  return found->second->second;
}

absl::StatusOr<CompileCache::Answer> CompileCache::Join(const Flight& flight,
                                                        absl::Time deadline) {
  const bool done =
      mutex_.AwaitWithDeadline(absl::Condition(&flight.done), deadline);
  if (!done || !flight.outcome.ok()) {
    ++statistics_.misses;
    if (done) return flight.outcome.status();
    return absl::DeadlineExceededError(
        "the deadline passed while another request compiled the same program");
  }
  ++statistics_.hits;
  return Answer{flight.outcome->program, true};
}

void CompileCache::Insert(const std::string& key, Program program) {
  const uint64_t size = SizeOf(*program);
  if (size > max_bytes_) return;
  statistics_.bytes += size;
  ++statistics_.entries;
  order_.emplace_front(key, std::move(program));
  by_key_[key] = order_.begin();
  while (statistics_.bytes > max_bytes_ || order_.size() > max_entries_) {
    EvictLast();
  }
}

void CompileCache::EvictLast() {
  statistics_.bytes -= SizeOf(*order_.back().second);
  --statistics_.entries;
  ++statistics_.evictions;
  by_key_.erase(order_.back().first);
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

CompileCache::Statistics CompileCache::statistics() const {
  absl::MutexLock lock(&mutex_);
  return statistics_;
}

}  // namespace holdfast
