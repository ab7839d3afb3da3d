// SPDX-License-Identifier: Apache-2.0
//
// The compile cache's second tier: a directory of program files, which outlives
// the daemon and may be shared by several. No error fails a compilation: an
// unreadable entry is a miss, and an entry that cannot be written is not kept.
//
// An entry is written to a temporary file, which is then renamed, so that the
// entry is complete even if a daemon is killed. A damaged entry is removed when
// it is found.
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

// Keys are CompileKeys. The least recently used entries are removed first.
// Thread-safe.
class DiskCache {
 public:
  // The most entries that a call of List reads, because each is a file to open.
  static constexpr size_t kMaxExamined = 10000;

  struct Statistics {
    // The entries that are in the directory now, from all daemons.
    uint64_t entries = 0;
    uint64_t bytes = 0;  // with each file rounded up to whole blocks
    // This daemon's counts since its start.
    uint64_t hits = 0;
    uint64_t evictions = 0;
    uint64_t damaged = 0;   // damaged entries that were removed
    uint64_t not_kept = 0;  // entries that could not be written
    std::string problem;    // the last write's error; empty: it succeeded
  };

  struct Entry {
    std::string key;
    uint64_t bytes = 0;  // of the file
    absl::Time used;     // the last use
    std::string name;    // as in CompiledProgram
    std::string owner;
    v1::CompileResponse response;  // without kernels
  };

  // The first Store makes the directory and its missing parents. The directory
  // must belong to this user, and no other user may write to it. Files in it
  // that are not entries are not touched. With 0 bytes, keeps nothing.
  DiskCache(std::string directory, uint64_t max_bytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}

  bool enabled() const { return max_bytes_ > 0 && !directory_.empty(); }
  const std::string& directory() const { return directory_; }
  uint64_t max_bytes() const { return max_bytes_; }

  // Returns an entry, and marks it as used. nullptr: the entry is missing,
  // unreadable, or not trusted.
  std::shared_ptr<const CompiledProgram> Load(const std::string& key);

  // Stores an entry, after making room for it. Does not store an entry that is
  // larger than the bound. A failure is logged and counted, and becomes
  // Statistics::problem. A daemon sees the entries of other daemons only from
  // time to time, so each daemon of a shared directory may exceed the bound by
  // a sixteenth.
  void Store(const std::string& key, const CompiledProgram& program);

  // Marks an entry as used, because its copy in memory was used.
  void Touch(const std::string& key);

  // Removes all entries, also those of other daemons. Returns their number.
  size_t Clear();

  // Returns at most `max` entries, last used first, and only entries of `owner`
  // if it is given. Reads only the kMaxExamined entries that were last used.
  std::vector<Entry> List(
      size_t max, std::optional<absl::string_view> owner = std::nullopt) const;

  // Reads the directory.
  Statistics statistics() const;

 private:
  std::string PathOf(const std::string& key) const;
  // Lists the files, and removes the temporary files of killed writers.
  std::vector<CacheFile> Scan() const;
  // If `bytes` more would exceed the bound, removes the least recently used
  // entries until the larger of `bytes` and a sixteenth of the bound is free.
  void MakeRoom(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(const std::string& key, const CompiledProgram& program)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets problem_ to the error, or clears it if the status is OK. Logs when a
  // problem begins or ends.
  void SetProblem(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string directory_;
  const uint64_t max_bytes_;
  std::atomic<uint64_t> hits_ = 0;
  std::atomic<uint64_t> damaged_ = 0;

  mutable absl::Mutex mutex_;  // held by Store and Clear
  bool scanned_ ABSL_GUARDED_BY(mutex_) = false;
  // An upper bound of the stored bytes, without the entries that other daemons
  // have added since the last scan.
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The bytes that this daemon has stored since the last scan.
  uint64_t added_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t not_kept_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string problem_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_DISK_CACHE_H_
