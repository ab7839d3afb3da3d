// SPDX-License-Identifier: Apache-2.0
#include "server/restart/restore.h"

#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/kept/kept_name.h"

namespace holdfast {
namespace {

// Says what has become of something that was kept, if it is not there again.
void Note(const absl::Status& status, const std::string& what) {
  if (!status.ok()) LogWarning(what, " is lost: ", status.message());
}

// `key`: the session that made the chunk, and its number there.
KeptName OwnedName(const std::pair<uint64_t, uint64_t>& key,
                   const KeptChunk& chunk) {
  return {"owned",
          {key.first, key.second, chunk.device, chunk.address, chunk.size}};
}

absl::StatusOr<SharedResource> RangeOf(
    const internal::SharedRange& range,
    const std::shared_ptr<SharedChunk>& chunk) {
  if (range.offset() > chunk->size() ||
      range.size() > chunk->size() - range.offset()) {
    return absl::OutOfRangeError(
        absl::StrCat(range.size(), " bytes at ", range.offset(),
                     " of a collection's chunk of ", chunk->size()));
  }
  SharedResource resource;
  resource.kind = static_cast<v1::HandleKind>(range.kind());
  resource.device = chunk->device();
  resource.chunk = chunk;
  resource.maker = range.session();
  resource.chunk_number = range.chunk();
  resource.offset = range.offset();
  resource.size = range.size();
  resource.rights = range.rights();
  return resource;
}

}  // namespace

void Restore::Run(KeptState state) {
  MemoryLedger& ledger = parts_.holdings.ledger;
  LiftedLimits limits;
  limits.Lift(ledger.host());
  limits_ = &limits;
  ledger.SetTakingOver(true);
  Adopt(std::move(state));
  ledger.SetTakingOver(false);
  limits_ = nullptr;
}

void Restore::Adopt(KeptState state) {
  for (const internal::TenantRecord& tenant : state.tenants) {
    Note(parts_.tenants.Adopt(tenant), "tenant " + tenant.request().name());
  }
  counters_ = std::move(state.counters);
  for (auto& [number, kept] : state.sessions) {
    parts_.sessions.SkipNumbers(number);
    TakeSaved(number, &kept);
    if (!kept.record.has_value()) {
      ended_[number] = std::move(kept);
      continue;
    }
    const absl::Status adopted = AdoptMemory(number, kept);
    Note(adopted, absl::StrCat("session s-", number));
    // Collections and other sessions may use its memory.
    if (!adopted.ok()) ended_[number] = std::move(kept);
  }
  collections::CollectionTable& collections = parts_.holdings.collections;
  for (const auto& collection : state.collections) {
    collections.Adopt(collection);
  }
  for (const internal::VersionRecord& version : state.versions) {
    Note(AdoptVersion(version),
         absl::StrCat("version ", version.number(), " of collection ",
                      version.contents().name()));
  }
  for (const internal::ClaimRecord& claim : state.claims) {
    // Nobody would wait for a session that is lost.
    if (!sessions_.contains(SessionNumber(claim.session()))) continue;
    collections.Adopt(claim);
  }
  for (auto& [number, session] : sessions_) AdoptImports(number, session);
  for (auto& [number, session] : sessions_) Start(number, std::move(session));
  sessions_.clear();
  parts_.tenants.Add(counters_);
  // Their memory lives on in those who use it.
  orphans_.clear();
  of_collections_.clear();
  saved_.clear();
  owned_.clear();
}

// A chunk that is also kept on the device was about to leave it, or had just
// come back. The file is whole in both cases, and replaces the chunk: the
// session may have given the number to another chunk since.
void Restore::TakeSaved(uint64_t number, KeptSession* kept) {
  for (auto& [chunk_number, chunk] : kept->saved_chunks) {
    saved_[{number, chunk_number}] = std::move(chunk);
  }
  for (auto& [chunk_number, chunk] : kept->owned_chunks) {
    const ChunkKey key = {number, chunk_number};
    if (!saved_.contains(key)) owned_[key] = std::move(chunk);
  }
}

std::shared_ptr<SharedChunk> Restore::Make(const ChunkKey& key,
                                           const KeptChunk& chunk,
                                           SharedChunk::Options options) {
  options.store = &parts_.holdings.kept;
  options.name = OwnedName(key, chunk);
  options.device = chunk.device;
  options.size = chunk.size;
  options.owner_ended = std::make_shared<std::atomic<bool>>(true);
  options.memory = &parts_.holdings.memory;
  const auto made = std::make_shared<SharedChunk>(std::move(options));
  parts_.holdings.exports.Track(made);
  return of_collections_[key] = made;
}

absl::StatusOr<std::shared_ptr<SharedChunk>> Restore::MakeSaved(
    const ChunkKey& key, KeptChunk chunk, const std::string& owner) {
  MemoryLedger::HostCharge charge;
  if (SuspendedMemory::IsHostMemory(chunk.memory.get())) {
    const auto tenant = parts_.tenants.OfName(owner, owner);
    HOLDFAST_ASSIGN_OR_RETURN(
        charge, parts_.holdings.ledger.TakeHost(
                    owner, tenant->collection_bytes(), chunk.size));
  }
  SharedChunk::Options options;
  HOLDFAST_ASSIGN_OR_RETURN(
      options.saved,
      SuspendedMemory::Adopt(std::move(chunk.memory), /*path=*/"", chunk.size,
                             std::move(charge)));
  return Make(key, chunk, std::move(options));
}

// As if it had just come back: charged to whose collection it is.
absl::StatusOr<std::shared_ptr<SharedChunk>> Restore::MakeOwned(
    const ChunkKey& key, KeptChunk chunk, const std::string& owner) {
  const SessionHoldings::Services& parts = parts_.holdings;
  if (!parts.ledger.HasDevice(chunk.device)) {
    return absl::NotFoundError(absl::StrCat("no device ", chunk.device));
  }
  HOLDFAST_RETURN_IF_ERROR(
      CheckChunkDescriptor(chunk.memory.get(), chunk.size));
  SharedChunk::Options options;
  HOLDFAST_ASSIGN_OR_RETURN(
      options.charge.of_all,
      parts.ledger.OnDevice(chunk.device, owner)->Take(chunk.size));
  options.kept = parts.kept.Keep(OwnedName(key, chunk), chunk.memory.get());
  options.descriptor = std::move(chunk.memory);
  parts.memory.NoteTaken(chunk.device, chunk.size);
  return Make(key, chunk, std::move(options));
}

absl::StatusOr<std::shared_ptr<SharedChunk>> Restore::OfCollection(
    const internal::SharedRange& range, const std::string& owner) {
  const ChunkKey key = {range.session(), range.chunk()};
  const auto made = of_collections_.find(key);
  if (made != of_collections_.end()) return made->second;
  if (auto saved = saved_.extract(key)) {
    return MakeSaved(key, std::move(saved.mapped()), owner);
  }
  if (auto owned = owned_.extract(key)) {
    return MakeOwned(key, std::move(owned.mapped()), owner);
  }
  return nullptr;
}

absl::Status Restore::AdoptMemory(uint64_t number, KeptSession& kept) {
  if (!kept.whole()) {
    return absl::DataLossError("its journal or its sockets were not kept");
  }
  const internal::SessionRecord& record = *kept.record;
  if (record.recover() == v1::RECOVERY_POLICY_NEVER && !kept.idle &&
      !kept.suspension.has_value()) {
    return absl::AbortedError("its client asked for no recovery");
  }
  Session session;
  session.tenant = parts_.tenants.OfName(record.tenant(), record.code_owner());
  for (const auto& quota :
       {session.tenant->arena_bytes(), session.tenant->pinned_bytes(),
        session.tenant->device_bytes(), session.tenant->chunk_bytes()}) {
    limits_->Lift(quota);
  }
  session.holdings = std::make_unique<SessionHoldings>(parts_.holdings);
  session.kept.record = record;
  session.kept.epoch = kept.epoch;
  session.kept.idle = kept.idle;
  session.kept.detached = kept.detached;
  session.kept.calls = std::move(kept.calls);
  session.kept.descriptors = std::move(kept.descriptors);
  session.kept.imports = std::move(kept.imports);
  HOLDFAST_RETURN_IF_ERROR(session.holdings->Adopt(kept, session.tenant));
  sessions_[number] = std::move(session);
  return absl::OkStatus();
}

absl::StatusOr<SharedResource> Restore::Shared(
    const internal::SharedRange& range, const std::string& owner) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto chunk, OfCollection(range, owner));
  if (chunk != nullptr) return RangeOf(range, chunk);
  const auto found = sessions_.find(range.session());
  if (found == sessions_.end()) return Orphaned(range);
  return found->second.holdings->memory().AdoptShared(range);
}

// Held by nobody but those who use it: as if its session had been there for a
// moment.
absl::StatusOr<SharedResource> Restore::Orphaned(
    const internal::SharedRange& range) {
  std::unique_ptr<SessionHoldings>& orphan = orphans_[range.session()];
  if (orphan == nullptr) {
    orphan = std::make_unique<SessionHoldings>(parts_.holdings);
    KeptSession kept;
    const auto ended = ended_.find(range.session());
    if (ended != ended_.end()) kept.chunks = std::move(ended->second.chunks);
    HOLDFAST_RETURN_IF_ERROR(
        orphan->AdoptOrphan(range.session(), std::move(kept.chunks)));
  }
  return orphan->memory().AdoptShared(range);
}

absl::Status Restore::AdoptVersion(const internal::VersionRecord& record) {
  std::vector<SharedResource> buffers;
  std::vector<std::shared_ptr<const Charge>> charges;
  const auto tenant = parts_.tenants.OfName(record.owner(), record.owner());
  limits_->Lift(tenant->collection_bytes());
  for (const internal::SharedRange& range : record.buffers()) {
    HOLDFAST_ASSIGN_OR_RETURN(SharedResource buffer,
                              Shared(range, record.owner()));
    HOLDFAST_RETURN_IF_ERROR(buffer.chunk->Seal().status());
    HOLDFAST_ASSIGN_OR_RETURN(
        charges.emplace_back(),
        buffer.chunk->ChargeOnce(*tenant->collection_bytes()));
    buffers.push_back(std::move(buffer));
  }
  parts_.holdings.collections.Adopt(record, std::move(buffers),
                                    std::move(charges));
  ++versions_;
  return absl::OkStatus();
}

void Restore::AdoptImports(uint64_t number, Session& session) {
  for (const auto& [import, record] : session.kept.imports) {
    Note(AdoptImport(session, import, record),
         absl::StrCat("import ", import, " of session s-", number));
  }
}

absl::Status Restore::AdoptImport(Session& session, uint64_t import,
                                  const internal::ImportRecord& record) {
  if (record.asleep()) {
    session.holdings->memory().imports().AdoptSleeping(import, record.range());
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource,
                            Shared(record.range(), record.owner()));
  std::shared_ptr<const collections::OpenVersion> version;
  if (!record.name().empty()) {
    // A version that was retired is its readers' alone.
    auto opened = parts_.holdings.collections.Open(
        session.tenant->name(), session.kept.record->assign().session_id(),
        absl::StrCat(record.owner(), ":", record.name()), record.version());
    if (opened.ok()) version = *std::move(opened);
    HOLDFAST_RETURN_IF_ERROR(resource.chunk->Seal().status());
  }
  session.holdings->memory().imports().Adopt(import, std::move(resource),
                                             std::move(version));
  return absl::OkStatus();
}

void Restore::Start(uint64_t number, Session session) {
  internal::SessionRecord record = *std::move(session.kept.record);
  const absl::Time opened = absl::FromUnixSeconds(record.opened().seconds());
  LogInfo("session s-", number, " is there again, epoch ", session.kept.epoch,
          session.kept.idle ? ", idle" : "");
  internal::ExecutionRecord counters;
  const auto counted = counters_.sessions().find(record.assign().session_id());
  if (counted != counters_.sessions().end()) counters = counted->second;
  parts_.sessions.Adopt({.record = std::move(record),
                         .calls = std::move(session.kept.calls),
                         .descriptors = std::move(session.kept.descriptors),
                         .tenant = std::move(session.tenant),
                         .left = {.holdings = std::move(session.holdings),
                                  .epoch = session.kept.epoch,
                                  .idle = session.kept.idle,
                                  .detached = session.kept.detached,
                                  .opened = opened},
                         .counters = std::move(counters)});
  ++adopted_;
}

}  // namespace holdfast
