// SPDX-License-Identifier: Apache-2.0
#include "server/compile/program_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/memfd.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "server/compile/ptx_version.h"

namespace holdfast {
namespace {

constexpr char kMagic[8] = {'H', 'F', 'P', 'R', 'O', 'G', '1', '\n'};
constexpr uint64_t kMaxHeadBytes = uint64_t{64} << 20;
constexpr size_t kPartBytes = size_t{1} << 20;

struct Prefix {
  char magic[8];
  uint64_t head_bytes;
  char head_sha256[32];
};

absl::Status Damaged(absl::string_view how) { return absl::DataLossError(how); }

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status ReadAt(int fd, uint64_t offset, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = pread(fd, bytes, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "read");
    if (n == 0) return Damaged("the file ends early");
    bytes += n;
    size -= static_cast<size_t>(n);
    offset += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

// The head, and where the object begins.
absl::StatusOr<std::pair<internal::CachedProgram, uint64_t>> ReadHead(
    int fd, const std::string& key) {
  Prefix prefix;
  HOLDFAST_RETURN_IF_ERROR(
      ReadAt(fd, 0, reinterpret_cast<char*>(&prefix), sizeof prefix));
  if (memcmp(prefix.magic, kMagic, sizeof kMagic) != 0 ||
      prefix.head_bytes > kMaxHeadBytes) {
    return Damaged("not a file of this format");
  }
  std::string head(prefix.head_bytes, '\0');
  HOLDFAST_RETURN_IF_ERROR(ReadAt(fd, sizeof prefix, head.data(), head.size()));
  if (ToBytes(Sha256(head)) !=
      absl::string_view(prefix.head_sha256, sizeof prefix.head_sha256)) {
    return Damaged("the head has another checksum");
  }
  internal::CachedProgram cached;
  if (!cached.ParseFromString(head) || cached.key() != key) {
    return Damaged("the head is another program's");
  }
  const uint64_t start = sizeof prefix + head.size();
  struct stat file = {};
  if (fstat(fd, &file) != 0) return absl::ErrnoToStatus(errno, "fstat");
  const uint64_t size = cached.response().object().size();
  if (size == 0 || size > ObjectWriter::kMaxObjectBytes ||
      static_cast<uint64_t>(file.st_size) != start + size) {
    return Damaged("the file has another length");
  }
  return std::make_pair(std::move(cached), start);
}

absl::StatusOr<std::shared_ptr<const StoredObject>> ReadObject(
    int fd, uint64_t offset, const v1::ObjectHeader& header) {
  HOLDFAST_ASSIGN_OR_RETURN(auto writer, ObjectWriter::Create(header.size()));
  std::string part(std::min<uint64_t>(header.size(), kPartBytes), '\0');
  for (uint64_t left = header.size(); left > 0;) {
    const size_t size = std::min<uint64_t>(left, part.size());
    HOLDFAST_RETURN_IF_ERROR(ReadAt(fd, offset, part.data(), size));
    HOLDFAST_RETURN_IF_ERROR(writer->Append({part.data(), size}));
    offset += size;
    left -= size;
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto object,
                            writer->Finish(header.format(), header.symbols()));
  if (object->header.sha256() != header.sha256()) {
    return Damaged("the object has another checksum");
  }
  return object;
}

}  // namespace

absl::Status WriteProgramFile(int fd, const std::string& key,
                              const CompiledProgram& program) {
  internal::CachedProgram cached;
  cached.set_key(key);
  cached.set_name(program.name);
  cached.set_owner(program.owner);
  *cached.mutable_response() = program.response;
  *cached.mutable_response()->mutable_object() = program.object->header;
  const std::string head = cached.SerializeAsString();
  Prefix prefix;
  memcpy(prefix.magic, kMagic, sizeof kMagic);
  prefix.head_bytes = head.size();
  const Sha256Digest sha256 = Sha256(head);
  memcpy(prefix.head_sha256, sha256.data(), sha256.size());
  HOLDFAST_ASSIGN_OR_RETURN(const FileMapping object,
                            FileMapping::Map(program.object->memory.get(),
                                             FileMapping::Access::kReadOnly));
  HOLDFAST_RETURN_IF_ERROR(
      WriteAll(fd, {reinterpret_cast<const char*>(&prefix), sizeof prefix}));
  HOLDFAST_RETURN_IF_ERROR(WriteAll(fd, head));
  return WriteAll(fd, object.bytes());
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> ReadProgramFile(
    int fd, const std::string& key) {
  HOLDFAST_ASSIGN_OR_RETURN(auto head, ReadHead(fd, key));
  auto program = std::make_shared<CompiledProgram>();
  program->name = head.first.name();
  program->owner = head.first.owner();
  program->response = std::move(*head.first.mutable_response());
  HOLDFAST_ASSIGN_OR_RETURN(
      program->object, ReadObject(fd, head.second, program->response.object()));
  program->ptx_version = PtxVersionOf(*program->object);
  return program;
}

absl::StatusOr<internal::CachedProgram> ReadProgramHead(
    int fd, const std::string& key) {
  HOLDFAST_ASSIGN_OR_RETURN(auto head, ReadHead(fd, key));
  return std::move(head.first);
}

}  // namespace holdfast
