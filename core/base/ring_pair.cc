// SPDX-License-Identifier: Apache-2.0
#include "core/base/ring_pair.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kCapacity = size_t{256} << 10;
// The counts of both, then the bytes of both; the client's ring first.
constexpr size_t kBytes = kPage + 2 * kCapacity;
static_assert(2 * sizeof(RingCounts) <= kPage);

RingMemory Ring(const FileMapping& mapping, size_t index) {
  char* const memory = static_cast<char*>(mapping.data());
  return {.counts = reinterpret_cast<RingCounts*>(memory) + index,
          .bytes = memory + kPage + index * kCapacity,
          .capacity = kCapacity};
}

}  // namespace

absl::StatusOr<UniqueFd> RingPair::CreateMemory(size_t bytes_behind) {
  return CreateFixedMemfd("holdfast-ring", kBytes + bytes_behind);
}

// The memfd is sealed in its size, so that the other end cannot truncate it and
// have an access to the mapping end this process (SIGBUS).
absl::StatusOr<std::unique_ptr<RingPair>> RingPair::Map(
    int memfd, End end, size_t max_message_bytes, size_t bytes_behind) {
  const size_t size = kBytes + bytes_behind;
  if (!IsFixedMemfd(memfd, size)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the descriptor is no pair of rings: not a memfd of ", size,
        " bytes that is sealed against shrinking, growing and more seals, but "
        "not writing"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(memfd, FileMapping::Access::kReadWrite, size));
  const size_t mine = end == End::kClient ? 0 : 1;
  const RingMemory incoming = Ring(mapping, 1 - mine);
  const RingMemory outgoing = Ring(mapping, mine);
  return std::unique_ptr<RingPair>(
      new RingPair(std::move(mapping), incoming, outgoing, max_message_bytes));
}

RingPair::RingPair(FileMapping mapping, RingMemory incoming,
                   RingMemory outgoing, size_t max_message_bytes)
    : mapping_(std::move(mapping)),
      reader_(incoming, max_message_bytes),
      writer_(outgoing) {}

char* RingPair::behind() const {
  return static_cast<char*>(mapping_.data()) + kBytes;
}

void RingPair::Close() {
  reader_.Close();
  writer_.Close();
}

}  // namespace holdfast
