// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/object_cache.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/unique_fd.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

namespace holdfast::software::jit {
namespace {

constexpr uint64_t kDefaultMaxBytes = uint64_t{256} << 20;
constexpr size_t kMaxObject = size_t{64} << 20;
constexpr char kSuffix[] = ".object";

// In front of each object.
struct Header {
  char magic[8];
  uint64_t size;
  char checksum[64];  // Sha256Hex of the object
};
constexpr char kMagic[8] = {'H', 'F', 'O', 'B', 'J', '1', '\n', '\0'};

bool ReadAll(int fd, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, bytes, size);
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Ours, and written by no other user: it will be run.
bool IsTrusted(const struct stat& status) {
  return status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Everything about a file is checked before it is run as code: owner and
// rights, its size against the header's, and the checksum. A file that fails is
// no error: it is removed, and made again.
bool ReadEntry(int fd, std::string* object) {
  struct stat status;
  Header header;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
      !IsTrusted(status) ||
      !ReadAll(fd, reinterpret_cast<char*>(&header), sizeof(header))) {
    return false;
  }
  if (memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
      header.size > kMaxObject ||
      static_cast<uint64_t>(status.st_size) != sizeof(header) + header.size) {
    return false;
  }
  object->resize(header.size);
  return ReadAll(fd, &(*object)[0], object->size()) &&
         absl::string_view(header.checksum, sizeof(header.checksum)) ==
             Sha256Hex(*object);
}

bool LoadFrom(const CodeStore& store, const std::string& key,
              std::string* object) {
  object->clear();
  store.load(
      store.context, key.c_str(),
      [](void* sink, const char* bytes, size_t size) {
        static_cast<std::string*>(sink)->append(bytes, size);
      },
      object);
  return !object->empty();
}

std::string DefaultFolder() {
  const char* setting = getenv("HOLDFAST_SOFTWARE_CACHE");
  if (setting != nullptr && *setting != '\0') {
    return strcmp(setting, "off") == 0 ? "" : setting;
  }
  const char* cache = getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') {
    return absl::StrCat(cache, "/holdfast/objects");
  }
  const char* home = getenv("HOME");
  if (home != nullptr && *home == '/') {
    return absl::StrCat(home, "/.cache/holdfast/objects");
  }
  return "";
}

}  // namespace

const ObjectCache& ObjectCache::Default() {
  static const auto& cache =
      GetCodeStore() != nullptr
          ? *new ObjectCache(GetCodeStore())
          : *new ObjectCache(DefaultFolder(), kDefaultMaxBytes);
  return cache;
}

std::string ObjectCache::PathOf(const std::string& key) const {
  return absl::StrCat(folder_, "/", key, kSuffix);
}

// Makes the folder and those above it.
bool ObjectCache::PrepareFolder() const {
  for (size_t at = 1; at != std::string::npos;) {
    at = folder_.find('/', at + 1);
    mkdir(folder_.substr(0, at).c_str(), 0700);
  }
  struct stat status;
  return stat(folder_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         IsTrusted(status);
}

// The time of a file is when it was last used: loading sets it, and Evict
// removes the oldest first.
bool ObjectCache::Load(const std::string& key, std::string* object) const {
  if (!enabled()) return false;
  if (store_ != nullptr) return LoadFrom(*store_, key, object);
  struct stat folder;
  if (stat(folder_.c_str(), &folder) != 0 || !IsTrusted(folder)) return false;
  const std::string path = PathOf(key);
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return false;
  if (!ReadEntry(fd.get(), object)) {
    unlink(path.c_str());
    return false;
  }
  futimens(fd.get(), nullptr);
  return true;
}

// Written under a name of its own and then renamed, so that other processes see
// the whole entry or none. Failures are silent: the code is in memory anyway.
void ObjectCache::Store(const std::string& key,
                        absl::string_view object) const {
  if (!enabled() || object.size() > kMaxObject) return;
  if (store_ != nullptr) {
    return store_->store(store_->context, key.c_str(), object.data(),
                         object.size());
  }
  if (!PrepareFolder()) return;
  static std::atomic<uint64_t> count{0};
  const std::string path =
      absl::StrCat(folder_, "/", key, ".", getpid(), ".", count++);
  Header header;
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.size = object.size();
  memcpy(header.checksum, Sha256Hex(object).data(), sizeof(header.checksum));
  const UniqueFd fd(open(path.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                         0600));
  if (!fd.valid()) return;
  const bool stored =
      WriteAll(fd.get(), {reinterpret_cast<char*>(&header), sizeof(header)}) &&
      WriteAll(fd.get(), object) &&
      rename(path.c_str(), PathOf(key).c_str()) == 0;
  if (!stored) unlink(path.c_str());
  Evict();
}

// Processes may do so at the same time, and each may find files gone that it
// has listed.
void ObjectCache::Evict() const {
  DIR* folder = opendir(folder_.c_str());
  if (folder == nullptr) return;
  using Entry = std::tuple<int64_t, int64_t, uint64_t, std::string>;
  std::vector<Entry> entries;  // when last used, bytes, name
  uint64_t total = 0;
  while (const dirent* entry = readdir(folder)) {
    struct stat status;
    if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) !=
            0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    const auto size = static_cast<uint64_t>(status.st_size);
    total += size;
    entries.emplace_back(status.st_mtim.tv_sec, status.st_mtim.tv_nsec, size,
                         entry->d_name);
  }
  if (total > max_bytes_) {
    std::sort(entries.begin(), entries.end());
    for (const auto& [seconds, nanoseconds, size, name] : entries) {
      // Some room, so that not every new entry costs a removal.
      if (total <= max_bytes_ / 4 * 3) break;
      unlinkat(dirfd(folder), name.c_str(), 0);
      total -= size;
    }
  }
  closedir(folder);
}

std::string Sha256Hex(absl::string_view bytes) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(bytes.data(), bytes.size()));
  const auto digest = hash.final();
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(digest.data()), digest.size()});
}

namespace {

// The build id among the notes of [at, end); empty if there is none.
std::string BuildIdOf(const char* at, const char* end) {
  const auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
  while (end - at >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const char* name = at + sizeof(*note);
    const char* content = name + padded(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
        memcmp(name, "GNU", 4) == 0) {
      return absl::BytesToHexString({content, note->n_descsz});
    }
    at = content + padded(note->n_descsz);
  }
  return "";
}

// Looks for the loaded file that holds this very function, which is the driver,
// whatever program has loaded it.
int FindBuildId(dl_phdr_info* info, size_t, void* data) {
  const auto here = reinterpret_cast<uintptr_t>(&FindBuildId);
  bool holds_this = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    holds_this |= segment.p_type == PT_LOAD &&
                  here - info->dlpi_addr - segment.p_vaddr < segment.p_memsz;
  }
  if (!holds_this) return 0;
  auto* id = static_cast<std::string*>(data);
  for (int i = 0; i < info->dlpi_phnum && id->empty(); ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at =
        reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    *id = BuildIdOf(at, at + segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  static const auto& id = *new std::string([] {
    std::string found;
    dl_iterate_phdr(&FindBuildId, &found);
    return found;
  }());
  return id;
}

}  // namespace holdfast::software::jit
