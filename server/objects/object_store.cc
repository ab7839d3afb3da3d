// SPDX-License-Identifier: Apache-2.0
#include "server/objects/object_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "store an object");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

bool HasSymbols(const v1::ObjectHeader& header,
                const v1::ObjectHeader& wanted) {
  for (const auto& [name, symbol] : wanted.symbols()) {
    const auto found = header.symbols().find(name);
    if (found == header.symbols().end() || found->second != symbol) {
      return false;
    }
  }
  return true;
}

// The same object with the symbols of `more` added; its memory is shared.
absl::StatusOr<std::shared_ptr<const StoredObject>> WithSymbols(
    const StoredObject& object, const v1::ObjectHeader& more) {
  auto merged = std::make_shared<StoredObject>();
  merged->header = object.header;
  for (const auto& [name, symbol] : more.symbols()) {
    (*merged->header.mutable_symbols())[name] = symbol;
  }
  merged->memory.Reset(fcntl(object.memory.get(), F_DUPFD_CLOEXEC, 0));
  if (!merged->memory.valid()) {
    return absl::ErrnoToStatus(errno, "duplicate an object's descriptor");
  }
  return merged;
}

// Bytes that an object takes. Symbols are a client's word, and may be larger
// than the code.
uint64_t Cost(const StoredObject& object) {
  uint64_t bytes = object.header.size();
  for (const auto& [name, symbol] : object.header.symbols()) {
    bytes += name.size() + symbol.size();
  }
  return bytes;
}

}  // namespace

ObjectWriter::ObjectWriter(uint64_t size, UniqueFd memory)
    : size_(size), memory_(std::move(memory)) {}

absl::StatusOr<std::unique_ptr<ObjectWriter>> ObjectWriter::Create(
    uint64_t size) {
  if (size == 0) {
    return absl::InvalidArgumentError("the object has a size of 0 bytes");
  }
  if (size > kMaxObjectBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an object of ", size, " bytes is over the limit of ",
                     kMaxObjectBytes, " (256 MiB)"));
  }
  // Grows with what comes, not with what was announced.
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd memory, CreateMemfd("holdfast-object", 0));
  return std::unique_ptr<ObjectWriter>(
      new ObjectWriter(size, std::move(memory)));
}

absl::Status ObjectWriter::Append(absl::string_view bytes) {
  if (bytes.size() > size_ - written_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the object has more than the ", size_,
                     " bytes that its header announced"));
  }
  HOLDFAST_RETURN_IF_ERROR(WriteAll(memory_.get(), bytes));
  hasher_.Update(bytes);
  written_ += bytes.size();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const StoredObject>> ObjectWriter::Finish(
    v1::ObjectFormat format,
    const google::protobuf::Map<std::string, std::string>& symbols) {
  if (written_ != size_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the object has ", written_, " bytes, its header announced ", size_));
  }
  HOLDFAST_RETURN_IF_ERROR(SealMemfd(memory_.get()));
  auto object = std::make_shared<StoredObject>();
  object->header.set_sha256(ToBytes(hasher_.Finish()));
  object->header.set_size(size_);
  object->header.set_format(format);
  *object->header.mutable_symbols() = symbols;
  object->memory = std::move(memory_);
  return object;
}

size_t ObjectStore::DefaultMaxObjects() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 1024;
  return static_cast<size_t>(std::clamp<rlim_t>(limit.rlim_cur / 16, 16, 4096));
}

bool ObjectStore::Put(std::shared_ptr<const StoredObject> object,
                      Origin origin) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_sha256_.find(object->header.sha256());
  if (found == by_sha256_.end()) {
    Insert(std::move(object));
    return false;
  }
  order_.splice(order_.begin(), order_, found->second);
  if (origin == Origin::kCompiler &&
      !HasSymbols((*found->second)->header, object->header)) {
    auto merged = WithSymbols(**found->second, object->header);
    bytes_ -= Cost(**found->second);
    *found->second = merged.ok() ? *std::move(merged) : std::move(object);
    bytes_ += Cost(**found->second);
  }
  return true;
}

void ObjectStore::Insert(std::shared_ptr<const StoredObject> object) {
  bytes_ += Cost(*object);
  std::string sha256 = object->header.sha256();
  order_.push_front(std::move(object));
  by_sha256_[std::move(sha256)] = order_.begin();
  Evict();
}

void ObjectStore::Evict() {
  while ((bytes_ > max_bytes_ && order_.size() > 1) ||
         order_.size() > max_objects_) {
    bytes_ -= Cost(*order_.back());
    by_sha256_.erase(order_.back()->header.sha256());
    order_.pop_back();
  }
}

absl::StatusOr<std::shared_ptr<const StoredObject>> ObjectStore::Get(
    absl::string_view sha256) {
  if (sha256.size() != sizeof(Sha256Digest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an object's SHA-256 has 32 bytes, this one has ", sha256.size()));
  }
  absl::MutexLock lock(&mutex_);
  const auto found = by_sha256_.find(sha256);
  if (found == by_sha256_.end()) {
    return absl::NotFoundError(absl::StrCat(
        "object ", absl::BytesToHexString(sha256), " is not stored"));
  }
  order_.splice(order_.begin(), order_, found->second);
  return order_.front();
}

bool ObjectStore::Has(absl::string_view sha256) const {
  absl::MutexLock lock(&mutex_);
  return by_sha256_.contains(sha256);
}

}  // namespace holdfast
