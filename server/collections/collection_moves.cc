// SPDX-License-Identifier: Apache-2.0
//
// The part of CollectionTable that knows when the memory of a version may leave
// its device. A chunk leaves if all versions that have it are suspended, and
// nobody but versions holds it: no reader, no session that made or imported it,
// no token by which somebody could get it. A reader stands in the version's
// list before it gets any memory, so that the last look, in FinishSuspension,
// is final.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "server/collections/collection_table.h"

namespace holdfast::collections {
namespace {

using Memory = Collection::Memory;

// Readers that a message names; show lists all.
constexpr size_t kMaxNamed = 8;

std::string Named(const CollectionVersion& version) {
  return absl::StrCat("version ", version.number, " of collection \"",
                      version.contents.name(), "\"");
}

absl::Status IsSuspended(const CollectionVersion& version) {
  return absl::FailedPreconditionError(
      absl::StrCat(Named(version), " is suspended already"));
}

absl::Status IsNotSuspended(const CollectionVersion& version) {
  return absl::FailedPreconditionError(
      absl::StrCat(Named(version), " is not suspended"));
}

absl::Status HasReaders(const CollectionVersion& version,
                        const std::set<std::string>& readers) {
  std::vector<std::string> some;
  for (const std::string& reader : readers) {
    if (some.size() < kMaxNamed) some.push_back(reader);
  }
  return absl::FailedPreconditionError(
      absl::StrCat(Named(version), " has ", readers.size(),
                   readers.size() == 1 ? " reader, " : " readers, ",
                   absl::StrJoin(some, ", "),
                   readers.size() > some.size() ? " and others" : "",
                   ": only one that nobody maps can be suspended"));
}

absl::Status IsMapped(const CollectionVersion& version,
                      const SharedChunk& chunk) {
  std::string maker;
  for (const SharedResource& buffer : version.buffers) {
    if (buffer.chunk.get() == &chunk) maker = absl::StrCat("s-", buffer.maker);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      chunk.size(), " bytes of ", Named(version), " are in use: session ",
      maker,
      ", which made the buffer, has not freed it, or it was exported or "
      "imported beside the collection"));
}

// The chunks that are not on their devices.
std::vector<SharedChunk*> Away(const CollectionVersion& version) {
  std::vector<SharedChunk*> away;
  for (SharedChunk* const chunk : version.chunks()) {
    if (!chunk->resident()) away.push_back(chunk);
  }
  return away;
}

}  // namespace

absl::StatusOr<std::vector<SharedChunk*>> CollectionTable::CheckUnused(
    const Collection& collection, const CollectionVersion& version) const {
  const std::set<std::string> readers = collection.readers(version.number);
  if (!readers.empty()) return HasReaders(version, readers);
  Collection::ChunkUses uses;
  for (const SharedChunk* chunk : version.chunks()) uses[chunk];
  // Buffers are adopted within one owner's collections alone.
  for (auto it = collections_.lower_bound({version.client, ""});
       it != collections_.end() && it->first.first == version.client; ++it) {
    it->second.AddUses(&it->second == &collection ? version.number : 0, &uses);
  }
  std::map<SharedChunk*, long> holders;
  for (const SharedResource& buffer : version.buffers) {
    holders[buffer.chunk.get()] = buffer.chunk.use_count();
  }
  std::vector<SharedChunk*> chunks;
  for (const auto& [chunk, count] : holders) {
    const Collection::ChunkUse& use = uses[chunk];
    if (use.needed || !chunk->resident()) continue;
    if (count > use.references) return IsMapped(version, *chunk);
    chunks.push_back(chunk);
  }
  return chunks;
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
  return CheckUnused(own.collection, *own.version).status();
}

absl::StatusOr<CollectionTable::Move> CollectionTable::BeginSuspension(
    const Viewer& viewer, const std::string& name, uint64_t version) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(OwnVersion own,
                            FindOwnVersion(viewer, name, version));
  if (own.collection.memory(own.version->number) != Memory::kResident) {
    return IsSuspended(*own.version);
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto chunks,
                            CheckUnused(own.collection, *own.version));
  Move move =
      StartMove(own.collection, std::move(own.version), Memory::kSuspending);
  move.chunks = std::move(chunks);
  return move;
}

void CollectionTable::Exchange(const Move& move, Places* places) {
  for (size_t i = 0; i < move.chunks.size(); ++i) {
    (*places)[i] = move.chunks[i]->Move(std::move((*places)[i]));
  }
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
  const auto unused = CheckUnused(found->second, version);
  if (!unused.ok() || *unused != move.chunks) {
    EndMove(move, Memory::kResident);
    return absl::AbortedError(
        absl::StrCat(Named(version), " stays on its device: ",
                     unused.ok() ? "others of its versions have changed"
                                 : unused.status().message()));
  }
  Exchange(move, places);
  EndMove(move, Memory::kSuspended);
  return absl::OkStatus();
}

bool CollectionTable::NeedsResume(const OpenVersion& opened) const {
  const CollectionVersion& version = opened.version();
  if (!Away(version).empty()) return true;
  absl::MutexLock lock(&mutex_);
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
  move.chunks = Away(*move.version);
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
  move.chunks = Away(*move.version);
  return move;
}

void CollectionTable::FinishResumption(const Move& move, Places* places) {
  absl::MutexLock lock(&mutex_);
  Exchange(move, places);
  EndMove(move, Memory::kResident);
}

}  // namespace holdfast::collections
