// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SHARING_EXPORT_REGISTRY_H_
#define HOLDFAST_SERVER_SHARING_EXPORT_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "holdfast/v1/sharing_commands.pb.h"
#include "server/sharing/event_page.h"
#include "server/sharing/shared_chunk.h"

namespace holdfast::collections {
class OpenVersion;
}

namespace holdfast {

// A resource that can be shared: a range of a chunk.
struct SharedResource {
  v1::HandleKind kind = v1::HANDLE_KIND_UNSPECIFIED;
  uint32_t device = 0;
  std::shared_ptr<SharedChunk> chunk;
  // The session that made the chunk, and the chunk's number there. The next
  // daemon finds the chunk by both.
  uint64_t maker = 0;
  uint64_t chunk_number = 0;
  uint64_t offset = 0;  // in the chunk
  uint64_t size = 0;
  v1::Rights rights = v1::RIGHTS_UNSPECIFIED;
  std::shared_ptr<EventPage> event;  // null: no event
  // Keeps the collection's version open that the resource belongs to; null:
  // none.
  std::shared_ptr<const collections::OpenVersion> version;
};

// The redeemable tokens of all sessions. A token ends with its last allowed
// import, at its deadline, when it is revoked, or with the session that made
// it. The registry's own thread removes expired tokens, because a token holds
// memory. Thread-safe.
class ExportRegistry {
 public:
  static constexpr size_t kTokenBytes = 16;
  static constexpr size_t kMaxOfSession = 1024;
  static constexpr size_t kMaxOfAll = 65536;
  static constexpr uint32_t kMaxImports = 65536;
  static constexpr absl::Duration kDefaultLifetime = absl::Seconds(60);
  static constexpr absl::Duration kMaxLifetime = absl::Hours(24);

  ExportRegistry();
  ~ExportRegistry();
  ExportRegistry(const ExportRegistry&) = delete;
  ExportRegistry& operator=(const ExportRegistry&) = delete;

  // Makes a token by which `resource`, of the session with the id `session`,
  // can be redeemed under `terms`. Returns the token: 128 random bits.
  // INVALID_ARGUMENT: the terms are not valid. RESOURCE_EXHAUSTED: this
  // session, or all sessions, have too many tokens.
  absl::StatusOr<std::string> Export(const std::string& session,
                                     SharedResource resource,
                                     const v1::ExportResource& terms);

  // The session that redeems a token.
  struct Importer {
    std::string session;
    std::string tenant;
  };
  // Redeems a token for an importing session; see ImportResource. Counts as one
  // import. NOT_FOUND: there is no such token. PERMISSION_DENIED: the token is
  // for another session or tenant. INVALID_ARGUMENT: the resource is of another
  // kind.
  absl::StatusOr<SharedResource> Redeem(absl::string_view token,
                                        const Importer& importer,
                                        v1::HandleKind kind);
  // Redeems a token that was made for processes outside Holdfast. Counts as one
  // import. NOT_FOUND: there is no such token. PERMISSION_DENIED: the token was
  // not made for such processes.
  absl::StatusOr<SharedResource> RedeemForeign(absl::string_view token);

  // Revokes a token of `session`. Returns OK even if there is no such token.
  // NOT_FOUND: the token belongs to another session.
  absl::Status Revoke(absl::string_view token, const std::string& session);

  // Revokes all tokens of the session.
  void EndSession(const std::string& session);

  // Returns the number of the session's tokens.
  size_t CountOf(const std::string& session) const;

  // The address where processes outside Holdfast get descriptors, "unix:/path".
  // REQUIRES: set before the first session.
  void SetDescriptorAddress(std::string address) {
    descriptor_address_ = std::move(address);
  }
  const std::string& descriptor_address() const { return descriptor_address_; }

  // Includes a chunk in ReportOrphans as long as others hold the chunk.
  void Track(const std::shared_ptr<SharedChunk>& chunk);
  // Adds the sizes of orphaned chunks (Footprint::orphaned) to
  // MemoryTotals.Device.orphaned_bytes of the devices in `totals`.
  void ReportOrphans(v1::MemoryTotals* totals) const;

 private:
  static constexpr size_t kPruneFrom = 64;

  struct Entry {
    std::string session;  // that made it
    SharedResource resource;
    std::string bound_to;  // a session; empty: any
    std::string tenant;    // the importer's; empty: any
    bool foreign = false;
    uint32_t imports_left = 0;
    absl::Time end;
  };
  // The key is the token's SHA-256, so that the time of a look-up reveals
  // nothing about tokens.
  using Entries = std::map<std::string, Entry>;
  // Entries that were removed. One may hold the last reference to a chunk,
  // whose destructor may take seconds, so the destructor runs without the lock.
  using Removed = std::vector<Entries::node_type>;

  absl::StatusOr<Entries::iterator> Find(absl::string_view token)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SharedResource Take(Entries::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] Entries::node_type Remove(Entries::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The thread's loop.
  void RemoveExpired();
  // Waits until next_end_, and removes the entries whose time is over. Returns
  // nullopt if the registry ends.
  std::optional<Removed> AwaitExpired();

  std::string descriptor_address_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<const SharedChunk::Footprint>> chunks_
      ABSL_GUARDED_BY(mutex_);
  size_t prune_at_ ABSL_GUARDED_BY(mutex_) = kPruneFrom;  // entries of chunks_
  std::map<std::string, size_t> of_session_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_end_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_EXPORT_REGISTRY_H_
