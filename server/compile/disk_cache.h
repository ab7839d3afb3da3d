// SPDX-License-Identifier: Apache-2.0
//
// The compile cache's second tier: a directory of program files, which outlives
// the daemon and may be shared by several. Nothing here ever fails a compile:
// what cannot be read is a miss, what cannot be written is not kept.
//
// An entry appears whole, by rename, or not at all, whenever a daemon is
// killed; one that was damaged since is removed when it is found so.
#ifndef HOLDFAST_SERVER_COMPILE_DISK_CACHE_H_
#define HOLDFAST_SERVER_COMPILE_DISK_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/cache_directory.h"
#include "server/compile/compiled_program.h"

namespace holdfast {

// Keys are CompileKeys. The least recently used entry goes first. Thread-safe.
class DiskCache {
 public:
  // Entries whose heads one List reads, each of which is a file to open.
  static constexpr size_t kMaxExamined = 10000;

  struct Statistics {
    uint64_t entries = 0;  // in the directory now, whoever made them
    uint64_t bytes = 0;    // of whole blocks
    uint64_t hits = 0;     // the rest: of this daemon
    uint64_t evictions = 0;
    uint64_t damaged = 0;   // found, and removed
    uint64_t not_kept = 0;  // could not be written
    std::string problem;    // of the last that could not; empty if none
  };

  struct Entry {
    std::string key;
    uint64_t bytes = 0;
    absl::Time used;
    std::string name;
    std::string owner;
    v1::CompileResponse response;
  };

  // The directory, and those above it, are made when there is something to
  // keep. It must belong to this user, and nobody else may write to it. Other
  // files in it are left alone. 0 bytes: a cache that keeps nothing.
  DiskCache(std::string directory, uint64_t max_bytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}

  bool enabled() const { return max_bytes_ > 0 && !directory_.empty(); }
  const std::string& directory() const { return directory_; }
  uint64_t max_bytes() const { return max_bytes_; }

  // nullptr: not there, not readable, or not trusted. Marks the entry as used.
  std::shared_ptr<const CompiledProgram> Load(const std::string& key);

  // Makes room first; an entry that alone is over the bound is not kept. A
  // daemon that shares the directory sees what others have added only now and
  // then, so several of them may exceed the bound by a sixteenth each.
  void Store(const std::string& key, const CompiledProgram& program);

  // It was used just now, if not from here.
  void Touch(const std::string& key);

  // Removes all entries, whichever daemon made them; returns how many there
  // were.
  size_t Clear();

  // The `max` that were used last, the latest first; of one owner alone, if it
  // is given. Only the kMaxExamined latest of all are looked at.
  std::vector<Entry> List(
      size_t max, std::optional<absl::string_view> owner = std::nullopt) const;

  // Reads the directory.
  Statistics statistics() const;

 private:
  std::string PathOf(const std::string& key) const;
  // Also removes what writers left that were killed.
  std::vector<CacheFile> Scan() const;
  // If `bytes` more would exceed the bound, removes the least recently used
  // entries until a sixteenth of it is free, or room for `bytes`.
  void MakeRoom(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(const std::string& key, const CompiledProgram& program)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK: there is none any more. Logs the change.
  void SetProblem(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string directory_;
  const uint64_t max_bytes_;
  std::atomic<uint64_t> hits_ = 0;
  std::atomic<uint64_t> damaged_ = 0;

  mutable absl::Mutex mutex_;  // of all that writes
  bool scanned_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // at most, but for others'
  uint64_t added_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes, since the last scan
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t not_kept_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string problem_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_DISK_CACHE_H_
