// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_CACHE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_CACHE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/software/jit/code_store.h"

namespace holdfast::software::jit {

// Generated objects on disk, one file each, for this user alone; or kept by the
// program that loaded this library (code_store.h). Nothing here ever fails a
// launch: an entry that is missing, damaged or not ours is a miss, and what
// cannot be written is not kept. Several processes may share a folder; all
// methods are thread-safe.
class ObjectCache {
 public:
  // The CodeStore if one is set; else the folder of $HOLDFAST_SOFTWARE_CACHE
  // ("off": none), or holdfast/objects in $XDG_CACHE_HOME or ~/.cache.
  static const ObjectCache& Default();

  // An empty folder name: no cache. Entries that were not used for the longest
  // time go when all are larger than `max_bytes`.
  ObjectCache(std::string folder, uint64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Kept by a program, which must outlive it.
  explicit ObjectCache(const CodeStore* store) : max_bytes_(0), store_(store) {}

  bool enabled() const { return store_ != nullptr || !folder_.empty(); }

  // `key` is a file name: hexadecimal digits. A damaged entry is removed.
  bool Load(const std::string& key, std::string* object) const;
  void Store(const std::string& key, absl::string_view object) const;

 private:
  std::string PathOf(const std::string& key) const;
  bool PrepareFolder() const;
  void Evict() const;

  const std::string folder_;
  const uint64_t max_bytes_;
  const CodeStore* const store_ = nullptr;
};

// 64 hexadecimal digits.
std::string Sha256Hex(absl::string_view bytes);

// The GNU build id of the library or program that holds this code, so that no
// other version's objects are taken; empty if it has none.
std::string BuildId();

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_CACHE_H_
