// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/pinned_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

// An arena has a multiple of kStep bytes, and at least kLeastBytes.
constexpr uint64_t kStep = 2 << 20;
constexpr uint64_t kLeastBytes = 16 << 20;

struct Memory {
  UniqueFd fd;
  uint64_t size = 0;
};

// O_NONBLOCK and O_NOCTTY: the link may lead to a pipe or a terminal.
absl::StatusOr<Memory> OpenMemory(const ArenaReference& reference) {
  const std::string path =
      absl::StrCat("/proc/", reference.process, "/fd/", reference.descriptor);
  Memory memory{
      UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))};
  struct stat found {};
  if (!memory.fd.valid() || fstat(memory.fd.get(), &found) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("open ", path, ": ", std::strerror(errno)));
  }
  memory.size = static_cast<uint64_t>(found.st_size);
  if (!IsFixedMemfd(memory.fd.get(), memory.size)) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is not the memory of an arena"));
  }
  return memory;
}

ino_t InodeOf(int fd) {
  struct stat found {};
  return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

}  // namespace

std::vector<std::shared_ptr<Arena>> PinnedMemory::Living() {
  std::vector<std::shared_ptr<Arena>> living;
  std::erase_if(arenas_, [&](const std::weak_ptr<Arena>& arena) {
    std::shared_ptr<Arena> found = arena.lock();
    if (found == nullptr) return true;
    living.push_back(std::move(found));
    return false;
  });
  return living;
}

absl::StatusOr<ArenaSpan> PinnedMemory::Allocate(uint64_t size) {
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<Arena>& arena : Living()) {
    absl::StatusOr<ArenaSpan> span = arena->Allocate(size);
    if (span.ok()) return span;
  }
  if (size > INT64_MAX - kStep) {
    return absl::ResourceExhaustedError(
        absl::StrCat("pinned memory of ", size, " bytes"));
  }
  const uint64_t bytes =
      std::max((size + kStep - 1) / kStep * kStep, kLeastBytes);
  HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Arena> arena,
                            session_.CreateArena(bytes));
  arenas_.push_back(arena);
  return arena->Allocate(size);
}

ArenaReference PinnedMemory::Reference(const ArenaSpan& span) {
  return {.process = getpid(),
          .descriptor = span.arena().memory(),
          .offset = span.offset(),
          .size = span.size()};
}

absl::StatusOr<ArenaSpan> PinnedMemory::Open(const ArenaReference& reference) {
  if (reference.size == 0) {
    return absl::OutOfRangeError("a span of an arena has to have a size");
  }
  HOLDFAST_ASSIGN_OR_RETURN(Memory memory, OpenMemory(reference));
  absl::MutexLock lock(&mutex_);
  const ino_t inode = InodeOf(memory.fd.get());
  for (const std::shared_ptr<Arena>& arena : Living()) {
    if (InodeOf(arena->memory()) != inode) continue;
    return arena->SpanAt(reference.offset, reference.size);
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::shared_ptr<Arena> arena,
      session_.CreateArena(memory.size, {.memory = memory.fd.get()}));
  arenas_.push_back(arena);
  return arena->SpanAt(reference.offset, reference.size);
}

}  // namespace holdfast::libcuda
