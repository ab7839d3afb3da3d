// SPDX-License-Identifier: Apache-2.0
#include "server/executor/memory/memory_image.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "server/account/account.h"

namespace holdfast::executor {
namespace {

absl::Status WriteAll(const char* bytes, uint64_t size, FilePlace place) {
  while (size > 0) {
    const ssize_t done =
        pwrite(place.file, bytes, size, static_cast<off_t>(place.offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return absl::ErrnoToStatus(errno, "write suspended memory");
    bytes += done;
    size -= static_cast<uint64_t>(done);
    place.offset += static_cast<uint64_t>(done);
  }
  return absl::OkStatus();
}

absl::Status ReadAll(char* bytes, uint64_t size, FilePlace place) {
  while (size > 0) {
    const ssize_t done =
        pread(place.file, bytes, size, static_cast<off_t>(place.offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return absl::ErrnoToStatus(errno, "read suspended memory");
    if (done == 0) {
      return absl::DataLossError(absl::StrCat("suspended memory ends at byte ",
                                              place.offset, ", ", size,
                                              " bytes are missing"));
    }
    bytes += done;
    size -= static_cast<uint64_t>(done);
    place.offset += static_cast<uint64_t>(done);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryCopier>> MemoryCopier::Create(
    std::shared_ptr<const cuda::Context> context, Quota& staging) {
  HOLDFAST_ASSIGN_OR_RETURN(auto stream, cuda::Stream::Create(context, {}));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto block,
      PinnedMemory::Allocate(context, Account::kImageBlockBytes, staging));
  return absl::WrapUnique(
      new MemoryCopier(std::move(stream), std::move(block)));
}

MemoryCopier::MemoryCopier(std::unique_ptr<cuda::Stream> stream,
                           std::unique_ptr<PinnedMemory> block)
    : stream_(std::move(stream)), block_(std::move(block)) {}

MemoryCopier::~MemoryCopier() = default;

// By one page-locked block: each part is copied to it, waited for, and taken
// away before the next one comes.
absl::Status MemoryCopier::SaveParts(DeviceRange memory, Carry take) {
  for (uint64_t offset = 0; offset < memory.size;) {
    const uint64_t size =
        std::min(memory.size - offset, Account::kImageBlockBytes);
    HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(*stream_, block_->device_address(),
                                             memory.address + offset, size));
    HOLDFAST_RETURN_IF_ERROR(stream_->Synchronize());
    HOLDFAST_RETURN_IF_ERROR(take({block_->data(), size, offset}));
    offset += size;
  }
  return absl::OkStatus();
}

// The other way round. The block is filled again only when the device has read
// it.
absl::Status MemoryCopier::LoadParts(DeviceRange memory, Carry give) {
  for (uint64_t offset = 0; offset < memory.size;) {
    const uint64_t size =
        std::min(memory.size - offset, Account::kImageBlockBytes);
    HOLDFAST_RETURN_IF_ERROR(give({block_->data(), size, offset}));
    HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(*stream_, memory.address + offset,
                                             block_->device_address(), size));
    HOLDFAST_RETURN_IF_ERROR(stream_->Synchronize());
    offset += size;
  }
  return absl::OkStatus();
}

absl::Status MemoryCopier::Save(DeviceRange memory, char* bytes) {
  return SaveParts(memory, [bytes](Part part) {
    std::memcpy(bytes + part.offset, part.bytes, part.size);
    return absl::OkStatus();
  });
}

absl::Status MemoryCopier::Load(DeviceRange memory, const char* bytes) {
  return LoadParts(memory, [bytes](Part part) {
    std::memcpy(part.bytes, bytes + part.offset, part.size);
    return absl::OkStatus();
  });
}

absl::Status MemoryCopier::Save(DeviceRange memory, FilePlace place) {
  return SaveParts(memory, [place](Part part) {
    return WriteAll(part.bytes, part.size,
                    {place.file, place.offset + part.offset});
  });
}

absl::Status MemoryCopier::Load(DeviceRange memory, FilePlace place) {
  return LoadParts(memory, [place](Part part) {
    return ReadAll(part.bytes, part.size,
                   {place.file, place.offset + part.offset});
  });
}

absl::StatusOr<MemoryCopier*> MemoryCopiers::For(
    const std::shared_ptr<const cuda::Context>& context) {
  if (copier_ != nullptr && context_ == context) return copier_.get();
  Clear();
  HOLDFAST_ASSIGN_OR_RETURN(copier_, MemoryCopier::Create(context, *staging_));
  context_ = context;
  return copier_.get();
}

void MemoryCopiers::Clear() {
  copier_ = nullptr;
  context_ = nullptr;
}

}  // namespace holdfast::executor
