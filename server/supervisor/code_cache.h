// SPDX-License-Identifier: Apache-2.0
//
// Machine code that executors on the software device have generated, kept on
// disk for their owner's next sessions. An executor that a kernel has taken
// over may store whatever it likes, so code of one owner never reaches another
// one's executor: owner and key together name an entry, and only the
// supervisor, which knows the owner, reads and writes the files.
#ifndef HOLDFAST_SERVER_SUPERVISOR_CODE_CACHE_H_
#define HOLDFAST_SERVER_SUPERVISOR_CODE_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/compile/disk_cache.h"
#include "server/objects/object_store.h"

namespace holdfast::supervisor {

// Thread-safe.
class CodeCache {
 public:
  // The limit of one entry, 64 MiB.
  static constexpr uint64_t kMaxCodeBytes = uint64_t{64} << 20;

  // As DiskCache has them: no directory or 0 bytes keep nothing.
  CodeCache(std::string directory, uint64_t max_bytes)
      : disk_(std::move(directory), max_bytes) {}

  // nullptr: there is none. An empty owner has none. `key` is the executor's
  // name for the code: 64 hexadecimal digits; any other finds nothing.
  std::shared_ptr<const StoredObject> Load(const std::string& owner,
                                           const std::string& key);

  // Copies the bytes of `memory`, a descriptor of a process that is not
  // trusted. INVALID_ARGUMENT: it is no sealed memfd, or the key is no 64
  // hexadecimal digits. RESOURCE_EXHAUSTED: over kMaxCodeBytes. Nothing is kept
  // for an empty owner. Does nothing if no directory was given. Waits for the
  // disk.
  absl::Status Store(const std::string& owner, const std::string& key,
                     int memory);

 private:
  DiskCache disk_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_CODE_CACHE_H_
