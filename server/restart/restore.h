// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_RESTORE_H_
#define HOLDFAST_SERVER_RESTART_RESTORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/holdings/session_holdings.h"
#include "server/kept/kept_state.h"
#include "server/memory/suspended_memory.h"
#include "server/restart/lifted_limits.h"
#include "server/sharing/export_registry.h"
#include "server/sharing/shared_chunk.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/tenant_table.h"

namespace holdfast {

// Restores the tenants, collections and sessions that an earlier daemon has
// left. Restores tenants first, because they are charged for the rest; then the
// memory of each session; then collections and imports, which use that memory.
// Starts the sessions last; they recover in the background. Objects that cannot
// be restored are skipped and logged, without harm to others. No limit stops
// the restoration: a lowered limit only holds for new objects.
class Restore {
 public:
  struct Parts {
    TenantTable& tenants;
    supervisor::SessionRegistry& sessions;
    SessionHoldings::Services holdings;
  };
  explicit Restore(const Parts& parts) : parts_(parts) {}

  // Restores `state`. REQUIRES: the devices are known, and no session was
  // opened. Called once.
  void Run(KeptState state);

  // Return the numbers of restored sessions, and of restored versions of
  // collections.
  size_t sessions() const { return adopted_; }
  size_t versions() const { return versions_; }

 private:
  // The session that made a chunk, and its number there.
  using ChunkKey = std::pair<uint64_t, uint64_t>;
  struct Session {
    KeptSession kept;
    std::shared_ptr<Tenant> tenant;
    std::unique_ptr<SessionHoldings> holdings;
  };

  // Restores `state` while limits are lifted.
  void Adopt(KeptState state);
  // Adopts the memory of a session into sessions_. On an error, `kept` still
  // has the memory that other sessions may use.
  absl::Status AdoptMemory(uint64_t number, KeptSession& kept);
  // Restore a version of a collection, and the imports of a session.
  absl::Status AdoptVersion(const internal::VersionRecord& record);
  void AdoptImports(uint64_t number, Session& session);
  absl::Status AdoptImport(Session& session, uint64_t import,
                           const internal::ImportRecord& record);
  // Returns the range of a chunk: of a collection of `owner`, of a restored
  // session, or of a session that has ended.
  absl::StatusOr<SharedResource> Shared(const internal::SharedRange& range,
                                        const std::string& owner);
  // Returns the range of a chunk of a session that has ended.
  absl::StatusOr<SharedResource> Orphaned(const internal::SharedRange& range);
  // Takes the chunks of collections that are or were suspended out of `kept`.
  // These chunks no longer belong to the session that made them.
  void TakeSaved(uint64_t number, KeptSession* kept);
  // Returns the chunk if it belongs to a collection; null if it belongs to a
  // session.
  absl::StatusOr<std::shared_ptr<SharedChunk>> OfCollection(
      const internal::SharedRange& range, const std::string& owner);
  // Make a chunk of a collection, charged to `owner`: with its bytes in host
  // memory or a file, or on its device.
  absl::StatusOr<std::shared_ptr<SharedChunk>> MakeSaved(
      const ChunkKey& key, KeptChunk chunk, const std::string& owner);
  absl::StatusOr<std::shared_ptr<SharedChunk>> MakeOwned(
      const ChunkKey& key, KeptChunk chunk, const std::string& owner);
  // Makes the chunk and adds it to of_collections_. `options` has the place of
  // the bytes.
  std::shared_ptr<SharedChunk> Make(const ChunkKey& key, const KeptChunk& chunk,
                                    SharedChunk::Options options);
  // Adds the session to the registry, where it recovers.
  void Start(uint64_t number, Session session);

  const Parts parts_;
  LiftedLimits* limits_ = nullptr;  // while Run
  internal::CountersRecord counters_;
  std::map<uint64_t, Session> sessions_;
  // Memory of ended sessions that other sessions use.
  std::map<uint64_t, KeptSession> ended_;
  std::map<uint64_t, std::unique_ptr<SessionHoldings>> orphans_;
  // Restored chunks of collections, which are held until Run ends.
  std::map<ChunkKey, std::shared_ptr<SharedChunk>> of_collections_;
  // Chunks of collections whose owner is not known yet: suspended, and on a
  // device.
  std::map<ChunkKey, KeptChunk> saved_;
  std::map<ChunkKey, KeptChunk> owned_;
  size_t adopted_ = 0;
  size_t versions_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_RESTORE_H_
