// SPDX-License-Identifier: Apache-2.0
//
// Machine code that executors on the software device have generated, kept on
// disk for their owner's next sessions. Hostile kernels may control their
// executor and store any bytes, so an owner's code never reaches an executor of
// another owner. Owner and key together name an entry. Only the supervisor
// reads and writes the files, because it knows the owner of each executor.
#ifndef HOLDFAST_SERVER_SUPERVISOR_CODE_CACHE_H_
#define HOLDFAST_SERVER_SUPERVISOR_CODE_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

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

  // The arguments are those of DiskCache. Without a directory, or with 0 bytes,
  // the cache stores nothing.
  CodeCache(std::string directory, uint64_t max_bytes)
      : disk_(std::move(directory), max_bytes) {}

  // Returns the code; null if there is none, or if `owner` is empty. `key` is
  // the executor's name for the code: 64 hexadecimal digits. Returns null for a
  // key of another form. Waits for the disk.
  std::shared_ptr<const StoredObject> Load(const std::string& owner,
                                           const std::string& key);

  // Stores a copy of the bytes of `memory`, a descriptor from an untrusted
  // process. Stores nothing for an empty owner, or without a directory. Waits
  // for the disk. INVALID_ARGUMENT: `memory` is not a sealed memfd, or the key
  // does not have 64 hexadecimal digits. RESOURCE_EXHAUSTED: the code has more
  // than kMaxCodeBytes.
  absl::Status Store(const std::string& owner, const std::string& key,
                     int memory);

 private:
  DiskCache disk_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_CODE_CACHE_H_
