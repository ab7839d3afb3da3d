// SPDX-License-Identifier: Apache-2.0
#include "server/collections/collection_table.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "server/sharing/shared_record.h"

namespace holdfast::collections {
namespace {

using Memory = Collection::Memory;

absl::Status NoSuchCollection(const std::string& name) {
  return absl::NotFoundError(absl::StrCat(
      "no collection \"",
      ToPrintable(absl::string_view(name).substr(0, 2 * kMaxCollectionName)),
      "\""));
}

v1::CollectionVersion Summary(const std::string& name,
                              const CollectionVersion& version) {
  v1::CollectionVersion summary;
  summary.set_name(name);
  summary.set_version(version.number);
  for (const SharedResource& buffer : version.buffers) {
    summary.add_buffer_sizes(buffer.size);
  }
  return summary;
}

}  // namespace

absl::StatusOr<Collections::const_iterator> CollectionTable::Find(
    const Viewer& viewer, const std::string& name) const {
  // One that was deleted, and that readers still have open, hides nothing.
  const auto own = collections_.find({viewer.client, name});
  if (own != collections_.end() && !own->second.empty()) return own;
  auto found = collections_.end();
  for (auto it = collections_.begin(); it != collections_.end(); ++it) {
    const Collection& collection = it->second;
    if (collection.empty()) continue;
    if (!viewer.Sees(collection)) continue;
    if (name == absl::StrCat(collection.owner(), ":", collection.name())) {
      return it;
    }
    if (name != collection.name()) continue;
    if (found != collections_.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("several clients have a collection \"", name, "\": \"",
                       found->second.owner(), ":", name, "\", \"",
                       collection.owner(), ":", name, "\""));
    }
    found = it;
  }
  if (found == collections_.end()) return NoSuchCollection(name);
  return found;
}

absl::StatusOr<Collections::iterator> CollectionTable::FindOwn(
    const Viewer& viewer, const std::string& name) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto found, Find(viewer, name));
  if (viewer.sees_all || found->second.owner() == viewer.client) {
    return collections_.find(found->first);
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "collection \"", name, "\" belongs to ", found->second.owner()));
}

void CollectionTable::RemoveGone(const std::string& client) {
  auto it = collections_.lower_bound({client, ""});
  while (it != collections_.end() && it->first.first == client) {
    it = it->second.Gone() ? collections_.erase(it) : std::next(it);
  }
}

absl::Status CollectionTable::MayCommit(const Key& key,
                                        size_t description_bytes) const {
  size_t count = 0;
  size_t bytes = description_bytes;
  for (auto it = collections_.lower_bound({key.first, ""});
       it != collections_.end() && it->first.first == key.first; ++it) {
    bytes += it->second.description_bytes();
    if (it->first == key) {
      if (it->second.count() >= kMaxVersions) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "collection \"", key.second, "\" has ", it->second.count(),
            " versions; limit: ", kMaxVersions));
      }
    } else {
      ++count;
    }
  }
  if (count >= kMaxOfClient || bytes > kMaxDescriptions) {
    return absl::ResourceExhaustedError(
        absl::StrCat(key.first, " would have ", count + 1,
                     " collections, limit: ", kMaxOfClient, ", and ", bytes,
                     " bytes of descriptions, limit: ", kMaxDescriptions));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::CollectionVersion> CollectionTable::Commit(
    const std::string& client, const std::string& session,
    v1::CommitCollection contents, std::vector<SharedResource> buffers,
    Terms terms) {
  std::vector<uint64_t> sizes;
  sizes.reserve(buffers.size());
  for (const SharedResource& buffer : buffers) sizes.push_back(buffer.size);
  HOLDFAST_RETURN_IF_ERROR(CheckContents(contents, sizes));
  contents.clear_buffers();
  const Key key{client, contents.name()};
  Collection::Versions ended;
  absl::MutexLock lock(&mutex_);
  HOLDFAST_RETURN_IF_ERROR(claims_.MayWrite(key, session));
  RemoveGone(client);
  HOLDFAST_RETURN_IF_ERROR(MayCommit(key, contents.ByteSizeLong()));
  Collection& collection =
      collections_.try_emplace(key, client, key.second, terms.visibility)
          .first->second;
  const uint64_t number = collection.Add({.number = 0,
                                          .client = client,
                                          .session = session,
                                          .committed = absl::Now(),
                                          .contents = std::move(contents),
                                          .buffers = std::move(buffers),
                                          .charges = std::move(terms.charges)},
                                         UnusedOf(key));
  const auto version = collection.Find(number);
  const v1::CollectionVersion summary = Summary(key.second, **version);
  KeepVersion(collection, number);
  Keep(collection);
  claims_.Resolve(key, summary);
  KeepWriter(key);
  watchers_.Tell(collection, v1::CollectionChange::KIND_COMMITTED, {number});
  watchers_.Tell(collection, v1::CollectionChange::KIND_RETIRED,
                 collection.RetireOld(&ended));
  return summary;
}

void CollectionTable::NoteUnused(const Key& key, uint64_t version) {
  Collection::Versions ended;
  absl::MutexLock lock(&mutex_);
  const auto found = collections_.find(key);
  if (found == collections_.end()) return;
  watchers_.Tell(found->second, v1::CollectionChange::KIND_RETIRED,
                 found->second.RetireUnused(version, &ended));
}

void CollectionTable::Keep(Collection& collection) {
  if (store_ == nullptr) return;
  if (collection.kept_number == 0) collection.kept_number = ++last_kept_;
  collection.SetKept(store_->KeepRecord(
      {"collection", {collection.kept_number}}, collection.Record()));
}

void CollectionTable::KeepVersion(Collection& collection, uint64_t number) {
  if (store_ == nullptr) return;
  const auto version = collection.Find(number);
  if (!version.ok()) return;
  internal::VersionRecord record;
  record.set_owner((*version)->client);
  record.set_number(number);
  record.set_session((*version)->session);
  record.mutable_committed()->set_seconds(
      absl::ToUnixSeconds((*version)->committed));
  *record.mutable_contents() = (*version)->contents;
  for (const SharedResource& buffer : (*version)->buffers) {
    *record.add_buffers() = RecordOf(buffer);
  }
  record.set_pinned(collection.pinned(number));
  record.set_suspended(collection.memory(number) ==
                       Collection::Memory::kSuspended);
  uint64_t& kept_number = collection.KeptNumber(number);
  if (kept_number == 0) kept_number = ++last_kept_;
  collection.SetKept(number,
                     store_->KeepRecord({"version", {kept_number}}, record));
}

void CollectionTable::Adopt(const internal::CollectionRecord& record) {
  absl::MutexLock lock(&mutex_);
  Collection& collection =
      collections_
          .try_emplace({record.owner(), record.name()}, record.owner(),
                       record.name(), record.visibility())
          .first->second;
  collection.Adopt(record);
  Keep(collection);
}

void CollectionTable::Adopt(
    const internal::VersionRecord& record, std::vector<SharedResource> buffers,
    std::vector<std::shared_ptr<const Charge>> charges) {
  const bool resident =
      std::all_of(buffers.begin(), buffers.end(),
                  [](const auto& buffer) { return buffer.chunk->resident(); });
  absl::MutexLock lock(&mutex_);
  const Key key = {record.owner(), record.contents().name()};
  const auto found = collections_.find(key);
  if (found == collections_.end()) return;
  found->second.Adopt(
      {.number = record.number(),
       .client = record.owner(),
       .session = record.session(),
       .committed = absl::FromUnixSeconds(record.committed().seconds()),
       .contents = record.contents(),
       .buffers = std::move(buffers),
       .charges = std::move(charges)},
      UnusedOf(key));
  found->second.SetPinned(record.number(), record.pinned());
  if (record.suspended() || !resident) {
    found->second.SetMemory(record.number(), Collection::Memory::kSuspended);
  }
  KeepVersion(found->second, record.number());
}

void CollectionTable::Adopt(const internal::ClaimRecord& record) {
  absl::MutexLock lock(&mutex_);
  const Key key = {record.owner(), record.name()};
  const auto found = collections_.find(key);
  if (found != collections_.end() && !found->second.empty()) return;
  claims_.Expect(key, record.session());
  KeepWriter(key);
}

void CollectionTable::KeepWriter(const Key& key) {
  const std::string session = claims_.WriterOf(key);
  const auto kept = writers_.find(key);
  if (session.empty()) {
    if (kept != writers_.end()) writers_.erase(kept);
    return;
  }
  if (store_ == nullptr) return;
  if (kept != writers_.end() && kept->second.session == session) return;
  internal::ClaimRecord record;
  record.set_owner(key.first);
  record.set_name(key.second);
  record.set_session(session);
  writers_[key] = {session,
                   store_->KeepRecord({"claim", {++last_kept_}}, record)};
}

absl::StatusOr<std::shared_ptr<const OpenVersion>> CollectionTable::Open(
    const std::string& client, const std::string& session,
    const std::string& name, uint64_t version) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(const auto found, Find({client}, name));
  return found->second.Open(version, session);
}

v1::ListCollectionsResponse CollectionTable::List(const Viewer& viewer) const {
  v1::ListCollectionsResponse response;
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, collection] : collections_) {
    if (!viewer.Sees(collection)) continue;
    v1::CollectionInfo info = collection.Info(0);
    if (info.versions_size() > 0) {
      *response.add_collections() = std::move(info);
    }
  }
  return response;
}

absl::StatusOr<v1::DescribeCollectionResponse> CollectionTable::Describe(
    const Viewer& viewer, const v1::DescribeCollectionRequest& request) const {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(const auto found, Find(viewer, request.name()));
  HOLDFAST_ASSIGN_OR_RETURN(const auto version,
                            found->second.Find(request.version()));
  v1::DescribeCollectionResponse response;
  *response.mutable_collection() = found->second.Info(version->number);
  *response.mutable_arrays() = version->contents.arrays();
  *response.mutable_metadata() = version->contents.metadata();
  *response.mutable_buffer_sizes() =
      Summary(request.name(), *version).buffer_sizes();
  return response;
}

absl::StatusOr<uint32_t> CollectionTable::Delete(
    const Viewer& viewer, const v1::DeleteCollectionRequest& request) {
  Collection::Versions ended;
  std::string owner;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(const auto found,
                              FindOwn(viewer, request.name()));
    Collection& collection = found->second;
    if (request.version() != 0) {
      HOLDFAST_RETURN_IF_ERROR(collection.Find(request.version()).status());
    }
    HOLDFAST_RETURN_IF_ERROR(collection.CheckNotPinned(request.version()));
    watchers_.Tell(collection, v1::CollectionChange::KIND_DELETED,
                   collection.Retire(request.version(), &ended));
    owner = collection.owner();
  }
  const auto deleted = static_cast<uint32_t>(ended.size());
  ended.clear();
  absl::MutexLock lock(&mutex_);
  RemoveGone(owner);
  return deleted;
}

void CollectionTable::DeleteAllOf(const std::string& client) {
  Collection::Versions ended;
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = collections_.lower_bound({client, ""});
         it != collections_.end() && it->first.first == client; ++it) {
      watchers_.Tell(it->second, v1::CollectionChange::KIND_DELETED,
                     it->second.Retire(0, &ended));
    }
  }
  ended.clear();
  absl::MutexLock lock(&mutex_);
  RemoveGone(client);
}

std::map<std::string, uint64_t> CollectionTable::BytesByClient() const {
  std::map<std::string, std::map<const SharedChunk*, uint64_t>> chunks;
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, collection] : collections_) {
    collection.AddChunks(&chunks[key.first]);
  }
  std::map<std::string, uint64_t> bytes;
  for (const auto& [client, sizes] : chunks) {
    for (const auto& [chunk, size] : sizes) bytes[client] += size;
  }
  return bytes;
}

absl::Status CollectionTable::Configure(
    const Viewer& viewer, const v1::ConfigureCollectionRequest& request) {
  Collection::Versions ended;
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(const auto found, FindOwn(viewer, request.name()));
  Collection& collection = found->second;
  HOLDFAST_ASSIGN_OR_RETURN(const std::set<uint64_t> pins,
                            collection.Configure(request));
  // Each record is a memfd: only those are written that say something new.
  if (request.has_visibility() || request.has_keep() ||
      request.has_until_unreferenced()) {
    Keep(collection);
  }
  for (const uint64_t number : pins) KeepVersion(collection, number);
  watchers_.Tell(collection, v1::CollectionChange::KIND_RETIRED,
                 collection.RetireOld(&ended));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CollectionTable::Claim(const std::string& client,
                                               const std::string& session,
                                               const std::string& name,
                                               ClaimAnswer answer) {
  absl::MutexLock lock(&mutex_);
  const auto found = Find({client}, name);
  if (found.ok() && !(*found)->second.empty()) {
    answer(Summary(name, **(*found)->second.Find(0)));
    return 0;
  }
  HOLDFAST_RETURN_IF_ERROR(CheckCollectionName(name));
  const Key key = {client, name};
  const int64_t claim = claims_.Add(key, session, std::move(answer));
  KeepWriter(key);
  if (claim != 0) return claim;
  return absl::ResourceExhaustedError(
      absl::StrCat("too many claims wait; limit: ", WriteClaims::kMaxWaiting));
}

void CollectionTable::Unclaim(int64_t claim) {
  absl::MutexLock lock(&mutex_);
  for (const Key& key : claims_.Remove(claim)) KeepWriter(key);
}

void CollectionTable::EndSession(const std::string& session) {
  absl::MutexLock lock(&mutex_);
  for (const Key& key : claims_.EndSession(session)) KeepWriter(key);
}

int64_t CollectionTable::Watch(const Viewer& viewer, const std::string& name,
                               Told told) {
  absl::MutexLock lock(&mutex_);
  return watchers_.Add(viewer, name, std::move(told), collections_);
}

void CollectionTable::Unwatch(int64_t watcher) {
  absl::MutexLock lock(&mutex_);
  watchers_.Remove(watcher);
}

CollectionTable::Move CollectionTable::StartMove(
    Collection& collection, std::shared_ptr<const CollectionVersion> version,
    Memory memory) {
  Move move;
  move.before = collection.memory(version->number);
  collection.SetMemory(version->number, memory);
  move.version = std::move(version);
  return move;
}

void CollectionTable::EndMove(const Move& move, Memory memory) {
  const auto found = collections_.find(KeyOf(*move.version));
  if (found == collections_.end()) return;
  found->second.SetMemory(move.version->number, memory);
  KeepVersion(found->second, move.version->number);
}

void CollectionTable::CancelMove(const Move& move) {
  absl::MutexLock lock(&mutex_);
  EndMove(move, move.before);
}

absl::StatusOr<CollectionTable::OwnVersion> CollectionTable::FindOwnVersion(
    const Viewer& viewer, const std::string& name, uint64_t version) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto found, FindOwn(viewer, name));
  HOLDFAST_ASSIGN_OR_RETURN(auto named, found->second.Find(version));
  return OwnVersion{found->second, std::move(named)};
}

absl::Status CollectionTable::CheckSuspension(const Viewer& viewer,
                                              const std::string& name,
                                              uint64_t version) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(const OwnVersion own,
                            FindOwnVersion(viewer, name, version));
  if (own.collection.memory(own.version->number) == Memory::kSuspended) {
    return IsSuspended(*own.version);
  }
  return ChunksToLeave(collections_, own.collection, *own.version).status();
}

absl::StatusOr<CollectionTable::Move> CollectionTable::BeginSuspension(
    const Viewer& viewer, const std::string& name, uint64_t version) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(OwnVersion own,
                            FindOwnVersion(viewer, name, version));
  if (own.collection.memory(own.version->number) != Memory::kResident) {
    return IsSuspended(*own.version);
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      auto chunks, ChunksToLeave(collections_, own.collection, *own.version));
  Move move =
      StartMove(own.collection, std::move(own.version), Memory::kSuspending);
  move.chunks = std::move(chunks);
  return move;
}

absl::Status CollectionTable::FinishSuspension(const Move& move,
                                               Places* places) {
  absl::MutexLock lock(&mutex_);
  const CollectionVersion& version = *move.version;
  const auto found = collections_.find(KeyOf(version));
  if (found == collections_.end() || !found->second.Find(version.number).ok()) {
    EndMove(move, Memory::kResident);
    return absl::NotFoundError(absl::StrCat(
        Named(version), " was deleted, or is retired, and was not suspended"));
  }
  const auto unused = ChunksToLeave(collections_, found->second, version);
  if (!unused.ok() || *unused != move.chunks) {
    EndMove(move, Memory::kResident);
    return absl::AbortedError(
        absl::StrCat(Named(version), " stays on its device: ",
                     unused.ok() ? "others of its versions have changed"
                                 : unused.status().message()));
  }
  move.Exchange(places);
  EndMove(move, Memory::kSuspended);
  return absl::OkStatus();
}

bool CollectionTable::NeedsResume(const OpenVersion& opened) const {
  const CollectionVersion& version = opened.version();
  absl::MutexLock lock(&mutex_);
  if (!ChunksAway(version).empty()) return true;
  const auto found = collections_.find(KeyOf(version));
  if (found == collections_.end()) return false;
  const Memory memory = found->second.memory(version.number);
  return memory == Memory::kSuspended || memory == Memory::kResuming;
}

absl::Status CollectionTable::CheckResumption(const Viewer& viewer,
                                              const std::string& name,
                                              uint64_t version) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(const OwnVersion own,
                            FindOwnVersion(viewer, name, version));
  return own.collection.memory(own.version->number) == Memory::kResident
             ? IsNotSuspended(*own.version)
             : absl::OkStatus();
}

absl::StatusOr<CollectionTable::Move> CollectionTable::BeginResumption(
    const Viewer& viewer, const std::string& name, uint64_t version) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(OwnVersion own,
                            FindOwnVersion(viewer, name, version));
  if (own.collection.memory(own.version->number) != Memory::kSuspended) {
    return IsNotSuspended(*own.version);
  }
  Move move =
      StartMove(own.collection, std::move(own.version), Memory::kResuming);
  move.chunks = ChunksAway(*move.version);
  return move;
}

CollectionTable::Move CollectionTable::BeginResumption(
    const OpenVersion& opened) {
  absl::MutexLock lock(&mutex_);
  Move move;
  move.version = opened.shared_version();
  move.before = Memory::kSuspended;
  const auto found = collections_.find(KeyOf(*move.version));
  if (found != collections_.end()) {
    found->second.SetMemory(move.version->number, Memory::kResuming);
  }
  move.chunks = ChunksAway(*move.version);
  return move;
}

void CollectionTable::FinishResumption(const Move& move, Places* places) {
  absl::MutexLock lock(&mutex_);
  move.Exchange(places);
  EndMove(move, Memory::kResident);
}

}  // namespace holdfast::collections
