// SPDX-License-Identifier: Apache-2.0
#include "server/collections/collection.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

constexpr int kMaxVisibleTo = 256;

}  // namespace

void Readers::Add(const std::string& session) {
  absl::MutexLock lock(&mutex_);
  sessions_.insert(session);
}

void Readers::Remove(const std::string& session) {
  absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) sessions_.erase(found);
}

std::set<std::string> Readers::List() const {
  absl::MutexLock lock(&mutex_);
  return {sessions_.begin(), sessions_.end()};
}

OpenVersion::OpenVersion(std::shared_ptr<const CollectionVersion> version,
                         std::shared_ptr<Readers> readers, std::string session)
    : version_(std::move(version)),
      readers_(std::move(readers)),
      session_(std::move(session)) {
  readers_->Add(session_);
}

OpenVersion::~OpenVersion() { readers_->Remove(session_); }

bool Collection::VisibleTo(const std::string& client) const {
  if (client == owner_ || visibility_.everybody()) return true;
  const auto& clients = visibility_.clients();
  return std::find(clients.begin(), clients.end(), client) != clients.end();
}

uint64_t Collection::Add(CollectionVersion version) {
  version.number = ++last_;
  Adopt(std::move(version));
  RetireOld();
  return last_;
}

void Collection::Adopt(CollectionVersion version) {
  Entry& entry = versions_[version.number];
  entry.kept = std::make_shared<const CollectionVersion>(std::move(version));
  entry.alive = entry.kept;
  entry.readers = std::make_shared<Readers>();
}

internal::CollectionRecord Collection::Record() const {
  internal::CollectionRecord record;
  record.set_owner(owner_);
  record.set_name(name_);
  *record.mutable_visibility() = visibility_;
  record.set_keep(keep_);
  record.set_last(last_);
  return record;
}

void Collection::Adopt(const internal::CollectionRecord& record) {
  keep_ = record.keep();
  last_ = record.last();
}

void Collection::SetKept(uint64_t version, DescriptorStore::Kept kept) {
  const auto found = versions_.find(version);
  if (found == versions_.end() || found->second.kept == nullptr) return;
  found->second.record = std::move(kept);
}

void Collection::RetireOld() {
  if (keep_ == 0) return;
  uint32_t newer = 0;
  for (auto entry = versions_.rbegin(); entry != versions_.rend(); ++entry) {
    if (entry->second.kept == nullptr) continue;
    if (++newer > keep_) entry->second.Retire();
  }
  Gone();
}

uint32_t Collection::Retire(uint64_t version) {
  uint32_t retired = 0;
  for (auto& [number, entry] : versions_) {
    if (version != 0 && version != number) continue;
    if (entry.kept != nullptr) ++retired;
    entry.Retire();
  }
  return retired;
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
  for (const auto& [number, entry] : versions_) {
    if (entry.kept != nullptr) absl::StrAppend(&there, " ", number);
  }
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

absl::Status Collection::Configure(
    const v1::ConfigureCollectionRequest& request) {
  if (request.visibility().clients_size() > kMaxVisibleTo) {
    return absl::InvalidArgumentError(
        absl::StrCat("collection \"", name_, "\" shared with ",
                     request.visibility().clients_size(),
                     " clients; limit: ", kMaxVisibleTo));
  }
  if (request.has_visibility()) visibility_ = request.visibility();
  if (request.has_keep()) keep_ = request.keep();
  RetireOld();
  return absl::OkStatus();
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
  for (const std::string& session : entry.readers->List()) {
    info.add_readers(session);
  }
  info.set_retired(entry.kept == nullptr);
  return info;
}

v1::CollectionInfo Collection::Info(uint64_t version) const {
  v1::CollectionInfo info;
  info.set_name(name_);
  info.set_owner(owner_);
  *info.mutable_visibility() = visibility_;
  info.set_keep(keep_);
  for (const auto& [number, entry] : versions_) {
    if (version != 0 && number != version) continue;
    const auto alive = entry.alive.lock();
    if (alive != nullptr) *info.add_versions() = Info(*alive, entry);
  }
  return info;
}

}  // namespace holdfast
