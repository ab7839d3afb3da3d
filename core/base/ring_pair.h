// SPDX-License-Identifier: Apache-2.0
//
// The memory that a client and its executor share on one machine: a ring of
// messages each way, and behind them, if they agree to have some, bytes that
// messages name. Where its parts lie is in the description of
// CommandService.Execute.
#ifndef HOLDFAST_CORE_BASE_RING_PAIR_H_
#define HOLDFAST_CORE_BASE_RING_PAIR_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/message_ring.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// One end; holds its mapping, not the descriptor.
class RingPair {
 public:
  enum class End { kClient, kExecutor };

  // The memfd to share: all zero, sealed against any change of its size. Pages
  // come with their first use.
  static absl::StatusOr<UniqueFd> CreateMemory(size_t bytes_behind = 0);

  // Once an end. FAILED_PRECONDITION: not a memfd like those of CreateMemory,
  // which the other end could take the pages from.
  static absl::StatusOr<std::unique_ptr<RingPair>> Map(int memfd, End end,
                                                       size_t max_message_bytes,
                                                       size_t bytes_behind = 0);

  RingReader& reader() { return reader_; }
  RingWriter& writer() { return writer_; }

  // The bytes behind the rings, from a page's boundary on. Either end may write
  // to them at any time.
  char* behind() const;

  // This end, for its own threads; the other learns nothing of it.
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
