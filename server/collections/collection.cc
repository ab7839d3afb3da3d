// SPDX-License-Identifier: Apache-2.0
#include "server/collections/collection.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace holdfast::collections {
namespace {

constexpr int kMaxVisibleTo = 256;
constexpr int kMaxPins = 1024;

v1::VersionInfo::State StateOf(Collection::Memory memory) {
  switch (memory) {
    case Collection::Memory::kResident:
      return v1::VersionInfo::STATE_RESIDENT;
    case Collection::Memory::kSuspending:
      return v1::VersionInfo::STATE_SUSPENDING;
    case Collection::Memory::kSuspended:
      return v1::VersionInfo::STATE_SUSPENDED;
    case Collection::Memory::kResuming:
      return v1::VersionInfo::STATE_RESUMING;
  }
  return v1::VersionInfo::STATE_UNSPECIFIED;
}

}  // namespace

void Readers::Add(const std::string& reader) {
  absl::MutexLock lock(&mutex_);
  readers_.insert(reader);
}

void Readers::Remove(const std::string& reader) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = readers_.find(reader);
    if (found != readers_.end()) readers_.erase(found);
    if (!readers_.empty()) return;
  }
  unused_();
}

void Readers::NoteRead() {
  absl::MutexLock lock(&mutex_);
  read_ = true;
}

bool Readers::AllLeft() const {
  absl::MutexLock lock(&mutex_);
  return read_ && readers_.empty();
}

std::set<std::string> Readers::List() const {
  absl::MutexLock lock(&mutex_);
  return {readers_.begin(), readers_.end()};
}

OpenVersion::OpenVersion(std::shared_ptr<const CollectionVersion> version,
                         std::shared_ptr<Readers> readers, std::string reader)
    : version_(std::move(version)),
      readers_(std::move(readers)),
      reader_(std::move(reader)) {
  readers_->Add(reader_);
}

OpenVersion::~OpenVersion() { readers_->Remove(reader_); }

std::shared_ptr<const OpenVersion> OpenVersion::OpenFor(
    std::string reader) const {
  auto opened = std::make_shared<const OpenVersion>(version_, readers_,
                                                    std::move(reader));
  opened->NoteRead();
  return opened;
}

bool Collection::VisibleTo(const std::string& client) const {
  if (client == owner_ || visibility_.everybody()) return true;
  const auto& clients = visibility_.clients();
  return std::find(clients.begin(), clients.end(), client) != clients.end();
}

uint64_t Collection::Add(CollectionVersion version, const Unused& unused) {
  version.number = ++last_;
  Adopt(std::move(version), unused);
  return last_;
}

void Collection::Adopt(CollectionVersion version, const Unused& unused) {
  const uint64_t number = version.number;
  Entry& entry = versions_[number];
  entry.kept = std::make_shared<const CollectionVersion>(std::move(version));
  entry.alive = entry.kept;
  entry.readers =
      std::make_shared<Readers>([unused, number] { unused(number); });
}

internal::CollectionRecord Collection::Record() const {
  internal::CollectionRecord record;
  record.set_owner(owner_);
  record.set_name(name_);
  *record.mutable_visibility() = visibility_;
  record.set_keep(keep_);
  record.set_last(last_);
  record.set_until_unreferenced(until_unreferenced_);
  return record;
}

void Collection::Adopt(const internal::CollectionRecord& record) {
  keep_ = record.keep();
  last_ = record.last();
  until_unreferenced_ = record.until_unreferenced();
}

void Collection::SetKept(uint64_t version, DescriptorStore::Kept kept) {
  const auto found = versions_.find(version);
  if (found == versions_.end() || found->second.kept == nullptr) return;
  found->second.record = std::move(kept);
}

uint64_t& Collection::KeptNumber(uint64_t version) {
  return versions_.at(version).kept_number;
}

bool Collection::GoesUnread(const Entry& entry) const {
  return until_unreferenced_ && entry.kept != nullptr && !entry.pinned &&
         entry.readers->AllLeft();
}

std::vector<uint64_t> Collection::RetireOld(Versions* ended) {
  std::vector<uint64_t> retired;
  uint32_t newer = 0;
  for (auto entry = versions_.rbegin(); entry != versions_.rend(); ++entry) {
    if (entry->second.kept == nullptr) continue;
    // Those that go unread are not among the latest that stay.
    if (!GoesUnread(entry->second)) {
      const bool stays = keep_ == 0 || ++newer <= keep_;
      if (stays || entry->second.pinned) continue;
    }
    entry->second.Retire(ended);
    retired.push_back(entry->first);
  }
  Gone();
  std::reverse(retired.begin(), retired.end());
  return retired;
}

std::vector<uint64_t> Collection::RetireUnused(uint64_t version,
                                               Versions* ended) {
  const auto found = versions_.find(version);
  // Another reader may have come in the meantime.
  if (found == versions_.end() || !GoesUnread(found->second)) return {};
  found->second.Retire(ended);
  return {version};
}

std::vector<uint64_t> Collection::Retire(uint64_t version, Versions* ended) {
  std::vector<uint64_t> retired;
  for (auto& [number, entry] : versions_) {
    if (version != 0 && version != number) continue;
    if (entry.kept != nullptr) retired.push_back(number);
    entry.Retire(ended);
  }
  return retired;
}

bool Collection::pinned(uint64_t version) const {
  const auto found = versions_.find(version);
  return found != versions_.end() && found->second.pinned;
}

bool Collection::SetPinned(uint64_t version, bool pinned) {
  const auto found = versions_.find(version);
  if (found == versions_.end()) return false;
  return std::exchange(found->second.pinned, pinned) != pinned;
}

Collection::Memory Collection::memory(uint64_t version) const {
  const auto found = versions_.find(version);
  return found == versions_.end() ? Memory::kResident : found->second.memory;
}

void Collection::SetMemory(uint64_t version, Memory memory) {
  const auto found = versions_.find(version);
  if (found != versions_.end()) found->second.memory = memory;
}

std::set<std::string> Collection::readers(uint64_t version) const {
  const auto found = versions_.find(version);
  if (found == versions_.end()) return {};
  return found->second.readers->List();
}

void Collection::AddUses(uint64_t except, ChunkUses* uses) const {
  for (const auto& [number, entry] : versions_) {
    const auto version = entry.alive.lock();
    if (version == nullptr) continue;
    // A reader of a suspended version waits for its memory.
    const bool needs =
        number != except &&
        (entry.memory != Memory::kSuspended || !entry.readers->List().empty());
    for (const SharedResource& buffer : version->buffers) {
      const auto use = uses->find(buffer.chunk.get());
      if (use == uses->end()) continue;
      ++use->second.references;
      use->second.needed = use->second.needed || needs;
    }
  }
}

absl::Status Collection::CheckNotPinned(uint64_t version) const {
  std::string pinned;
  for (const auto& [number, entry] : versions_) {
    if (entry.kept == nullptr || !entry.pinned) continue;
    if (version == 0 || version == number)
      absl::StrAppend(&pinned, " ", number);
  }
  if (pinned.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("collection \"", name_, "\" has pinned versions:", pinned,
                   "; unpin them first"));
}

bool Collection::Gone() {
  for (auto entry = versions_.begin(); entry != versions_.end();) {
    entry = entry->second.alive.expired() ? versions_.erase(entry)
                                          : std::next(entry);
  }
  return versions_.empty();
}

uint64_t Collection::latest() const {
  for (auto entry = versions_.rbegin(); entry != versions_.rend(); ++entry) {
    if (entry->second.kept != nullptr) return entry->first;
  }
  return 0;
}

std::vector<uint64_t> Collection::numbers() const {
  std::vector<uint64_t> numbers;
  for (const auto& [number, entry] : versions_) {
    if (entry.kept != nullptr) numbers.push_back(number);
  }
  return numbers;
}

void Collection::AddChunks(
    std::map<const SharedChunk*, uint64_t>* chunks) const {
  for (const auto& [number, entry] : versions_) {
    const auto version = entry.alive.lock();
    if (version == nullptr) continue;
    for (const SharedResource& buffer : version->buffers) {
      (*chunks)[buffer.chunk.get()] = buffer.chunk->size();
    }
  }
}

size_t Collection::description_bytes() const {
  size_t bytes = 0;
  for (const auto& [number, entry] : versions_) {
    const auto version = entry.alive.lock();
    if (version != nullptr) bytes += version->contents.ByteSizeLong();
  }
  return bytes;
}

absl::StatusOr<std::shared_ptr<const CollectionVersion>> Collection::Find(
    uint64_t version) const {
  const auto found = versions_.find(version == 0 ? latest() : version);
  if (found != versions_.end() && found->second.kept != nullptr) {
    return found->second.kept;
  }
  std::string there;
  for (const uint64_t number : numbers()) absl::StrAppend(&there, " ", number);
  return absl::NotFoundError(
      absl::StrCat("collection \"", name_, "\" has no version ", version,
                   "; it has", there.empty() ? " none" : there));
}

absl::StatusOr<std::shared_ptr<const OpenVersion>> Collection::Open(
    uint64_t version, const std::string& session) const {
  auto found = Find(version);
  if (!found.ok()) return found.status();
  const auto& readers = versions_.at((*found)->number).readers;
  return std::make_shared<const OpenVersion>(*std::move(found), readers,
                                             session);
}

absl::Status Collection::CheckConfiguration(
    const v1::ConfigureCollectionRequest& request) const {
  if (request.visibility().clients_size() > kMaxVisibleTo) {
    return absl::InvalidArgumentError(
        absl::StrCat("collection \"", name_, "\" shared with ",
                     request.visibility().clients_size(),
                     " clients; limit: ", kMaxVisibleTo));
  }
  for (const auto* const versions : {&request.pin(), &request.unpin()}) {
    if (versions->size() > kMaxPins) {
      return absl::InvalidArgumentError(
          absl::StrCat(versions->size(), " versions of collection \"", name_,
                       "\" to pin or unpin; limit: ", kMaxPins));
    }
    for (const uint64_t version : *versions) {
      const auto found = Find(version);
      if (!found.ok()) return found.status();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::set<uint64_t>> Collection::Configure(
    const v1::ConfigureCollectionRequest& request) {
  const absl::Status good = CheckConfiguration(request);
  if (!good.ok()) return good;
  if (request.has_visibility()) visibility_ = request.visibility();
  if (request.has_keep()) keep_ = request.keep();
  if (request.has_until_unreferenced()) {
    until_unreferenced_ = request.until_unreferenced();
  }
  std::set<uint64_t> changed;
  const uint64_t newest = latest();
  const auto set_pinned = [&](uint64_t version, bool pinned) {
    if (version == 0) version = newest;
    if (SetPinned(version, pinned)) changed.insert(version);
  };
  for (const uint64_t version : request.pin()) set_pinned(version, true);
  for (const uint64_t version : request.unpin()) set_pinned(version, false);
  return changed;
}

v1::VersionInfo Collection::Info(const CollectionVersion& version,
                                 const Entry& entry) {
  v1::VersionInfo info;
  info.set_version(version.number);
  info.mutable_committed()->set_seconds(absl::ToUnixSeconds(version.committed));
  info.set_session_id(version.session);
  if (!version.buffers.empty()) info.set_device(version.buffers[0].device);
  info.set_arrays(static_cast<uint64_t>(version.contents.arrays_size()));
  info.set_size(version.size());
  for (const std::string& reader : entry.readers->List()) {
    info.add_readers(reader);
  }
  info.set_retired(entry.kept == nullptr);
  info.set_pinned(entry.pinned);
  info.set_state(StateOf(entry.memory));
  uint64_t suspended = 0;
  for (const SharedChunk* chunk : version.chunks()) {
    if (!chunk->resident()) suspended += chunk->size();
  }
  info.set_suspended_bytes(suspended);
  return info;
}

v1::CollectionInfo Collection::Info(uint64_t version) const {
  v1::CollectionInfo info;
  info.set_name(name_);
  info.set_owner(owner_);
  *info.mutable_visibility() = visibility_;
  info.set_keep(keep_);
  info.set_until_unreferenced(until_unreferenced_);
  for (const auto& [number, entry] : versions_) {
    if (version != 0 && number != version) continue;
    const auto alive = entry.alive.lock();
    if (alive != nullptr) *info.add_versions() = Info(*alive, entry);
  }
  return info;
}

}  // namespace holdfast::collections
