// SPDX-License-Identifier: Apache-2.0
#include "server/compile/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/cache_directory.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "server/compile/installation.h"
#include "server/compile/program_file.h"

namespace holdfast {
namespace {

constexpr absl::string_view kSuffix = ".program";
constexpr uint64_t kBlock = 4096;

uint64_t BlocksOf(uint64_t bytes) {
  return (bytes + kBlock - 1) / kBlock * kBlock;
}

// 64 hexadecimal digits and the suffix; empty for any other file.
std::string KeyOf(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, kSuffix) || name.size() != 64) return "";
  if (!std::all_of(name.begin(), name.end(), absl::ascii_isxdigit)) return "";
  return absl::HexStringToBytes(name);
}

bool IsEntry(const CacheFile& file) { return !KeyOf(file.name).empty(); }

// One of ours that is being written.
bool IsNew(absl::string_view name) {
  const absl::string_view to_be = FinalName(name);
  return to_be == kInstallationFile || !KeyOf(to_be).empty();
}

}  // namespace

std::string DiskCache::PathOf(const std::string& key) const {
  return absl::StrCat(directory_, "/", absl::BytesToHexString(key), kSuffix);
}

std::shared_ptr<const CompiledProgram> DiskCache::Load(const std::string& key) {
  if (!enabled()) return nullptr;
  const std::string path = PathOf(key);
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      !IsTrusted(info) || !CheckDirectory(directory_).ok()) {
    return nullptr;
  }
  auto program = ReadProgramFile(fd.get(), key);
  if (program.ok()) {
    ++hits_;
    SetUsedNow(fd.get());
    return *std::move(program);
  }
  LogWarning("compile cache: ", path, ": ", program.status().message());
  if (absl::IsDataLoss(program.status())) {
    ++damaged_;
    unlink(path.c_str());
  }
  return nullptr;
}

void DiskCache::Touch(const std::string& key) {
  if (!enabled()) return;
  const UniqueFd fd(open(PathOf(key).c_str(),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.valid()) SetUsedNow(fd.get());
}

void DiskCache::Store(const std::string& key, const CompiledProgram& program) {
  if (!enabled()) return;
  // The head beside the response is small, and in the same block or the next.
  const uint64_t bytes =
      BlocksOf(program.object->header.size() + program.response.ByteSizeLong() +
               program.name.size() + 256);
  if (bytes > max_bytes_) return;
  absl::MutexLock lock(&mutex_);
  absl::Status status = MakeDirectories(directory_);
  if (status.ok()) {
    MakeRoom(bytes);
    status = Write(key, program);
  }
  if (status.ok()) {
    bytes_ += bytes;
    added_ += bytes;
  } else {
    ++not_kept_;
  }
  SetProblem(status);
}

absl::Status DiskCache::Write(const std::string& key,
                              const CompiledProgram& program) {
  return ReplaceFile(PathOf(key), [&](int fd) {
    const absl::Status status = WriteProgramFile(fd, key, program);
    SetUsedNow(fd);
    return status;
  });
}

// Each is logged once, until it changes.
void DiskCache::SetProblem(const absl::Status& status) {
  const std::string problem(status.message());
  const bool same_kind = problem_.empty() == problem.empty();
  problem_ = problem;
  if (same_kind) return;
  if (problem.empty())
    return LogInfo("compile cache: ", directory_, " is kept");
  LogWarning("compile cache: not kept on disk: ", problem);
}

std::vector<CacheFile> DiskCache::Scan() const {
  std::vector<CacheFile> files;
  for (CacheFile& file : ListCache(directory_)) {
    if (!IsEntry(file) && !IsNew(file.name)) continue;
    if (IsStaleTempFile(directory_, file)) {
      unlink(absl::StrCat(directory_, "/", file.name).c_str());
      continue;
    }
    file.bytes = BlocksOf(file.bytes);
    files.push_back(std::move(file));
  }
  return files;
}

void DiskCache::MakeRoom(uint64_t bytes) {
  const bool known = scanned_ && added_ + bytes <= max_bytes_ / 16;
  if (known && bytes_ + bytes <= max_bytes_) return;
  std::vector<CacheFile> files = Scan();
  scanned_ = true;
  bytes_ = added_ = 0;
  for (const CacheFile& file : files) bytes_ += file.bytes;
  if (bytes_ + bytes <= max_bytes_) return;
  // Some more, so that not every new entry costs a look at all.
  uint64_t goal = max_bytes_ - std::max(bytes, max_bytes_ / 16);
  // Files that are being written stay.
  const auto news = std::partition(files.begin(), files.end(), IsEntry);
  for (auto file = news; file != files.end(); ++file) {
    goal -= std::min(goal, file->bytes);
  }
  files.erase(news, files.end());
  const CacheSum removed =
      RemoveLeastRecentlyUsed(directory_, std::move(files), goal);
  bytes_ -= removed.bytes;
  evictions_ += removed.files;
}

size_t DiskCache::Clear() {
  absl::MutexLock lock(&mutex_);
  size_t removed = 0;
  for (const CacheFile& file : Scan()) {
    if (!IsEntry(file)) continue;
    const std::string path = absl::StrCat(directory_, "/", file.name);
    if (unlink(path.c_str()) == 0) ++removed;
  }
  scanned_ = false;
  return removed;
}

std::vector<DiskCache::Entry> DiskCache::List(
    size_t max, std::optional<absl::string_view> owner) const {
  std::vector<CacheFile> files = Scan();
  std::sort(
      files.begin(), files.end(),
      [](const CacheFile& a, const CacheFile& b) { return a.used > b.used; });
  std::vector<Entry> entries;
  size_t examined = 0;
  for (const CacheFile& file : files) {
    if (entries.size() >= max || examined >= kMaxExamined) break;
    const std::string key = KeyOf(file.name);
    if (key.empty()) continue;
    ++examined;
    const UniqueFd fd(open(PathOf(key).c_str(),
                           O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    auto head = ReadProgramHead(fd.get(), key);
    if (!head.ok()) continue;
    if (owner.has_value() && head->owner() != *owner) continue;
    // They are most of a large response, and no list shows them.
    head->mutable_response()->clear_kernels();
    entries.push_back({key, file.bytes, file.used, head->name(), head->owner(),
                       std::move(*head->mutable_response())});
  }
  return entries;
}

DiskCache::Statistics DiskCache::statistics() const {
  Statistics statistics{.hits = hits_, .damaged = damaged_};
  if (!enabled()) return statistics;
  for (const CacheFile& file : Scan()) {
    statistics.entries += IsEntry(file) ? 1 : 0;
    statistics.bytes += file.bytes;
  }
  absl::MutexLock lock(&mutex_);
  statistics.evictions = evictions_;
  statistics.not_kept = not_kept_;
  statistics.problem = problem_;
  return statistics;
}

}  // namespace holdfast
