// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_CACHE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_CACHE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/software/jit/code_store.h"

namespace holdfast::software::jit {

// A cache of generated objects: files of this user in a folder, or the
// CodeStore of the program that loaded this library (code_store.h). A failure
// of the cache never fails a launch. Load treats an entry that is missing,
// damaged or writable by another user as a miss. Store drops an object that it
// cannot write. Several processes may share a folder. Thread-safe.
class ObjectCache {
 public:
  // Returns the process's cache, which uses the CodeStore if there is one.
  // Otherwise it uses the folder $HOLDFAST_SOFTWARE_CACHE ("off": no cache), or
  // else the folder holdfast/objects in $XDG_CACHE_HOME or ~/.cache, with at
  // most 256 MiB.
  static const ObjectCache& Default();

  // An empty `folder` means no cache. If the entries have more than `max_bytes`
  // bytes in total, Store removes the least recently used entries.
  ObjectCache(std::string folder, uint64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Uses `store`, which must outlive this object.
  explicit ObjectCache(const CodeStore* store) : max_bytes_(0), store_(store) {}

  bool enabled() const { return store_ != nullptr || !folder_.empty(); }

  // Load or store the object of `key`, which is a string of hexadecimal digits.
  // Load returns false for a miss, and removes a damaged entry. Both access
  // files and may block.
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

// Returns the SHA-256 of `bytes` as 64 hexadecimal digits.
std::string Sha256Hex(absl::string_view bytes);

// Returns the GNU build id of the library or program that contains this code,
// in hexadecimal digits; empty if it has none. Keys contain the id, so that
// versions of the driver do not share objects.
std::string BuildId();

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_CACHE_H_
