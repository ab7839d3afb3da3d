// SPDX-License-Identifier: Apache-2.0
#include "server/process/user_range.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace holdfast {
namespace {

// The user of the process with that folder in /proc. Those that are not
// dumpable belong to root there, so that the folder's owner does not tell.
std::optional<uid_t> UserOf(const std::filesystem::path& process) {
  std::ifstream status(process / "status");
  std::string line;
  std::optional<uid_t> found;
  bool ended = false;  // or its first thread has, while others run
  while (std::getline(status, line)) {
    absl::string_view rest = line;
    ended |= absl::StartsWith(rest, "State:\tZ");
    // The process has ended, and its parent has not taken note.
    if (ended && rest == "Threads:\t1") return std::nullopt;
    uint32_t user = 0;
    if (absl::ConsumePrefix(&rest, "Uid:\t") &&
        absl::SimpleAtoi(rest.substr(0, rest.find('\t')), &user)) {
      found = user;
    }
  }
  return found;
}

}  // namespace

UserRange::Lease::Lease(std::shared_ptr<UserRange> range, uid_t user)
    : range_(std::move(range)), user_(user) {}

UserRange::Lease::Lease(Lease&& other) noexcept
    : range_(std::move(other.range_)), user_(std::exchange(other.user_, 0)) {}

UserRange::Lease& UserRange::Lease::operator=(Lease&& other) noexcept {
  std::swap(range_, other.range_);
  std::swap(user_, other.user_);
  return *this;
}

UserRange::Lease::~Lease() {
  if (range_ == nullptr) return;
  absl::MutexLock lock(&range_->mutex_);
  range_->taken_.erase(user_);
}

absl::StatusOr<std::shared_ptr<UserRange>> UserRange::Parse(
    absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, '-');
  uint32_t first = 0;
  uint32_t last = 0;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &first) ||
      !absl::SimpleAtoi(ends[1], &last) || first == 0 || last < first ||
      last == UINT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, " is no range of user numbers; write 200000-265535"));
  }
  std::shared_ptr<UserRange> range(new UserRange(first, last));
  absl::MutexLock lock(&range->mutex_);
  range->FindProcesses();
  return range;
}

void UserRange::FindProcesses() {
  with_processes_.clear();
  std::error_code error;
  std::filesystem::directory_iterator process("/proc", error);
  const std::filesystem::directory_iterator end;
  for (; !error && process != end; process.increment(error)) {
    const std::optional<uid_t> user = UserOf(process->path());
    if (!user || *user < first_ || *user > last_) continue;
    if (taken_.count(*user) == 0) with_processes_.insert(*user);
  }
}

UserRange::Lease UserRange::TakeBack(const std::shared_ptr<UserRange>& range,
                                     uid_t user) {
  if (range == nullptr || user < range->first_ || user > range->last_) {
    return Lease();
  }
  absl::MutexLock lock(&range->mutex_);
  if (!range->taken_.insert(user).second) return Lease();
  range->with_processes_.erase(user);
  return Lease(range, user);
}

UserRange::Lease UserRange::Take(const std::shared_ptr<UserRange>& range) {
  if (range == nullptr) return Lease();
  absl::MutexLock lock(&range->mutex_);
  const uid_t count = range->last_ - range->first_ + 1;
  const auto used_up = [&range, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return range->taken_.size() + range->with_processes_.size() >= count;
  };
  if (used_up()) range->FindProcesses();
  if (used_up()) return Lease();
  uid_t user = 0;
  do {
    user = range->first_ + range->next_++ % count;
  } while (range->with_processes_.count(user) > 0 ||
           !range->taken_.insert(user).second);
  return Lease(range, user);
}

}  // namespace holdfast
