// SPDX-License-Identifier: Apache-2.0
#include "server/collections/version_move.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace holdfast::collections {
namespace {

// Readers that a message names; show lists all.
constexpr size_t kMaxNamed = 8;

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

}  // namespace

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

std::vector<SharedChunk*> ChunksAway(const CollectionVersion& version) {
  std::vector<SharedChunk*> away;
  for (SharedChunk* const chunk : version.chunks()) {
    if (!chunk->resident()) away.push_back(chunk);
  }
  return away;
}

absl::StatusOr<std::vector<SharedChunk*>> ChunksToLeave(
    const Collections& all, const Collection& collection,
    const CollectionVersion& version) {
  const std::set<std::string> readers = collection.readers(version.number);
  if (!readers.empty()) return HasReaders(version, readers);
  Collection::ChunkUses uses;
  for (const SharedChunk* chunk : version.chunks()) uses[chunk];
  // Buffers are adopted within one owner's collections alone.
  for (auto it = all.lower_bound({version.client, ""});
       it != all.end() && it->first.first == version.client; ++it) {
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

void VersionMove::Exchange(Places* places) const {
  for (size_t i = 0; i < chunks.size(); ++i) {
    (*places)[i] = chunks[i]->Move(std::move((*places)[i]));
  }
}

}  // namespace holdfast::collections
