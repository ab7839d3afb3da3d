// SPDX-License-Identifier: Apache-2.0
//
// A page that a client and its executor share, on one machine, so that neither
// has to be woken for what the other has just sent: whoever expects something
// naps while he looks at the other's counter (NapUntil), and is there when it
// comes. Counters are hints. Nothing is believed because of them: an executor
// that is lied to sleeps at once, or naps in vain for some milliseconds; a
// client may wait for the next results instead of its own.
#ifndef HOLDFAST_CORE_BASE_DOORBELL_H_
#define HOLDFAST_CORE_BASE_DOORBELL_H_

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// One end. Thread-safe; holds its mapping, not the descriptor.
class Doorbell {
 public:
  enum class End { kClient, kExecutor };

  // The memfd to share: of one page, sealed against any change of its size.
  static absl::StatusOr<UniqueFd> CreateMemory();

  // FAILED_PRECONDITION: not a memfd like those of CreateMemory, which the
  // other end could take the page from.
  static absl::StatusOr<Doorbell> Map(int memfd, End end);

  // A message has been sent to the other end.
  void Ring() const { mine_->fetch_add(1, std::memory_order_release); }

  // Messages that the other end has sent to this one.
  uint64_t rung() const { return others_->load(std::memory_order_acquire); }

 private:
  // As in CommandService.Execute's description.
  struct Page {
    alignas(64) std::atomic<uint64_t> client;
    alignas(64) std::atomic<uint64_t> executor;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  Doorbell(FileMapping mapping, End end);

  FileMapping mapping_;
  std::atomic<uint64_t>* mine_;
  std::atomic<uint64_t>* others_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_DOORBELL_H_
