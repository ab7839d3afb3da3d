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
#include "server/restart/kept_state.h"
#include "server/restart/lifted_limits.h"
#include "server/sharing/export_registry.h"
#include "server/sharing/shared_chunk.h"
#include "server/supervisor/session_holdings.h"
#include "server/supervisor/session_registry.h"
#include "server/supervisor/suspended_memory.h"
#include "server/tenants/tenant_table.h"

namespace holdfast {

// Makes a daemon's tenants, collections and sessions again from what an earlier
// one has left: tenants first, who pay; then the memory of each session; then
// collections and imports, which use that memory; then the sessions themselves,
// which recover by themselves. Whatever cannot be had any more is left out,
// with a line in the log, and nothing else suffers from that. No limit is a
// reason: one that was lowered in between holds for what comes after.
class Restore {
 public:
  struct Parts {
    TenantTable& tenants;
    supervisor::SessionRegistry& sessions;
    supervisor::SessionHoldings::Services holdings;
  };
  explicit Restore(const Parts& parts) : parts_(parts) {}

  // REQUIRES: the devices are known, and no session was opened.
  void Run(KeptState state);

  // How many there are again.
  size_t sessions() const { return adopted_; }
  size_t versions() const { return versions_; }

 private:
  // The session that made a chunk, and its number there.
  using ChunkKey = std::pair<uint64_t, uint64_t>;
  struct Session {
    KeptSession kept;
    std::shared_ptr<Tenant> tenant;
    std::unique_ptr<supervisor::SessionHoldings> holdings;
  };

  void Adopt(KeptState state);
  // On an error what others may use is in `kept` still.
  absl::Status AdoptMemory(uint64_t number, KeptSession& kept);
  absl::Status AdoptVersion(const internal::VersionRecord& record);
  void AdoptImports(uint64_t number, Session& session);
  absl::Status AdoptImport(Session& session, uint64_t import,
                           const internal::ImportRecord& record);
  // The range, of a session that is there or of one that has ended, or of a
  // chunk that belongs to collections of `owner`.
  absl::StatusOr<SharedResource> Shared(const internal::SharedRange& range,
                                        const std::string& owner);
  absl::StatusOr<SharedResource> Orphaned(const internal::SharedRange& range);
  // Takes the chunks that are or were suspended with their collections. They
  // are none of the session's that made them any more.
  void TakeSaved(uint64_t number, KeptSession* kept);
  // The chunk, if it is such a one; null: it is a session's.
  absl::StatusOr<std::shared_ptr<SharedChunk>> OfCollection(
      const internal::SharedRange& range, const std::string& owner);
  absl::Status MakeSaved(const ChunkKey& key, KeptChunk chunk);
  absl::StatusOr<std::shared_ptr<SharedChunk>> MakeOwned(
      const ChunkKey& key, KeptChunk chunk, const std::string& owner);
  // `options` say where the bytes are.
  std::shared_ptr<SharedChunk> Make(const ChunkKey& key, const KeptChunk& chunk,
                                    SharedChunk::Options options);
  void Start(uint64_t number, Session session);

  const Parts parts_;
  LiftedLimits* limits_ = nullptr;  // while Run
  internal::CountersRecord counters_;
  std::map<uint64_t, Session> sessions_;
  // Memory of sessions that have ended, which others use.
  std::map<uint64_t, KeptSession> ended_;
  std::map<uint64_t, std::unique_ptr<supervisor::SessionHoldings>> orphans_;
  // Chunks of collections: those that are made, held until Run is over, and
  // those of which nobody has said yet whose they are.
  std::map<ChunkKey, std::shared_ptr<SharedChunk>> of_collections_;
  std::map<ChunkKey, KeptChunk> owned_;
  size_t adopted_ = 0;
  size_t versions_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_RESTORE_H_
