// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs by CompileKey, in two tiers: memory, and a disk that
// outlives the daemon. Concurrent requests with the same key share one
// compilation, or one read of the disk. Requests of different clients share a
// compilation only when it runs, not while it waits for a turn in the
// CompileQueue. A request that still waits when another client's compilation
// of the key begins to run leaves the queue and joins that compilation.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto answer, cache.Get(key, caller, compile));
//   if (answer.tier != CompileCache::Tier::kNone) ...
#ifndef HOLDFAST_SERVER_COMPILE_COMPILE_CACHE_H_
#define HOLDFAST_SERVER_COMPILE_COMPILE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/compile/compile_caller.h"
#include "server/compile/compiled_program.h"
#include "server/compile/disk_cache.h"

namespace holdfast {

// The memory tier is bounded in bytes and in entries, because each entry holds
// a descriptor. It drops the least recently used entries. Thread-safe.
class CompileCache {
 public:
  using Program = std::shared_ptr<const CompiledProgram>;

  struct Outcome {
    Program program;
    bool keep = true;  // false: answers waiting requests, but is not cached
  };
  // Compiles a program. `callers` stands for all requests that wait for the
  // key: its `gone` returns true when the result is needed by none of them. Its
  // name, owner and budget are those of the request that has begun.
  using Compile =
      std::function<absl::StatusOr<Outcome>(const CompileCaller& callers)>;

  // The place where a program was found. kNone: the request has compiled it. A
  // program that another request has compiled meanwhile counts as found in
  // memory.
  enum class Tier { kNone, kMemory, kDisk };

  struct Answer {
    Program program;
    Tier tier = Tier::kNone;
  };

  // The figures of the memory tier. A miss is a request that was found in
  // neither tier.
  struct Statistics {
    uint64_t entries = 0;
    uint64_t bytes = 0;  // objects, logs and symbols
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t evictions = 0;
  };

  struct Entry {
    std::string key;
    Program program;
    uint64_t bytes = 0;
    absl::Time used;
  };

  static constexpr size_t kMaxEntries = 4096;
  // The use of a program in memory is noted on disk at most this often.
  static constexpr absl::Duration kTouchInterval = absl::Minutes(10);

  // With 0 bytes, keeps nothing in memory, but concurrent requests still share
  // work. `disk` must outlive the cache; null: there is no second tier.
  explicit CompileCache(uint64_t max_bytes, DiskCache* disk = nullptr,
                        size_t max_entries = kMaxEntries,
                        absl::Duration touch_interval = kTouchInterval)
      : max_bytes_(max_bytes),
        max_entries_(max_entries),
        touch_interval_(touch_interval),
        disk_(disk) {}

  // Returns the program from the cache, or else from `compile`, which is called
  // without a lock. Blocks until then. An error of `compile` is returned to
  // every caller that waits for the program, and is not cached. A refusal by a
  // quota (GetQuotaExceeded) is returned only to the caller whose quota refused
  // it. CANCELLED: the caller has gone.
  absl::StatusOr<Answer> Get(const std::string& key,
                             const CompileCaller& caller,
                             const Compile& compile);

  // Returns the program from memory, without blocking. Returns nullptr if it is
  // not there, or if its use must be noted on disk, which Get does.
  Program Find(const std::string& key);

  // Drops all entries in memory and returns their number. Callers keep the
  // programs that they hold. The results of running compilations are cached
  // later.
  size_t Clear();

  // Returns the entries in memory, last used first.
  std::vector<Entry> List() const;

  Statistics statistics() const;
  uint64_t max_bytes() const { return max_bytes_; }

 private:
  struct InFlight;  // one compilation, and the callers that wait for it
  struct Kept : Entry {
    absl::Time touched;  // on disk, by SteadyNow
  };
  using Order = std::list<Kept>;

  // Tries once to answer Get. Sets `joined` if it has waited for another
  // caller's compilation. Returns nullopt if the caller must try again: the
  // compilation that it has joined waits for a turn of another client, or the
  // caller's own compilation was overtaken.
  absl::StatusOr<std::optional<Answer>> GetOnce(const std::string& key,
                                                const CompileCaller& caller,
                                                const Compile& compile,
                                                bool* joined);
  // Loads the program from disk, or compiles it, and publishes the result.
  // Returns nullopt if the flight was overtaken (see IsOvertaken).
  absl::StatusOr<std::optional<Answer>> Compute(
      const std::string& key, const CompileCaller& caller,
      const Compile& compile, const std::shared_ptr<InFlight>& flight);
  // Returns one CompileCaller for all callers that wait for the flight, which
  // `first` has begun. REQUIRES: all three arguments outlive the result.
  CompileCaller CallersOf(const CompileCaller& first, const std::string& key,
                          const std::shared_ptr<InFlight>& flight);
  // If no caller has joined the flight, removes it, so that no caller can join
  // it any more, and returns true.
  bool Abandon(const std::string& key, const std::shared_ptr<InFlight>& flight);
  // Notes the flight's stage. A flight that runs replaces a flight of the key
  // that still waits, so that later callers join the running flight.
  void Note(const std::string& key, const std::shared_ptr<InFlight>& flight,
            const CompileStage& stage);
  // Returns true if the flight waits for a turn that it does not need any more:
  // the program is in memory, or another flight of the key runs.
  bool IsOvertaken(const std::string& key,
                   const std::shared_ptr<InFlight>& flight);
  Outcome LoadFromDisk(const std::string& key);  // its program may be nullptr
  // Keeps a success and wakes the callers that wait.
  void Publish(const std::string& key, const absl::StatusOr<Outcome>& outcome,
               Tier tier, const std::shared_ptr<InFlight>& flight);
  bool TouchIsDue(const Kept& kept) const;
  Program Use(Order::iterator kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for another caller's flight. Returns as GetOnce.
  absl::StatusOr<std::optional<Answer>> Join(InFlight& flight,
                                             const CompileCaller& caller);
  void Insert(const std::string& key, Program program)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t max_bytes_;
  const size_t max_entries_;
  const absl::Duration touch_interval_;
  DiskCache* const disk_;
  mutable absl::Mutex mutex_;
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);
  Order order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<std::string, Order::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<InFlight>> in_flight_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILE_CACHE_H_
