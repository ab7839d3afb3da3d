// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_MEMORY_SUSPENDED_MEMORY_H_
#define HOLDFAST_SERVER_MEMORY_SUSPENDED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "server/memory/memory_ledger.h"

namespace holdfast {

// The bytes of the device memory of a suspended session or collection, in
// charged host memory or in a file without a name. The kernel frees the file
// when its last descriptor is closed, even if the daemon is killed. One
// executor fills the file and another executor reads it, by its descriptor.
// Immutable; thread-safe.
class SuspendedMemory {
 public:
  using HostCharge = MemoryLedger::HostCharge;

  // Allocates host memory. `charge` was made for this memory, and is kept until
  // this object is destroyed. Fails as CreateFixedMemfd.
  static absl::StatusOr<std::unique_ptr<SuspendedMemory>> CreateInMemory(
      uint64_t bytes, HostCharge charge);
  // Makes a file at `path` and removes its name at once. Allocates the full
  // size at once if the file system supports it, so that saving does not run
  // out of room. RESOURCE_EXHAUSTED: the file system has no room.
  // ALREADY_EXISTS: there is a file at `path`.
  static absl::StatusOr<std::unique_ptr<SuspendedMemory>> CreateFile(
      const std::string& path, uint64_t bytes);
  // Takes over the saved bytes of an earlier daemon: host memory, for which
  // `charge` was made, or a file, for which `charge` is empty. `path` is the
  // path with which the file was made; it is empty for host memory, and for a
  // file of CreateUnnamed. DATA_LOSS: `fd` has fewer than `bytes` bytes.
  static absl::StatusOr<std::unique_ptr<SuspendedMemory>> Adopt(
      UniqueFd fd, const std::string& path, uint64_t bytes, HostCharge charge);
  // Closes the descriptor. Removes the file at path() if this is still the file
  // of this object: daemons of earlier versions did not remove the name of a
  // file when they made it.
  ~SuspendedMemory();
  SuspendedMemory(const SuspendedMemory&) = delete;
  SuspendedMemory& operator=(const SuspendedMemory&) = delete;

  // Does the same as CreateFile, with a file in `directory`. path() is empty.
  static absl::StatusOr<std::unique_ptr<SuspendedMemory>> CreateUnnamed(
      const std::string& directory, uint64_t bytes);
  // Returns true if the descriptor is of host memory, and not of a file.
  static bool IsHostMemory(int fd);

  // The descriptor is open for reading and writing. This object owns it.
  int descriptor() const { return fd_.get(); }
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  SuspendedMemory(UniqueFd fd, uint64_t bytes, std::string path,
                  HostCharge charge)
      : bytes_(bytes),
        path_(std::move(path)),
        charge_(std::move(charge)),
        fd_(std::move(fd)) {}

  const uint64_t bytes_;
  const std::string path_;   // empty: host memory, or file of CreateUnnamed
  const HostCharge charge_;  // empty: the bytes are in a file
  const UniqueFd fd_;        // closed before the charge is returned
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_SUSPENDED_MEMORY_H_
