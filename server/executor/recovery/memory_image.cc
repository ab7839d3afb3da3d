// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/memory_image.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "core/cuda/stream.h"
#include "server/executor/account.h"
#include "server/executor/pinned_memory.h"

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

// Calls `carry` with each part of the range, the block that it passes through
// and its place in the file.
absl::Status ForEachPart(
    const std::shared_ptr<const cuda::Context>& context, Quota& staging,
    DeviceRange memory, FilePlace place,
    absl::FunctionRef<absl::Status(const cuda::Stream&, DeviceRange,
                                   PinnedMemory&, FilePlace)>
        carry) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto stream,
                            cuda::Stream::Create(context, {}));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto block,
      PinnedMemory::Allocate(context, Account::kImageBlockBytes, staging));
  while (memory.size > 0) {
    const uint64_t size = std::min(memory.size, Account::kImageBlockBytes);
    HOLDFAST_RETURN_IF_ERROR(
        carry(*stream, {memory.address, size}, *block, place));
    memory.address += size;
    memory.size -= size;
    place.offset += size;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveMemory(const std::shared_ptr<const cuda::Context>& context,
                        Quota& staging, DeviceRange memory, FilePlace place) {
  return ForEachPart(
      context, staging, memory, place,
      [](const cuda::Stream& stream, DeviceRange part, PinnedMemory& block,
         FilePlace at) -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(stream, block.device_address(),
                                                 part.address, part.size));
        HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
        return WriteAll(block.data(), part.size, at);
      });
}

absl::Status LoadMemory(const std::shared_ptr<const cuda::Context>& context,
                        Quota& staging, DeviceRange memory, FilePlace place) {
  return ForEachPart(
      context, staging, memory, place,
      [](const cuda::Stream& stream, DeviceRange part, PinnedMemory& block,
         FilePlace at) -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(ReadAll(block.data(), part.size, at));
        HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(
            stream, part.address, block.device_address(), part.size));
        return stream.Synchronize();
      });
}

}  // namespace holdfast::executor
