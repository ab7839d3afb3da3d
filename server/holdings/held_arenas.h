// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_HELD_ARENAS_H_
#define HOLDFAST_SERVER_HOLDINGS_HELD_ARENAS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "core/base/unique_fd.h"
#include "server/holdings/session_descriptors.h"

namespace holdfast {

// The descriptors of a session's arenas: memory that the session's client and
// each of its executors map. Not thread-safe.
class HeldArenas {
 public:
  // The most arenas, including freed arenas that are still in use.
  static constexpr size_t kMaxArenas = 256;

  // `kept` must outlive this object.
  explicit HeldArenas(const SessionDescriptors& kept) : kept_(kept) {}

  // Holds an arena of `size` bytes. Ignores it, and returns OK, if kMaxArenas
  // are held already. INVALID_ARGUMENT: there is no descriptor.
  absl::Status Hold(uint64_t handle, uint64_t size, UniqueFd memory);
  // Releases an arena. Ignores an unknown handle.
  void Release(uint64_t handle) { arenas_.erase(handle); }
  // Notes that EndRestore must release the arena. Until then a further
  // successor may need it.
  void ReleaseLater(uint64_t handle);
  // The number of arenas that EndRestore will release.
  size_t postponed() const { return released_.size(); }

  // BeginRestore forgets the calls of ReleaseLater of an earlier successor.
  // EndRestore releases the arenas of ReleaseLater.
  void BeginRestore() { released_.clear(); }
  void EndRestore();

  // Calls `visit` with the handle, the size and a borrowed descriptor of each
  // arena. Stops at the first error, and returns it.
  absl::Status ForEach(
      absl::FunctionRef<absl::Status(uint64_t handle, uint64_t size, int fd)>
          visit) const;
  // Releases all arenas.
  void Close() { arenas_.clear(); }

 private:
  struct Arena {
    uint64_t size = 0;  // bytes
    UniqueFd memory;
    SessionDescriptors::Kept kept;
  };

  const SessionDescriptors& kept_;
  std::map<uint64_t, Arena> arenas_;  // by handle
  std::set<uint64_t> released_;       // to release at EndRestore; all are held
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_HELD_ARENAS_H_
