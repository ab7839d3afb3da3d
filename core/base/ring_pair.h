// SPDX-License-Identifier: Apache-2.0
//
// The memory that a client and its executor share on one machine: a ring of
// messages in each direction, and optionally further bytes, which messages
// name. CommandService.Execute describes its layout.
#ifndef HOLDFAST_CORE_BASE_RING_PAIR_H_
#define HOLDFAST_CORE_BASE_RING_PAIR_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/message_ring.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// One end. Owns its mapping, but not the descriptor.
class RingPair {
 public:
  enum class End { kClient, kExecutor };

  // Returns the memfd to share: zeros, sealed against changes of its size. Its
  // pages are allocated on their first use.
  static absl::StatusOr<UniqueFd> CreateMemory(size_t bytes_behind = 0);

  // Maps one end; called once for each end. FAILED_PRECONDITION: the memfd was
  // not made by CreateMemory, so that the other end could remove its pages.
  static absl::StatusOr<std::unique_ptr<RingPair>> Map(int memfd, End end,
                                                       size_t max_message_bytes,
                                                       size_t bytes_behind = 0);

  RingReader& reader() { return reader_; }
  RingWriter& writer() { return writer_; }

  // The bytes after the rings, page-aligned. Either end may write to them at
  // any time.
  char* behind() const;

  // Closes this end for its own threads. The other end is not told.
  void Close();

 private:
  RingPair(FileMapping mapping, RingMemory incoming, RingMemory outgoing,
           size_t max_message_bytes);

  const FileMapping mapping_;
  RingReader reader_;
  RingWriter writer_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_RING_PAIR_H_
