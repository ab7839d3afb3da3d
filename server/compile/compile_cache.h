// SPDX-License-Identifier: Apache-2.0
//
// What was compiled, by CompileKey. Identical requests that are in flight at
// once share one compilation.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto answer, cache.Get(key, deadline, compile));
//   if (answer.hit) ...
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_CACHE_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/compile.pb.h"
#include "server/compile/object_store.h"

namespace holdfast {

// The outcome of one compilation. Immutable.
struct CompiledProgram {
  v1::CompileResponse response;  // symbols, log, back end
  std::shared_ptr<const StoredObject> object;
};

// Bounded in bytes and in entries, each of which holds a descriptor; what was
// least recently used goes first. Thread-safe.
class CompileCache {
 public:
  using Program = std::shared_ptr<const CompiledProgram>;

  struct Outcome {
    Program program;
    bool keep = true;  // false: answers those who wait, but nobody later
  };
  using Compile = std::function<absl::StatusOr<Outcome>()>;

  struct Answer {
    Program program;
    bool hit = false;  // was there, or somebody else's compilation made it
  };

  struct Statistics {
    uint64_t entries = 0;
    uint64_t bytes = 0;  // objects, logs and symbols
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t evictions = 0;
  };

  static constexpr size_t kMaxEntries = 4096;

  // 0 bytes keep nothing; requests in flight are shared all the same.
  explicit CompileCache(uint64_t max_bytes, size_t max_entries = kMaxEntries)
      : max_bytes_(max_bytes), max_entries_(max_entries) {}

  // From the cache, else from `compile`, which is called without any lock. Its
  // error goes to all who wait for it and is not kept. DEADLINE_EXCEEDED:
  // `deadline` passed while another call compiled.
  absl::StatusOr<Answer> Get(const std::string& key, absl::Time deadline,
                             const Compile& compile);

  // Drops all entries and returns how many there were. Who holds a program
  // keeps it; what is in flight is kept when it is done.
  size_t Clear();

  Statistics statistics() const;
  uint64_t max_bytes() const { return max_bytes_; }

 private:
  struct Flight;  // one compilation, and those who wait for it
  using Order = std::list<std::pair<std::string, Program>>;

  Program Find(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Answer> Join(const Flight& flight, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Insert(const std::string& key, Program program)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t max_bytes_;
  const size_t max_entries_;
  mutable absl::Mutex mutex_;
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);
  Order order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<std::string, Order::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<Flight>> flights_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_CACHE_H_
