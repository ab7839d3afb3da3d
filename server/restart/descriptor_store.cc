// SPDX-License-Identifier: Apache-2.0
#include "server/restart/descriptor_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

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
    : inherited_(inherited.begin(), inherited.end()) {
  const char* const limit = std::getenv("FDSTORE");
  const bool is_told = std::getenv("NOTIFY_SOCKET") != nullptr;
  if (!is_told || limit == nullptr ||
      !absl::SimpleAtoi(limit, &manager_limit_)) {
    manager_limit_ = 0;
  }
  if (std::getenv("HOLDFAST_KEEPER") == nullptr) {
    manager_limit_ = std::min(manager_limit_, kMaxInEnvironment);
  }
}

DescriptorStore::Kept DescriptorStore::Keep(const KeptName& name, int fd) {
  Kept kept(this, name.ToString());
  const std::string& text = kept.name_;
  absl::MutexLock lock(&mutex_);
  const bool replaces = !kept_.insert_or_assign(text, fd).second;
  if (manager_limit_ == 0) return kept;
  // The manager has it from the daemon before, which a removal would endanger:
  // this daemon may die at any instant.
  if (!settled_ && !replaces && inherited_.contains(text)) return kept;
  if (replaces) {
    NotifyServiceManager(absl::StrCat("FDSTOREREMOVE=1\nFDNAME=", text));
  }
  if (kept_.size() > manager_limit_ || text.size() > kMaxNameBytes) {
    if (!std::exchange(full_, true)) {
      LogWarning("more than ", manager_limit_,
                 " descriptors are to be kept ($FDSTORE, "
                 "FileDescriptorStoreMax= of the unit; at most ",
                 kMaxInEnvironment,
                 " with systemd): some sessions would not survive this daemon");
    }
    return kept;
  }
  kept.own_ = Reopen(fd);
  if (!NotifyServiceManager(absl::StrCat("FDSTORE=1\nFDPOLL=0\nFDNAME=", text),
                            kept.own_.valid() ? kept.own_.get() : fd)) {
    LogWarning("the service manager does not take ", text,
               ": its session would not survive this daemon");
  }
  return kept;
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
    // The manager has another file of this name, which may say something else.
    const std::string text = name.ToString();
    absl::MutexLock lock(&mutex_);
    if (inherited_.erase(text) > 0 && manager_limit_ > 0) {
      NotifyServiceManager(absl::StrCat("FDSTOREREMOVE=1\nFDNAME=", text));
    }
  }
  Kept kept = Keep(name, memory->get());
  kept.own_ = *std::move(memory);
  return kept;
}

void DescriptorStore::Remove(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  if (kept_.erase(name) == 0 || manager_limit_ == 0) return;
  if (!settled_ && inherited_.contains(name)) return;  // Settle does that.
  NotifyServiceManager(absl::StrCat("FDSTOREREMOVE=1\nFDNAME=", name));
}

void DescriptorStore::Settle() {
  absl::MutexLock lock(&mutex_);
  settled_ = true;
  for (const std::string& name : std::exchange(inherited_, {})) {
    if (manager_limit_ == 0 || kept_.contains(name)) continue;
    NotifyServiceManager(absl::StrCat("FDSTOREREMOVE=1\nFDNAME=", name));
  }
}

std::vector<KeptDescriptor> DescriptorStore::CopyAll() const {
  std::vector<KeptDescriptor> copies;
  absl::MutexLock lock(&mutex_);
  for (const auto& [text, fd] : kept_) {
    UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    const auto name = KeptName::Parse(text);
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
