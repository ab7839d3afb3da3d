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

// One end of the two rings. Owns its mapping of the memory, but not the
// descriptor. The reader and the writer may be used by different threads.
class RingPair {
 public:
  enum class End { kClient, kExecutor };

  // Returns the memfd that both ends map. It has the rings and `bytes_behind`
  // further bytes, all zero, and is sealed against changes of its size. Its
  // pages are allocated on their first use. Fails with the system's error.
  static absl::StatusOr<UniqueFd> CreateMemory(size_t bytes_behind = 0);

  // Maps one end; called once for each end, with the same `bytes_behind` as
  // CreateMemory. `memfd` may be untrusted, and may be closed afterwards.
  // FAILED_PRECONDITION: it does not have the size and the seals of
  // CreateMemory, so another process could remove its pages.
  static absl::StatusOr<std::unique_ptr<RingPair>> Map(int memfd, End end,
                                                       size_t max_message_bytes,
                                                       size_t bytes_behind = 0);

  RingReader& reader() { return reader_; }
  RingWriter& writer() { return writer_; }

  // The `bytes_behind` bytes after the rings, page-aligned; valid as long as
  // the object. Either end may write to them at any time.
  char* behind() const;

  // Closes the reader and the writer of this end, which ends the waits of this
  // process's threads. Does not tell the other end. Thread-safe.
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
