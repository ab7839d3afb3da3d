// SPDX-License-Identifier: Apache-2.0
#include "server/kept/descriptor_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/service_manager/notify.h"

namespace holdfast {
namespace {

// A record is a message of a client's at most.
constexpr size_t kMaxRecordBytes = size_t{16} << 20;

// The kernel allows one string of the environment 128 KiB, and the service
// manager cannot start a daemon whose $LISTEN_FDNAMES is longer: it would lose
// every session. A keeper passes a list instead (descriptor_list.h).
constexpr size_t kMaxNameBytes = 63;
constexpr size_t kMaxInEnvironment = 2000;

// Returns a descriptor of the same file with an open file description of its
// own; none if the file is no memory. systemd stores an open file description
// once, under its first name, and drops the second name that it is sent with:
// an object that two sessions have loaded would be kept for one of them.
UniqueFd Reopen(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return UniqueFd();
  const int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
  return UniqueFd(
      open(absl::StrCat("/proc/self/fd/", fd).c_str(), mode | O_CLOEXEC));
}

bool Send(absl::string_view name, int fd) {
  return NotifyServiceManager(
      absl::StrCat("FDSTORE=1\nFDPOLL=0\nFDNAME=", name), fd);
}

// The same to a service manager that may not have begun to read: each try lasts
// a second while its queue is full.
bool SendToStart(absl::string_view name, int fd) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    if (Send(name, fd)) return true;
  }
  return false;
}

}  // namespace

DescriptorStore::Kept& DescriptorStore::Kept::operator=(Kept&& other) noexcept {
  // A name that is taken over keeps its place; see Keep.
  DescriptorStore* const store = std::exchange(store_, nullptr);
  if (store != nullptr && name_ != other.name_) store->Remove(name_);
  store_ = std::exchange(other.store_, nullptr);
  name_ = std::exchange(other.name_, "");
  own_ = std::move(other.own_);
  return *this;
}

DescriptorStore::Kept::~Kept() {
  if (store_ != nullptr) store_->Remove(name_);
}

DescriptorStore::DescriptorStore(const std::vector<std::string>& inherited)
    : inherited_(inherited.begin(), inherited.end()),
      in_manager_(inherited_.size()) {
  const char* const limit = std::getenv("FDSTORE");
  const bool is_told = std::getenv("NOTIFY_SOCKET") != nullptr;
  if (!is_told || limit == nullptr ||
      !absl::SimpleAtoi(limit, &manager_limit_)) {
    manager_limit_ = 0;
  }
  if (std::getenv("HOLDFAST_KEEPER") == nullptr) {
    manager_limit_ = std::min(manager_limit_, kMaxInEnvironment);
  }
  for (const std::string& name : inherited_) {
    const auto parsed = KeptName::Parse(name);
    if (!parsed.has_value()) continue;
    last_version_ = std::max(last_version_, parsed->version);
  }
}

DescriptorStore::Kept DescriptorStore::Keep(const KeptName& name, int fd) {
  return Keep(name, fd, /*before=*/"");
}

DescriptorStore::Kept DescriptorStore::KeepInPlaceOf(const KeptName& before,
                                                     const KeptName& name,
                                                     int fd) {
  return Keep(name, fd, before.ToString());
}

DescriptorStore::Kept DescriptorStore::Keep(const KeptName& name, int fd,
                                            const std::string& before) {
  Kept kept(this, name.ToString());
  absl::MutexLock lock(&mutex_);
  Entry& entry = kept_[kept.name_];
  entry.fd = fd;
  if (manager_limit_ == 0) return kept;
  if (!settled_ && entry.stored.empty()) {
    // The manager has it from the daemon before, which a removal would
    // endanger: this daemon may die at any instant.
    entry.stored = FindInherited(kept.name_);
    if (!entry.stored.empty()) return kept;
  }
  kept.own_ = Reopen(fd);
  const auto other = kept_.find(before);
  if (in_manager_ >= manager_limit_ && entry.stored.empty() &&
      other != kept_.end() && !other->second.stored.empty()) {
    entry.before = before;
    heirs_[before] = kept.name_;
    return kept;
  }
  Store(kept.name_, kept.own_.valid() ? kept.own_.get() : fd, entry);
  return kept;
}

void DescriptorStore::StoreHeir(const std::string& before) {
  const auto found = heirs_.find(before);
  if (found == heirs_.end()) return;
  const std::string name = found->second;
  heirs_.erase(found);
  Entry& entry = kept_[name];
  entry.before.clear();
  if (!entry.stored.empty()) return;  // MoveTo found room.
  const UniqueFd own = Reopen(entry.fd);
  Store(name, own.valid() ? own.get() : entry.fd, entry);
}

void DescriptorStore::Store(const std::string& name, int fd, Entry& entry) {
  std::string before = std::exchange(entry.stored, "");
  const std::string stored =
      before.empty() ? name
                     : absl::StrCat(name, "~", absl::Hex(++last_version_));
  // There is no room for both: what does not fit is dropped without a word.
  if (in_manager_ >= manager_limit_) RemoveStored(before);
  if (in_manager_ >= manager_limit_ || stored.size() > kMaxNameBytes) {
    if (!std::exchange(full_, true)) {
      LogWarning("more than ", manager_limit_,
                 " descriptors are to be kept ($FDSTORE, "
                 "FileDescriptorStoreMax= of the unit; at most ",
                 kMaxInEnvironment,
                 " with systemd): some sessions would not survive this daemon");
    }
  } else if (Send(stored, fd)) {
    entry.stored = stored;
    ++in_manager_;
  } else {
    LogWarning("the service manager does not take ", stored,
               ": its session would not survive this daemon");
  }
  // Only now: a daemon that dies in between leaves both.
  RemoveStored(before);
}

void DescriptorStore::RemoveStored(std::string& stored) {
  if (stored.empty()) return;
  inherited_.erase(stored);
  NotifyServiceManager(absl::StrCat("FDSTOREREMOVE=1\nFDNAME=", stored));
  --in_manager_;
  stored.clear();
}

std::string DescriptorStore::FindInherited(const std::string& name) const {
  std::string newest;
  uint64_t version = 0;
  for (auto it = inherited_.lower_bound(name); it != inherited_.end(); ++it) {
    if (!absl::StartsWith(*it, name)) break;
    const bool versioned = it->size() > name.size();
    if (versioned && (*it)[name.size()] != '~') continue;
    const auto parsed = KeptName::Parse(*it);
    if (!parsed.has_value()) continue;
    if (newest.empty() || parsed->version > version) {
      newest = *it;
      version = parsed->version;
    }
  }
  return newest;
}

DescriptorStore::Kept DescriptorStore::KeepRecord(
    const KeptName& name, const google::protobuf::MessageLite& record) {
  auto memory =
      CreateSealedMemfd("holdfast-record", record.SerializeAsString());
  if (!memory.ok()) {
    LogWarning(name.ToString(), " is not kept: ", memory.status().message());
    return Kept();
  }
  {
    // The manager may have another file of this name, which may say something
    // else.
    const std::string text = name.ToString();
    absl::MutexLock lock(&mutex_);
    if (manager_limit_ > 0 && !settled_ && !kept_.contains(text)) {
      const std::string before = FindInherited(text);
      if (!before.empty()) kept_[text].stored = before;
    }
  }
  Kept kept = Keep(name, memory->get());
  kept.own_ = *std::move(memory);
  return kept;
}

void DescriptorStore::Remove(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end()) return;
  std::string stored = std::move(found->second.stored);
  if (!found->second.before.empty()) heirs_.erase(found->second.before);
  kept_.erase(found);
  // Settle does that.
  if (settled_ || !inherited_.contains(stored)) RemoveStored(stored);
  StoreHeir(name);
}

void DescriptorStore::Settle() {
  absl::MutexLock lock(&mutex_);
  settled_ = true;
  std::set<std::string> left = std::exchange(inherited_, {});
  if (manager_limit_ == 0) return;
  for (const auto& [name, entry] : kept_) left.erase(entry.stored);
  for (std::string name : left) RemoveStored(name);
}

absl::StatusOr<size_t> DescriptorStore::MoveTo(
    absl::FunctionRef<absl::Status()> start) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_RETURN_IF_ERROR(start());
  in_manager_ = 0;
  full_ = false;
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    auto& [name, entry] = *it;
    // Under the same name, so that versions go on.
    std::string stored = std::exchange(entry.stored, "");
    if (stored.empty()) stored = name;
    if (in_manager_ >= manager_limit_) continue;
    if (!SendToStart(stored, entry.fd)) {
      // This manager has none of those behind it.
      for (; it != kept_.end(); ++it) it->second.stored.clear();
      return absl::UnavailableError(
          absl::StrCat("it does not take ", stored, ", descriptor ",
                       in_manager_ + 1, " of ", kept_.size()));
    }
    entry.stored = std::move(stored);
    ++in_manager_;
  }
  return in_manager_;
}

std::vector<KeptDescriptor> DescriptorStore::CopyAll() const {
  std::vector<KeptDescriptor> copies;
  absl::MutexLock lock(&mutex_);
  for (const auto& [text, entry] : kept_) {
    UniqueFd copy(fcntl(entry.fd, F_DUPFD_CLOEXEC, 0));
    const auto name =
        KeptName::Parse(entry.stored.empty() ? text : entry.stored);
    if (!copy.valid() || !name.has_value()) continue;
    copies.push_back({*name, std::move(copy)});
  }
  return copies;
}

absl::Status ReadRecord(int fd, google::protobuf::MessageLite* record) {
  if (!IsSealed(fd)) {
    return absl::InvalidArgumentError("the record is no sealed memfd");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const FileMapping mapping,
      FileMapping::Map(fd, FileMapping::Access::kReadOnly));
  if (mapping.size() <= kMaxRecordBytes &&
      record->ParseFromArray(mapping.data(),
                             static_cast<int>(mapping.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the record of ", mapping.size(), " bytes cannot be read"));
}

}  // namespace holdfast
