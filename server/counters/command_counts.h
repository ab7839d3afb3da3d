// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_COMMAND_COUNTS_H_
#define HOLDFAST_SERVER_COUNTERS_COMMAND_COUNTS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// Counts a session's commands by kind and outcome, in memory that the
// supervisor reads (counter_page.h). One thread at a time may call Add; any
// thread may read. Add takes a load and a store, without a locked instruction.
class CommandCounts {
 public:
  // The number of kinds. A kind's number is the field number of its message in
  // v1::Command; 0 stands for all kinds that are unknown.
  static constexpr size_t kKinds = 1 + std::max<size_t>({
#define HOLDFAST_COMMAND(field, Message, ...) v1::Command::k##Message,
#include "proto/commands.inc"
                                       });

  struct Count {
    // Commands that were carried out without an error; work for the device was
    // submitted.
    std::atomic<uint64_t> done{0};
    std::atomic<uint64_t> failed{0};
  };

  void Add(v1::Command::OperationCase kind, bool done) {
    const auto index = static_cast<size_t>(kind);
    Count& count = counts_[index < kKinds ? index : 0];
    std::atomic<uint64_t>& counter = done ? count.done : count.failed;
    counter.store(counter.load(std::memory_order_relaxed) + 1,
                  std::memory_order_relaxed);
  }

  const Count& Of(size_t kind) const { return counts_[kind]; }

 private:
  std::array<Count, kKinds> counts_;
};

// Returns the name of a kind in metrics, such as "launch"; null if no command
// has this number.
constexpr const char* CommandName(size_t kind) {
  switch (kind) {
#define HOLDFAST_COMMAND(field, Message, ...) \
  case v1::Command::k##Message:               \
    return #field;
#include "proto/commands.inc"
    case 0:
      return "unknown";
    default:
      return nullptr;
  }
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_COMMAND_COUNTS_H_
