// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/code_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/memfd.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"

namespace holdfast::supervisor {
namespace {

constexpr size_t kKeyDigits = 64;

absl::Status CheckKey(const std::string& key) {
  if (key.size() == kKeyDigits &&
      std::all_of(key.begin(), key.end(), absl::ascii_isxdigit)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a key of code has ", kKeyDigits, " hexadecimal digits"));
}

// The name of an entry: no other owner and key have the same.
std::string EntryOf(const std::string& owner, const std::string& key) {
  const Sha256Digest digest = Sha256(absl::StrCat("code\n", key, "\n", owner));
  return std::string(reinterpret_cast<const char*>(digest.data()),
                     digest.size());
}

// The size of a memfd that nobody can change any more.
absl::StatusOr<uint64_t> SizeOf(int memory) {
  struct stat info = {};
  if (!IsSealed(memory) || fstat(memory, &info) != 0 || info.st_size <= 0) {
    return absl::InvalidArgumentError("code comes in a sealed memfd");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > CodeCache::kMaxCodeBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("code of ", size, " bytes is over the limit of ",
                     CodeCache::kMaxCodeBytes));
  }
  return size;
}

absl::StatusOr<std::shared_ptr<const StoredObject>> Copy(int memory,
                                                         uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(auto writer, ObjectWriter::Create(size));
  std::string part(std::min<uint64_t>(size, 1 << 20), '\0');
  for (uint64_t done = 0; done < size;) {
    const ssize_t n =
        pread(memory, part.data(), part.size(), static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::ErrnoToStatus(errno, "read generated code");
    HOLDFAST_RETURN_IF_ERROR(
        writer->Append({part.data(), static_cast<size_t>(n)}));
    done += static_cast<uint64_t>(n);
  }
  return writer->Finish(v1::OBJECT_FORMAT_UNSPECIFIED, {});
}

}  // namespace

std::shared_ptr<const StoredObject> CodeCache::Load(const std::string& owner,
                                                    const std::string& key) {
  if (owner.empty() || !CheckKey(key).ok()) return nullptr;
  const auto program = disk_.Load(EntryOf(owner, key));
  return program == nullptr ? nullptr : program->object;
}

absl::Status CodeCache::Store(const std::string& owner, const std::string& key,
                              int memory) {
  HOLDFAST_RETURN_IF_ERROR(CheckKey(key));
  if (owner.empty() || !disk_.enabled()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(memory));
  auto copy = Copy(memory, size);
  if (!copy.ok()) {
    // The daemon's need, not the executor's fault.
    LogWarning("generated code is not kept: ", copy.status().message());
    return absl::OkStatus();
  }
  CompiledProgram program;
  program.name = "generated code";
  program.object = *std::move(copy);
  *program.response.mutable_object() = program.object->header;
  disk_.Store(EntryOf(owner, key), program);
  return absl::OkStatus();
}

}  // namespace holdfast::supervisor
